"""Sentence pairs from text files: two parallel files, TSV or JSONL, plain or gzip, or standard input.

Lines end at "\\n" and nowhere else, so that line n of one file always meets line n of the other.
"""

import atexit
import gzip
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from jumok.data.columns import Texts, line_reader, nul_error
from jumok.errors import ConfigError, DataError, nearest

Errors = Literal["strict", "replace"]
Pair = tuple[str, str]
Faults = dict[int, DataError]
"""What is wrong with lines, by their numbers."""

STDIN = "standard input"
BLOCK = 1 << 19
MAX_LINE = 1_000_000  # bytes; more than a block, so only a line that spans blocks can be too long
GZIP_FREE, GZIP_RATIO = 64 << 20, 200  # beyond the first bytes, how much a file may grow when unpacked


class CorpusRow(NamedTuple):
    """Line `number` of a corpus: its texts, or the fault for which it cannot be read."""

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
        row = None
        for row in self.rows():
            yield row.texts
        if row is None:
            raise self.empty()

    def empty(self) -> DataError:
        hint = "give files with one sentence per line"
        return DataError(f"{self.name} is empty", where=self.shown[0], hint=hint, code="empty")

    def rows(self, *, strict: bool = True) -> Iterator[CorpusRow]:
        """Every line in file order. A line that cannot be read ends it with an error; unless `strict`, it is
        a row with its fault, and the reading goes on. Nothing follows a line without a partner."""
        return self._parallel(strict=strict) if self.target else self._together(strict=strict)

    def fingerprint(self) -> str:
        """SHA-256 over the bytes of the files, and over the columns that are read."""
        digest = hashlib.sha256(self.columns.encode())
        for path in filter(None, (self.source, self.target)):
            digest.update(b"\0")  # a line moved from one file to the other is a change
            with open_bytes(path) as file:
                for block in _blocks(file, path):
                    digest.update(block)
        return digest.hexdigest()

    def _lines(self, side: int, faults: Faults | None) -> Iterator[str]:
        return _read_file((self.source, self.target)[side], self.shown[side], self.encoding_errors, faults)

    def _together(self, *, strict: bool) -> Iterator[CorpusRow]:
        read, faults = line_reader(kind_of(self.source), self.columns), None if strict else Faults()
        for number, line in enumerate(self._lines(0, faults), start=1):
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
        return UnequalLinesError(self.shown, (len(left), len(right)), suspect)


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
            hint="give the target file too, or a file that ends in .tsv or .jsonl (or .tsv.gz, .jsonl.gz)",
            code="no_target",
        )
    if columns:
        line_reader(kind_of(source_path), columns)  # names that cannot work are found now
    return Corpus(source_path, target_path, encoding_errors, (source_name, target_name), columns)


def read_lines(path: str | Path, *, encoding_errors: Errors = "strict") -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; "-" is standard input, `.gz` is unpacked."""
    return _read_file(str(path), STDIN if str(path) == "-" else str(path), encoding_errors)


def kind_of(path: str) -> str:
    """How a file with both sides is written, by its name: ".tsv", ".jsonl" or "" for neither."""
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    return {".tsv": ".tsv", ".jsonl": ".jsonl", ".ndjson": ".jsonl"}.get(suffix, "")


def _settle(path: str, *, both_sides: bool) -> Pair:
    """A path that can be read again, and what to call it if it is only a copy of what came through a pipe."""
    with open_bytes(path) as file:
        if path != "-" and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return path, ""
        head = file.read(1)
        kind = kind_of(path) or (".jsonl" if head == b"{" else ".tsv") if both_sides else ""
        ending = kind + (".gz" if path.endswith(".gz") else "")
        handle, copy = tempfile.mkstemp(prefix="jumok-", suffix=ending)
        atexit.register(_forget, copy)
        with os.fdopen(handle, "wb") as spool:
            spool.write(head)
            shutil.copyfileobj(file, spool, BLOCK)
    return copy, STDIN if path == "-" else path


def _forget(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _read_file(path: str, name: str, errors: Errors, faults: Faults | None = None) -> Iterator[str]:
    """The file's lines, unpacked by its name; from a pipe what there is, without waiting for a full block."""
    with open_bytes(path) as file:
        blocks = _unpacked(file, name) if path.endswith(".gz") else _blocks(file, name)
        yield from _decoded(blocks, name, errors, faults)


def _blocks(file: BufferedReader, name: str) -> Iterator[bytes]:
    try:
        yield from iter(lambda: file.read1(BLOCK), b"")
    except OSError as error:
        raise _unreadable(error, name) from None


def _unreadable(error: OSError, where: str) -> DataError:
    """A file that can be found and not be read."""
    reason = (error.strerror or "unknown reason").lower()
    hint = "check who may read it: ls -l" if isinstance(error, PermissionError) else "give a text file"
    return DataError(f"cannot read the file: {reason}", where=where, hint=hint, code="unreadable")


