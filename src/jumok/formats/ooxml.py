"""Paragraphs of Office Open XML: what Word, PowerPoint and Excel have in common.

Text, and what lies in it, is read token by token; a paragraph is held in memory, nothing else. A paragraph
in another one, as text boxes are, is walked on the way.
"""

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

from jumok.formats.package import Package
from jumok.formats.runs import RunItem, RunMark, RunText, WriteRun, join_runs
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.walk import Walk, gathered, has_words
from jumok.formats.xml_stream import NamedToken, XmlStream, element, prefix_of, raw_of, recorded

TYPES = "[Content_Types].xml"
_EMPTY = re.compile(r"<([\w.-]+:)?rPr\s*(/>|>\s*</[\w.:-]+>)")
Collecting = Generator[Segment, MarkedText | None, None]


@dataclass(frozen=True)
class RunDialect:
    """The names of things in one of the three."""

    blocks: frozenset[str]
    """What is one text: a paragraph, a shared string."""
    run: str
    format: str
    """The element of a run that has its formatting; it comes first."""
    text: str
    write: Callable[[str, str, str], str]
    """A run of a text and its formatting; names get the prefix, which comes first."""
    characters: dict[str, str] = field(default_factory=dict)
    """Elements that stand for one character."""
    holders: frozenset[str] = frozenset()
    """What holds runs: links, insertions."""
    controls: tuple[str, str] = ("", "")
    """What holds runs behind properties of its own: the outer element and the inner one."""
    first: frozenset[str] = frozenset()
    """Elements of a block that stay before all text."""
    last: frozenset[str] = frozenset()
    """Those that stay behind it."""
    write_plain: Callable[[str, str], str] | None = None
    """A block's text without a run, if it may have that."""
    dropped: frozenset[str] = frozenset()
    """What says something about the old text alone: a spelling mistake, a reading."""
    no_difference: str = r"(?!)"
    """A pattern of what makes two formattings no different."""
    language: tuple[str, str] = ("(?!)", "")
    """A pattern of where a formatting says the language, and what is written there."""
    arranged: Callable[[list[RunItem], WriteRun], list[RunItem]] = lambda items, run: items
    """What joins items that belong together."""


@dataclass
class BlockReader:
    """One block, as it is read."""

    dialect: RunDialect
    tokens: Iterator[NamedToken]
    prefix: str
    original: list[str] = field(default_factory=list)
    items: list[RunItem] = field(default_factory=list)
    changed: list[tuple[str, str]] = field(default_factory=list)
    """What is inside and has got answers of its own: as tags have it, and as it is written."""
    first: str = ""
    last: str = ""

    def take(self, start: NamedToken) -> list[NamedToken]:
        """A whole element that stays as it is."""
        found = element(start, self.tokens)
        self.original.append(raw_of(found))
        return found

    def content(self, end: str) -> Collecting:
        """Everything up to the end tag of the block or of a holder."""
        dialect = self.dialect
        for token in self.tokens:
            name = token.name
            if token.kind == "end" and name == end:
                self.original.append(token.raw)
                return
            if token.kind != "start":
                self.original.append(token.raw)
            elif name == dialect.run:
                yield from self.run(token)
            elif name in dialect.holders:
                yield from self.holder(token)
            elif name == dialect.controls[0]:
                yield from self.control(token)
            elif name in dialect.first:
                self.first += raw_of(self.take(token))
            elif name in dialect.last:
                self.last += raw_of(self.take(token))
            elif dialect.write_plain and name == dialect.text:
                self.items.append(RunText(self.string(token), ""))
            elif name in dialect.characters:
                self.take(token)
                self.items.append(RunText(dialect.characters[name], ""))
            elif name in dialect.dropped:
                self.take(token)
            else:
                self.items.append(RunMark((yield from self.inner(token))))

    def holder(self, start: NamedToken) -> Collecting:
        """A link or an insertion: a tag around what it holds."""
        self.original.append(start.raw)
        self.items.append(RunMark(opened(start.raw), "open"))
        yield from self.content(start.name)
        self.items.append(RunMark(closed(start), "close"))

    def control(self, start: NamedToken) -> Collecting:
        """A content control: its properties belong to its opening side."""
        outer, inner = self.dialect.controls
        before, token = [start], next(self.tokens)
        while token.name != outer and not (token.name == inner and token.kind == "start"):
            before.append(token)
            token = next(self.tokens)
        raw = raw_of(before)
        self.original.append(raw + token.raw)
        if token.kind == "end":
            self.items.append(RunMark(raw + token.raw))
            return
        self.items.append(RunMark(raw + opened(token.raw), "open"))
        yield from self.content(inner)
        rest = list[NamedToken]()
        while not rest or not (rest[-1].name == outer and rest[-1].kind == "end"):
            rest.append(next(self.tokens))
        self.original.append(raw_of(rest))
        self.items.append(RunMark(closed(token) + raw_of(rest), "close"))

    def run(self, start: NamedToken) -> Collecting:
        """Text and other things of one formatting."""
        dialect, format = self.dialect, ""
        self.original.append(start.raw)
        for token in self.tokens:
            if token.kind == "end" and token.name == dialect.run:
                self.original.append(token.raw)
                return
            if token.kind != "start":
                self.original.append(token.raw)
            elif token.name == dialect.format:
                format = raw_of(self.take(token))
            elif token.name == dialect.text:
                self.items.append(RunText(self.string(token), format))
            elif token.name in dialect.characters and not is_page(token):
                self.take(token)
                self.items.append(RunText(dialect.characters[token.name], format))
            elif token.name in dialect.dropped:
                self.take(token)
            else:
                raw = yield from self.inner(token)
                name = f"{self.prefix}{dialect.run.partition(':')[2]}"
                self.items.append(RunMark(f"<{name}>{format}{raw}</{name}>"))

    def string(self, start: NamedToken) -> str:
        """What a text element says."""
        found = self.take(start)
        text = "".join(token.text for token in found if token.kind == "text")
        return (
            text
            if start.attributes.get("xml:space") == "preserve" or start.name != "w:t"
            else text.strip(" \t\r\n")
        )

    def inner(self, start: NamedToken) -> Generator[Segment, MarkedText | None, str]:
        """Something in a paragraph that may have paragraphs itself."""
        seen = [start.raw]
        new = start.raw + (yield from gathered(self.inside(recorded(self.tokens, seen))))
        old = "".join(seen)
        self.original.append(new)
        if new != old:
            self.changed.append((old, new))
        return old

    def inside(self, tokens: Iterator[NamedToken]) -> Walk:
        """What an element holds, to its end tag."""
        depth = 1
        for token in tokens:
            if token.kind == "start" and token.name in self.dialect.blocks:
                yield from block(self.dialect, token, tokens, "text box")
                continue
            yield token.raw
            depth += (token.kind == "start") - (token.kind == "end")
            if not depth:
                return


