from pathlib import Path

from tests.formats.office import sheets, slides, word

from jumok.formats.ooxml import closed, content_types, opened, without
from jumok.formats.package import Package
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
