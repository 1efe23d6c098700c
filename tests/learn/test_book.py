"""The notebooks: both languages say it all, the code is valid, and every cell runs."""

import ast
import json
import re

import nbformat
import pytest
from nbclient import NotebookClient

from jumok.learn.book import names, notebook, read_cells

HANGUL = re.compile("[가-힣]")


def test_there_is_one_for_each_note() -> None:
    assert [name[:3] for name in names()] == ["000", "001", "002", "003", "004"]


@pytest.mark.parametrize("name", names())
def test_both_languages_have_the_same_cells_and_the_same_code(name: str) -> None:
    english, korean = read_cells(name, "en"), read_cells(name, "ko")
    assert [cell.kind for cell in english] == [cell.kind for cell in korean]
    for one, two in zip(english, korean, strict=True):
        assert one.text
        assert two.text
        if one.kind == "code":
            assert one == two
        else:
            assert not HANGUL.search(one.text)
            assert HANGUL.search(two.text)
            assert re.findall("^#+", one.text, re.M) == re.findall("^#+", two.text, re.M)  # headings


@pytest.mark.parametrize("name", names())
def test_every_page_checks_what_it_shows(name: str) -> None:
    code = "\n".join(cell.text for cell in read_cells(name, "en") if cell.kind == "code")
    asserts = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assert)]
    assert len(asserts) >= 7
    assert max(len(line) for line in code.splitlines()) <= 110


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_notebook_is_valid_and_the_same_each_time(language: str) -> None:
    text = notebook(names()[0], language)  # type: ignore[arg-type]
    assert text == notebook(names()[0], language)  # type: ignore[arg-type]
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert len({cell["id"] for cell in json.loads(text)["cells"]}) == len(json.loads(text)["cells"])


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    book = nbformat.reads(notebook(name, "en"), as_version=4)
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert sum("text" in output for output in outputs) >= 5
