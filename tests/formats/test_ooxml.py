from pathlib import Path

from tests.formats.laws import segments
from tests.formats.office import sheets, slides, word, word_with

from jumok.formats.docx import DocxFormat
from jumok.formats.ooxml import closed, content_types, opened, without
from jumok.formats.package import Package
from jumok.formats.segments import MarkedText, Tag
from jumok.formats.xml_stream import NamedToken


def test_a_document_says_what_its_parts_are(tmp_path: Path) -> None:
    for make, part, kind in (
        (word, "word/document.xml", "document"),
        (slides, "ppt/presentation.xml", "presentation"),
    ):
        with Package(make(tmp_path / "a")) as package:
            assert f"{kind}.main+xml" in content_types(package)[part]
    with Package(sheets(tmp_path / "a")) as package:
        assert content_types(package)["xl/workbook.xml"].endswith("sheet.main+xml")


def test_tags_on_both_sides() -> None:
    assert opened('<w:p a="1" />') == '<w:p a="1">'
    assert opened("<w:p>") == "<w:p>"
    assert closed(NamedToken("start", "<x:p a='1'/>", "w:p")) == "</x:p>"


def test_a_formatting_with_nothing_left_is_none() -> None:
    assert without("<w:lang/>", "<w:rPr><w:lang/></w:rPr>") == ""
    assert without(" lang='x'", "<a:rPr lang='x'/>") == ""
    assert without("<w:lang/>", "<w:rPr><w:lang/><w:b/></w:rPr>") == "<w:rPr><w:b/></w:rPr>"


def test_what_is_inside_a_picture_is_one_point_to_its_end(tmp_path: Path) -> None:
    """With elements in elements and whatever stands between them."""
    raw = "<w:r><w:object>a<w:movie>b<w:control/>c</w:movie>d<w:control/></w:object></w:r>"
    text = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'
    path = word_with(tmp_path / "a.docx", f"<w:p>{text.format('Before ')}{raw}{text.format('it')}</w:p>")
    (found,) = segments(DocxFormat(), path)
    assert found.source == MarkedText("Before it", (Tag(7, 7, raw),))
