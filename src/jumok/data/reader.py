"""One pass over a corpus: its pairs tidied, the figures that a plan needs, and what is wrong with which line.

`jumok check` and `jumok train` read through `examine`. Training stops at a line that cannot be read; a check
notes it and reads on.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.data.checks import Profile, has_strays, learn_profile, odd_pairs, shown, stray_kinds
from jumok.data.corpus import BLOCK, Corpus, Pair, UnequalLinesError
from jumok.data.findings import FIRST_LINES, SEVERITIES, Finding, FindingNotes
from jumok.data.pictures import PictureCorpus
from jumok.errors import DataError, RunError
from jumok.images.read import locate, read_picture
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy

Hashes = NDArray[np.uint64]
Numbered = tuple[int, str, str]
"""Line number, source and target of a pair."""

CHUNK, CHUNK_TEXT = 2_000, 2_000_000  # pairs, or characters, that are looked at together
SAMPLE, SAMPLE_TEXT = 20_000, 20_000_000  # pairs, or characters, that show a corpus's habits
IN_MEMORY = 1 << 26  # bytes of tidied text that stay in memory; of more a temporary file is made
FEWEST_PAIRS = 20
FEW_PAIRS = 100
SMALL_PICTURE = 8  # pixels a side of a picture that is only tried
FAULTS = {"nul_byte": "nul", "bad_unicode": "bad_encoding", "bad_utf8": "bad_encoding"}  # code -> finding


class TidyPairs:
    """The tidied pairs of a corpus, in memory or in a temporary file, to be read as often as needed."""

    def __init__(self) -> None:
        self.file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  closed when it is forgotten

    def __del__(self) -> None:
        self.file.close()

    def add(self, pairs: list[Pair]) -> None:
        try:
            self.file.write("".join([f"{source}\t{target}\n" for source, target in pairs]).encode())
        except OSError as error:
            raise RunError(
                f"cannot keep the tidied text: {(error.strerror or str(error)).lower()}",
                hint="set TMPDIR to a folder with more room than the corpus takes",
                code="io_error",
            ) from None

    def __iter__(self) -> Iterator[Pair]:
        place, rest = 0, b""
        while True:
            self.file.seek(place)
            block = self.file.read(BLOCK)
            if not block:
                return
            place += len(block)
            whole, _, rest = (rest + block).rpartition(b"\n")
            for line in whole.decode().split("\n") if whole else ():
                source, _, target = line.partition("\t")
                yield source, target


@dataclass(frozen=True, eq=False)
class Survey:
    """A corpus in figures, and what is wrong with it. Hashes stand for tidied texts; 0 marks a blank side."""

    pairs: int
    source_characters: int
    target_characters: int
    source_words: int
    target_words: int
    longest: int  # characters of the longer side that 99 % of the pairs stay within
    source_hashes: Hashes  # (pairs,)
    target_hashes: Hashes  # (pairs,)
    numbers: Hashes = field(
        default_factory=lambda: np.empty(0, np.uint64), repr=False
    )  # their lines (pairs,)
    part: str = "train"
    files: Pair = ("", "")
    lines: tuple[int, int] = (0, 0)  # of the source's file and of the target's
    findings: tuple[Finding, ...] = ()
    profile: Profile = field(default_factory=Profile, repr=False)
    texts: TidyPairs | None = None  # where they were to be kept

    @property
    def usable(self) -> int:
        """Pairs with text on both sides."""
        return int(self.written.sum())

    @property
    def written(self) -> NDArray[np.bool_]:
        """Which pairs have text on both sides."""
        written: NDArray[np.bool_] = (self.source_hashes != 0) & (self.target_hashes != 0)
        return written

    @property
    def words(self) -> int:
        """Words of both sides; where a script writes no spaces, eight characters count as one."""
        characters = self.source_characters + self.target_characters
        return max(self.source_words + self.target_words, characters // 8)

    @cached_property
    def pair_hashes(self) -> Hashes:
        return _joined(self.source_hashes, self.target_hashes)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The training corpus and those it was compared with, and everything found, worst first."""

    parts: tuple[Survey, ...]
    findings: tuple[Finding, ...]

    @property
    def train(self) -> Survey:
        return self.parts[0]

    @property
    def has_errors(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)

    def summary(self) -> str:
        """How many pairs are worth a look, in one line; "" when there is nothing to say."""
        found = [f for f in self.findings if f.severity != "info"]
        if not found:
            return ""
        few = ", which is very few" if any(f.kind == "few" for f in found) else ""
        found = [f for f in found if f.kind != "few"]
        kinds = ", ".join(f"{f.count:,} {'' if f.part == 'train' else f.part + ' '}{f.title}" for f in found)
        look = f"; {sum(f.count for f in found):,} worth a look ({kinds})" if found else ""
        return f"{self.train.pairs:,} pairs{few}{look}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": "check/1",
            "parts": [
                {
                    "name": part.part,
                    "source": part.files[0],
                    "target": part.files[1],
                    "pairs": min(part.lines),
                }
                for part in self.parts
            ],
            "counts": {kind: sum(f.severity == kind for f in self.findings) for kind in SEVERITIES},
            "findings": [finding.to_dict() for finding in self.findings],
        }


