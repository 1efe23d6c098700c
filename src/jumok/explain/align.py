"""Alignments as text that other tools read: Pharaoh's links, and the soft form of Nematus.

Axis letters: T target words, S source words.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jumok.errors import DataError

THRESHOLD = 0.1
BAR = " ||| "


@dataclass(frozen=True)
class Link:
    """A target word and the source word it looked at most."""

    source: int
    target: int
    weight: float


def links(weights: ArrayLike, *, threshold: float = THRESHOLD, end: bool = True) -> list[Link]:
    """Hard links from weights (T, S) between words: each target word to the source word with the largest.

    A word has no link if that weight is below the threshold. With `end`, the last row and the last column are
    the ends of the sentences: the end gets no link, and a word that looked at the end most has none. Of equal
    weights the first counts.
    """
    table = np.asarray(weights, dtype=np.float64)
    rows = table[:-1] if end else table
    if not rows.size:
        return []
    best, last = rows.argmax(axis=1), table.shape[1] - 1
    found = [Link(int(s), t, float(rows[t, s])) for t, s in enumerate(best)]
    return [link for link in found if link.weight >= threshold and not (end and link.source == last)]


def pharaoh(found: Iterable[Link]) -> str:
    """Links in Pharaoh's form: `0-0 3-1 2-3`, source before target, words counted from 0."""
    return " ".join(f"{link.source}-{link.target}" for link in found)


def parse_pharaoh(line: str) -> list[tuple[int, int]]:
    """The (source, target) pairs of one line in Pharaoh's form."""
    pairs = []
    for part in line.split():
        if not (match := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", part)):
            raise DataError(f"{part!r} is no link", hint="a link is source-target, such as 0-2")
        pairs.append((int(match[1]), int(match[2])))
    return pairs


@dataclass(frozen=True)
class SoftAlignment:
    """One sentence pair in the form of Nematus; weights have a row and a column for the ends of both."""

    number: int
    target: tuple[str, ...]
    score: float
    source: tuple[str, ...]
    weights: NDArray[np.float32]  # (T + 1, S + 1)


def nematus(found: SoftAlignment) -> str:
    """The text form of `nematus translate --output_alignment`, with the blank line that ends it.

        number ||| target words ||| score ||| source words ||| S+1 T+1
        T+1 lines of S+1 weights

    White space, `|` and `&` inside a word become character references, as in the tokenizers of Moses.
    """
    target, source = (" ".join(map(escape, words)) for words in (found.target, found.source))
    rows, columns = found.weights.shape
    assert (rows, columns) == (len(found.target) + 1, len(found.source) + 1)
    head = BAR.join((str(found.number), target, repr(float(found.score)), source, f"{columns} {rows}"))
    return "\n".join((head, *(" ".join(f"{w:.9g}" for w in row) for row in found.weights), "", ""))


def parse_nematus(text: str) -> Iterator[SoftAlignment]:
    """The sentence pairs in a text in the form of Nematus; blank lines between them do not matter."""
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    at = 0
    while at < len(lines):
        number, head = lines[at]
        try:
            name, target, score, source, sizes = head.split(BAR.rstrip())
            columns, rows = map(int, sizes.split())
            table = [[float(w) for w in line.split()] for _, line in lines[at + 1 : at + 1 + rows]]
            weights = np.array(table, dtype=np.float32)
            found = SoftAlignment(int(name), words(target), float(score), words(source), weights)
            if weights.shape != (rows, columns) or (rows, columns) != (
                len(found.target) + 1,
                len(found.source) + 1,
            ):
                raise ValueError(f"the weights are not {rows} x {columns}, one more than the words")
        except ValueError as error:
            raise DataError(
                f"not a soft alignment: {error}",
                where=f"line {number}",
                hint="expected: number ||| target ||| score ||| source ||| columns rows, then the weights",
            ) from None
        yield found
        at += 1 + rows


def escape(word: str) -> str:
    return re.sub(r"[&|\s]", lambda found: f"&#{ord(found[0])};", word)


def words(text: str) -> tuple[str, ...]:
    """Words that were written with `escape` between spaces."""
    parts: Sequence[str] = text.strip(" ").split(" ") if text.strip(" ") else ()
    return tuple(re.sub(r"&#([0-9]{1,7});", unescape, part) for part in parts)


def unescape(found: re.Match[str]) -> str:
    code = int(found[1])
    return chr(code) if code <= 0x10FFFF else found[0]
