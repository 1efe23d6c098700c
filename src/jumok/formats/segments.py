"""What a document is made of: segments of text, with inline markup that is no text.

Every format reads and writes these, and nothing else of a document reaches a model. Markup is opaque: only
the format that made a tag knows what it stands for. Places are characters of the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol


@dataclass(frozen=True, slots=True)
class Tag:
    """Markup from character `begin` to `end`, such as a bold run, or at a point if they are equal.

    `open` and `close` are what the format writes on both sides; at a point, `open` alone.
    """

    begin: int
    end: int
    open: str
    close: str = ""
    keep: bool = False
    """What stands inside is not translated: code, a formula, `translate="no"`."""

    @property
    def is_point(self) -> bool:
        """A line break, a picture, a footnote's mark: it has no text inside."""
        return not self.close


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Plain text and its tags: outer before inner, in the order in which they begin.

    Tags are nested or apart, never across one another. What stands where a tag ends stands behind it: a line
    break that is the last thing inside a tag belongs to its `close`.
    """

    text: str
    tags: tuple[Tag, ...] = ()
    confidence: float | None = None
    """Of a translation: the share of its words that a person would keep, where a model has said so."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a document that is translated as one text: a paragraph, a cell, a catalogue's entry."""

    source: MarkedText
    where: str
    """Where it stands, for people: `line 12`, `slide 3`, `messages.greeting`."""
    target: MarkedText | None = None
    """The translation that the document has already; it is left alone unless all is translated anew."""
    sentences: bool = True
    """Whether it is running text, to be split into sentences; a title or a button is one."""


@dataclass(frozen=True, slots=True)
class Languages:
    """From which language into which, for formats that say so in the file; "" is unknown."""

    source: str = ""
    target: str = ""


class DocumentFormat(Protocol):
    """How one kind of file is read and written. Both walk the file in one order and in bounded memory.

    It is made with the `Languages` of the model: `HtmlFormat(languages)`.
    """

    name: str
    suffixes: tuple[str, ...]

    def read(self, path: Path) -> Iterator[Segment]:
        """The segments of a file, in its order. DataError: the file is broken, with the place."""
        ...

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """Write the file at `path` to `out` with an answer for each segment; None leaves it as it was."""
        ...
