"""Notebooks made from the pages in notes/: text in two languages, and the code once for both.

A page is Markdown. Between two blocks of Python stands the text in English, then `<!-- ko -->`, then the same
in Korean.
"""

import json
import re
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal, NamedTuple

Language = Literal["en", "ko"]
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
KOREAN = "<!-- ko -->"


class Cell(NamedTuple):
    """A part of a notebook."""

    kind: Literal["markdown", "code"]
    text: str


def names() -> list[str]:
    """The pages in the order of the notes."""
    return sorted(page.name.removesuffix(".md") for page in files("jumok.learn").joinpath("notes").iterdir())


def read_cells(name: str, language: Language) -> list[Cell]:
    """What a page says in one language, and its code."""
    page = files("jumok.learn").joinpath("notes", f"{name}.md").read_text(encoding="utf-8")
    found = []
    for number, part in enumerate(BLOCK.split(page)):  # text and code in turn
        if number % 2:
            found.append(Cell("code", part.rstrip()))
        elif part.strip():
            english, _, korean = part.partition(KOREAN)
            found.append(Cell("markdown", (english if language == "en" else korean).strip()))
    return found


def notebook(name: str, language: Language) -> str:
    """The page as a Jupyter notebook (nbformat 4.5); the same each time."""
    cells = [to_json(cell, f"{name}/{number}") for number, cell in enumerate(read_cells(name, language))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def to_json(cell: Cell, place: str) -> dict[str, Any]:
    common = {"cell_type": cell.kind, "id": sha256(place.encode()).hexdigest()[:12], "metadata": {}}
    source = cell.text.splitlines(keepends=True)
    if cell.kind == "code":
        return {**common, "execution_count": None, "outputs": [], "source": source}
    return {**common, "source": source}
