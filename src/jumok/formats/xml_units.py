"""Units of XML files that are looked at whole, one at a time: an entry with its source and its target."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from jumok.errors import DataError, LimitError
from jumok.formats.units import MOST_TEXT
from jumok.formats.xml_tokens import XmlReader, XmlToken

Element = Sequence[XmlToken]
"""From its start to its end."""
LARGEST = 16 << 20
"""Bytes of one unit."""
MOST_DEPTH = 200
"""Elements inside each other in a corpus."""


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


def text_of(
    element: Element, codes: frozenset[str], reader: XmlReader, bad: Callable[[str, int], DataError]
) -> str:
    """What an element says, without the codes of another format that stand between."""
    parts, hidden, size = list[str](), 0, 0
    for token in element[1:-1]:
        if token.kind in ("start", "end"):
            hidden += (1 if token.kind == "start" else -1) if hidden or token.local in codes else 0
            if token.kind == "start" and token.local == "cp":  # XLIFF 2: a character that XML cannot hold
                parts.append(" ")
        elif not hidden and token.raw[:1] == b"&" and not token.text:
            name = reader.decode(token.raw)
            hint = "write the character itself, or its number: &#160;"
            raise reader.broken(f"{name} is not declared", token.line, hint)
        elif not hidden:
            parts.append(token.text)
            size += len(token.text)
            if size > MOST_TEXT:
                raise bad(f"a text of more than {MOST_TEXT:,} characters", token.line)
    return "".join(parts)


class CorpusXml(XmlReader):
    """The XML of a corpus, which comes as blocks of bytes: unpacked, or out of a zip file."""

    def __init__(self, name: str, blocks: Iterable[bytes]) -> None:
        super().__init__(name, Blocks(blocks), depth=MOST_DEPTH)

    def broken(self, message: str, line: int, hint: str = "") -> DataError:
        """An error in this file, with the place as those of other corpora have it."""
        return DataError(message, where=f"{self.path}:{line}", hint=hint, code="bad_xml")

    def tokens_below(self, root: str) -> Iterator[XmlToken]:
        """Those of a file whose first tag must be `root`."""
        tokens = self.tokens()
        for token in tokens:
            if token.kind == "start":
                if token.local != root:
                    message = f"the file begins with <{token.local[:40]}>, not with <{root}>"
                    raise self.broken(message, token.line, "is it another format?")
                return chain([token], tokens)
        return iter(())


class Blocks:
    """Blocks of bytes as a file; each is given out as it is, whatever size is asked for."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = filter(None, blocks)

    def read(self, size: int, /) -> bytes:
        """The next block; none at the end."""
        return next(self._blocks, b"")


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


def language_tag(name: str) -> str:
    """A language as a corpus names it: in small letters and with hyphens."""
    return name.strip().lower().replace("_", "-")


def base(language: str) -> str:
    """`de` of `de-AT` and `de_AT`."""
    return re.split(r"[-_]", language.lower())[0]
