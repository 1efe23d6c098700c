"""Every statement of the notes has a place in the book, code, a test and a figure, and all of them exist."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.test_docs import functions_in, resolve

ROOT = Path(__file__).parents[2]
CHAPTERS = ROOT / "web" / "src" / "learn" / "chapters"
HANGUL = re.compile("[가-힣]")
PART = {"note", "en", "ko", "chapter", "figure", "notebook", "section", "code", "statement"}
STATEMENT = {"number", "en", "ko", "test"}


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_statements", ROOT / "scripts" / "make_statements.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = load()
PARTS: list[dict[str, Any]] = maker.read_parts()
STATEMENTS: list[dict[str, Any]] = [one for part in PARTS for one in part["statement"]]
every_part = pytest.mark.parametrize("part", PARTS, ids=lambda part: part["statement"][0]["number"])


def test_numbers_run_through_each_note_in_its_order() -> None:
    assert [part["note"] for part in PARTS] == sorted(part["note"] for part in PARTS)
    assert {part["note"] for part in PARTS} == {"000", "001", "002", "003", "004"}
    for note in ("000", "001", "002", "003", "004"):
        found = [one["number"] for part in PARTS if part["note"] == note for one in part["statement"]]
        assert found == [f"{note}.{number}" for number in range(1, len(found) + 1)]


@every_part
def test_nothing_is_left_blank(part: dict[str, Any]) -> None:
    assert set(part) == PART
    assert all(part[key] for key in PART)
    for one in part["statement"]:
        assert STATEMENT <= set(one) <= STATEMENT | {"errata", "figure"}
        assert all(one[key] for key in STATEMENT)


@every_part
def test_both_languages_say_it(part: dict[str, Any]) -> None:
    shapes = re.compile(r"\([BDLV12, ]{3,}\)|\[[\d., -]+\]")
    for one in (part, *part["statement"]):
        assert not HANGUL.search(one["en"])
        equation = one["en"] == one["ko"] and " = " in one["en"]
        assert HANGUL.search(one["ko"]) or equation or one["ko"] == "Seq2Seq"
        assert shapes.findall(one["en"]) == shapes.findall(one["ko"])


@every_part
def test_the_code_exists(part: dict[str, Any]) -> None:
    for name in part["code"]:
        assert callable(resolve(name)), name


@every_part
def test_the_tests_exist(part: dict[str, Any]) -> None:
    for one in part["statement"]:
        path, _, name = one["test"].partition("::")
        assert name in functions_in(path), one


@every_part
def test_the_notebook_has_the_section(part: dict[str, Any]) -> None:
    assert maker.section_of(part, "en") == part["section"]
    assert HANGUL.search(maker.section_of(part, "ko"))


def test_every_section_of_the_notebooks_is_the_place_of_a_statement() -> None:
    used = {(part["notebook"], part["section"]) for part in PARTS}
    there = {
        (note, title) for note, name in maker.notebooks().items() for title in maker.headings(name, "en")
    }
    assert used <= there
    assert {title for _, title in there - used} <= {
        "The same, by the model itself",
        "What comes after",
        "The order of the words",
        "Why attention",
    }


@every_part
def test_the_page_has_the_chapter_and_its_figure(part: dict[str, Any]) -> None:
    file = CHAPTERS / f"{part['chapter']}.json"
    assert file.is_file(), f"no chapter {part['chapter']}"
    there = json.loads(file.read_text(encoding="utf-8"))["figures"]
    for name in {part["figure"], *(one["figure"] for one in part["statement"] if "figure" in one)}:
        assert name in there
        assert (CHAPTERS.parent / "figures" / f"{name}.tsx").is_file(), name


def test_every_chapter_is_the_place_of_a_statement() -> None:
    used = {part["chapter"] for part in PARTS}
    assert {file.stem for file in CHAPTERS.glob("*.json")} <= used


@pytest.mark.parametrize("page", ["errata.md", "errata.ko.md"])
def test_what_does_not_hold_is_told_and_nothing_else(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    there = [int(number) for number in re.findall(r"^\*\*(\d+)\. ", text, re.MULTILINE)]
    assert there == [*range(1, len(there) + 1)]
    assert {one["errata"] for one in STATEMENTS if "errata" in one} == set(there)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_pages_are_what_the_script_makes(language: str) -> None:
    again = "run .venv/bin/python scripts/make_statements.py"
    assert maker.PAGES[language].read_text(encoding="utf-8") == maker.page(language), again


def test_the_script_writes_a_page_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{maker.BEGIN}\nold\n{maker.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(maker, "PAGES", {"ko": page})
    maker.main()
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{maker.BEGIN}\n\n### 노트 000: 인덱스에서 손실까지")
    assert text.endswith(f"\n\n{maker.END}\nafter\n")
    assert "old" not in text.split("\n")
    assert all(f"**{one['number']}** {one['ko']}" in text for one in STATEMENTS)