def examine(
    corpus: Corpus,
    *,
    others: Mapping[str, Corpus] | None = None,
    strict: bool = False,
    keep: bool = False,
    progress: Progress = silent,
) -> CheckReport:
    """Read a training corpus, and others by the names of their splits, and tell what is wrong.

    The habits of the training corpus are the measure for all. `strict` ends at the first line that cannot be
    read; with `keep` the tidied texts can be read again.
    """
    train = survey(corpus, strict=strict, keep=keep, progress=progress)
    parts, leaks = [train], []
    for name, other in (others or {}).items():
        part = survey(other, part=name, profile=train.profile, strict=strict, keep=keep, progress=progress)
        parts.append(part)
        leaks += _leaks(part, train)
    findings = [finding for part in parts for finding in part.findings] + leaks
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return CheckReport(tuple(parts), tuple(findings))


def survey(
    corpus: Corpus,
    *,
    part: str = "train",
    profile: Profile | None = None,
    strict: bool = True,
    keep: bool = False,
    progress: Progress = silent,
) -> Survey:
    """Read one corpus once. Memory grows by 28 bytes a pair, whatever becomes of the texts."""
    reader = CorpusReader(corpus, part, profile, TidyPairs() if keep else None)
    for chunk in reader.chunks(strict=strict):
        reader.add(chunk, strict=strict)
        progress(f"reading {part}", reader.lines[0], None)
    progress(f"reading {part}", reader.lines[0], reader.lines[0])
    if strict and not reader.lines[0]:
        raise corpus.empty()
    return reader.survey()


