"""Writes web/src/fonts/math.woff2: the part of STIX Two Math that formulas use, and math.txt, its characters.

pip install fonttools brotli
npm pack @fontsource/stix-two-math && tar xzf fontsource-stix-two-math-*.tgz
python scripts/make_math_font.py package/files/stix-two-math-latin-400-normal.woff2

The characters are those of the chapters' formulas and of Inside's; a test of the page compares them with
math.txt. A single letter is drawn in its italic form, which is a character of its own.
"""

import argparse
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

WEB = Path(__file__).parents[1] / "web" / "src"
FONTS = WEB / "fonts"
PLAIN = "".join(map(chr, range(0x20, 0x7F)))  # words such as softmax, numbers, usual signs
DRAWN = "√‾ˆ×≤≥∞∈⊙"  # a root has no character of its own in a formula; the others are likely to come


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("font", type=Path, help="STIX Two Math, as TTF, OTF, WOFF or WOFF2")
    characters = used()
    write(parser.parse_args().font, characters)
    (FONTS / "math.txt").write_text(characters + "\n", encoding="utf-8")


def used() -> str:
    """Every character of a formula, in order, each once."""
    files = (WEB / "learn/chapters").glob("*.json")
    chapters = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    texts = [text for chapter in chapters for text in leaves(chapter.get("formulas", []))]
    code = (WEB / "screens/inside/formulas.tsx").read_text(encoding="utf-8")
    texts += re.findall(r'"([^"\n]*)"', code)
    return "".join(sorted({*PLAIN, *DRAWN, *"".join(texts)} - {"\n"}))


def leaves(formula: Any) -> list[str]:
    """The texts of a formula; the first of a list is its tag."""
    if isinstance(formula, str):
        return [formula]
    start = 1 if formula and isinstance(formula[0], str) else 0
    return [text for part in formula[start:] for text in leaves(part)]


def italic(letter: str) -> str:
    """How MathML draws a single letter: as its mathematical italic, where there is one."""
    name = unicodedata.name(letter, "")
    kind = re.fullmatch(r"(LATIN|GREEK) (CAPITAL|SMALL) LETTER (\w+)", name)
    if not kind:
        return letter
    if letter == "h":
        return "\u210e"  # Planck's constant stands in for it
    try:
        return unicodedata.lookup(f"MATHEMATICAL ITALIC {kind[2]} {kind[3]}")
    except KeyError:
        return letter


def write(font: Path, characters: str) -> None:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options(
        flavor="woff2",
        hinting=False,
        desubroutinize=True,
        layout_features=["dtls", "ssty"],
        notdef_outline=True,
    )
    options.name_IDs = [0, 1, 2, 13, 14]  # copyright and licence stay in the file
    found = TTFont(font)
    subsetter = Subsetter(options)
    subsetter.populate(text=characters + "".join(map(italic, characters)))
    subsetter.subset(found)
    found.flavor = "woff2"
    found.save(FONTS / "math.woff2")


if __name__ == "__main__":
    main()