def is_page(token: NamedToken) -> bool:
    """A break of the page or of the column is no character."""
    return token.attributes.get("w:type", "textWrapping") != "textWrapping"


def opened(raw: str) -> str:
    """A start tag that has an end tag."""
    return raw[:-2].rstrip() + ">" if raw.endswith("/>") else raw


def closed(start: NamedToken) -> str:
    """The end tag of a start tag."""
    return f"</{prefix_of(start)}{start.name.rpartition(':')[2]}>"


def walk_part(dialect: RunDialect, reader: XmlStream, place: str, left: frozenset[str] = frozenset()) -> Walk:
    """A part: its blocks, and all else as it is; elements in `left` stay with all that they have."""
    tokens, count = iter(reader), 0
    for token in tokens:
        if token.kind != "start":
            yield token.raw
        elif token.name in left:
            yield raw_of(element(token, tokens))
        elif token.name in dialect.blocks:
            count += 1
            yield from block(dialect, token, tokens, f"{place}, paragraph {count}")
        else:
            yield token.raw


def block(dialect: RunDialect, start: NamedToken, tokens: Iterator[NamedToken], where: str) -> Walk:
    """One block: asked for if it has words."""
    reader = BlockReader(dialect, tokens, prefix_of(start))
    yield from reader.content(start.name)
    original = start.raw + "".join(reader.original)

    def run(text: str, format: str) -> str:
        return dialect.write(reader.prefix, text, re.sub(*dialect.language, format))

    found = join_runs(
        dialect.arranged(reader.items, run), lambda format: without(dialect.no_difference, format)
    )
    if not has_words(found.marked.text):
        yield original
        return
    answer = yield Segment(found.marked, where)
    if answer is None:
        yield original
        return
    if dialect.write_plain and not (found.ground or answer.tags or found.before or found.after):
        text = dialect.write_plain(reader.prefix, answer.text)
    else:
        text = found.write(answer, run)
    for old, new in reader.changed:
        text = text.replace(old, new, 1)
    yield opened(start.raw) + reader.first + text + reader.last + closed(start)


def without(pattern: str, format: str) -> str:
    """A formatting without what makes no difference; one with nothing in it is none."""
    rest = re.sub(pattern, "", format)
    return "" if _EMPTY.fullmatch(rest) else rest


def content_types(package: Package) -> dict[str, str]:
    """What each part is, as the document says itself."""
    if TYPES not in package.names:
        return {}
    names = {name.lower(): name for name in package.names}
    found: dict[str, str] = {}
    for token in package.tokens(TYPES):
        given = token.attributes
        if token.kind == "start" and token.name.endswith(":Override"):
            name = given.get("PartName", "").removeprefix("/").lower()
            if name in names:
                found[names[name]] = given.get("ContentType", "")
    return found
