"""What is wrong with a corpus, with line numbers, before an hour is spent on it."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jumok.data.checks import Profile, learn_profile, pair_symptom, shown, stray_symptoms
from jumok.data.corpus import Corpus, first_shift
from jumok.data.pictures import PictureCorpus
from jumok.data.rows import Row, line_lengths, names_of, read_rows
from jumok.errors import DataError
from jumok.images.read import locate, read_picture
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy

Severity = Literal["error", "warning", "info"]
Hashes = NDArray[np.uint64]

FIRST_LINES = 10  # line numbers kept for each finding
FEW_PAIRS = 100
SMALL = 8  # pixels a side of a picture that is only tried
EVERY = 5_000  # rows between two reports of progress


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing that can be wrong: how bad it is, how it reads in a report, and what to do about it."""

    severity: Severity
    title: str
    advice: str


KINDS: dict[str, Kind] = {
    "empty": Kind("error", "no pairs", "check the file names; both files are empty"),
    "unequal_lines": Kind(
        "error",
        "unequal line counts",
        "line n of one file must translate line n of the other: look for a line break inside a sentence or a "
        "file that was cut off; this cannot be repaired automatically",
    ),
    "bad_encoding": Kind("error", "not valid UTF-8", "convert the file to UTF-8; --fix drops these pairs"),
    "bad_row": Kind(
        "error", "not a pair", "write one source and one target per line; --fix drops these lines"
    ),
    "no_image": Kind("error", "no such picture", "names are compared with their endings, and capitals count"),
    "outside": Kind(
        "error", "names that lead outside", "give names relative to the folder or zip of the pictures"
    ),
    "bad_image": Kind(
        "error", "pictures that cannot be read", "training would stop at them: copy them again"
    ),
    "nul": Kind("error", "NUL characters", "the file may be binary or UTF-16; --fix removes the characters"),
    "swapped": Kind(
        "warning",
        "sides swapped",
        "the source reads like a target and the other way round; --fix drops these",
    ),
    "copied": Kind(
        "warning", "source copied to target", "a model learns not to translate; --fix drops these"
    ),
    "blank_side": Kind("warning", "blank on one side", "training leaves them out; --fix drops these"),
    "odd_length": Kind(
        "warning", "odd length ratio", "these may not be translations of each other; --fix drops these"
    ),
    "duplicate": Kind(
        "warning", "repeated pairs", "repeats weigh more in training; --fix keeps the first of each"
    ),
    "leak": Kind(
        "warning",
        "pairs also in train",
        "scores will look better than they are; --fix takes them out of train",
    ),
    "line_break": Kind(
        "warning",
        "line breaks inside a line",
        "VT, FF, U+0085, U+2028 or U+2029: other tools split the line there; --fix writes a space",
    ),
    "control": Kind("warning", "control characters", "--fix removes the characters"),
    "replacement": Kind(
        "warning",
        "replacement characters U+FFFD",
        "text was lost when the file was decoded: get the original",
    ),
    "few": Kind("warning", "very few pairs", "a model learns little from so few: some thousands are a start"),
    "blank_both": Kind("info", "blank on both sides", "training leaves them out; --fix drops these"),
    "many_targets": Kind("info", "one source, several targets", "normal in most corpora"),
    "shared_source": Kind("info", "sources also in train", "the same source with another target is in train"),
}
_ORDER = {severity: rank for rank, severity in enumerate(("error", "warning", "info"))}


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of fault in one part of the corpus."""

    kind: str
    part: str
    count: int
    lines: tuple[int, ...] = ()
    """The first line numbers, counted from 1."""
    example: str = ""

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    @property
    def title(self) -> str:
        return KINDS[self.kind].title

    @property
    def advice(self) -> str:
        return KINDS[self.kind].advice

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "severity": self.severity,
            "part": self.part,
            "title": self.title,
            "count": self.count,
            "lines": list(self.lines),
            "example": self.example,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """One examined corpus and its size."""

    name: str
    source: str
    target: str
    pairs: int
    source_lines: int
    target_lines: int


@dataclass(frozen=True, slots=True)
class Report:
    """Everything found, worst first."""

    parts: tuple[Part, ...]
    findings: tuple[Finding, ...]
    profile: Profile = field(default=Profile(), repr=False)
    held_out: Hashes = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)
    """Hashes of the pairs of valid and test, sorted."""

    @property
    def has_errors(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        counts = {severity: sum(f.severity == severity for f in self.findings) for severity in _ORDER}
        return {
            "schema": "check/1",
            "parts": [
                {"name": p.name, "source": p.source, "target": p.target, "pairs": p.pairs} for p in self.parts
            ],
            "counts": counts,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def examine(
    corpus: Corpus, *, others: Mapping[str, Corpus] | None = None, progress: Progress = silent
) -> Report:
    """Read a training corpus, and others by the names of their splits, and tell what is wrong.

    Memory grows by 24 bytes a pair. The habits of the training corpus are the measure for all.
    """
    texts = ((tidy(row.source), tidy(row.target)) for row in read_rows(corpus) if row.is_pair)
    profile = Profile() if isinstance(corpus, PictureCorpus) else learn_profile(texts)
    train = _examine_part("train", corpus, profile, progress)
    examined = [train]
    findings = train.findings()
    held_out = np.empty(0, np.uint64)
    for name, other in (others or {}).items():
        part = _examine_part(name, other, profile, progress)
        examined.append(part)
        findings += part.findings() + _leaks(part, train)
        held_out = np.union1d(held_out, part.pair_hashes)
    findings.sort(key=lambda finding: _ORDER[finding.severity])
    return Report(tuple(part.summary() for part in examined), tuple(findings), profile, held_out)


def pair_hash(source: str, target: str) -> int:
    """64 bits that stand for a pair of tidy texts."""
    return text_hash(f"{source}\t{target}")


def text_hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


class _Examined:
    """Notes taken while a part is read."""

    def __init__(self, name: str, corpus: Corpus) -> None:
        self.name, self.corpus = name, corpus
        self.counts: dict[str, int] = {}
        self.lines: dict[str, list[int]] = {}
        self.examples: dict[str, str] = {}
        self.numbers, self._pairs, self._sources = array("Q"), array("Q"), array("Q")
        self.source_lines = self.target_lines = 0

    def note(self, kind: str, line: int, example: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        lines = self.lines.setdefault(kind, [])
        if len(lines) < FIRST_LINES:
            lines.append(line)
        self.examples.setdefault(kind, example)

    def add(self, row: Row, profile: Profile) -> None:
        self.source_lines += row.has_source
        self.target_lines += row.has_target
        if row.problem:
            self.note(row.problem, row.number, row.note)
        if not row.is_pair:
            return
        source, target = tidy(row.source), tidy(row.target)
        kinds = [*stray_symptoms(f"{row.source}\t{row.target}"), self.symptom(source, target, profile)]
        for kind in filter(None, kinds):
            self.note(kind, row.number, f"{shown(row.source)} ↔ {shown(row.target)}")
        if source and target:
            self.numbers.append(row.number)
            self._pairs.append(pair_hash(source, target))
            self._sources.append(text_hash(source))

    def symptom(self, source: str, target: str, profile: Profile) -> str:
        """What is wrong with a pair of texts, or with a picture and its caption."""
        if isinstance(self.corpus, PictureCorpus) and source and target:
            return picture_symptom(self.corpus, source)
        return pair_symptom(source, target, profile)

    @property
    def pair_hashes(self) -> Hashes:
        return np.frombuffer(self._pairs, np.uint64)

    @property
    def source_hashes(self) -> Hashes:
        return np.frombuffer(self._sources, np.uint64)

    def summary(self) -> Part:
        pairs = min(self.source_lines, self.target_lines)
        return Part(self.name, *names_of(self.corpus), pairs, self.source_lines, self.target_lines)

    def findings(self) -> list[Finding]:
        """All findings about this part alone."""
        found = [
            Finding(kind, self.name, count, tuple(self.lines[kind]), self.examples[kind])
            for kind, count in self.counts.items()
        ]
        return [*_size_findings(self), *found, *_repeats(self)]


def picture_symptom(corpus: PictureCorpus, name: str) -> str:
    """Whether a picture is not there or cannot be read; "" if neither."""
    try:
        path = locate(corpus.images, name)
        if path:
            read_picture(path, SMALL)
    except DataError as error:
        return "outside" if error.code == "outside" else "bad_image"
    return "" if path else "no_image"


def _examine_part(name: str, corpus: Corpus, profile: Profile, progress: Progress) -> _Examined:
    part = _Examined(name, corpus)
    what = f"check {name}"
    row = None
    for row in read_rows(corpus):
        part.add(row, profile)
        if row.number % EVERY == 0:
            progress(what, row.number, None)
    done = row.number if row else 0
    progress(what, done, done)
    return part


def _size_findings(part: _Examined) -> Iterator[Finding]:
    """What the numbers of lines alone say."""
    source, target = part.source_lines, part.target_lines
    names = names_of(part.corpus)
    if source != target:
        longer = 0 if source > target else 1
        lengths = [line_lengths(part.corpus, side) for side in (longer, 1 - longer)]
        line = first_shift(*lengths) + 1
        example = f"{names[0]} has {source:,} lines, {names[1]} has {target:,}; "
        example += f"{names[longer]}:{line} is the first that seems to have no partner"
        yield Finding("unequal_lines", part.name, abs(source - target), (line,), example)
    elif not source:
        yield Finding("empty", part.name, 0, (), names[0])
    elif part.name == "train" and source < FEW_PAIRS:
        yield Finding("few", part.name, source)


def _repeats(part: _Examined) -> Iterator[Finding]:
    """Pairs that came before, and sources that came before with another target."""
    numbers = np.frombuffer(part.numbers, np.uint64)
    pair_first, source_first = _first_places(part.pair_hashes), _first_places(part.source_hashes)
    places = np.arange(len(numbers))
    again = pair_first != places
    other = (source_first != places) & ~again
    for kind, mask, first, verb in (
        ("duplicate", again, pair_first, "repeats"),
        ("many_targets", other, source_first, "has the source of"),
    ):
        if mask.any():
            where = np.flatnonzero(mask)
            example = f"line {numbers[where[0]]} {verb} line {numbers[first[where[0]]]}"
            yield Finding(kind, part.name, len(where), _line_numbers(numbers[where]), example)


def _leaks(part: _Examined, train: _Examined) -> list[Finding]:
    """Pairs of a held-out part that are also in train, and sources that are."""
    numbers, train_numbers = np.frombuffer(part.numbers, np.uint64), np.frombuffer(train.numbers, np.uint64)
    leaked = np.isin(part.pair_hashes, train.pair_hashes)
    shared = np.isin(part.source_hashes, train.source_hashes) & ~leaked
    found = []
    for kind, mask, mine, theirs in (
        ("leak", leaked, part.pair_hashes, train.pair_hashes),
        ("shared_source", shared, part.source_hashes, train.source_hashes),
    ):
        if mask.any():
            where = np.flatnonzero(mask)
            in_train = train_numbers[np.flatnonzero(theirs == mine[where[0]])[0]]
            example = f"{part.name} line {numbers[where[0]]} is train line {in_train}"
            found.append(Finding(kind, part.name, len(where), _line_numbers(numbers[where]), example))
    return found


def _first_places(hashes: Hashes) -> NDArray[np.int64]:
    """For each entry, where its value stands first."""
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first[inverse]


def _line_numbers(numbers: Hashes) -> tuple[int, ...]:
    return tuple(int(number) for number in numbers[:FIRST_LINES])
