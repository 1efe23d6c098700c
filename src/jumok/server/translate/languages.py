"""Languages: their names in English, their scripts, and which of the loaded ones a text is in."""

import unicodedata
from collections.abc import Mapping, Sequence

from jumok.server.schema import AnswerPart
from jumok.server.services import ServedModel

NAMES: Mapping[str, str] = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian",
    "kk": "Kazakh", "km": "Khmer", "ko": "Korean", "la": "Latin", "lo": "Lao",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian",
    "mr": "Marathi", "ms": "Malay", "mul": "Multiple languages", "my": "Burmese", "nb": "Norwegian Bokmål",
    "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "pa": "Punjabi",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala",
    "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog",
    "tr": "Turkish", "uk": "Ukrainian", "und": "Undetermined", "ur": "Urdu", "uz": "Uzbek",
    "vi": "Vietnamese", "yue": "Cantonese", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip

SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "am": ("ETHIOPIC",), "bn": ("BENGALI",), "el": ("GREEK",), "gu": ("GUJARATI",), "he": ("HEBREW",),
    "hy": ("ARMENIAN",), "ka": ("GEORGIAN",), "km": ("KHMER",), "ko": ("HANGUL",), "lo": ("LAO",),
    "ml": ("MALAYALAM",), "my": ("MYANMAR",), "pa": ("GURMUKHI",), "si": ("SINHALA",), "ta": ("TAMIL",),
    "te": ("TELUGU",), "th": ("THAI",), "ja": ("HIRAGANA", "KATAKANA", "CJK"), "sr": ("CYRILLIC", "LATIN"),
    **dict.fromkeys(("ar", "fa", "ur"), ("ARABIC",)),
    **dict.fromkeys(("be", "bg", "kk", "mk", "mn", "ru", "uk"), ("CYRILLIC",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("DEVANAGARI",)),
    **dict.fromkeys(("yue", "zh"), ("CJK",)),
}  # fmt: skip
"""Scripts by language code, as Unicode's character names begin; languages that are not here use Latin."""

ANY = ("und", "mul", "zxx")
"""Codes that name no single language: any script is theirs."""


class Detection(AnswerPart):
    """A language with how sure we are, from 0 to 100."""

    language: str
    confidence: float


def base_code(code: str) -> str:
    """A language's code without script and region: `zh` of `zh-Hant`."""
    return code.lower().replace("_", "-").partition("-")[0]


def language_name(code: str) -> str:
    """The name of a language; where we know none, its code."""
    return NAMES.get(base_code(code), code)


def detect(text: str, models: Sequence[ServedModel]) -> list[Detection]:
    """All loaded source languages, the most likely first. Encodes the text, so not for the event loop.

    A language's share is the part of the text in its script, times how few tokens its tokenizer needs in
    comparison with the others; the shares of several languages are in proportion.
    """
    texts = [served for served in models if not served.translator.tokenizers.pictures]
    pairs = [(one.source or "und", served) for served in texts for one in served.directions]
    firsts = dict(reversed(pairs))  # of several for a language the first
    shares = {code: script_share(text, code) for code in reversed(firsts)}
    weights = {code: share * tokens_fit(text, firsts[code]) for code, share in shares.items()}
    total = sum(weights.values()) or 1.0
    found = [
        Detection(language=code, confidence=round(100 * shares[code] * weight / total, 1))
        for code, weight in weights.items()
    ]
    return sorted(found, key=lambda one: -one.confidence)


def script_share(text: str, language: str) -> float:
    """The part of a text's letters that belong to the scripts of a language; all of them if it has none."""
    code = base_code(language)
    letters = [character for character in text if character.isalpha()]
    if code in ANY or not letters:
        return 1.0
    scripts = SCRIPTS.get(code, ("LATIN",))
    return sum(unicodedata.name(letter, "").startswith(scripts) for letter in letters) / len(letters)


def tokens_fit(text: str, served: ServedModel) -> float:
    """Characters per token, squared: a tokenizer needs fewest tokens for the language it learned from."""
    tokens = len(served.translator.tokenizers.source.encode(text))
    return (len(text) / max(tokens, 1)) ** 2
