"""One spelling for each text: Unicode NFC, and white space as single spaces."""

import unicodedata

from jumok.errors import DataError


def nfc(text: str) -> str:
    """`text` in Unicode's composed form. Refuses lone surrogates: they are halves of characters, not text."""
    if text.isascii():
        return text
    check_surrogates(text)
    return unicodedata.normalize("NFC", text)


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
