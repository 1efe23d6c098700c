"""One pass over a corpus: its pairs tidied, the figures that a plan needs, and what is wrong with which line.

`jumok check` and `jumok train` read through `examine`. Training stops at a line that cannot be read; a check
notes it and reads on.
"""

from array import array
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jumok.data.alignment import HALF, Alignment, PairSample, judge
from jumok.data.checks import Profile, blank_pairs, learn_profile, noted_pairs, odd_pairs, shown
from jumok.data.corpus import Corpus, UnequalLinesError
from jumok.data.findings import FIRST_LINES, SEVERITIES, Finding, FindingNotes
from jumok.data.pictures import PictureCorpus
from jumok.data.survey import Hashes, Survey, TidyPairs, text_hash
from jumok.errors import DataError
from jumok.images.read import locate, read_picture
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy

CHUNK, CHUNK_TEXT = 2_000, 2_000_000  # pairs, or characters, that are looked at together
SAMPLE, SAMPLE_TEXT = 20_000, 20_000_000  # pairs, or characters, that show a corpus's habits
FEW_PAIRS = 100
MOST_SPANS = 4  # places that are read again to see where exactly a shift begins
PART_KEYS = ("name", "source", "target", "pairs")
SMALL_PICTURE = 8  # pixels a side of a picture that is only tried
OF_PAIRS = frozenset(
    ("copied", "swapped", "foreign", "strangers", "unrelated", "sorted", "shifted", "odd_length")
)
"""What can be wrong with pairs only."""
FAULTS = {"nul_byte": "nul", "bad_unicode": "bad_encoding", "bad_utf8": "bad_encoding"}  # code -> finding


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The training corpus and those it was compared with, and everything found, worst first."""

    parts: tuple[Survey, ...]
    findings: tuple[Finding, ...]
    mixed: Survey | None = None
    """Several training corpora as one."""

    @property
    def train(self) -> Survey:
        return self.mixed or self.parts[0]

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
                dict(zip(PART_KEYS, (part.part, *part.files, min(part.lines)), strict=True))
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
    parts, leaks = [train], list[Finding]()
    for name, other in (others or {}).items():
        part = survey(other, part=name, profile=train.profile, strict=strict, keep=keep, progress=progress)
        parts.append(part)
        leaks += _leaks(part, train)
    findings = [finding for part in parts for finding in part.findings] + leaks
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return CheckReport(tuple(parts), tuple(findings))


def read_several(  # noqa: PLR0913  most have a default
    corpora: Mapping[str, Corpus],
    others: Mapping[str, Corpus],
    *,
    alone: Container[str] = (),
    strict: bool = False,
    keep: bool = False,
    progress: Progress = silent,
) -> CheckReport:
    """`examine` of several training corpora by their names; each has habits of its own.

    Those in `alone` are text in one language: what is wrong with pairs is nothing wrong with them.
    """
    train = [
        survey(corpus, part=name, strict=strict, keep=keep, progress=progress)
        for name, corpus in corpora.items()
    ]
    train = [
        replace(one, findings=tuple(f for f in one.findings if f.kind not in OF_PAIRS))
        if one.part in alone
        else one
        for one in train
    ]
    parts, leaks = list(train), list[Finding]()
    for name, other in others.items():
        part = survey(other, part=name, strict=strict, keep=keep, progress=progress)
        parts.append(part)
        leaks += [found for one in train for found in _leaks(part, one)]
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
    reader = CorpusReader(corpus, part, profile, strict=strict, keep=keep)
    for chunk in reader.chunks():
        reader.add(chunk)
        progress(f"reading {part}", reader.lines[0], None)
    progress(f"reading {part}", reader.lines[0], reader.lines[0])
    if strict and not reader.lines[0]:
        raise corpus.empty()
    return reader.survey()


class RawPairs(NamedTuple):
    """Some pairs as the files have them, with the numbers of their lines."""

    numbers: list[int]
    sources: list[str]
    targets: list[str]


class CorpusReader:
    """Takes in the pairs of a corpus, chunk by chunk, and says in the end what they are."""

    def __init__(
        self,
        corpus: Corpus,
        part: str = "train",
        profile: Profile | None = None,
        *,
        strict: bool = False,
        keep: bool = False,
    ) -> None:
        self.corpus, self.strict, self.profile = corpus, strict, profile
        self.pictures = isinstance(corpus, PictureCorpus)  # their names are no text
        self.texts = TidyPairs() if keep else None
        self.notes, self.size_findings = FindingNotes(part, corpus.form.unit), list[Finding]()
        self.lines, self.characters, self.words = (0, 0), [0, 0], [0, 0]
        self.numbers, self.lengths, self.hashes = array("Q"), array("I"), (array("Q"), array("Q"))
        self.sample = PairSample()
        self.fault: DataError | None = None  # the first line that cannot be read
        self.waiting: list[tuple[RawPairs, list[str], list[str]]] = []  # until the habits are known

    def chunks(self) -> Iterator[RawPairs]:
        """The pairs that can be read, some at a time; the other lines are noted."""
        chunk, size, read = RawPairs([], [], []), 0, 0
        for number, texts, fault in self.corpus.rows(strict=self.strict):
            if len(texts) == 1:
                self.notes.add("untranslated", number, shown(texts[0]))
                continue
            read += 1
            if fault is not None:
                self.note_fault(number, fault)
                continue
            for source, target in self.corpus.pairs_of(texts):
                chunk.numbers.append(number)
                chunk.sources.append(source)
                chunk.targets.append(target)
                size += len(source) + len(target)
            if len(chunk.numbers) >= CHUNK or size > CHUNK_TEXT:
                self.lines = (read, read)
                yield chunk
                chunk, size = RawPairs([], [], []), 0
        if not self.size_findings:
            self.lines = (read, read)
        if chunk.numbers:
            yield chunk

    def note_fault(self, number: int, fault: DataError) -> None:
        if isinstance(fault, UnequalLinesError):
            self.lines = fault.counts
            count, example = abs(fault.counts[0] - fault.counts[1]), f"{fault.counted}; {fault.where}"
            self.size_findings = [Finding("unequal_lines", self.notes.part, count, (fault.suspect,), example)]
        else:
            self.fault = self.fault or fault
            self.notes.add(FAULTS.get(fault.code, "bad_row"), number, f"{fault.where}: {fault.message}")

    def note(self, kind: str, chunk: RawPairs, place: int) -> None:
        example = f"{shown(chunk.sources[place])} ↔ {shown(chunk.targets[place])}"
        self.notes.add(kind, chunk.numbers[place], example)

    def add(self, chunk: RawPairs) -> None:
        """Take in a chunk that `chunks` gave."""
        sources = [*map(str.strip if self.pictures else tidy, chunk.sources)]
        targets = [*map(tidy, chunk.targets)]
        if self.texts is not None:
            self.texts.add(sources, targets)
        self.numbers.extend(chunk.numbers)
        self.hashes[0].extend(map(text_hash, sources))
        self.hashes[1].extend(map(text_hash, targets))
        self.waiting.append((chunk, sources, targets))
        if self.pictures:
            sources = [""] * len(targets)
        else:
            self.sample.add(chunk.numbers, sources, targets)
        self.lengths.extend(map(max, map(len, sources), map(len, targets)))
        for side, texts in enumerate((sources, targets)):
            self.characters[side] += sum(map(len, texts))
            self.words[side] += sum([text.count(" ") + 1 for text in texts if text])
        if self.profile or len(self.numbers) >= SAMPLE or sum(self.characters) > SAMPLE_TEXT:
            self.check()

    def check(self) -> None:
        """Check the pairs that wait, by the habits that they show themselves unless others are known."""
        if self.profile is None:
            left = [text for _, sources, _ in self.waiting for text in sources]
            right = [text for _, _, targets in self.waiting for text in targets]
            self.profile = Profile() if self.pictures else learn_profile(left, right)
        for chunk, sources, targets in self.waiting:
            noted = noted_pairs((chunk.sources, chunk.targets), (sources, targets), self.profile)
            for place, kinds in sorted(noted.items()):
                for kind in sorted(kinds):
                    self.note(kind, chunk, place)
            if not isinstance(self.corpus, PictureCorpus):
                odd = odd_pairs(sources, targets, self.profile)
            else:  # training stops at the pictures that it cannot read
                odd = {} if self.strict else picture_faults(self.corpus, sources)
                odd |= blank_pairs(sources, targets)
            for place in sorted(odd):
                self.note(odd[place], chunk, place)
        self.waiting = []

    def survey(self) -> Survey:
        """What the corpus is, now that all of it is read."""
        self.check()
        part, (source, target) = self.notes.part, self.lines
        if not source and not target:
            self.size_findings.append(Finding("empty", part, 0, (), self.corpus.shown[0]))
        elif part == "train" and source == target < FEW_PAIRS:
            self.size_findings.append(Finding("few", part, source))
        alignment = self.align()
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
            unit=self.corpus.form.unit,
            languages=self.corpus.form.languages,
            note=self.corpus.note,
            profile=self.profile or Profile(),
            alignment=alignment,
            texts=self.texts,
        )
        noted = [self.unread(one) for one in self.notes.findings()]
        return replace(found, findings=(*self.size_findings, *_order(found), *noted, *_repeats(found)))

    def unread(self, found: Finding) -> Finding:
        """Of a file in which no line is a pair: the finding that says how to read it."""
        if found.kind != "bad_row" or self.numbers or self.fault is None:
            return found
        return replace(found, kind="no_pairs", example=f"{found.example}. {self.fault.hint}")

    def align(self) -> Alignment:
        """Which lines belong together, read again where a shift begins or ends between the sampled lines."""
        found = judge(self.sample)
        if spans := self.sample.doubtful(found)[:MOST_SPANS]:
            again, sample = CorpusReader(self.corpus), PairSample(spans)
            for chunk in again.chunks():
                sample.add(chunk.numbers, [*map(tidy, chunk.sources)], [*map(tidy, chunk.targets)])
            found = judge(sample)
        return found


def picture_faults(corpus: PictureCorpus, names: Sequence[str]) -> dict[int, str]:
    """The places of pictures that are not there or cannot be read."""
    faults = {}
    for place, name in enumerate(names):
        try:
            path = locate(corpus.images, name)
            if path:
                read_picture(path, SMALL_PICTURE)
            else:
                faults[place] = "no_image"
        except DataError as error:
            faults[place] = "outside" if error.code == "outside" else "bad_image"
    return faults


def _order(part: Survey) -> Iterator[Finding]:
    """Lines out of step, and pairs that fit no better than by chance."""
    found, name = part.alignment, part.part
    if found.stretches:
        said = "; ".join(map(str, found.stretches[:3])) + "; …" * (len(found.stretches) > 3)
        example = f"{said}: {found.example}" if found.example else said
        lines = tuple(stretch.first for stretch in found.stretches[:FIRST_LINES])
        yield Finding("shifted", name, found.lines, lines, example, part.unit)
    if found.strangers:
        count = round(found.strangers * (part.usable - found.lines))
        share = f"about {found.strangers:.0%} of the pairs fit no better than pairs by chance"
        if found.ordered:
            yield Finding(
                "sorted", name, count, (), f"{share}, and the {found.ordered} is in alphabetical order"
            )
        else:
            kind = "unrelated" if found.strangers > HALF else "strangers"
            yield Finding(kind, name, count, found.worst, share, part.unit)


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
            example = f"{part.unit} {numbers[rows][0]} {verb} {part.unit} {numbers[first[rows][0]]}"
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
            there = f"{train.part} {train.unit} {in_train}"
            example = f"{part.part} {part.unit} {part.numbers[rows][0]} is {there}"
            yield _finding(kind, part, part.numbers[rows], example)


def _finding(kind: str, part: Survey, numbers: Hashes, example: str) -> Finding:
    return Finding(kind, part.part, len(numbers), tuple(numbers[:FIRST_LINES].tolist()), example, part.unit)


def _first_places(hashes: Hashes) -> NDArray[np.int64]:
    """For each entry, where its value stands first."""
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first[inverse]
