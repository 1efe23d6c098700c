import re
import zipfile
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, inside, segments, texts, written
from tests.formats.office import open_document

from jumok.errors import DataError
from jumok.formats.inline import render
from jumok.formats.opendocument import OdpFormat, OdsFormat, OdtFormat, spacing, with_language
from jumok.formats.segments import Languages, MarkedText, Tag


def paragraph(tmp_path: Path, content: str) -> MarkedText:
    path = open_document(tmp_path / "a.odt", f"<text:p>{content}</text:p>")
    check_capitals(OdtFormat(), path, check_laws(OdtFormat(), path))
    return segments(OdtFormat(), path)[0].source


def test_spans_are_tags_and_equal_neighbours_are_one(tmp_path: Path) -> None:
    span = '<text:span text:style-name="T1">{}</text:span>'
    found = paragraph(tmp_path, f"Some {span.format('bo')}{span.format('ld')} words")
    assert found == MarkedText(
        "Some bold words", (Tag(5, 9, '<text:span text:style-name="T1">', "</text:span>"),)
    )


def test_white_space_is_elements(tmp_path: Path) -> None:
    found = paragraph(tmp_path, ' a\n  b<text:s/><text:s text:c="2"/>c<text:tab/>d<text:line-break/> e')
    assert found.text == "a b   c\td\ne"
    assert paragraph(tmp_path, "a<text:line-break/> b <text:tab/> c").text == "a\nb \t c"
    assert paragraph(tmp_path, 'a<text:s text:c="1001"/>b').text == "a" + " " * 1000 + "b"
    for text, raw in (
        ("a \t  b", 'a <t:tab/> <t:s t:c="1"/>b'),
        ("a\n b", 'a<t:line-break/><t:s t:c="1"/>b'),
        ("  a  \n", '<t:s t:c="2"/>a <t:s t:c="1"/><t:line-break/>'),
        ("a <b>\xa0", "a &lt;b&gt;\xa0"),
    ):
        assert spacing("t:")(text) == raw


def test_texts_and_where_they_stand(tmp_path: Path) -> None:
    note = "<text:note><text:note-body><text:p>Same</text:p></text:note-body></text:note>"
    header = "<style:header><text:p>12</text:p><text:p>Top</text:p></style:header>"
    path = open_document(
        tmp_path / "a.odt", f"<text:p/><text:p>One{note}two{note}</text:p><text:h>Three</text:h>", header
    )
    assert [(one.source.text, one.where) for one in segments(OdtFormat(), path)] == [
        ("Same", "content.xml, paragraph 2, inside"),
        ("Same", "content.xml, paragraph 2, inside"),
        ("Onetwo", "content.xml, paragraph 2"),
        ("Three", "content.xml, paragraph 3"),
        ("Top", "styles.xml, paragraph 2"),
    ]
    new = capitals_of(check_laws(OdtFormat(), path)).decode()
    answers = [MarkedText("One"), MarkedText("Two"), segments(OdtFormat(), path)[2].source, None, None]
    content = inside(written(OdtFormat(), path, iter(answers)))["content.xml"]
    assert 0 < content.index(b">One<") < content.index(b">Two<")
    other = note.replace("Same", "SAME")
    assert f"<text:p/><text:p>ONE{other}TWO{other}</text:p><text:h>THREE</text:h>" in new


@given(st.text(st.sampled_from(" ab\t\n<")).filter(str.strip))
def test_any_white_space_comes_back(text: str) -> None:
    """The rules of OpenDocument: white space in a row is one space, and none after a break."""
    raw = spacing("t:")(text)
    plain = re.sub(r"<t:s t:c=\"(\d+)\"/>", lambda found: "\0" * int(found[1]), raw)
    assert "  " not in plain
    assert not plain.startswith(" ")
    assert (
        unescape(plain.replace("\0", " ").replace("<t:tab/>", "\t").replace("<t:line-break/>", "\n")) == text
    )


def test_notes_comments_and_frames_are_walked_on_the_way(tmp_path: Path) -> None:
    note = (
        '<text:note text:id="n1"><text:note-citation>1</text:note-citation><text:note-body>'
        "<text:p>The note itself</text:p></text:note-body></text:note>"
    )
    path = open_document(tmp_path / "a.odt", f"<text:p>A word{note} and more</text:p><text:h>Title</text:h>")
    capitals = check_laws(OdtFormat(), path)
    assert texts(OdtFormat(), path) == ["The note itself", "A word and more", "Title"]
    assert texts(OdtFormat(), capitals) == ["THE NOTE ITSELF", "A WORD AND MORE", "TITLE"]
    assert b'WORD<text:note text:id="n1"><text:note-citation>1</text:note-citation>' in capitals_of(capitals)
    half = written(OdtFormat(), path, iter([MarkedText("ONLY"), None, None]))
    assert b"<text:p>A word<text:note" in inside(half)["content.xml"]
    assert b"<text:p>ONLY</text:p>" in inside(half)["content.xml"]


def capitals_of(path: Path) -> bytes:
    return inside(path.read_bytes())["content.xml"]


