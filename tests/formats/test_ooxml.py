import io
from pathlib import Path

import pytest
from tests.formats.laws import inside, segments, written
from tests.formats.office import sheets, slides, word, word_with

from jumok.formats.docx import LEFT, WORD, DocxFormat
from jumok.formats.ooxml import RunDialect, closed, content_types, opened, walk_part, without
from jumok.formats.package import Package
from jumok.formats.segments import MarkedText, Segment, Tag
from jumok.formats.walk import segments_on, write_whole
from jumok.formats.xlsx import STRINGS
from jumok.formats.xml_stream import NamedToken, XmlStream


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


NAMES = "http://schemas.openxmlformats.org/{}/2006/main"


def walked(dialect: RunDialect, xml: str, *, answered: bool) -> tuple[list[Segment], str]:
    """The segments of a part of this content, and what becomes of it with their texts in capitals."""
    head = f'<q:z xmlns:q="{NAMES.format("wordprocessingml" if dialect is WORD else "spreadsheetml")}">'
    walks = [
        walk_part(dialect, XmlStream(io.BytesIO(f"{head}{xml}</q:z>".encode()), "a"), "part", LEFT)
        for _ in range(2)
    ]
    found, out = list(segments_on(walks[0])), list[str]()
    answers = [MarkedText(one.source.text.upper(), one.source.tags) if answered else None for one in found]
    write_whole(walks[1], out.append, iter(answers))
    return found, "".join(out).removeprefix(head).removesuffix("</q:z>")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            '<q:p a="1"><!-- c --><q:pPr><q:jc/></q:pPr><q:r>\n<q:rPr><q:b/></q:rPr><q:t>One</q:t><q:tab/>'
            '<q:t xml:space="preserve"> two </q:t></q:r><q:proofErr/><q:r><q:t> and three</q:t></q:r></q:p>',
            '<q:p a="1"><q:pPr><q:jc/></q:pPr>'
            '<q:r><q:rPr><q:b/></q:rPr><q:t xml:space="preserve">ONE</q:t><q:tab/>'
            '<q:t xml:space="preserve"> TWO </q:t></q:r>'
            '<q:r><q:t xml:space="preserve">AND THREE</q:t></q:r></q:p>',
            [("part, paragraph 1", "One\t two and three")],
        ),
        (
            "<q:p><q:r><q:t>Make</q:t></q:r><q:sdt><q:sdtPr><q:text/></q:sdtPr><q:sdtContent>"
            "<q:r><q:t>one</q:t></q:r></q:sdtContent><q:x><q:y/></q:x></q:sdt><q:sdt><q:sdtPr/></q:sdt>"
            "<q:sdt><q:sdtContent/></q:sdt><q:r><q:t>choice</q:t></q:r></q:p>",
            '<q:p><q:r><q:t xml:space="preserve">MAKE</q:t></q:r>'
            "<q:sdt><q:sdtPr><q:text/></q:sdtPr><q:sdtContent>"
            '<q:r><q:t xml:space="preserve">ONE</q:t></q:r></q:sdtContent><q:x><q:y/></q:x></q:sdt>'
            "<q:sdt><q:sdtPr/></q:sdt><q:sdt><q:sdtContent></q:sdtContent></q:sdt>"
            '<q:r><q:t xml:space="preserve">CHOICE</q:t></q:r></q:p>',
            [("part, paragraph 1", "Makeonechoice")],
        ),
        (
            "<q:p><q:r><q:t>12</q:t></q:r></q:p><q:p/><q:p><q:r><q:t>a</q:t></q:r><q:hyperlink>"
            "<q:r><q:t>link</q:t></q:r></q:hyperlink><q:r><q:br/><q:t>b</q:t></q:r></q:p>",
            '<q:p><q:r><q:t>12</q:t></q:r></q:p><q:p/><q:p><q:r><q:t xml:space="preserve">A</q:t></q:r>'
            "<q:hyperlink>"
            '<q:r><q:t xml:space="preserve">LINK</q:t></q:r></q:hyperlink>'
            '<q:r><q:br/><q:t xml:space="preserve">B</q:t></q:r></q:p>',
            [("part, paragraph 3", "alink\nb")],
        ),
        (
            "<q:p><q:r><q:t>same</q:t>"
            + "<q:pict><q:p><q:r><q:t>Box</q:t></q:r></q:p></q:pict>" * 2
            + "</q:r></q:p>",
            '<q:p><q:r><q:t xml:space="preserve">SAME</q:t></q:r>'
            + '<q:r><q:pict><q:p><q:r><q:t xml:space="preserve">BOX</q:t></q:r></q:p></q:pict></q:r>' * 2
            + "</q:p>",
            [("text box", "Box"), ("text box", "Box"), ("part, paragraph 1", "same")],
        ),
        (
            "<q:del><q:p><q:r><q:t>gone</q:t></q:r></q:p></q:del>"
            "<q:p><q:del><q:r><q:t>x</q:t></q:r></q:del><q:cr/><q:r><q:t>left</q:t></q:r><q:br/></q:p>",
            "<q:del><q:p><q:r><q:t>gone</q:t></q:r></q:p></q:del>"
            "<q:p><q:del><q:r><q:t>x</q:t></q:r></q:del>"
            '<q:r><q:br/><q:t xml:space="preserve">LEFT</q:t><q:br/></q:r></q:p>',
            [("part, paragraph 1", "\nleft\n")],
        ),
    ],
    ids=["runs", "controls", "links", "boxes", "deletions"],
)
def test_paragraphs_of_word(before: str, after: str, found: list[tuple[str, str]]) -> None:
    """All that is written: runs joined, properties first, everything else where it was."""
    assert walked(WORD, before, answered=False)[1] == before
    asked, new = walked(WORD, before, answered=True)
    assert [(one.where, one.source.text) for one in asked] == found
    assert new == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<q:t> a </q:t>", '<q:t xml:space="preserve"> A </q:t>'),
        ("<q:t>a</q:t><q:t>b</q:t>", '<q:t xml:space="preserve">AB</q:t>'),
        ("<q:r><q:t>ab</q:t></q:r><q:rPh><q:t>no</q:t></q:rPh>", '<q:t xml:space="preserve">AB</q:t>'),
        (
            "<q:r><q:rPr><q:b/></q:rPr><q:t>a</q:t></q:r>",
            '<q:r><q:rPr><q:b/></q:rPr><q:t xml:space="preserve">A</q:t></q:r>',
        ),
        (
            "<q:r><q:t>ab</q:t></q:r><q:r><q:rPr><q:b/></q:rPr><q:t>c</q:t></q:r>",
            '<q:r><q:t xml:space="preserve">AB</q:t></q:r>'
            '<q:r><q:rPr><q:b/></q:rPr><q:t xml:space="preserve">C</q:t></q:r>',
        ),
        ("<q:z/><q:t>a</q:t>", '<q:z/><q:r><q:t xml:space="preserve">A</q:t></q:r>'),
        ("<q:t>a</q:t><q:z/>", '<q:r><q:t xml:space="preserve">A</q:t></q:r><q:z/>'),
    ],
)
def test_a_text_of_excel_has_runs_only_where_it_needs_them(before: str, after: str) -> None:
    assert walked(STRINGS, f"<q:si>{before}</q:si>", answered=False)[1] == f"<q:si>{before}</q:si>"
    assert walked(STRINGS, f"<q:si>{before}</q:si>", answered=True)[1] == f"<q:si>{after}</q:si>"


def test_boxes_that_are_alike_have_answers_of_their_own(tmp_path: Path) -> None:
    box = "<w:pict><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:pict>"
    path = word_with(
        tmp_path / "a.docx", f"<w:p><w:r><w:t>Words</w:t>{box.format('Box') * 2}<w:t>more</w:t></w:r></w:p>"
    )
    source = segments(DocxFormat(), path)[2].source
    new = inside(written(DocxFormat(), path, iter([MarkedText("One"), MarkedText("Two"), source])))
    document = new["word/document.xml"].decode()
    assert 0 < document.index(">One<") < document.index(">Two<")
