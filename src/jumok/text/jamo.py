"""Korean syllables as the letters they are made of: 한 is written ᄒ ᅡ ᆫ, one code point each.

Only the 11,172 composed syllables (U+AC00 to U+D7A3) are taken apart. The letters are canonically equivalent
to their syllable, so NFC puts every text together again exactly as it was.
"""

import re
from unicodedata import lookup, name, normalize

SYLLABLES = re.compile("[가-힣]+")
LETTERS = re.compile("[\u1100-\u1112\u1161-\u1175\u11a8-\u11c2]")


def to_jamo(text: str) -> str:
    """`text` with its Korean syllables as conjoining letters."""
    return SYLLABLES.sub(lambda run: normalize("NFD", run[0]), text)


def alone(text: str) -> str:
    """`text` with its conjoining letters as letters that stand alone: ᆫ, the end of a syllable, as ㄴ."""
    return LETTERS.sub(lambda letter: lookup(f"HANGUL LETTER {name(letter[0]).split(' ', 2)[2]}"), text)