def test_fields_stay_and_deleted_text_stays(tmp_path: Path) -> None:
    deleted = "<text:deletion><text:p>Old words</text:p></text:deletion>"
    number, change = "<text:page-number>3</text:page-number>", "<text:change text:change-id='c'/>"
    body = (
        f"<text:tracked-changes>{deleted}</text:tracked-changes><text:p>Page {number} of it{change}</text:p>"
    )
    path = open_document(tmp_path / "a.odt", body)
    capitals = capitals_of(check_laws(OdtFormat(), path))
    assert texts(OdtFormat(), path) == ["Page  of it"]
    assert b"Old words" in capitals
    assert b"PAGE <text:page-number>3</text:page-number><text:s" in capitals


def test_headers_and_footers_are_in_the_styles_and_samples_of_masters_stay(tmp_path: Path) -> None:
    styles = (
        "<office:master-styles><style:master-page><text:p>Click to edit</text:p><style:header>"
        "<text:p>Top of the page</text:p></style:header></style:master-page></office:master-styles>"
    )
    path = open_document(tmp_path / "a.odp", "<text:p>Words</text:p>", styles, kind="presentation")
    assert texts(OdpFormat(), path) == ["Words", "Top of the page"]
    check_capitals(OdpFormat(), path, check_laws(OdpFormat(), path))


def test_cells_with_numbers_and_formulas_stay(tmp_path: Path) -> None:
    kinds = ("string", 'float" office:value="3', 'string" table:formula="of:=A1')
    cells = "".join(
        f'<table:table-cell office:value-type="{kind}"><text:p>Apples</text:p></table:table-cell>'
        for kind in kinds
    )
    path = open_document(
        tmp_path / "a.ods", f"<table:table-row>{cells}</table:table-row>", kind="spreadsheet"
    )
    assert texts(OdsFormat(), path) == ["Apples"]
    assert capitals_of(check_laws(OdsFormat(), path)).count(b"Apples") == 2


def test_the_language_of_the_spelling_is_that_of_the_translation(tmp_path: Path) -> None:
    style = '<style:text-properties fo:language="de" fo:country="DE" style:language-asian="ja"/>'
    fo = 'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    path = open_document(
        tmp_path / "a.odt", "<text:p>Hallo</text:p>", f"<style:style {fo}>{style}</style:style>"
    )
    new = inside(written(OdtFormat(Languages("de", "en-GB")), path, iter([MarkedText("Hello")])))[
        "styles.xml"
    ]
    assert b'fo:language="en" fo:country="GB" style:language-asian="ja"' in new
    korean = inside(written(OdtFormat(Languages("de", "ko")), path, iter([None])))["styles.xml"]
    assert b'fo:language="de" fo:country="DE" style:language-asian="ko"' in korean
    assert (
        inside(written(OdtFormat(), path, iter([None])))["styles.xml"]
        == inside(path.read_bytes())["styles.xml"]
    )


def test_passwords_and_other_files_are_refused(tmp_path: Path) -> None:
    entry = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    path = open_document(tmp_path / "a.odt", "<text:p>x</text:p>", manifest=entry)
    with pytest.raises(DataError, match="protected by a password\n.*a.odt\n  open it, take the password off"):
        segments(OdtFormat(), path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(DataError, match="no OpenDocument content inside"):
        segments(OdtFormat(), path)


def test_a_count_of_spaces_that_is_no_number_is_one(tmp_path: Path) -> None:
    assert paragraph(tmp_path, 'a<text:s text:c="x"/>b').text == "a b"
    assert render(MarkedText("a  b"), spacing("t:")) == 'a <t:s t:c="1"/>b'


def test_a_list_of_parts_with_an_unknown_prefix_is_no_obstacle(tmp_path: Path) -> None:
    """As old templates of LibreOffice have it."""
    path = open_document(tmp_path / "a.ott", "<text:p>Words</text:p>", manifest="<loext:x/>")
    assert texts(OdtFormat(), path) == ["Words"]


@pytest.mark.parametrize(
    ("target", "raw", "expected"),
    [
        ("en", 'fo:language="de" fo:country="DE"', 'fo:language="en" fo:country="none"'),
        ("en-US", 'fo:language="de" fo:country="DE"', 'fo:language="en" fo:country="US"'),
        ("en", 'fo:language="zxx" fo:country="none"', 'fo:language="zxx" fo:country="none"'),
        ("en", 'style:language-asian="ja"', 'style:language-asian="ja"'),
        ("ja", 'style:language-asian="zh" style:country-asian="CN"',
         'style:language-asian="ja" style:country-asian="none"'),
        ("ar", 'style:language-complex="hi" fo:language="a"', 'style:language-complex="ar" fo:language="a"'),
        ("", 'fo:language="de"', 'fo:language="de"'),
    ],
)  # fmt: skip
def test_what_a_formatting_says_of_the_language(target: str, raw: str, expected: str) -> None:
    assert with_language(f"<s {raw}/>", target) == f"<s {expected}/>"


def test_which_cells_stay(tmp_path: Path) -> None:
    kinds = {
        "": "none",
        'office:value-type="string"': "text",
        'office:value-type="date"': "date",
        'office:string-value="x"': "other",
        'table:formula="x"': "formula",
    }
    cell = "<table:{0} {1}><text:p>{0} {2}</text:p></table:{0}>"
    names = ("table-cell", "covered-table-cell")
    cells = "".join(cell.format(name, kind, word) for name in names for kind, word in kinds.items())
    path = open_document(tmp_path / "a.ods", cells, kind="spreadsheet")
    assert texts(OdsFormat(), path) == [f"{name} {word}" for name in names for word in ("none", "text")]
