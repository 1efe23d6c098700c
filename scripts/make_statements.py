"""Write the list of the notes' statements into docs/notes-to-code.md and .ko.md, from docs/statements.toml.

    python scripts/make_statements.py

What stands between the two marks of a page is made here; everything around them is written by hand.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, Literal

from jumok.learn.book import names, read_cells

DOCS = Path(__file__).parents[1] / "docs"
DATA = DOCS / "statements.toml"
BEGIN, END = "<!-- statements -->", "<!-- end of statements -->"
LEARN = "http://127.0.0.1:7717/learn"  # where `jumok serve` has the chapters
Language = Literal["en", "ko"]
PAGES: dict[Language, Path] = {"en": DOCS / "notes-to-code.md", "ko": DOCS / "notes-to-code.ko.md"}
WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "note": "Note {note}: {title}",
        "place": "Chapter [`{chapter}`]({address}), figure `{figure}`; notebook {notebook}, *{section}*.",
        "code": "Code:",
        "test": "Tests:",
        "errata": " *See [{number}](errata.md).*",
        "figure": " *Figure `{name}`.*",
    },
    "ko": {
        "note": "노트 {note}: {title}",
        "place": "장 [`{chapter}`]({address}), 그림 `{figure}`. 노트북 {notebook}, *{section}*.",
        "code": "코드:",
        "test": "테스트:",
        "errata": " *[{number}](errata.ko.md) 참고.*",
        "figure": " *그림 `{name}`.*",
    },
}


def read_parts() -> list[dict[str, Any]]:
    """The parts of the notes, each with its statements."""
    parts: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["part"]
    return parts


def headings(name: str, language: Language) -> list[str]:
    """The title of a notebook and of its sections."""
    text = "\n".join(cell.text for cell in read_cells(name, language) if cell.kind == "markdown")
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


def notebooks() -> dict[str, str]:
    """The name of each note's notebook."""
    return {name[:3]: name for name in names()}


def section_of(part: dict[str, Any], language: Language) -> str:
    """The section of the notebook in a language; the file has its English title."""
    name = notebooks()[part["notebook"]]
    return headings(name, language)[headings(name, "en").index(part["section"])]


def draw(language: Language) -> str:
    """The list of all statements in a language."""
    words, lines, note = WORDS[language], [], ""
    for part in read_parts():
        if part["note"] != note:
            note = part["note"]
            title = headings(notebooks()[note], language)[0]
            lines += ["", f"### {words['note'].format(note=note, title=title)}"]
        place = {**part, "section": section_of(part, language), "address": f"{LEARN}/{part['chapter']}"}
        lines += ["", f"**{part[language]}**", "", words["place"].format(**place)]
        lines += [f"{words['code']} {', '.join(f'`{name}`' for name in part['code'])}", ""]
        tests = list(dict.fromkeys(one["test"] for one in part["statement"]))
        for one in part["statement"]:
            letter = chr(ord("a") + tests.index(one["test"]))
            errata = words["errata"].format(number=one["errata"]) if "errata" in one else ""
            figure = words["figure"].format(name=one["figure"]) if "figure" in one else ""
            lines.append(f"- **{one['number']}** {one[language]} [{letter}]{figure}{errata}")
        lines += ["", words["test"]]
        lines += [
            f"[{chr(ord('a') + i)}] `{test}`{',' if test != tests[-1] else ''}"
            for i, test in enumerate(tests)
        ]
    return "\n".join(lines).strip()


def page(language: Language) -> str:
    """A page with its list drawn anew."""
    text = PAGES[language].read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{draw(language)}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    for language, path in PAGES.items():
        path.write_text(page(language), encoding="utf-8")
        print(f"{path.name}: {sum(len(part['statement']) for part in read_parts())} statements")


if __name__ == "__main__":
    main()
