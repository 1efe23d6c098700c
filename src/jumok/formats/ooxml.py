"""Paragraphs of Office Open XML: what Word, PowerPoint and Excel have in common.

Text, and what lies in it, is read token by token; a paragraph is held in memory, nothing else. A paragraph
in another one, as text boxes are, is walked on the way.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from jumok.formats.package import Package
from jumok.formats.runs import RunItem, RunMark, RunText, WriteRun, join_runs, write_runs
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.walk import Walk, gathered, has_words
from jumok.formats.xml_tokens import XmlReader, XmlToken, element, escaped, prefix_of, raw_of

TYPES = "[Content_Types].xml"
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
    plain: bool = False
    """Whether a block may have text without a run."""
    dropped: frozenset[str] = frozenset()
    """What says something about the old text alone: a spelling mistake, a reading."""
    no_difference: str = r"(?!)"
    """A pattern of what makes two formattings no different."""


@dataclass
class BlockReader:
    """One block, as it is read."""

    dialect: RunDialect
    tokens: Iterator[XmlToken]
    prefix: str
    original: list[str] = field(default_factory=list)
    items: list[RunItem] = field(default_factory=list)
    first: str = ""
    last: str = ""

    def take(self, start: XmlToken) -> list[XmlToken]:
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
            elif dialect.plain and name == dialect.text:
                self.items.append(RunText(self.string(token), ""))
            elif name in dialect.characters:
                self.take(token)
                self.items.append(RunText(dialect.characters[name], ""))
            elif name in dialect.dropped:
                self.take(token)
            else:
                self.items.append(RunMark((yield from self.inner(token))))

    def holder(self, start: XmlToken) -> Collecting:
        """A link or an insertion: a tag around what it holds."""
        self.original.append(start.raw)
        self.items.append(RunMark(opened(start.raw), "open"))
        yield from self.content(start.name)
        self.items.append(RunMark(closed(start), "close"))

    def control(self, start: XmlToken) -> Collecting:
        """A content control: its properties belong to its opening side."""
        outer, inner = self.dialect.controls
        before, token = [start], next(self.tokens)
        while not (token.name == inner and token.kind == "start") and not (token.name == outer):
            before.append(token)
            token = next(self.tokens)
        raw = raw_of(before)
        self.original.append(raw + token.raw)
        if token.kind == "end":
            self.items.append(RunMark(raw + token.raw))
            return
        self.items.append(RunMark(raw + opened(token.raw), "open"))
        yield from self.content(inner)
        rest = list[XmlToken]()
        while not rest or not (rest[-1].name == outer and rest[-1].kind == "end"):
            rest.append(next(self.tokens))
        self.original.append(raw_of(rest))
        self.items.append(RunMark(closed(token) + raw_of(rest), "close"))

    def run(self, start: XmlToken) -> Collecting:
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

    def string(self, start: XmlToken) -> str:
        """What a text element says."""
        found = self.take(start)
        text = "".join(token.text for token in found if token.kind == "text")
        return text if start.attributes.get("xml:space") == "preserve" or start.name == "a:t" else text.strip(" \t\r\n")

    def inner(self, start: XmlToken) -> Generator[Segment, MarkedText | None, str]:
        """Something in a paragraph that may have paragraphs itself."""
        raw = start.raw + (yield from gathered(self.inside()))
        self.original.append(raw)
        return raw

    def inside(self) -> Walk:
        """What an element holds, to its end tag."""
        depth = 1
        for token in self.tokens:
            if token.kind == "start" and token.name in self.dialect.blocks:
                yield from block(self.dialect, token, self.tokens, "text box")
                continue
            yield token.raw
            depth += (token.kind == "start") - (token.kind == "end")
            if not depth:
                return


def is_page(token: XmlToken) -> bool:
    """A break of the page or of the column is no character."""
    return token.attributes.get("w:type", "textWrapping") != "textWrapping"


def opened(raw: str) -> str:
    """A start tag that has an end tag."""
    return raw[:-2].rstrip() + ">" if raw.endswith("/>") else raw


def closed(start: XmlToken) -> str:
    """The end tag of a start tag."""
    return f"</{prefix_of(start)}{start.name.rpartition(':')[2]}>"


def walk_part(dialect: RunDialect, reader: XmlReader, place: str, left: frozenset[str] = frozenset()) -> Walk:
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


def block(dialect: RunDialect, start: XmlToken, tokens: Iterator[XmlToken], where: str) -> Walk:
    """One block: asked for if it has words."""
    reader = BlockReader(dialect, tokens, prefix_of(start))
    yield from reader.content(start.name)
    original = start.raw + "".join(reader.original)
    run = run_writer(dialect, reader.prefix)
    items = fields(reader.items, run) if dialect.run == "w:r" else reader.items
    pattern = re.compile(dialect.no_difference)
    found = join_runs(items, lambda format: pattern.sub("", format))
    if not has_words(found.marked.text):
        yield original
        return
    answer = yield Segment(found.marked, where)
    if answer is None:
        yield original
        return
    yield opened(start.raw) + reader.first + found.write(answer, run) + reader.last + closed(start)


def run_writer(dialect: RunDialect, prefix: str) -> WriteRun:
    """How a run is written: its formatting, its text, and elements for some characters."""
    run, text = (f"{prefix}{name.partition(':')[2]}" for name in (dialect.run, dialect.text))
    signs = {"\n": "br", "\t": "tab"} if dialect.run == "w:r" else {"\n": "br"} if dialect.run == "a:r" else {}

    def write(content: str, format: str) -> str:
        parts = [part for part in re.split("([\n\t])" if signs else "(?!)", content) if part]
        if dialect.run == "a:r":  # its breaks stand between runs
            breaks = f"<{prefix}br>{format}</{prefix}br>"
            return "".join(
                breaks if part == "\n" else f"<{run}>{format}<{text}>{escaped(part)}</{text}></{run}>" for part in parts
            )
        written = "".join(
            f"<{prefix}{signs[part]}/>"
            if part in signs
            else f'<{text} xml:space="preserve">{escaped(part)}</{text}>'
            for part in parts
        )
        return written if dialect.plain and not format else f"<{run}>{format}{written}</{run}>"

    return write


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


FIELD = re.compile(r"<(?:[\w.-]+:)?(?:fldChar\b[^>]*fldCharType=[\"'](begin|separate|end)|(instrText)\b[^>]*>([^<]*))")


def fields(items: list[RunItem], run: WriteRun) -> list[RunItem]:
    """Fields of Word from their beginning to their end: of a link the text is kept open, others are points."""
    done: list[RunItem] = []
    starts: list[int] = []
    for item in items:
        found = FIELD.search(item.raw) if isinstance(item, RunMark) and item.side == "point" else None
        kind = found[1] if found else None
        if kind == "begin":
            starts.append(len(done))
        done.append(item)
        if kind == "end" and starts:
            begun = starts.pop()
            done[begun:] = _one_field(done[begun:], run)
    return done


def _one_field(items: list[RunItem], run: WriteRun) -> list[RunItem]:
    """All items of one field, from `begin` to `end`."""
    kinds = [FIELD.search(one.raw) if isinstance(one, RunMark) else None for one in items]
    code = "".join(found[3] for found in kinds if found and found[2])
    middle = next((place for place, found in enumerate(kinds) if found and found[1] == "separate"), None)
    if any(isinstance(one, RunMark) and one.side != "point" for one in items) and not code.strip().startswith("HYPERLINK"):
        return items  # it holds a link or a half of one: leave the order of things to the reader
    if middle is not None and code.strip().startswith("HYPERLINK"):
        before = "".join(one.raw for one in items[: middle + 1] if isinstance(one, RunMark))
        return [RunMark(before, "open"), *items[middle + 1 : -1], RunMark(_raw(items[-1], run), "close")]
    return [RunMark("".join(_raw(one, run) for one in items))]


def _raw(item: RunItem, run: WriteRun) -> str:
    return item.raw if isinstance(item, RunMark) else write_runs(MarkedText(item.text), item.format, run)
