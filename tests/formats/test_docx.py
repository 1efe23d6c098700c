import zipfile
from pathlib import Path

import docx
import pytest
from tests.formats.laws import check_capitals, check_laws, inside, segments, texts, written
from tests.formats.office import word, word_with

from jumok.errors import DataError
from jumok.formats.docx import DocxFormat
from jumok.formats.segments import Languages, MarkedText, Tag

STRICT = (
    b'<d:document xmlns:d="http://purl.oclc.org/ooxml/wordprocessingml/main">'
    b"<d:body><d:p><d:r><d:t>Some words</d:t></d:r></d:p></d:body></d:document>"
)


def run(text: str, format: str = "") -> str:
    return f'<w:r>{f"<w:rPr>{format}</w:rPr>" if format else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(code: str, *result: str) -> str:
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    parts = [mark.format("begin"), f"<w:r><w:instrText>{code}</w:instrText></w:r>", mark.format("separate")]
    return "".join([*parts, *result, mark.format("end")])


def paragraph(tmp_path: Path, content: str) -> MarkedText:
    """The text of one paragraph; all laws hold of it."""
    path = word_with(tmp_path / "a.docx", f"<w:p>{content}</w:p>")
    check_capitals(DocxFormat(), path, check_laws(DocxFormat(), path))
    found = segments(DocxFormat(), path)
    return found[0].source if found else MarkedText("")


def test_everything_comes_back_and_word_reads_it(tmp_path: Path) -> None:
    path = word(tmp_path / "a.docx")
    capitals = check_laws(DocxFormat(), path)
    check_capitals(DocxFormat(), path, capitals)
    new = docx.Document(str(capitals))
    assert [one.text for one in new.paragraphs[:3]] == [
        "A REPORT OF MÜLLER & SONS",
        "PLAIN AND BOLD AND ITALIC\tWITH\nTABS.",
        "FIRST POINT",
    ]
    assert [(one.text, one.bold) for one in new.paragraphs[1].runs if one.bold] == [("BOLD", True)]
    assert new.tables[0].cell(1, 1).text == "CELL 3"
    assert new.sections[0].header.paragraphs[0].text == "THE HEADER"
    assert new.sections[0].footer.paragraphs[0].text == "THE FOOTER"
    assert next(iter(new.comments)).text == "A REMARK HERE"
    old, other = inside(path.read_bytes()), inside(capitals.read_bytes())
    assert {name for name in old if old[name] != other[name]} == {
        f"word/{name}.xml" for name in ("document", "header1", "footer1", "comments")
    }


def test_macros_stay_as_they_are(tmp_path: Path) -> None:
    path = word(tmp_path / "a.docm")
    macros = bytes(range(256)) * 8
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/vbaProject.bin", macros)
    capitals = check_laws(DocxFormat(), path)
    assert inside(capitals.read_bytes())["word/vbaProject.bin"] == macros


def test_runs_are_tags_and_equal_neighbours_are_one(tmp_path: Path) -> None:
    content = (
        run("A ")
        + run("b", "<w:b/>")
        + run("c", '<w:b/><w:lang w:val="de"/>')
        + run(" ", "<w:i/>")
        + run("plain words")
    )
    found = paragraph(tmp_path, content)
    assert found.text == "A bc plain words"
    assert found.tags == (Tag(2, 5, "<w:rPr><w:b/></w:rPr>", "</run>"),)


def test_one_formatting_is_no_tag(tmp_path: Path) -> None:
    assert paragraph(tmp_path, run("All of it", "<w:b/>") + run(" is bold", "<w:b/>")).tags == ()


def test_links_and_insertions_hold_their_text_and_deletions_stay(tmp_path: Path) -> None:
    link = f'<w:hyperlink r:id="x">{run("the page")}</w:hyperlink>'
    deleted = '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del>'
    inserted = f'<w:ins w:id="2">{run("new")}</w:ins>'
    found = paragraph(tmp_path, run("See ") + link + run(" or ") + deleted + inserted + run("."))
    assert found.text == "See the page or new."
    assert [(tag.begin, tag.end, tag.open[:8]) for tag in found.tags] == [
        (4, 12, "<w:hyper"),
        (16, 16, "<w:del w"),
        (16, 19, "<w:ins w"),
    ]


def test_fields_notes_and_pictures_are_points(tmp_path: Path) -> None:
    note = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
    found = paragraph(tmp_path, run("On page ") + field("PAGE", run("12")) + run(" of") + note + run(" it"))
    assert found.text == "On page  of it"
    assert [(tag.begin, tag.is_point) for tag in found.tags] == [(8, True), (11, True)]
    assert "PAGE" in found.tags[0].open
    assert "12" in found.tags[0].open
    assert "superscript" in found.tags[1].open


def test_a_link_by_a_field_keeps_its_text_open(tmp_path: Path) -> None:
    found = paragraph(tmp_path, run("See ") + field(' HYPERLINK "http://a" ', run("this page")) + run(" now"))
    assert found.text == "See this page now"
    assert [(tag.begin, tag.end) for tag in found.tags] == [(4, 13)]
    assert "HYPERLINK" in found.tags[0].open
    assert '"end"' in found.tags[0].close


def test_a_field_inside_a_field_is_part_of_it(tmp_path: Path) -> None:
    found = paragraph(tmp_path, run("Now ") + field("IF", field("PAGE", run("1")), run("x")) + run(" then"))
    assert found.text == "Now  then"
    assert len(found.tags) == 1


