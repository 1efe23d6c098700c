from pathlib import Path

import openpyxl
import pytest
from tests.formats.laws import check_capitals, check_laws, inside, segments, texts
from tests.formats.office import sheets, word
from tests.formats.test_pptx import with_part

from jumok.errors import DataError
from jumok.formats.xlsx import XlsxFormat

SHARED = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    b' count="3"><si><t xml:space="preserve"> with space </t></si><si><r><t>rich </t></r><r><rPr><b/></rPr>'
    b"<t>text</t></r></si><si><t>\xe6\x9d\xb1\xe4\xba\xac</t>"
    b'<rPh sb="0" eb="2"><t>\xe3\x81\xa8</t></rPh></si></sst>'
)
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


def test_everything_comes_back_and_a_library_reads_it(tmp_path: Path) -> None:
    path = sheets(tmp_path / "a.xlsx")
    capitals = check_laws(XlsxFormat(), path)
    check_capitals(XlsxFormat(), path, capitals)
    book = openpyxl.load_workbook(capitals, rich_text=True)
    sheet = book["Data sheet"]
    assert [cell.value for cell in sheet["A"]] == [
        "Name",
        "GREEN APPLES ",
        "LINE ONE\nLINE TWO",
        'SAY "X" & <Y>',
    ]
    assert [cell.value for cell in sheet["B"]] == ["Amount", 3, "=B2*2", 4.5]
    assert str(sheet["D1"].value) == "SOME BOLD TEXT"
    assert sheet["D1"].value[1].font.b is True
    assert sheet["A2"].comment.text == "ARE THEY RIPE?"


def test_heads_of_tables_stay(tmp_path: Path) -> None:
    """Excel repairs, and spoils, a table whose head is not the text of its cells."""
    assert not {"Name", "Amount"} & set(texts(XlsxFormat(), sheets(tmp_path / "a.xlsx")))


def test_shared_strings_with_and_without_runs(tmp_path: Path) -> None:
    path = with_part(sheets(tmp_path / "a.xlsx"), "xl/sharedStrings.xml", SHARED, KIND)
    capitals = check_laws(XlsxFormat(), path)
    check_capitals(XlsxFormat(), path, capitals)
    shared = [one.source.text for one in segments(XlsxFormat(), path) if "sharedStrings" in one.where]
    assert shared == [" with space ", "rich text", "東京"]
    found = [one.where for one in segments(XlsxFormat(), path) if "sharedStrings" in one.where]
    assert found == [f"xl/sharedStrings.xml, text {n}" for n in (1, 2, 3)]
    new = inside(capitals.read_bytes())["xl/sharedStrings.xml"]
    assert b'<t xml:space="preserve"> WITH SPACE </t>' in new
    assert "と".encode() not in new, "a reading of the old text"


def test_cells_are_named(tmp_path: Path) -> None:
    wheres = [one.where for one in segments(XlsxFormat(), sheets(tmp_path / "a.xlsx"))]
    assert wheres[0] == "xl/worksheets/sheet1.xml, cell D1"


def test_another_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no workbook inside\n.*a.docx"):
        segments(XlsxFormat(), word(tmp_path / "a.docx"))


def test_text_boxes_on_a_sheet_are_translated(tmp_path: Path) -> None:
    box = b"<a:p><a:r><a:t>In the box</a:t></a:r></a:p>"
    data = b'<x xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">' + box + b"</x>"
    kind = "application/vnd.openxmlformats-officedocument.drawing+xml"
    path = with_part(sheets(tmp_path / "a.xlsx"), "xl/drawings/drawing1.xml", data, kind)
    wheres = {one.source.text: one.where for one in segments(XlsxFormat(), path)}
    assert wheres["In the box"] == "xl/drawings/drawing1.xml, paragraph 1"
    new = inside(check_laws(XlsxFormat(), path).read_bytes())["xl/drawings/drawing1.xml"]
    assert new == data.replace(b"In the box", b"IN THE BOX")
