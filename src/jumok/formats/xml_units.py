"""Units of XML files that are looked at whole, one at a time: an entry with its source and its target."""

import re
from collections.abc import Iterable, Iterator, Sequence

from jumok.errors import DataError, LimitError
from jumok.formats.xml_tokens import XmlReader, XmlToken

Element = Sequence[XmlToken]
"""From its start to its end."""
LARGEST = 16 << 20
"""Bytes of one unit."""


def collect(start: XmlToken, tokens: Iterator[XmlToken], reader: XmlReader) -> Element:
    """An element whose start has been read."""
    found, depth, size = [start], 1, len(start.raw)
    for token in tokens:
        depth += (token.kind == "start") - (token.kind == "end")
        found.append(token)
        size += len(token.raw)
        if not depth:
            break
        if size > LARGEST:
            raise LimitError(
                f"one <{start.name}> has more than {LARGEST >> 20} MiB",
                where=f"{reader.path}, line {start.line}",
                hint="split it: a unit is a text that is translated in one piece",
            )
    return found


def children(element: Element) -> list[XmlToken | Element]:
    """What stands inside an element: elements whole, and whatever stands between them."""
    found = list[XmlToken | Element]()
    inner, depth = list[XmlToken](), 0
    for token in element[1:-1]:
        depth += (token.kind == "start") - (token.kind == "end")
        inner.append(token)
        if not depth:
            found.append(inner if inner[0].kind == "start" else token)
            inner = []
    return found


def child(parts: Iterable[XmlToken | Element], name: str) -> Element | None:
    """The first element of this name."""
    return next((one for one in parts if not isinstance(one, XmlToken) and one[0].local == name), None)


def raw_of(part: XmlToken | Element) -> bytes:
    """The bytes of a token or an element."""
    return part.raw if isinstance(part, XmlToken) else b"".join(token.raw for token in part)


def space_before(parts: Sequence[XmlToken | Element], element: Element) -> bytes:
    """The white space in front of an element, so that another one can be laid out like it."""
    found = b""
    for part in parts:
        if part is element:
            break
        blank = isinstance(part, XmlToken) and part.kind == "text" and not part.text.strip()
        found = found + raw_of(part) if blank else b""
    return found


def check_language(reader: XmlReader, token: XmlToken, name: str, language: str) -> None:
    """Refuse a file that is for another language than the model; `de` and `de-AT` are one."""
    said = token.attributes.get(name, "")
    if said and language and base(said) != base(language):
        raise DataError(
            f"the file says {name}={said!r}, and this model has {language!r}",
            where=f"{reader.path}, line {token.line}",
            hint="choose a model of these languages, or correct the file",
            code="other_language",
        )


def base(language: str) -> str:
    """`de` of `de-AT` and `de_AT`."""
    return re.split(r"[-_]", language.lower())[0]
