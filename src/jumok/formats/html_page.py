"""HTML pages and parts of pages: text between blocks, with its inline markup; attributes that people read."""

import codecs
import html
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from jumok.errors import LimitError
from jumok.formats.encoding import Encoding, encoding_of, not_text
from jumok.formats.html_tokens import HtmlToken, html_tokens, with_value
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.segments import MarkedText, Segment, Tag
from jumok.formats.spliced import Holes, Piece, SplicedFormat

LARGEST = 64 << 20
"""Bytes of a page, which is read as a whole."""
INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd mark nobr q rb rp"
        " rt ruby s samp small span strike strong sub sup time tt u var wbr audio canvas embed map math"
        " object picture svg video",
    )
)
OPAQUE = frozenset(
    re.findall(r"\w+", "audio canvas iframe map math object picture script style svg textarea video")
)
"""Elements that are one thing, with whatever is inside."""
CODE = frozenset({"code", "kbd", "samp", "var", "tt"})
"""Elements whose text stays."""
SHUT = frozenset({"pre", "template", "noscript"})
"""Blocks in which nothing is translated."""
READ = ("alt", "title", "placeholder", "aria-label", "label")
"""Attributes that people read."""
DESCRIPTIONS = frozenset(
    {"description", "og:title", "og:description", "twitter:title", "twitter:description"}
)
RIGHT_TO_LEFT = frozenset({"ar", "arc", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})
_READABLE = re.compile("|".join([*READ, "content", "value"]), re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\r\f]+")
_BLANK = " \t\n\r\f"
_BLANKS = ("&#9;", "&#10;", "&#13;", "&#32;")
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class HtmlFormat(SplicedFormat):
    """Pages with any markup; `<html lang>` says the language that they are in now."""

    name: ClassVar[str] = "html"
    suffixes: ClassVar[tuple[str, ...]] = (".html", ".htm", ".xhtml")

    def pieces(self, path: Path) -> Iterator[Piece]:
        """Texts as holes; everything else is as it was."""
        if (size := path.stat().st_size) > LARGEST:
            raise LimitError(
                f"{path.name} has {size >> 20:,} MiB, and a page may have {LARGEST >> 20}",
                where=str(path),
                hint="split it into several pages",
            )
        encoding, text = read_page(path)
        yield encoding.mark
        yield from page_pieces(text, encoding, self.languages.target)


def read_page(path: Path) -> tuple[Encoding, str]:
    """A page as text: its first bytes say the encoding, or it says so itself."""
    data = path.read_bytes()
    encoding = encoding_of(data)
    said = _CHARSET.search(data, 0, 2048)
    if not encoding.mark and said:
        try:
            name = codecs.lookup(said[1].decode("ascii")).name
            b"\xff".decode(name, "replace")  # which codecs that are no encodings refuse
            if "<".encode(name) == b"<":  # else the tag itself would not be in it: UTF-16
                encoding = Encoding("cp1252" if name in ("iso8859-1", "ascii") else name)  # as browsers do
        except (LookupError, UnicodeError):
            pass
    try:
        return encoding, data[len(encoding.mark) :].decode(encoding.name)
    except UnicodeDecodeError as error:
        raise not_text(path, encoding, error) from None


def page_pieces(text: str, encoding: Encoding, language: str, first_line: int = 1) -> Iterator[bytes | Holes]:
    """A page, or a part of one, as pieces."""
    tokens, number = list(html_tokens(text)), 0
    run = HtmlRun(text, encoding, first_line)
    while number < len(tokens):
        token, end = tokens[number], number + 1
        if token.kind == "start" and not token.is_void and (token.name in OPAQUE or is_shut(token)):
            end = end_of_element(tokens, number)
        raw = "".join(one.raw for one in tokens[number:end])
        if token.name in INLINE and not breaks(tokens, number):
            run.add(token, raw)
        elif token.name:
            yield from run.end()
            yield from run.alone(token, in_language(token, language) if end == number + 1 else raw)
        else:
            run.add(token, raw)
        number = end
    yield from run.end()