@contextmanager
def open_bytes(path: str) -> Iterator[BufferedReader]:
    """The bytes of a file or of standard input, or an error that says what stands at that path."""
    if path == "-":
        yield cast(BufferedReader, sys.stdin.buffer)
        return
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise DataError("a folder, not a file", where=path, hint=_inside(path), code="is_folder")
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            what = "a socket" if stat.S_ISSOCK(mode) else "a device"
            raise DataError(f"{what}, not a file", where=path, hint="give a text file", code="not_a_file")
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise DataError("no such file", where=path, hint=_neighbour(path), code="no_file") from None
    except OSError as error:
        raise _unreadable(error, path) from None
    with file:
        yield file


def _inside(path: str) -> str:
    try:
        files = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
    except OSError:
        files = []
    return f"name a file in it: {', '.join(files[:5])}" if files else "name a file"


def _neighbour(path: str) -> str:
    folder = Path(path).parent
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return f"there is no folder {folder} either"
    hint = nearest(Path(path).name, names)
    return hint if hint.startswith("did you mean") else "check the path"


def _unpacked(file: BufferedReader, name: str) -> Iterator[bytes]:
    """Blocks of the unpacked bytes; refuses a file that is damaged, cut short, or grows without measure."""
    size, unpacked = 0, gzip.GzipFile(fileobj=file)
    limit = max(GZIP_FREE, GZIP_RATIO * os.fstat(file.fileno()).st_size)
    try:
        while block := unpacked.read(BLOCK):
            size += len(block)
            if size > limit and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError(
                    f"unpacks to more than {limit >> 20:,} MiB, over {GZIP_RATIO} times its size",
                    where=name,
                    hint="no text shrinks that much; if this one does, unpack it yourself",
                    code="gzip_bomb",
                )
            yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "the gzip file is cut short" if isinstance(error, EOFError) else "not a sound gzip file"
        raise DataError(
            what, where=f"{name}, after {size:,} unpacked bytes", hint="copy it again", code="bad_gzip"
        ) from None
    except OSError as error:
        raise _unreadable(error, name) from None


def _decoded(
    blocks: Iterator[bytes], name: str, errors: Errors, faults: Faults | None = None
) -> Iterator[str]:
    """The lines in a stream of bytes."""
    number, rest, start = 0, b"", True
    for block in blocks:
        if start:
            _check_head(block, name)
            block, start = block.removeprefix(b"\xef\xbb\xbf"), False
        whole, newline, tail = block.rpartition(b"\n")
        if not newline:
            rest += block
            _check_line(len(rest), name, number)
            continue
        whole = rest + whole
        _check_line(whole.find(b"\n") if b"\n" in whole else len(whole), name, number)
        lines = _decode(whole, name, number, errors, faults)
        yield from lines
        number, rest = number + len(lines), tail
    if rest:
        yield from _decode(rest, name, number, errors, faults)


def _decode(data: bytes, name: str, number: int, errors: Errors, faults: Faults | None) -> list[str]:
    """The lines in `data`, which follows line `number` and does not end in a line break.

    What is not text is an error; given `faults`, it is noted there, and a NUL is left to other checks.
    """
    if faults is None and b"\0" in data:
        line = number + data.count(b"\n", 0, data.index(b"\0")) + 1
        raise nul_error(f"{name}:{line}")
    try:
        text = data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        if faults is not None and b"\n" in data:
            single = enumerate(data.split(b"\n"), start=number)
            return [_decode(line, name, before, errors, faults)[0] for before, line in single]
        line = number + data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        fault = _not_utf8(data[error.start], f"{name}:{line}:{byte}")
        if faults is None:
            raise fault from None
        faults[line] = fault
        text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _not_utf8(byte: int, where: str) -> DataError:
    return DataError(
        f"byte 0x{byte:02X} is not UTF-8",
        where=where,
        hint="convert the file to UTF-8; or read on past such bytes: --errors replace, and in training "
        "--set data.encoding_errors=replace",
        code="bad_utf8",
    )


def _check_line(length: int, name: str, number: int) -> None:
    if length > MAX_LINE:
        raise DataError(
            f"the line has more than {MAX_LINE:,} bytes",
            where=f"{name}:{number + 1}",
            hint="one sentence stands on one line; is this a text file with line breaks?",
            code="line_too_long",
        )


def _check_head(block: bytes, name: str) -> None:
    """Name the usual reasons why a file is not UTF-8 from its first line on."""
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = "convert it: iconv -f UTF-16 -t UTF-8"
        raise DataError("the file is UTF-16, not UTF-8", where=f"{name}:1:1", hint=hint, code="bad_utf8")
    if block.startswith(b"\x1f\x8b"):
        hint = "give it a name that ends in .gz"
        raise DataError("the file is packed with gzip", where=f"{name}:1:1", hint=hint, code="bad_utf8")