def test_a_field_over_several_paragraphs_stays_in_its_order(tmp_path: Path) -> None:
    begin, _, rest = field("TOC", run("Chapter one")).partition('"separate"/></w:r>')
    path = word_with(
        tmp_path / "a.docx", f'<w:p>{begin}"separate"/></w:r>{run("First")}</w:p>', f"<w:p>{rest}</w:p>"
    )
    check_capitals(DocxFormat(), path, check_laws(DocxFormat(), path))
    assert [(one.source.text, one.source.tags) for one in segments(DocxFormat(), path)] == [
        ("First", ()),
        ("Chapter one", ()),
    ]


def test_text_boxes_are_paragraphs_inside(tmp_path: Path) -> None:
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('In the box')}</w:p></w:txbxContent></w:pict></w:r>"
    path = word_with(tmp_path / "a.docx", f"<w:p>{run('Before ')}{box}{run('and after')}</w:p>")
    capitals = check_laws(DocxFormat(), path)
    assert texts(DocxFormat(), path) == ["In the box", "Before and after"]
    assert texts(DocxFormat(), capitals) == ["IN THE BOX", "BEFORE AND AFTER"]
    half = written(DocxFormat(), path, iter([MarkedText("ONLY THE BOX"), None]))
    assert b"ONLY THE BOX" in inside(half)["word/document.xml"]
    assert b"Before " in inside(half)["word/document.xml"]


def test_content_controls_keep_their_properties_in_front(tmp_path: Path) -> None:
    control = (
        f'<w:sdt><w:sdtPr><w:tag w:val="t"/></w:sdtPr><w:sdtContent>{run("a choice")}</w:sdtContent></w:sdt>'
    )
    found = paragraph(tmp_path, run("Make ") + control + run(" here"))
    assert found.text == "Make a choice here"
    assert [(tag.begin, tag.end, tag.open, tag.close) for tag in found.tags] == [
        (5, 13, '<w:sdt><w:sdtPr><w:tag w:val="t"/></w:sdtPr><w:sdtContent>', "</w:sdtContent></w:sdt>")
    ]


def test_what_is_around_all_text_is_no_tag(tmp_path: Path) -> None:
    mark = '<w:bookmarkStart w:id="1" w:name="x"/>'
    content = f'{mark}<w:hyperlink r:id="x">{run("All of it")}</w:hyperlink><w:bookmarkEnd w:id="1"/>'
    assert paragraph(tmp_path, content) == MarkedText("All of it")


def test_spaces_at_the_ends_of_text_count_only_if_it_says_so(tmp_path: Path) -> None:
    assert paragraph(tmp_path, "<w:r><w:t> a </w:t></w:r>" + run(" b")).text == "a b"


def test_hidden_and_right_to_left_runs_keep_their_formatting(tmp_path: Path) -> None:
    found = paragraph(tmp_path, run("مرحبا ", "<w:rtl/>") + run("secret", "<w:vanish/>"))
    assert found.text == "مرحبا secret"
    assert len(found.tags) == 1


def test_page_breaks_are_points_and_line_breaks_are_text(tmp_path: Path) -> None:
    found = paragraph(
        tmp_path, '<w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:br w:type="page"/><w:t>three</w:t></w:r>'
    )
    assert found.text == "one\ntwothree"
    assert [tag.begin for tag in found.tags] == [7]


def test_the_language_of_the_spelling_is_that_of_the_translation(tmp_path: Path) -> None:
    said = run("Hallo", '<w:lang w:val="de-DE" w:eastAsia="ja-JP"/>')
    path = word_with(tmp_path / "a.docx", f"<w:p>{said}</w:p>")
    new = inside(written(DocxFormat(Languages("de", "en")), path, iter([MarkedText("Hello")])))
    assert b'<w:lang w:val="en" w:eastAsia="ja-JP"/>' in new["word/document.xml"]
    assert b'<w:lang w:val="en" ' in new["word/styles.xml"]
    korean = inside(written(DocxFormat(Languages("de", "ko")), path, iter([MarkedText("안녕")])))
    assert b'<w:lang w:val="de-DE" w:eastAsia="ko"/>' in korean["word/document.xml"]


def test_other_prefixes_and_strict_documents(tmp_path: Path) -> None:
    path = word_with(tmp_path / "a.docx", f"<w:p>{run('Some words')}</w:p>")
    strict = tmp_path / "strict.docx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(strict, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "word/document.xml":
                data = STRICT
            new.writestr(name, data)
    assert (
        b'<d:r><d:t xml:space="preserve">SOME WORDS</d:t></d:r>'
        in inside(check_laws(DocxFormat(), strict).read_bytes())["word/document.xml"]
    )


def test_a_part_that_is_broken_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(word(tmp_path / "b.docx")) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(
                name,
                old.read(name).replace(b"</w:body>", b"\n")
                if name == "word/document.xml"
                else old.read(name),
            )
    with pytest.raises(
        DataError, match="XML is broken: mismatched tag, .*\n.*a.docx, part word/document.xml, line"
    ):
        segments(DocxFormat(), path)


def test_another_document_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("a", "x")
    with pytest.raises(DataError, match="no Word document inside\n.*a.docx\n  name its --format"):
        segments(DocxFormat(), tmp_path / "a.docx")
