"""Which tokens make a word."""

from collections.abc import Sequence
from unicodedata import category, name

from jumok.text.normalize import nfc
from jumok.text.spans import piece_bytes
from jumok.text.tokenizer import SPECIALS

UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # scripts without spaces


def text_of(pieces: Sequence[str]) -> str:
    """The text of pieces side by side, without spaces around it; bytes become the characters they spell."""
    data = b"".join(p.encode() if (named := piece_bytes(p)) is None else named for p in pieces)
    return nfc(data.decode(errors="replace")).strip()


def word_groups(pieces: Sequence[str]) -> list[list[int]]:
    """Indices of the pieces of each word; every piece is in exactly one.

    A word begins at a space, which belongs to it, and wherever letters and digits meet anything else. Signs,
    and pieces of scripts that write no spaces, stand alone.
    """
    groups: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if i and not starts_word(pieces[i - 1], piece):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def starts_word(before: str, piece: str) -> bool:
    """Whether a word begins at `piece`, which follows the piece `before`."""
    if before in SPECIALS or piece in SPECIALS:
        return True
    named, last = piece_bytes(piece), piece_bytes(before)
    if named and 0x80 <= named[0] < 0xC0:
        return False  # inside a character
    if piece[0].isspace() or (named and len(named) > 1 and named[0] == 0x20):
        return True
    if before.isspace() or category(piece[0]).startswith("M"):
        return False
    left, right = last is not None or joins(before[-1]), named is not None or joins(piece[0])
    return not (left and right)


def joins(char: str) -> bool:
    """Letters, marks and digits of scripts that separate words by spaces."""
    return category(char)[0] in "LMN" and not name(char, "").startswith(UNSPACED)
