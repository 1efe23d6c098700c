"""Markup inside a line of XML, as the exchange formats of translators have it, and text as XML writes it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.segments import MarkedText
from jumok.formats.xml_tokens import XmlReader, XmlToken

Role = Literal["pair", "code", "begin", "end"]
"""Around text; code of another program, with whatever is inside; the first and the second half of a pair."""
HALVES = ("rid", "i", "startRef", "id")
"""Attributes by which two halves belong together, the most telling first."""


def inline_of(tokens: Iterable[XmlToken], reader: XmlReader, roles: Mapping[str, Role]) -> MarkedText:
    """The content of an element as text with tags; an element of no known role is code."""
    builder = MarkupBuilder()
    halves: list[str | None] = []  # of what is open: the key of a half, None of an element
    rest = iter(tokens)
    for token in rest:
        match token.kind:
            case "text":
                builder.add(token.text)
            case "other":
                builder.point(reader.decode(token.raw))
            case "end":
                while halves[-1] is not None:
                    builder.abandon()
                    halves.pop()
                builder.close(reader.decode(token.raw))
                halves.pop()
            case "start":
                role = roles.get(token.local, "code")
                if role == "pair":
                    builder.open(reader.decode(token.raw), keep=is_kept(token))
                    halves.append(None)
                    continue
                raw = reader.decode(b"".join(one.raw for one in (token, *rest_of(token, rest))))
                key = half_of(token)
                if role == "begin":
                    builder.open(raw)
                    halves.append(key)
                elif role == "end" and halves and halves[-1] is not None and halves[-1] == key:
                    builder.close(raw)
                    halves.pop()
                else:
                    builder.point(raw)
    return builder.build()


def rest_of(start: XmlToken, tokens: Iterator[XmlToken]) -> Iterator[XmlToken]:
    """What follows the start of an element, up to its end."""
    depth = 1
    for token in tokens:
        depth += (token.kind == "start") - (token.kind == "end")
        yield token
        if not depth:
            return


def half_of(token: XmlToken) -> str:
    """By what a half finds the other one."""
    return next((token.attributes[name] for name in HALVES if name in token.attributes), "")


def is_kept(token: XmlToken) -> bool:
    """Whether an element says that its text is not to be translated."""
    return token.attributes.get("translate") == "no" or token.attributes.get("mtype") == "protected"


def xml_of(marked: MarkedText) -> str:
    """Text with tags as XML writes it; characters that XML cannot have are left out."""
    return render(marked, lambda text: escape("".join(filter(is_allowed, text))))


def is_allowed(character: str) -> bool:
    """Whether a character may stand in XML 1.0."""
    return character >= " " and character not in "\ufffe\uffff" or character in "\t\n\r"


def with_attributes(token: XmlToken, reader: XmlReader, values: Mapping[str, str]) -> bytes:
    """The start of an element with other values of some attributes; the rest of it stays as it is."""
    raw = reader.decode(token.raw)
    for name, value in values.items():
        found = re.search(rf"""\s{re.escape(name)}\s*=\s*("[^"]*"|'[^']*')""", raw)
        if found:
            raw = raw[: found.start(1)] + quoteattr(value) + raw[found.end() :]
        else:
            end = len(raw) - (2 if raw.endswith("/>") else 1)
            raw = f"{raw[:end].rstrip()} {name}={quoteattr(value)}{raw[end:]}"
    return reader.encode(raw)


def opened(token: XmlToken, reader: XmlReader) -> XmlToken:
    """The start of an element without content as that of one with content: `<a>` for `<a/>`."""
    raw = reader.decode(token.raw)
    return token._replace(raw=reader.encode(raw[:-2].rstrip() + ">")) if raw.endswith("/>") else token


def content(element: Sequence[XmlToken]) -> Sequence[XmlToken]:
    """What stands between the start and the end of an element."""
    return element[1:-1]
