"""One spelling for each text: Unicode NFC, and white space as single spaces."""

from itertools import groupby
from unicodedata import combining, normalize

from jumok.errors import DataError

PIECE = 500  # characters whose marks the library sorts: it compares each with all before it


def nfc(text: str) -> str:
    """`text` in Unicode's composed form. Refuses lone surrogates: they are halves of characters, not text."""
    if text.isascii():
        return text
    check_surrogates(text)
    return normalize("NFC", text if len(text) <= PIECE else sort_marks(text))


def sort_marks(text: str, piece: int = PIECE) -> str:
    """The text decomposed, and the marks on each letter in Unicode's order: in time that grows with its
    length, where the library's grows with the square of the number of marks on one letter."""
    apart = "".join(normalize("NFD", text[i : i + piece]) for i in range(0, len(text), piece))
    if not any(combining(apart[i]) for i in range(0, len(apart), piece // 2)):
        return text  # no run of marks is long enough to matter
    runs = groupby(apart, key=lambda character: combining(character) > 0)
    return "".join("".join(sorted(run, key=combining) if marks else run) for marks, run in runs)


def tidy(text: str) -> str:
    """NFC, every run of white space as one space, none at the ends. Used on corpora and on input alike."""
    return " ".join(nfc(text).split())


def check_surrogates(text: str) -> None:
    """Refuse text with a lone surrogate, which no encoding can write down."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"the text has a lone surrogate U+{ord(text[error.start]):04X} at character {error.start + 1}",
            hint="half of a character is missing: read the text again with the right encoding (UTF-8)",
            code="bad_unicode",
        ) from None