def is_shut(token: HtmlToken) -> bool:
    """Whether a block says that nothing inside is to be translated; inline, its text is kept."""
    return token.name not in INLINE and (token.name in SHUT or is_kept(token))


def is_kept(token: HtmlToken) -> bool:
    """Whether an element keeps its text: code, or what says so."""
    if token.name in CODE or "translate" not in token.raw.lower():
        return token.name in CODE
    said, classes = token.attributes.get("translate"), token.attributes.get("class")
    if said is not None and said.text.lower() == "no":
        return True
    return classes is not None and "notranslate" in classes.text.split()


def breaks(tokens: Sequence[HtmlToken], number: int) -> bool:
    """Whether a line break ends a text: not if the next line goes on with a small letter."""
    if tokens[number].name != "br":
        return False
    rest = (html.unescape(one.raw).strip() for one in tokens[number : number + 4] if one.kind == "text")
    following = next((text for text in rest if text), "")
    return not following[:1].islower()


def end_of_element(tokens: Sequence[HtmlToken], number: int) -> int:
    """The number of the token behind the element that begins with this one."""
    name, depth = tokens[number].name, 0
    for n in range(number, len(tokens)):
        if tokens[n].name == name and not tokens[n].is_void:
            depth += 1 if tokens[n].kind == "start" else -1
            if not depth:
                return n + 1
    return len(tokens)


def in_language(token: HtmlToken, language: str) -> str:
    """The tag; `<html>` with the language that the page has now, and the direction in which it is read."""
    if token.name != "html" or token.kind != "start" or not language:
        return token.raw
    raw = with_value(token.raw, "lang", language)
    if "xml:lang" in token.attributes:
        raw = with_value(raw, "xml:lang", language)
    right = re.split("[-_]", language.lower())[0] in RIGHT_TO_LEFT
    if right or "dir" in token.attributes:
        raw = with_value(raw, "dir", "rtl" if right else "ltr")
    return raw


def readable(token: HtmlToken) -> list[str]:
    """The attributes of a tag that people read, unless it says that nothing is to be translated."""
    if not _READABLE.search(token.raw) or is_kept(token):
        return []
    names = [name for name in READ if name in token.attributes]
    about = [token.attributes.get(name) for name in ("name", "property")]
    if token.name == "meta" and any(one and one.text.lower() in DESCRIPTIONS for one in about):
        names.append("content")
    kind = token.attributes.get("type")
    if token.name == "input" and kind and kind.text.lower() in ("submit", "button", "reset"):
        names.append("value")
    return [name for name in names if name in token.attributes and token.attributes[name].text.strip()]


@dataclass
class HtmlRun:
    """Text and inline markup between two blocks, as far as it has been read."""

    text: str
    encoding: Encoding
    first_line: int
    items: list[tuple[HtmlToken, str]] = field(default_factory=list)
    """Tokens, and what they stand for: of an opaque element all of it."""

    @cached_property
    def line_ends(self) -> list[int]:
        """Where the lines of the page end."""
        return [match.start() for match in re.finditer("\n", self.text)]

    def add(self, token: HtmlToken, raw: str) -> None:
        """One more token; `raw` is all of an element that is one thing."""
        self.items.append((token, raw))

    def encode(self, text: str) -> bytes:
        return self.encoding.encode(text, "xmlcharrefreplace")

    def where(self, token: HtmlToken) -> str:
        return f"line {bisect_left(self.line_ends, token.begin) + self.first_line}"

    def attributes(self, token: HtmlToken) -> list[tuple[str, Segment]]:
        """The attributes of a tag that people read, as segments."""
        return [
            (name, Segment(MarkedText(token.attributes[name].text), f"{self.where(token)}, {name}"))
            for name in readable(token)
        ]

    def alone(self, token: HtmlToken, raw: str) -> Iterator[bytes | Holes]:
        """The tag of a block; its attributes may be translated."""
        found = self.attributes(token)
        if not found:
            yield self.encode(raw)
            return

        def fill(answers: Sequence[MarkedText | None]) -> bytes:
            return self.encode(rewritten(raw, zip(found, answers, strict=True)))

        yield Holes(tuple(segment for _, segment in found), self.encode(raw), fill)

    def end(self) -> Iterator[bytes | Holes]:
        """The run as pieces; what follows is another one."""
        items, self.items = self.items, []
        if not items:
            return
        before, items = split_space(items, last=False)
        after, items = split_space(items[::-1], last=True)
        items = items[::-1]
        yield self.encode(before)
        if items:
            yield self.hole(items)
        yield self.encode(after)

    def hole(self, items: Sequence[tuple[HtmlToken, str]]) -> bytes | Holes:
        """The text of a run with its markup, and the attributes of that."""
        marked = marked_text(items)
        found = [(raw, *one) for token, raw in items for one in self.attributes(token)]
        raw = self.encode("".join(raw for _, raw in items))
        main = (Segment(marked, self.where(items[0][0])),) if marked.text.strip() else ()
        segments = (*main, *(segment for _, _, segment in found))
        if not segments:
            return raw

        def fill(answers: Sequence[MarkedText | None]) -> bytes:
            answer = answers[0] if main else None
            new: dict[str, str] = {}
            for (tag, name, _), said in zip(found, answers[len(main) :], strict=True):
                if said is not None:
                    new[tag] = with_value(new.get(tag, tag), name, said.text)
            if answer is None:
                return self.encode("".join(new.get(raw, raw) for _, raw in items))
            tags = (replace_in(tag, new) for tag in answer.tags)
            return self.encode(render(MarkedText(answer.text, tuple(tags)), escape))

        return Holes(segments, raw, fill)