class CorpusReader:
    """Takes in the pairs of a corpus, chunk by chunk, and says in the end what they are."""

    def __init__(
        self,
        corpus: Corpus,
        part: str = "train",
        profile: Profile | None = None,
        texts: TidyPairs | None = None,
    ) -> None:
        self.corpus, self.texts = corpus, texts
        self.pictures = isinstance(corpus, PictureCorpus)  # their names are no text
        self.profile = Profile() if self.pictures else profile
        self.notes, self.size_findings = FindingNotes(part), list[Finding]()
        self.lines, self.characters, self.words = (0, 0), [0, 0], [0, 0]
        self.numbers, self.lengths, self.hashes = array("Q"), array("I"), (array("Q"), array("Q"))
        self.sample: list[tuple[list[Numbered], list[Pair]]] = []  # chunks that wait for the habits

    def chunks(self, *, strict: bool) -> Iterator[list[Numbered]]:
        """The pairs that can be read, some at a time; the other lines are noted."""
        chunk: list[Numbered] = []
        size = number = 0
        for number, texts, fault in self.corpus.rows(strict=strict):
            if fault is not None:
                self.note_fault(number, fault)
                continue
            for source, target in self.corpus.pairs_of(texts):
                chunk.append((number, source, target))
                size += len(source) + len(target)
            if len(chunk) >= CHUNK or size > CHUNK_TEXT:
                self.lines = (number, number)
                yield chunk
                chunk, size = [], 0
        if not self.size_findings:
            self.lines = (number, number)
        if chunk:
            yield chunk

    def note_fault(self, number: int, fault: DataError) -> None:
        if isinstance(fault, UnequalLinesError):
            self.lines = fault.counts
            count, example = abs(fault.counts[0] - fault.counts[1]), f"{fault.counted}; {fault.where}"
            self.size_findings = [Finding("unequal_lines", self.notes.part, count, (fault.suspect,), example)]
        else:
            self.notes.add(FAULTS.get(fault.code, "bad_row"), number, f"{fault.where}: {fault.message}")

    def add(self, chunk: list[Numbered], *, strict: bool) -> None:
        """Take in a chunk that `chunks` gave."""
        source_of = str.strip if self.pictures else tidy
        tidied = [(source_of(source), tidy(target)) for _, source, target in chunk]
        if self.texts is not None:
            self.texts.add(tidied)
        self.numbers.extend([number for number, _, _ in chunk])
        sides = [[source for source, _ in tidied], [target for _, target in tidied]]
        for hashes, texts in zip(self.hashes, sides, strict=True):
            hashes.extend(map(text_hash, texts))
        if self.pictures:
            sides[0] = [""] * len(chunk)
        self.lengths.extend(map(max, *(map(len, texts) for texts in sides)))
        for side, texts in enumerate(sides):
            self.characters[side] += sum(map(len, texts))
            self.words[side] += sum([text.count(" ") + 1 for text in texts if text])
        self.note_strays(chunk)
        if isinstance(self.corpus, PictureCorpus):
            self.note_pictures(self.corpus, chunk, tidied, strict=strict)
            return
        self.sample.append((chunk, tidied))
        if self.profile or len(self.numbers) >= SAMPLE or sum(self.characters) > SAMPLE_TEXT:
            self.note_odd()

    def note_strays(self, chunk: list[Numbered]) -> None:
        if has_strays("\t".join([text for _, *pair in chunk for text in pair])):
            for number, source, target in chunk:
                for kind in stray_kinds(f"{source}\t{target}"):
                    self.notes.add(kind, number, example(source, target))

    def note_odd(self) -> None:
        """Judge the pairs that wait, by the habits that they show themselves unless others are known."""
        self.profile = self.profile or learn_profile([pair for _, tidied in self.sample for pair in tidied])
        for chunk, tidied in self.sample:
            for place, kind in sorted(odd_pairs(tidied, self.profile).items()):
                number, source, target = chunk[place]
                self.notes.add(kind, number, example(source, target))
        self.sample = []

    def note_pictures(
        self, corpus: PictureCorpus, chunk: list[Numbered], tidied: list[Pair], *, strict: bool
    ) -> None:
        """Blank captions; and unless strict, where training would stop: pictures that cannot be read."""
        blank = odd_pairs([(name and "picture", caption) for name, caption in tidied], Profile())
        for place, (number, source, target) in enumerate(chunk):
            fault = "" if strict else picture_fault(corpus, tidied[place][0])
            if kind := blank.get(place, fault):
                self.notes.add(kind, number, example(source, target))

    def survey(self) -> Survey:
        """What the corpus is, now that all of it is read."""
        self.note_odd()
        part, (source, target) = self.notes.part, self.lines
        if not source and not target:
            self.size_findings.append(Finding("empty", part, 0, (), self.corpus.shown[0]))
        elif part == "train" and source == target < FEW_PAIRS:
            self.size_findings.append(Finding("few", part, source))
        numbers, *hashes = (np.frombuffer(one, np.uint64) for one in (self.numbers, *self.hashes))
        lengths = np.frombuffer(self.lengths, np.uint32)
        found = Survey(
            pairs=len(numbers),
            source_characters=self.characters[0],
            target_characters=self.characters[1],
            source_words=self.words[0],
            target_words=self.words[1],
            longest=int(np.quantile(lengths, 0.99)) if len(lengths) else 0,
            source_hashes=hashes[0],
            target_hashes=hashes[1],
            numbers=numbers,
            part=part,
            files=self.corpus.shown,
            lines=self.lines,
            profile=self.profile or Profile(),
            texts=self.texts,
        )
        return replace(found, findings=(*self.size_findings, *self.notes.findings(), *_repeats(found)))


