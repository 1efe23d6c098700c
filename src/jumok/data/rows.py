"""The rows of a corpus as they are, faults included: nothing here stops at a bad line."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jumok.data.columns import line_reader
from jumok.data.corpus import (
    Corpus,
    blocks_of,
    check_head,
    check_line,
    kind_of,
    open_bytes,
)
from jumok.errors import DataError

Form = Literal["lines", "tsv", "jsonl"]
PROBLEMS = {"nul_byte": "nul", "bad_unicode": "bad_encoding"}  # a corpus error's code -> kind of finding


@dataclass(frozen=True, slots=True)
class Row:
    """Line `number` of a corpus; a `problem` (a kind of finding) and its `note` when it cannot be read."""

    number: int
    source: str = ""
    target: str = ""
    has_source: bool = True
    has_target: bool = True
    problem: str = ""
    note: str = ""

    @property
    def is_pair(self) -> bool:
        """Whether both sides are there and could be read."""
        return not self.problem and self.has_source and self.has_target


def read_rows(corpus: Corpus) -> Iterator[Row]:
    """Every row in file order, to the end of the longer file."""
    if corpus.target:
        return _parallel_rows(corpus)
    return _joint_rows(corpus)


def form_of(corpus: Corpus) -> Form:
    """How the corpus is written down."""
    if corpus.target:
        return "lines"
    return "jsonl" if kind_of(corpus.source) == ".jsonl" else "tsv"


def names_of(corpus: Corpus) -> tuple[str, str]:
    """What to call the two files; the second is "" when one holds both sides."""
    return corpus.names[0] or corpus.source, corpus.names[1] or corpus.target


def line_lengths(corpus: Corpus, side: int) -> NDArray[np.int32]:
    """Characters of every line of one of two files."""
    lines = raw_lines((corpus.source, corpus.target)[side], names_of(corpus)[side])
    return np.fromiter((len(line.decode("utf-8", "replace")) for line in lines), np.int32)


def raw_lines(path: str, name: str) -> Iterator[bytes]:
    """The lines of a file before decoding, split at newlines only, without the marks of other systems."""
    number, rest, start = 0, b"", True
    with open_bytes(path) as file:
        blocks = blocks_of(file, path, name)
        for block in blocks:
            if start:
                check_head(block, name)
                block, start = block.removeprefix(b"\xef\xbb\xbf"), False
            *lines, rest = (rest + block).split(b"\n")
            yield from (line.removesuffix(b"\r") for line in lines)
            number += len(lines)
            check_line(len(rest), name, number)
        if rest:
            yield rest.removesuffix(b"\r")


def _parallel_rows(corpus: Corpus) -> Iterator[Row]:
    names = names_of(corpus)
    both = zip_longest(raw_lines(corpus.source, names[0]), raw_lines(corpus.target, names[1]))
    for number, (raw_source, raw_target) in enumerate(both, start=1):
        source, source_fault = _decoded(raw_source or b"")
        target, target_fault = _decoded(raw_target or b"")
        faults = [
            f"{name}:{number}:{fault}"
            for name, fault in ((names[0], source_fault), (names[1], target_fault))
            if fault
        ]
        yield Row(
            number,
            source,
            target,
            has_source=raw_source is not None,
            has_target=raw_target is not None,
            problem="bad_encoding" if faults else "",
            note=" and ".join(faults),
        )


def _joint_rows(corpus: Corpus) -> Iterator[Row]:
    name = names_of(corpus)[0]
    read = line_reader(kind_of(corpus.source), corpus.columns)
    for number, raw in enumerate(raw_lines(corpus.source, name), start=1):
        text, fault = _decoded(raw)
        if fault:
            yield Row(number, problem="bad_encoding", note=f"{name}:{number}:{fault}")
            continue
        try:
            source, target, *_ = read(text, f"{name}:{number}")
        except DataError as error:
            yield Row(
                number, problem=PROBLEMS.get(error.code, "bad_row"), note=f"{error.where}: {error.message}"
            )
        else:
            yield Row(number, source, target)


def _decoded(raw: bytes) -> tuple[str, str]:
    """The text of a line, and the first byte that is not UTF-8, if any, counted from 1."""
    try:
        return raw.decode(), ""
    except UnicodeDecodeError as error:
        return raw.decode("utf-8", "replace"), f"{error.start + 1}: byte 0x{raw[error.start]:02X}"