def split_space(items: list[tuple[HtmlToken, str]], *, last: bool) -> tuple[str, list[tuple[HtmlToken, str]]]:
    """White space at one end of a run, which stays as it is, and the rest."""
    if not items or items[0][0].kind != "text":
        return "", items
    token, raw = items[0]
    inner = raw.rstrip(_BLANK) if last else raw.lstrip(_BLANK)
    while any(inner.endswith(one) if last else inner.startswith(one) for one in _BLANKS):
        cut = inner.rindex("&") if last else inner.index(";") + 1
        inner = inner[:cut].rstrip(_BLANK) if last else inner[cut:].lstrip(_BLANK)
    space = raw[len(inner) :] if last else raw[: len(raw) - len(inner)]
    kept = replace(token, begin=token.begin + (0 if last else len(space)))
    return space, [(kept, inner), *items[1:]] if inner else items[1:]


def marked_text(items: Iterable[tuple[HtmlToken, str]]) -> MarkedText:
    """Inline markup as tags; white space as browsers show it."""
    builder, names, ended = MarkupBuilder(), list[str](), True
    for token, raw in items:
        if token.kind == "text":
            text = _SPACE.sub(" ", html.unescape(raw))
            if ended and text.startswith(" ") and builder.length:
                builder.lengthen_point(" ")  # `a <img> b`: the second space is seen as well
                text = text[1:]
            builder.add(text)
            ended = text.endswith(" ") if text else ended
        elif token.name == "br":
            builder.point(raw)
            builder.add("" if ended else " ")
            ended = True
        elif token.kind == "end" and token.name in names:
            while names.pop() != token.name:
                builder.abandon()
            builder.close(raw)
        elif token.kind == "start" and raw == token.raw and not token.is_void:
            builder.open(raw, keep=is_kept(token))
            names.append(token.name)
        else:
            builder.point(raw)
    return builder.build()


def rewritten(raw: str, answers: Iterable[tuple[tuple[str, Segment], MarkedText | None]]) -> str:
    """A tag with translated attributes."""
    for (name, _), answer in answers:
        raw = raw if answer is None else with_value(raw, name, answer.text)
    return raw


def replace_in(tag: Tag, new: Mapping[str, str]) -> Tag:
    """A tag with some of its markup replaced."""
    opened, closed = tag.open, tag.close
    for old, other in new.items():
        opened, closed = opened.replace(old, other), closed.replace(old, other)
    return replace(tag, open=opened, close=closed)


def escape(text: str) -> str:
    """Text as HTML writes it."""
    return html.escape(text, quote=False).replace("\xa0", "&nbsp;")
