"""Plain text: paragraphs with blank lines between them; line breaks and indentation stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from jumok.formats.encoding import Encoding, encoded_lines
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Hole, Piece, SplicedFormat

LONGEST = 100_000
"""Characters of a paragraph; a file without blank lines is cut at a line's end when it has so many."""


@dataclass(frozen=True)
class PlainFormat(SplicedFormat):
    """Paragraphs of a text file. What the translator makes of a paragraph is laid out as it was."""

    name: ClassVar[str] = "txt"
    suffixes: ClassVar[tuple[str, ...]] = (".txt",)

    def pieces(self, path: Path) -> Iterator[Piece]:
        """Paragraphs as holes, and what stands between them."""
        encoding, lines = encoded_lines(path)
        yield encoding.mark
        paragraph, length, first = list[str](), 0, 1
        for number, line in enumerate(lines, start=1):
            if paragraph and (not line.strip() or length > LONGEST):
                yield hole("".join(paragraph), first, encoding)
                paragraph, length = [], 0
            if not line.strip():
                yield encoding.encode(line)
                continue
            if not paragraph:
                first = number
            paragraph.append(line)
            length += len(line)
        if paragraph:
            yield hole("".join(paragraph), first, encoding)


def hole(paragraph: str, line: int, encoding: Encoding) -> Hole:
    """A paragraph that can be another; the end of its last line stays outside of the text."""
    text = paragraph.rstrip("\r\n")
    end = paragraph[len(text) :]
    segment = Segment(MarkedText(text), f"line {line}")
    return Hole(segment, encoding.encode(paragraph), lambda answer: encoding.encode(answer.text + end))