def example(source: str, target: str) -> str:
    return f"{shown(source)} ↔ {shown(target)}"


def picture_fault(corpus: PictureCorpus, name: str) -> str:
    """Whether a picture is not there or cannot be read; "" if neither."""
    try:
        path = locate(corpus.images, name)
        if path:
            read_picture(path, SMALL_PICTURE)
    except DataError as error:
        return "outside" if error.code == "outside" else "bad_image"
    return "" if path else "no_image"


def text_hash(text: str) -> int:
    """64 bits that stand for a text; never 0 for a text that is not blank."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) | 1 if text else 0


def hashes_of(pairs: Sequence[Pair]) -> Hashes:
    """64 bits that stand for each tidied pair."""
    source, target = (np.array([text_hash(pair[side]) for pair in pairs], np.uint64) for side in (0, 1))
    return _joined(source, target)


def _joined(source: Hashes, target: Hashes) -> Hashes:
    return source * np.uint64(0x9E3779B97F4A7C15) ^ target


def _repeats(part: Survey) -> Iterator[Finding]:
    """Pairs that came before, and sources that came before with another target."""
    pairs, sources = (
        _first_places(hashes[part.written]) for hashes in (part.pair_hashes, part.source_hashes)
    )
    numbers, places = part.numbers[part.written], np.arange(len(pairs))
    again = pairs != places
    for kind, rows, first, verb in (
        ("duplicate", again, pairs, "repeats"),
        ("many_targets", (sources != places) & ~again, sources, "has the source of"),
    ):
        if rows.any():
            example = f"line {numbers[rows][0]} {verb} line {numbers[first[rows][0]]}"
            yield _finding(kind, part, numbers[rows], example)


def _leaks(part: Survey, train: Survey) -> Iterator[Finding]:
    """Pairs of a held-out part that are also in train, and sources that are."""
    leaked = np.isin(part.pair_hashes, train.pair_hashes[train.written]) & part.written
    shared = np.isin(part.source_hashes, train.source_hashes[train.written]) & part.written & ~leaked
    for kind, rows, mine, theirs in (
        ("leak", leaked, part.pair_hashes, train.pair_hashes),
        ("shared_source", shared, part.source_hashes, train.source_hashes),
    ):
        if rows.any():
            in_train = train.numbers[theirs == mine[rows][0]][0]
            example = f"{part.part} line {part.numbers[rows][0]} is train line {in_train}"
            yield _finding(kind, part, part.numbers[rows], example)


def _finding(kind: str, part: Survey, numbers: Hashes, example: str) -> Finding:
    return Finding(kind, part.part, len(numbers), tuple(numbers[:FIRST_LINES].tolist()), example)


def _first_places(hashes: Hashes) -> NDArray[np.int64]:
    """For each entry, where its value stands first."""
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first[inverse]


def check_enough(found: Survey, name: str) -> None:
    """Refuse a corpus that nothing can be learned from."""
    blank = {"source": not found.source_hashes.any(), "target": not found.target_hashes.any()}
    if found.pairs and any(blank.values()):
        raise DataError(
            f"every {' and every '.join(side for side in blank if blank[side])} of {name} is blank",
            hint="are these the right files and columns? data.columns says which columns are read",
            code="too_small",
        )
    if found.usable < FEWEST_PAIRS:
        plural = "pair" if found.usable == 1 else "pairs"
        raise DataError(
            f"{name} has {found.usable} {plural} with text on both sides",
            hint=f"a model needs at least {FEWEST_PAIRS}, and thousands to be useful; "
            "jumok train --data dates shows a working set",
            code="too_small",
        )
