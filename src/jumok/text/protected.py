"""What in a text is no language and must survive translation as it is: placeholders, addresses, tags, code.

Every pattern is linear in the length of the text: it begins at a sign of its own or at the beginning of a
run, and what it repeats cannot match in two ways. Scripts without spaces may stand right beside a span.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Literal

from jumok.text.icu import icu_messages
from jumok.text.marks import MARKS

ProtectedKind = Literal[
    "placeholder", "message", "tag", "entity", "url", "email", "code", "number", "emoji", "mark", "keep"
]
"""What a span is; `message` is an ICU message with texts inside, `keep` what a caller named."""


@dataclass(frozen=True, slots=True, order=True)
class ProtectedSpan:
    """Characters `begin` to `end` of a text, which come out as they are."""

    begin: int
    end: int
    kind: ProtectedKind


BRACKETS = {"(": ")", "[": "]", "{": "}"}
AROUND = ".,;:!?'*|"  # signs of a sentence around an address

_LETTERS = "A-Za-zÀ-ɏͰ-ԯ"  # of addresses; not those of scripts that are written without spaces
_URL = re.compile(
    rf"(?:(?:https?|ftp|file|ssh|git|mqtts?|rtsps?|wss?)://|mailto:|(?<![\w.])www\.)[{_LETTERS}0-9\-._~:/?#\[\]@!$&'()*+,;=%{{}}|]+"
)
_EMAIL = re.compile(
    rf"(?<![{_LETTERS}0-9_.+%-])[{_LETTERS}0-9_.+%-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{{2,}}(?![A-Za-z0-9-])"
)
_DOMAIN = re.compile(
    r"(?<![A-Za-z0-9_.@-])(?:[A-Za-z0-9-]+\.)+"
    r"(?:com|org|net|io|edu|gov|info|dev|app|eu|local)(?![A-Za-z0-9_-])(?:/[\w./?=&#%~+-]*)?"
)
_FILE = re.compile(
    r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"
    r"\.(?:ya?ml|json|xml|html?|css|jsx?|tsx?|py|sh|ini|conf|cfg|toml|txt|md|csv|tsv|log|zip|gz|tar|exe|dll|jar|iso"
    r"|docx?|xlsx?|pptx?|od[tspgf]|pdf|epub|png|jpe?g|gif|svg|webp|ico|mp[34]|wav|ogg|sql|po|pot|tmx|srt|vtt|cpp)"
    r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9])"
)
_PATH = re.compile(
    r"(?<![\w/.~<])(?:~|\.{1,2})?(?:/[A-Za-z0-9_.+-]*[A-Za-z0-9_+-]){2,}/?|(?<![A-Za-z])[A-Za-z]:\\[^\s\"'<>|*?,;]+"
)
_TICKS = re.compile(r"`[^`\n]{1,300}`")
_SNAKE = re.compile(r"(?<![\w.-])[A-Za-z][A-Za-z0-9]*(?:[_.][A-Za-z0-9]+)*_[A-Za-z0-9]+(?![A-Za-z0-9_])")
_CALL = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_.]*\(\)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])")
_ESCAPE = re.compile(r"\\(?:[nrt](?![A-Za-z])|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})")
_TAG = re.compile(
    r"<!--[^<>]{0,500}-->|</?[A-Za-z][A-Za-z0-9_:.-]{0,40}(?:\s+[^\s<>=\"'/]{1,60}(?:\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'|[^\s<>\"']+))?)*\s*/?>"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9._-]{1,40});")
_PERCENT = re.compile(
    r"%(?:%|[0-9A-F]{2}(?:%[0-9A-F]{2}){1,200}"  # %%, %C3%A4
    r"|\{[^{}\s]{1,60}\}|<\w{1,60}>[a-z]?"  # %{name}, %<name>s
    r"|[A-Z][A-Z0-9_]{2,40}%?"  # %PRODUCTNAME, %APPDATA%
    r"|(?:\d{1,2}\$|\([^()\s]{1,60}\))?[-+#0]{0,3}(?:\*|\d{1,3})?(?:\.(?:\*|\d{1,3}))?(?:hh?|ll?|[qjztL])?"
    r"(?:[diouxXeEfFgGcrspn@](?![A-Za-z])|[sd](?=s\b))"
    r"|L?\d{1,2}(?!\d))"
)
_DOLLAR = re.compile(
    r"\$(?:\{[^{}\n]{0,80}\}|\[[^\[\]\s]{1,60}\]|\([A-Za-z_][\w.]{0,60}\)|t\([^()\s]{1,80}\)|[A-Za-z_][A-Za-z0-9_]{0,60})"
)
_BRACE = re.compile(
    r"\{\{[^{}\n]{0,200}\}\}|\{%[^{}\n]{1,200}%\}|\{[^{}\s]{0,80}\}|#\{[^{}\s]{1,80}\}"
    r"|\{\s{0,4}\w{1,60}\s{0,4},\s{0,4}[a-z]{4,9}(?:\s{0,4},[^{}\n]{0,100})?\}|\{\s\w{1,60}\s\}"
)
_KEY = re.compile(r"\[%[^\[\]\s]{1,200}%\]")
_EMOJI_ONE = "[\U0001f000-\U0001faff☀-➵➿⬀-⯿⌚⌛⏩-⏺‼⁉]"
_EMOJI = re.compile(
    rf"(?:{_EMOJI_ONE}[︎️\U0001f3fb-\U0001f3ff]*(?:‍{_EMOJI_ONE}[️\U0001f3fb-\U0001f3ff]*)*)+|[0-9#*]️?⃣"
)
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,])(?:"
    r"0x[0-9A-Fa-f]+|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"  # hexadecimal, UUID
    r"|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}"  # hardware addresses
    r"|\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?"  # ISO 8601
    r"|\d+(?:\.\d+){3,}|\d{1,3}\.\d{1,2}\.\d{1,3}(?!\d)"  # IP addresses and versions
    r"|\d{5,})(?![A-Za-z0-9_]|[.,:]\d)"
    r"|(?<![\w#&])#(?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{6})(?![A-Za-z0-9_])"
)
_WORDS = re.compile(r"[^\W_]")
_MARK = re.compile(f"[{MARKS}]")

PATTERNS: tuple[tuple[ProtectedKind, str, re.Pattern[str]], ...] = (
    ("url", ":.", _URL),
    ("email", "@", _EMAIL),
    ("tag", "<", _TAG),
    ("placeholder", "{", _BRACE),
    ("placeholder", "%", _PERCENT),
    ("placeholder", "$", _DOLLAR),
    ("placeholder", "[", _KEY),
    ("entity", "&", _ENTITY),
    ("code", "`", _TICKS),
    ("code", "/\\", _PATH),
    ("code", "\\", _ESCAPE),
    ("code", "(", _CALL),
    ("code", "_", _SNAKE),
    ("code", "-", _OPTION),
    ("code", ".", _FILE),
    ("url", ".", _DOMAIN),
    ("number", "0123456789#", _NUMBER),
    ("emoji", "", _EMOJI),
    ("mark", "", _MARK),
)
"""A kind, the signs of which a text needs one ("": any beyond ASCII), and the pattern."""
_WORTH = re.compile(r"[@<{%$\[&`\\/(_:#0-9⃣]|\w\.\w|--|[‼⁉⌚-⯿①-⓿\U0001f000-\U0001faff]")


def protected_spans(text: str) -> list[ProtectedSpan]:
    """What must survive translation, in order and apart. In time that grows with the length of the text."""
    if _WORTH.search(text) is None:
        return []
    messages = (ProtectedSpan(one.begin, one.end, "message") for one in icu_messages(text))
    return apart([*messages, *_found(text)])


def _found(text: str) -> Iterator[ProtectedSpan]:
    beyond = not text.isascii()
    for kind, signs, pattern in PATTERNS:
        if not (any(sign in text for sign in signs) if signs else beyond):
            continue
        for match in pattern.finditer(text):
            begin, end = match.span()
            match kind:
                case "url":
                    end = trimmed(text, begin, end)
                case "entity" if is_letter(match[0]):
                    continue
                case "tag" if is_key_name(match[0]):
                    continue
                case "placeholder" if (
                    match[0][0] == "%" and text[begin - 1 : begin].isdigit() and match[0] != "%%"
                ):
                    continue  # 100%ige
            yield ProtectedSpan(begin, end, kind)


def apart(spans: Iterable[ProtectedSpan]) -> list[ProtectedSpan]:
    """Of spans that overlap the one that begins first, the longer of two that begin together."""
    found: list[ProtectedSpan] = []
    for span in sorted(spans, key=lambda one: (one.begin, -one.end)):
        if span.begin < span.end and (not found or span.begin >= found[-1].end):
            found.append(span)
    return found


def overlapping(spans: Sequence[ProtectedSpan], begin: int, end: int) -> Sequence[ProtectedSpan]:
    """Those of spans in order that share characters with these."""
    first = bisect_right(spans, begin, key=lambda one: one.end)
    return spans[first : bisect_left(spans, end, key=lambda one: one.begin)]


def has_words(text: str, begin: int, end: int, spans: Sequence[ProtectedSpan]) -> bool:
    """Whether there are letters or digits between `begin` and `end` that stand in none of these spans."""
    inside = overlapping(spans, begin, end)
    edges = [begin, *(edge for one in inside for edge in (max(one.begin, begin), min(one.end, end))), end]
    return any(_WORDS.search(text, a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))


def trimmed(text: str, begin: int, end: int) -> int:
    """The end of an address without the signs of the sentence around it; a bracket that it opened stays."""
    open = {closer: text.count(opener, begin, end) for opener, closer in BRACKETS.items()}
    closed = {closer: text.count(closer, begin, end) for closer in open}
    while end > begin and (
        text[end - 1] in AROUND or closed.get(text[end - 1], 0) > open.get(text[end - 1], 0)
    ):
        closed[text[end - 1]] = closed.get(text[end - 1], 0) - 1
        end -= 1
    return end


def is_letter(entity: str) -> bool:
    """Whether an entity writes a letter of a word, which is language: `&uuml;`."""
    return unescape(entity).isalpha()


def is_key_name(tag: str) -> bool:
    """Whether what looks like a tag is rather a name on a key: `<Enter>`."""
    return tag[1:-1].isalpha() and tag[1].isupper() and not tag[2:-1].isupper()
