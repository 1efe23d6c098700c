"""Files that are written anew only where they are translated: all other bytes are those of the input.

A format that can say where its text stands gives its file as a series of pieces, bytes and holes; reading and
writing are then the same walk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.segments import Languages, MarkedText, Segment


@dataclass(frozen=True, slots=True)
class Hole:
    """A place of a file that a translation goes into."""

    segment: Segment
    raw: bytes
    """What stands there now."""
    fill: Callable[[MarkedText], bytes]
    """What stands there with an answer."""


@dataclass(frozen=True, slots=True)
class Holes:
    """A place of a file that several translations go into: a text, and the attributes of markup inside it."""

    segments: tuple[Segment, ...]
    raw: bytes
    fill: Callable[[Sequence[MarkedText | None]], bytes]
    """What stands there with an answer for each segment."""


Piece = bytes | Hole | Holes


@dataclass(frozen=True)
class SplicedFormat(ABC):
    """A format whose files are a series of pieces. One who keeps them reads a file once."""

    languages: Languages = Languages()
    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def pieces(self, path: Path) -> Iterator[Piece]:
        """Texts as holes; everything else is as it was. DataError: the file is broken, with the place."""

    def read(self, path: Path) -> Iterator[Segment]:
        """The segments of a file, in its order."""
        return segments_of(self.pieces(path))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The file with an answer for each segment; None leaves it as it was."""
        write_pieces(self.pieces(path), out, answers)


def segments_of(pieces: Iterable[Piece]) -> Iterator[Segment]:
    """The segments of a file."""
    for piece in pieces:
        if isinstance(piece, Hole):
            yield piece.segment
        elif isinstance(piece, Holes):
            yield from piece.segments


def write_pieces(pieces: Iterable[Piece], out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
    """The file with an answer for each of its segments; None leaves it as it was."""
    for piece in pieces:
        match piece:
            case Hole():
                answer = next_answer(answers, piece.segment)
                out.write(piece.raw if answer is None else piece.fill(answer))
            case Holes():
                several = [next_answer(answers, segment) for segment in piece.segments]
                out.write(piece.raw if several.count(None) == len(several) else piece.fill(several))
            case _:
                out.write(piece)
    no_more_answers(answers)


def next_answer(answers: Iterator[MarkedText | None], segment: Segment) -> MarkedText | None:
    """The answer for a segment; an error if they have come to an end."""
    try:
        return next(answers)
    except StopIteration:
        raise DataError(
            f"there is no answer for the segment at {segment.where}",
            hint="the file has more segments than when it was read: translate it again",
            code="changed",
        ) from None


def no_more_answers(answers: Iterator[MarkedText | None]) -> None:
    """An error if there are answers that no segment has taken."""
    if next(answers, answers) is not answers:
        raise DataError(
            "there are more answers than segments",
            hint="the file has fewer segments than when it was read: translate it again",
            code="changed",
        )
