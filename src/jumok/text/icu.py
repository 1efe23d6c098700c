"""ICU messages, such as `{n, plural, one {# file} other {# files}}`: where the texts in them stand.

The syntax around them is kept; each text is translated by itself. An apostrophe before a brace quotes it.
"""

import re
from dataclasses import dataclass

Span = tuple[int, int]

_HEAD = re.compile(r"\{\s{0,20}[\w.-]{1,60}\s{0,20},\s{0,20}(?P<type>plural|selectordinal|select)\s{0,20},")
_BRACES = re.compile(r"'[{}][^']*'?|[{}]")
_CHOICE = re.compile(r"\s*(?:offset:\d{1,9}\s+)?(?:=\d{1,9}|[\w-]{1,60})\s*")


@dataclass(frozen=True, slots=True)
class IcuMessage:
    """A message from character `begin` to `end`, and the spans of its texts, which may hold messages too."""

    begin: int
    end: int
    texts: tuple[Span, ...]
    counts: bool
    """It chooses by a number, which `#` stands for in its texts."""


def icu_messages(text: str) -> list[IcuMessage]:
    """The outermost messages of a text that choose among texts, in order; in linear time."""
    heads = list(_HEAD.finditer(text))
    if not heads:
        return []
    partners, found = brace_partners(text), list[IcuMessage]()
    for head in heads:
        if found and head.start() < found[-1].end:
            continue
        message = _read(text, head, partners)
        if message:
            found.append(message)
    return found


def brace_partners(text: str) -> dict[int, int]:
    """For each opening brace that is closed, where that stands."""
    partners, waiting = dict[int, int](), list[int]()
    for match in _BRACES.finditer(text):
        if match[0] == "{":
            waiting.append(match.start())
        elif match[0] == "}" and waiting:
            partners[waiting.pop()] = match.start()
    return partners


def _read(text: str, head: re.Match[str], partners: dict[int, int]) -> IcuMessage | None:
    """The message that begins so; None if it is not well formed."""
    last = partners.get(head.start())
    place, texts = head.end(), list[Span]()
    while last and (choice := _CHOICE.match(text, place, last)):
        end = partners.get(choice.end())
        if end is None:
            return None
        texts.append((choice.end() + 1, end))
        place = end + 1
    if last is None or not texts or text[place:last].strip():
        return None
    return IcuMessage(head.start(), last + 1, tuple(texts), counts=head["type"] != "select")
