"""Sentence pairs from files: two parallel ones, or one with both sides in any of many forms; packed or not.

Lines end at "\\n" and nowhere else, so that line n of one file always meets line n of the other.
"""

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jumok.data.columns import Texts, line_reader, object_reader
from jumok.data.forms import UNITS, CorpusForm, Pair, corpus_blocks, kind_of, read_units, tell_form
from jumok.errors import ConfigError, DataError
from jumok.formats import lines
from jumok.formats.files import BLOCK, STDIN, open_bytes, raw_blocks, split_packing
from jumok.formats.lines import Errors, Faults, lines_of


class CorpusRow(NamedTuple):
    """Line (or row, or unit) `number` of a corpus: its texts, or the fault for which it cannot be read.

    A single text is a source that nobody has translated yet.
    """

    number: int
    texts: Texts
    fault: DataError | None = None


class UnequalLinesError(DataError):
    """Parallel files of different lengths; line `suspect` of the longer one seems to lack a partner first."""

    def __init__(self, names: Pair, counts: tuple[int, int], suspect: int) -> None:
        self.counts, self.suspect = counts, suspect
        self.counted = f"{names[0]} has {counts[0]:,} lines and {names[1]} has {counts[1]:,}"
        super().__init__(
            f"{self.counted}: line n of one must translate line n of the other",
            where=f"{names[counts[1] > counts[0]]}:{suspect}: the first line that seems to have no partner",
            hint="look there for a line break inside a sentence, a missing line or a file that was cut off",
            code="unequal_lines",
        )


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs in files; made by `open_corpus`. Without `target`, `source` holds both sides."""

    source: str
    target: str = ""
    encoding_errors: Errors = "strict"
    names: Pair = ("", "")
    """What messages call the files, where that differs from their paths."""
    columns: str = ""
    """Which columns or keys of a file with both sides to read; "" for the usual two."""

    @cached_property
    def form(self) -> CorpusForm:
        """How the files are read, told from their beginning."""
        if self.target:
            return CorpusForm()
        return tell_form(self.source, self.shown[0], self.columns, self.encoding_errors)

    @property
    def note(self) -> str:
        """One line about what was taken for what; "" where there was no choice."""
        file, form = Path(self.shown[0]).name, self.form
        if form.header:
            return f"{file}:1 names the columns ({', '.join(form.header)}) and is left out"
        if form.members:
            return f"{file}: {' ↔ '.join(form.members)}"
        return f"{file}: {' → '.join(form.columns.split(','))}" if form.columns != self.columns else ""

    @property
    def name(self) -> str:
        """The corpus in a few words, for people."""
        return " + ".join(Path(shown).name for shown in self.shown if shown)

    @property
    def shown(self) -> Pair:
        """What to call the two files; the second is "" when one holds both sides."""
        return self.names[0] or self.source, self.names[1] or self.target

    def pairs(self) -> Iterator[Pair]:
        """The raw pairs in file order; may be called again. An empty corpus is an error."""
        return (pair for texts in self.texts() for pair in self.pairs_of(texts))

    def pairs_of(self, texts: Texts) -> Sequence[Pair]:
        """The pairs that one line stands for."""
        return ((texts[0], texts[1]),)

    def texts(self) -> Iterator[Texts]:
        """The same with further references, where `columns` names some: a source and what answers it."""
        read = 0
        for row in self.rows():
            if len(row.texts) > 1:
                read += 1
                yield row.texts
        if not read:
            raise self.empty()

    def empty(self) -> DataError:
        hint = "give files with one sentence per line"
        return DataError(f"{self.name} is empty", where=self.shown[0], hint=hint, code="empty")

    def rows(self, *, strict: bool = True) -> Iterator[CorpusRow]:
        """Every line in file order. A line that cannot be read ends it with an error; unless `strict`, it is
        a row with its fault, and the reading goes on. Nothing follows a line without a partner."""
        if not self.form.kind:
            return self._parallel(strict=strict)
        return self._together(strict=strict) if self.form.unit == "line" else self._units(strict=strict)

    def fingerprint(self) -> str:
        """SHA-256 over the bytes of the files, and over the columns that are read."""
        digest = hashlib.sha256(self.columns.encode())
        for path in filter(None, (self.source, self.target)):
            digest.update(b"\0")  # a line moved from one file to the other is a change
            with open_bytes(path) as file:
                for block in raw_blocks(file, path):
                    digest.update(block)
        return digest.hexdigest()

    def _lines(self, side: int, faults: Faults | None) -> Iterator[str]:
        members, name = self.form.members, self._name(side)
        path = self.source if members else (self.source, self.target)[side]
        with corpus_blocks(path, name, members[side] if members else "") as blocks:
            yield from lines_of(blocks, name, self.encoding_errors, faults)

    def _name(self, side: int) -> str:
        """What messages call the file of a side, or the one inside an archive."""
        members = self.form.members
        return f"{self.shown[0]}/{members[side]}" if members else self.shown[side]

    def _together(self, *, strict: bool) -> Iterator[CorpusRow]:
        form = self.form
        read, faults = line_reader(form.kind, form.columns), None if strict else Faults()
        for number, line in enumerate(self._lines(0, faults), start=1):
            if number == 1 and form.header:
                continue
            texts: Texts = ()
            fault = faults.pop(number, None) if faults else None
            if fault is None:
                try:
                    texts = read(line, f"{self.shown[0]}:{number}")
                except DataError as error:
                    if strict:
                        raise
                    fault = error
            yield CorpusRow(number, texts, fault)

    def _units(self, *, strict: bool) -> Iterator[CorpusRow]:
        """A unit that is broken is one row; where the file itself is, it is the last."""
        form, faults, name = self.form, None if strict else Faults(), self._name(0)
        read = object_reader(form.columns)
        with closing(read_units(self.source, name, form, self.encoding_errors, faults)) as units:
            number = 0
            while True:
                try:
                    unit = next(units, None)
                except DataError as error:
                    if strict:
                        raise
                    yield CorpusRow(number + 1, (), error)
                    return
                if unit is None:
                    return
                number, texts, fault = unit
                sides: Texts = ()
                if fault is None:
                    try:
                        sides = _translated(read(texts, f"{name}, {form.unit} {number}"))
                    except DataError as error:
                        fault = error
                if fault is not None and strict:
                    raise fault
                yield CorpusRow(number, sides, fault)

    def _parallel(self, *, strict: bool) -> Iterator[CorpusRow]:
        faults = None if strict else Faults()
        both = zip_longest(self._lines(0, faults), self._lines(1, faults))
        for number, (source, target) in enumerate(both, start=1):
            if source is None or target is None:
                if strict:
                    raise self._unequal()
                yield CorpusRow(number, (), self._unequal())
                return
            fault = faults.pop(number, None) if faults else None
            yield CorpusRow(number, () if fault else (source, target), fault)

    def _unequal(self) -> UnequalLinesError:
        left, right = (np.fromiter(map(len, self._lines(side, Faults())), dtype=np.int32) for side in (0, 1))
        suspect = first_shift(*((left, right) if len(left) > len(right) else (right, left))) + 1
        return UnequalLinesError((self._name(0), self._name(1)), (len(left), len(right)), suspect)


def _translated(texts: Texts) -> Texts:
    """The texts of a unit, or only the source where nothing answers it."""
    return texts if any(text.strip() for text in texts[1:]) or not texts[0].strip() else texts[:1]


def first_shift(longer: NDArray[np.int32], shorter: NDArray[np.int32]) -> int:
    """Where, going by the lengths of the lines, the surplus lines of the longer file begin (from 0).

    Before line k partners have the same number, from k on they are shifted by the surplus. The k of least
    cost is taken; the cost of a pair is how far its length ratio is from the usual one.
    """
    count, surplus = len(shorter), len(longer) - len(shorter)
    long_logs, short_logs = np.log(longer + 5.0), np.log(shorter + 5.0)
    straight, shifted = long_logs[:count] - short_logs, long_logs[surplus:] - short_logs
    usual = float(np.median(np.concatenate((straight, shifted)))) if count else 0.0
    before = np.concatenate(([0.0], np.cumsum(np.abs(straight - usual))))
    after = np.concatenate((np.cumsum(np.abs(shifted - usual)[::-1])[::-1], [0.0]))
    return count - int(np.argmin((before + after)[::-1]))  # of equal costs the last: a file that was cut off


def nothing_left(read: int, left_out: Mapping[str, int], max_length: int) -> DataError:
    """The error of a corpus of which nothing can be used."""
    blank, long = left_out["blank"], left_out["too_long"]
    reasons = f"{blank:,} have a blank side, {long:,} have more than {max_length} tokens on one"
    return DataError(
        f"no pair is left of {read:,}: {reasons}" if read else "the corpus has no pairs",
        hint="raise data.max_length" if long else "give files with one sentence per line",
        code="empty",
    )


def open_corpus(
    source: str, target: str = "", *, encoding_errors: Errors = "strict", columns: str = ""
) -> Corpus:
    """The corpus in these files. What comes through a pipe is copied to a temporary file first."""
    if target and columns:
        raise ConfigError(
            "columns are those of one file with both sides, and two files are given",
            hint="leave out the target file, or --columns",
        )
    if source == target == "-":
        raise ConfigError(
            "standard input cannot be both the source and the target",
            hint='give one side as a file, or both sides as TSV on standard input with the source "-" alone',
        )
    source_path, source_name = _settle(source, both_sides=not target)
    target_path, target_name = _settle(target, both_sides=False) if target else ("", "")
    if not target and not kind_of(source_path):
        raise ConfigError(
            f"{source} is one file, and its name does not say how it holds both sides",
            hint=f"give the target file too, or a file that ends in {', '.join(UNITS)} "
            "(those of text also with .gz, .bz2, .xz or .zst behind it)",
            code="no_target",
        )
    corpus = Corpus(source_path, target_path, encoding_errors, (source_name, target_name), columns)
    _ = corpus.form  # what cannot work is found now
    return corpus


def read_lines(path: str | Path, *, encoding_errors: Errors = "strict") -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; "-" is standard input, what is packed is unpacked."""
    return lines.read_lines(str(path), encoding_errors=encoding_errors)


def _settle(path: str, *, both_sides: bool) -> Pair:
    """A path that can be read again, and what to call it if it is only a copy of what came through a pipe."""
    with open_bytes(path) as file:
        if path != "-" and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return path, ""
        head = file.read(1)
        kind = kind_of(path) or (".jsonl" if head == b"{" else ".tsv") if both_sides else ""
        ending = kind + split_packing(path)[1]
        handle, copy = tempfile.mkstemp(prefix="jumok-", suffix=ending)
        atexit.register(_forget, copy)
        with os.fdopen(handle, "wb") as spool:
            spool.write(head)
            shutil.copyfileobj(file, spool, BLOCK)
    return copy, STDIN if path == "-" else path


def _forget(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
