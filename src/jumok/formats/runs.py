"""Text in runs, as Office has it: each stretch carries all of its formatting, and nothing is nested.

The formatting of most of a paragraph's text is its ground; runs that differ from it become tags, and so do
what holds runs (a link, an insertion). What stands before the first word and behind the last stays there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from jumok.formats.edges import peeled
from jumok.formats.inline import MarkupBuilder
from jumok.formats.segments import MarkedText, Tag

RUN_END = "</run>"
"""The close of a tag that stands for formatting; it is never written."""


@dataclass(frozen=True, slots=True)
class RunText:
    """Text and its formatting as the file spells it."""

    text: str
    format: str


@dataclass(frozen=True, slots=True)
class RunMark:
    """Markup between runs: something without text, or one side of what holds runs."""

    raw: str
    side: str = "point"
    """`point`, `open` or `close`."""


RunItem = RunText | RunMark
WriteRun = Callable[[str, str], str]
"""A text and its formatting as a run."""


@dataclass(frozen=True, slots=True)
class RunParagraph:
    """A paragraph as text with tags, and what stands before and behind it."""

    before: str
    marked: MarkedText
    after: str
    ground: str
    """The formatting of what no tag covers."""

    def write(self, answer: MarkedText, run: WriteRun) -> str:
        """The paragraph's runs with another text."""
        return self.before + write_runs(answer, self.ground, run) + self.after


def join_runs(items: list[RunItem], same: Callable[[str], str] = str) -> RunParagraph:
    """Items in their order as one paragraph. `same` leaves out of a formatting what makes no difference."""
    items = _steady(items, same)
    lengths: dict[str, int] = {}
    for one in items:
        if isinstance(one, RunText):
            lengths[one.format] = lengths.get(one.format, 0) + len(one.text)
    ground = max(lengths, key=lambda key: lengths[key], default="")
    builder, current = MarkupBuilder(), ground

    def change(format: str) -> None:
        nonlocal current
        if format != current:
            if current != ground:
                builder.close(RUN_END)
            if format != ground:
                builder.open(format)
            current = format

    for number, one in enumerate(items):
        match one:
            case RunText(text, format):
                change(format)
                builder.add(text)
            case RunMark(raw, "point"):
                change(current if _goes_on(items, number, current) else ground)
                builder.point(raw)
            case RunMark(raw, side):
                change(ground)
                builder.open(raw) if side == "open" else builder.close(raw)
    change(ground)
    before, marked, after = peeled(builder.build())
    return RunParagraph(before, marked, after, ground)


def _steady(items: list[RunItem], same: Callable[[str], str]) -> list[RunItem]:
    """Runs that look alike have the same formatting, and white space that of what stands before it."""
    first: dict[str, str] = {}
    steady: list[RunItem] = []
    last: str | None = None
    for one in items:
        if isinstance(one, RunText):
            format = first.setdefault(same(one.format), one.format)
            if last is not None and not one.text.strip():
                format = last
            last = format
            steady.append(RunText(one.text, format))
        else:
            last = None if one.side != "point" else last
            steady.append(one)
    return steady


def _goes_on(items: list[RunItem], number: int, format: str) -> bool:
    """Whether the next text behind a point has this formatting still."""
    for one in items[number + 1 :]:
        if isinstance(one, RunText):
            return one.format == format
        if one.side != "point":
            return False
    return False


def write_runs(marked: MarkedText, ground: str, run: WriteRun) -> str:
    """Text with tags as runs; a tag that reaches out of the one around it ends with it."""
    written: list[str] = []
    waiting: list[Tag] = []
    place = 0

    def advance(to: int) -> None:
        nonlocal place
        while waiting and waiting[-1].end <= to:
            inner = waiting[-1]
            stretch(inner.end)
            waiting.pop()
            written.append("" if inner.close == RUN_END else inner.close)
        stretch(to)

    def stretch(to: int) -> None:
        nonlocal place
        if to > place:
            formats = [tag.open for tag in waiting if tag.close == RUN_END]
            written.append(run(marked.text[place:to], formats[-1] if formats else ground))
            place = to

    for tag in marked.tags:
        advance(tag.begin)
        written.append("" if tag.close == RUN_END else tag.open)
        if not tag.is_point:
            inside = min(tag.end, waiting[-1].end) if waiting else tag.end
            waiting.append(replace(tag, end=inside))
    advance(len(marked.text))
    return "".join(written)
