"""What the texts of one side of a corpus are like, and texts that are unlike them or were spoilt on the way.

The words that a side uses are learned from the side alone: words of lines that have many of its commonest
ones. A line of another language has hardly any of them, even if that language comes back in other lines.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.entities import html5
from unicodedata import name

import numpy as np

from jumok.data.likeness import BEGINNING, stem

FEW_WORDS = 5  # below it nothing is said about the language
ENOUGH = 1_000  # lines that show which words a side uses
COMMON, KNOWN = 0.01, 2  # share of the lines that have a common word; lines that have a known one
# Known words of a line of another language: at most, and of what 95 % of the lines have.
STRANGE, LEAST = 0.3, 0.4
CAPITALS, MANY_CAPITALS = 12, 0.05  # letters of a line, and the share of such lines that is a habit
LONG, TIMES = 2_000, 10  # characters; and times as long as 95 % of the texts
SAMPLE_LETTERS = 2_000  # of which the script of a side is told

_WORD = re.compile(r"[^\W\d_]+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|font|form|h[1-6]|head|hr|html|i|img|input|li"
    r"|link|meta|ol|option|p|pre|script|small|span|strong|style|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
BYTES = {chr(byte): byte for byte in range(0x80, 0x100)}
BYTES |= {bytes([byte]).decode("cp1252", "ignore"): byte for byte in range(0x80, 0xA0)}
_GOES_ON = "".join(character for character, byte in BYTES.items() if byte < 0xC0)
_UTF8 = re.compile(f"[\xc2-\xdf][{_GOES_ON}]|[\xe0-\xef][{_GOES_ON}]{{2}}|[\xf0-\xf4][{_GOES_ON}]{{3}}")
_BYTES = re.compile(f"[{''.join(BYTES)}]")
SURE = ("\xc2", "\xc3", "\xe2", "\xf0")
"""What misread Latin letters, quotation marks and emoji begin with: one is enough; of others two are."""
_HIGH = re.compile("[\xa1-\xfe]{6}")  # no language writes so; other encodings read as Latin-1 do
_SUSPECTS = re.compile(f"&[#a-zA-Z]|</?[a-zA-Z]|[\xc2-\xf4][{_GOES_ON}]|[\xa1-\xfe]{{6}}")


@dataclass(frozen=True, eq=False)
class SideHabits:
    """The habits of one side."""

    words: frozenset[str] = frozenset()
    """Stems that its own lines have."""
    whole: frozenset[str] = frozenset()
    """Words of them, as spaces divide them, that nearly every line has some of: a quick look."""
    strange: float = 0.0
    """A line with no larger share of them is in another language; 0: nothing is known about that."""
    script: str = ""
    """That of most letters."""
    capitals: bool = True
    """Lines in capitals are nothing special."""
    longest: float = float("inf")
    """Characters that a text may have."""

    def kinds(self, text: str) -> Iterator[str]:
        """What is unusual about a tidy text."""
        if not self.capitals and is_capitals(text):
            yield "capitals"
        if self.strange and self.is_foreign(text):
            yield "foreign"

    def is_foreign(self, text: str) -> bool:
        between = text[:BEGINNING].split(" ")
        if len(self.whole.intersection(between)) > STRANGE * len(between):
            return False
        found = stems(text)
        if len(found) < FEW_WORDS or len(found & self.words) > self.strange * len(found):
            return False
        return self.script == "LATIN" or self.script != script_of(text)


def learn_habits(texts: Sequence[str]) -> SideHabits:
    """The habits that these tidy texts show."""
    written = [text for text in texts if text]
    lengths = np.array([*map(len, written)] or [0])
    upper = sum(map(is_capitals, written)) > MANY_CAPITALS * len(written)
    rows = [row for row in map(stems, written) if len(row) >= FEW_WORDS]
    counts = Counter(stem for row in rows for stem in row)
    common = {stem for stem, count in counts.items() if count >= max(3, COMMON * len(rows))}
    shares = [len(row & common) / len(row) for row in rows]
    own = min(STRANGE, float(np.median(shares or [0])) / 2)
    native = Counter(stem for row, share in zip(rows, shares, strict=True) if share >= own for stem in row)
    words = frozenset(stem for stem, count in native.items() if count >= KNOWN)
    between = Counter(word for text in written for word in set(text[:BEGINNING].split(" ")))
    whole = frozenset(word for word, count in between.items() if count >= KNOWN and stems(word) <= words)
    usual = float(np.quantile([len(row & words) / len(row) for row in rows] or [0], 0.05))
    return SideHabits(
        words=words,
        whole=whole,
        strange=min(STRANGE, LEAST * usual) if own and len(rows) >= ENOUGH else 0.0,
        script=script_of(" ".join(text[:20] for text in written[:SAMPLE_LETTERS])),
        capitals=upper,
        longest=max(LONG, TIMES * float(np.quantile(lengths, 0.95))),
    )


def stems(text: str) -> set[str]:
    """What stands for the words of a text: their beginnings, or each character of scripts without spaces."""
    found = set[str]()
    for word in _WORD.findall(text[:BEGINNING].casefold()):
        found |= {stem(word)} if stem(word) else set(word)
    return found


def script_of(text: str) -> str:
    """The script of most letters: the first word of their names in Unicode."""
    if text.isascii():
        return "LATIN"
    letters = [letter for letter in text if letter.isalpha()][:SAMPLE_LETTERS]
    counts = Counter(name(letter, "?").split()[0] for letter in letters)
    return counts.most_common(1)[0][0] if counts else ""


def is_capitals(text: str) -> bool:
    """Whether a text is all in capitals, and has many."""
    if not text.isupper():
        return False
    capitals = sum(map(str.isupper, text))
    return capitals >= CAPITALS and capitals * 2 > sum(map(str.isalpha, text))


def may_be_spoilt(text: str) -> bool:
    """Whether it is worth to look closer with `spoilt_kinds`."""
    return _SUSPECTS.search(text) is not None


def spoilt_kinds(text: str) -> Iterator[str]:
    """What is wrong with a raw text on any side: marks of HTML, and characters read in another encoding."""
    if has_html(text):
        yield "html"
    if is_misread(text):
        yield "misread"


def has_html(text: str) -> bool:
    """Whether a text has entities or tags of HTML."""
    if "&" in text and any(one[1] == "#" or one[1:] in html5 for one in _ENTITY.findall(text)):
        return True
    return "<" in text and _TAG.search(text) is not None


def is_misread(text: str) -> bool:
    """Whether a text was read in another encoding than it was written in."""
    return not text.isascii() and (read_again(text) != text or _HIGH.search(text) is not None)


def read_again(text: str) -> str:
    """The text in UTF-8 that was read as Latin-1 or Windows-1252, even twice; else the text itself.

    Only a text in which everything beyond ASCII is UTF-8 so read is believed to be one.
    """
    for _ in range(3):
        found = _UTF8.findall(text)
        if not found or not (len(found) > 1 or found[0][0] in SURE) or _BYTES.search(_UTF8.sub("", text)):
            break
        try:
            text = _UTF8.sub(lambda one: bytes(BYTES[character] for character in one[0]).decode(), text)
        except UnicodeDecodeError:
            break
    return text
