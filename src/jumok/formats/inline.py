"""Inline markup as a format meets it, built up to a MarkedText; and a MarkedText written out again."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from jumok.formats.segments import MarkedText, Tag


@dataclass(slots=True)
class OpenTag:
    """A tag whose end has not come yet."""

    begin: int
    place: int
    """Where it stands among the tags."""
    open: str
    keep: bool


@dataclass(slots=True)
class MarkupBuilder:
    """Text and markup in the order of a file, until `build` makes one MarkedText of them.

    Markup without text inside is one point, whatever it is made of; points at the end of a tag become part of
    its `close`, so that they stay there. A tag that is never closed, or closed without having been opened, is
    a point as well: what a format opens and closes comes out as often as it went in.
    """

    text: list[str] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)
    waiting: list[OpenTag] = field(default_factory=list)
    length: int = 0

    def add(self, text: str) -> None:
        """Plain text, entities resolved."""
        self.text.append(text)
        self.length += len(text)

    def point(self, raw: str) -> None:
        """Markup without text inside."""
        self.tags.append(Tag(self.length, self.length, raw))

    def lengthen_point(self, raw: str) -> bool:
        """Markup that belongs to the point which stands here, such as a space behind a picture, if any."""
        last = len(self.tags) - 1
        if last < 0 or not self.tags[last].is_point or not self._stands_here(last):
            return False
        self.tags[last] = replace(self.tags[last], open=self.tags[last].open + raw)
        return True

    def open(self, raw: str, *, keep: bool = False) -> None:
        """A tag begins here."""
        self.waiting.append(OpenTag(self.length, len(self.tags), raw, keep))
        self.tags.append(Tag(self.length, self.length, raw))

    def close(self, raw: str) -> None:
        """The innermost open tag ends here."""
        if not self.waiting:
            return self.point(raw)
        begun = self.waiting.pop()
        last = len(self.tags)
        while last > begun.place + 1 and self.tags[last - 1].is_point and self._stands_here(last - 1):
            last -= 1
        raw = "".join(tag.open for tag in self.tags[last:]) + raw
        del self.tags[last:]
        if begun.begin == self.length:
            self.tags[begun.place] = Tag(self.length, self.length, begun.open + raw)
        else:
            self.tags[begun.place] = Tag(begun.begin, self.length, begun.open, raw, begun.keep)

    def abandon(self) -> None:
        """The innermost open tag has no end: it is a point."""
        self.waiting.pop()

    def _stands_here(self, number: int) -> bool:
        """Whether a point stands at the end of the text; one that waits for its end does not."""
        return self.tags[number].begin == self.length and all(one.place != number for one in self.waiting)

    def build(self) -> MarkedText:
        """The text with its tags."""
        return MarkedText("".join(self.text), tuple(self.tags))


def render(
    marked: MarkedText, escape: Callable[[str], str] = str, kept: Callable[[str], str] | None = None
) -> str:
    """Text and markup as one string; `escape` writes plain text as the format does.

    `kept` writes the text inside tags that keep it, where that is another way: code in Markdown.
    """
    written: list[str] = []
    waiting: list[Tag] = []
    place = 0

    def write(to: int) -> None:
        nonlocal place
        form = kept if kept and any(tag.keep for tag in waiting) else escape
        written.append(form(marked.text[place:to]))
        place = to

    def advance(to: int) -> None:
        while waiting and waiting[-1].end <= to:
            write(waiting[-1].end)
            written.append(waiting.pop().close)
        write(to)

    for tag in marked.tags:
        advance(tag.begin)
        written.append(tag.open)
        if not tag.is_point:
            waiting.append(tag)
    advance(len(marked.text))
    return "".join(written)


def stripped(marked: MarkedText) -> tuple[str, MarkedText, str]:
    """A text without the white space at its ends, and that white space; no tag reaches into it."""
    text = marked.text
    before = text[: len(text) - len(text.lstrip())]
    inner = text.strip()
    first, last = len(before), len(before) + len(inner)

    def inside(place: int) -> int:
        return min(max(place, first), last) - first

    moved = (replace(tag, begin=inside(tag.begin), end=inside(tag.end)) for tag in marked.tags)
    return before, MarkedText(inner, tuple(moved)), text[last:]


def shifted(marked: MarkedText, before: str, after: str) -> MarkedText:
    """The other way: white space is put around a text again."""
    by = len(before)
    tags = tuple(replace(tag, begin=tag.begin + by, end=tag.end + by) for tag in marked.tags)
    return MarkedText(before + marked.text + after, tags)
