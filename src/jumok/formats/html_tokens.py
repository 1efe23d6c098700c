"""HTML cut into tags, text and the rest, as browsers cut it; together the tokens are the file.

No tree is built: what is broken stays as broken as it was, and nothing is moved.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

HtmlKind = Literal["start", "end", "text", "other"]
VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
RAW = frozenset({"script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"})
"""Elements whose content is no markup."""
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_OTHER = re.compile(r"<!--(?:-?>|.*?-->|.*)|<[!?][^>]*>?", re.DOTALL)
_QUOTE_OR_END = re.compile(r"[>\"']")
_ATTRIBUTE = re.compile(
    r"""(?<=[\s"'/])(?P<name>[^\s"'<>/=]+)(?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'=<>`]+)))?"""
)


@dataclass(frozen=True, slots=True)
class HtmlValue:
    """The value of an attribute, and where it stands in its tag."""

    text: str
    begin: int
    end: int


@dataclass(frozen=True)
class HtmlToken:
    """A tag, a stretch of text, or the rest: comments, declarations, scripts."""

    kind: HtmlKind
    raw: str
    begin: int
    name: str = ""

    @cached_property
    def attributes(self) -> Mapping[str, HtmlValue]:
        """Of the start of an element; most tags are never asked."""
        return attributes_of(self.raw) if self.kind == "start" else {}

    @property
    def is_void(self) -> bool:
        """Whether nothing can stand inside."""
        return self.name in VOID or self.raw.endswith("/>")


def html_tokens(text: str) -> Iterator[HtmlToken]:
    """The tokens of a page or of a part of one."""
    place = 0
    while place < len(text):
        end = text.find("<", place)
        end = len(text) if end < 0 else end
        if end > place:
            yield HtmlToken("text", text[place:end], place)
            place = end
            continue
        end, kind = _markup_end(text, place)
        raw = text[place:end]
        if kind in ("start", "end"):
            found = _NAME.match(raw)
            assert found is not None
            token = HtmlToken(kind, raw, place, found[1].lower())
        else:
            token = HtmlToken(kind, raw, place)
        yield token
        place = end
        if kind == "start" and token.name in RAW and not token.is_void:
            close = re.compile(rf"</{re.escape(token.name)}[\s/>]", re.IGNORECASE).search(text, place)
            end = close.start() if close else len(text)
            if end > place:
                yield HtmlToken("other", text[place:end], place)
            place = end


def _markup_end(text: str, place: int) -> tuple[int, HtmlKind]:
    """Where what begins with `<` here ends, and what it is."""
    if found := _OTHER.match(text, place):
        return found.end(), "other"
    if not _NAME.match(text, place):
        return place + 1, "text"
    at = place
    while found := _QUOTE_OR_END.search(text, at):
        if found[0] == ">":
            return found.end(), "end" if text[place + 1] == "/" else "start"
        at = found.end()
        if text[max(place, found.start() - 20) : found.start()].rstrip().endswith("="):  # it quotes a value
            at = text.find(found[0], at) + 1
            if not at:
                break
    return len(text), "other"  # a tag without an end: browsers drop the rest


def attributes_of(raw: str) -> dict[str, HtmlValue]:
    """The attributes of a tag; of one that stands twice the first counts."""
    name = _NAME.match(raw)
    found: dict[str, HtmlValue] = {}
    for match in _ATTRIBUTE.finditer(raw, name.end() if name else 0):
        group = next((one for one in ("double", "single", "bare") if match[one] is not None), None)
        span = match.span(group) if group else (match.end(), match.end())
        value = html.unescape(match[group]) if group else ""
        found.setdefault(match["name"].lower(), HtmlValue(value, *span))
    return found


def with_value(raw: str, name: str, value: str) -> str:
    """A tag with another value of an attribute, or with one more attribute."""
    written = html.escape(value)
    known = attributes_of(raw).get(name)
    if known is None:
        end = len(raw) - (2 if raw.endswith("/>") else 1)
        return f'{raw[:end].rstrip()} {name}="{written}"{raw[end:]}'
    quoted = raw[known.begin - 1 : known.begin] in ('"', "'")
    if known.begin == known.end and not quoted:
        return f'{raw[: known.begin]}="{written}"{raw[known.end :]}'
    return raw[: known.begin] + (written if quoted else f'"{written}"') + raw[known.end :]
