"""Which of the loaded source languages a text is in: by its script, then by how well the pieces fit."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.server.services import Served

SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "am": ("ETHIOPIC",),
    "ar": ("ARABIC",),
    "be": ("CYRILLIC",),
    "bg": ("CYRILLIC",),
    "bn": ("BENGALI",),
    "el": ("GREEK",),
    "fa": ("ARABIC",),
    "gu": ("GUJARATI",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "hy": ("ARMENIAN",),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "ka": ("GEORGIAN",),
    "kk": ("CYRILLIC",),
    "km": ("KHMER",),
    "ko": ("HANGUL",),
    "lo": ("LAO",),
    "mk": ("CYRILLIC",),
    "ml": ("MALAYALAM",),
    "mn": ("CYRILLIC",),
    "mr": ("DEVANAGARI",),
    "my": ("MYANMAR",),
    "ne": ("DEVANAGARI",),
    "pa": ("GURMUKHI",),
    "ru": ("CYRILLIC",),
    "si": ("SINHALA",),
    "sr": ("CYRILLIC", "LATIN"),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "th": ("THAI",),
    "uk": ("CYRILLIC",),
    "ur": ("ARABIC",),
    "yue": ("CJK",),
    "zh": ("CJK",),
}
"""Scripts by language code, as Unicode's character names begin; languages that are not here use Latin."""

ANY = ("und", "mul", "zxx")
"""Codes that name no single language: any script is theirs."""


@dataclass(frozen=True)
class Detection:
    """A language with how sure we are, from 0 to 100."""

    language: str
    confidence: float


def detect(text: str, models: Sequence[Served]) -> list[Detection]:
    """All loaded source languages, the most likely first. Encodes the text, so not for the event loop.

    A language's share is the part of the text in its script, times how few pieces its tokenizer needs in
    comparison with the others; the shares of several languages are in proportion.
    """
    texts = [served for served in models if not served.translator.tokenizers.pictures]
    firsts = {served.source: served for served in reversed(texts)}  # of several for a language the first
    shares = {code: script_share(text, code) for code in reversed(firsts)}
    weights = {code: share * pieces_fit(text, firsts[code]) for code, share in shares.items()}
    total = sum(weights.values()) or 1.0
    found = [
        Detection(code, round(100 * shares[code] * weight / total, 1)) for code, weight in weights.items()
    ]
    return sorted(found, key=lambda one: -one.confidence)


def script_share(text: str, language: str) -> float:
    """The part of a text's letters that belong to the scripts of a language; all of them if it has none."""
    code = language.lower().replace("_", "-").partition("-")[0]
    letters = [character for character in text if character.isalpha()]
    if code in ANY or not letters:
        return 1.0
    scripts = SCRIPTS.get(code, ("LATIN",))
    return sum(unicodedata.name(letter, "").startswith(scripts) for letter in letters) / len(letters)


def pieces_fit(text: str, served: Served) -> float:
    """Characters per piece, squared: a tokenizer needs fewest pieces for the language it learned from."""
    pieces = len(served.translator.tokenizers.source.encode(text))
    return (len(text) / max(pieces, 1)) ** 2
