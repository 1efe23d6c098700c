import zipfile
from pathlib import Path

import pptx
import pytest
from tests.formats.laws import check_capitals, check_laws, inside, segments, written
from tests.formats.office import slides, word

from jumok.errors import DataError
from jumok.formats.pptx import PptxFormat
from jumok.formats.segments import Languages, MarkedText

COMMENTS = (
    b'<?xml version="1.0"?><p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main">'
    b'<p:cm authorId="0"><p:pos x="1" y="2"/><p:text>Is this right?</p:text></p:cm></p:cmLst>'
)


def test_everything_comes_back_and_a_library_reads_it(tmp_path: Path) -> None:
    path = slides(tmp_path / "a.pptx")
    capitals = check_laws(PptxFormat(), path)
    check_capitals(PptxFormat(), path, capitals)
    slide = pptx.Presentation(str(capitals)).slides[0]
    assert slide.shapes.title.text == "THE TITLE\vIN TWO LINES"
    assert [run.text for run in slide.placeholders[1].text_frame.paragraphs[1].runs] == [
        "SOME ",
        "BOLD",
        " WORDS",
    ]
    assert slide.placeholders[1].text_frame.paragraphs[1].runs[1].font.bold is True
    table = next(one.table for one in slide.shapes if one.has_table)
    assert [cell.text for cell in table.iter_cells()] == ["LEFT CELL", "12"]
    assert slide.notes_slide.notes_text_frame.text == "SAY THIS SLOWLY"
    old, new = inside(path.read_bytes()), inside(capitals.read_bytes())
    changed = {name for name in old if old[name] != new[name]}
    assert changed == {"ppt/slides/slide1.xml", "ppt/notesSlides/notesSlide1.xml"}


def test_places_are_slides(tmp_path: Path) -> None:
    found = segments(PptxFormat(), slides(tmp_path / "a.pptx"))
    assert [one.where for one in found][:2] == ["slide 1, paragraph 1", "slide 1, paragraph 2"]
    assert found[-1].where == "notes of slide 1, paragraph 1"


def with_part(path: Path, name: str, data: bytes, kind: str) -> Path:
    """The same document with one part more, or another one."""
    new = path.with_name("more-" + path.name)
    override = f'<Override PartName="/{name}" ContentType="{kind}"/></Types>'.encode()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w") as archive:
        for one in old.namelist():
            content = old.read(one)
            if one == "[Content_Types].xml" and kind:
                content = content.replace(b"</Types>", override)
            archive.writestr(one, data if one == name else content)
        if name not in old.namelist():
            archive.writestr(name, data)
    return new


def test_comments_are_translated(tmp_path: Path) -> None:
    kind = "application/vnd.openxmlformats-officedocument.presentationml.comments+xml"
    path = with_part(slides(tmp_path / "a.pptx"), "ppt/comments/comment1.xml", COMMENTS, kind)
    new = inside(check_laws(PptxFormat(), path).read_bytes())["ppt/comments/comment1.xml"]
    assert b"<p:text>IS THIS RIGHT?</p:text>" in new
    assert b'<p:pos x="1" y="2"/>' in new


def test_fields_are_points_and_the_end_of_a_paragraph_stays(tmp_path: Path) -> None:
    path = slides(tmp_path / "a.pptx")
    data = inside(path.read_bytes())["ppt/slides/slide1.xml"]
    field = b'<a:fld id="{1}" type="slidenum"><a:rPr lang="en-US"/><a:t>7</a:t></a:fld>'
    runs = (
        b'<a:r><a:rPr lang="en-US" dirty="0"/><a:t>Slide </a:t></a:r>'
        + field
        + b"<a:r><a:t> of ten</a:t></a:r>"
    )
    end = b'<a:endParaRPr lang="en-US"/>'
    data = data.replace(b"<a:r><a:t>First point</a:t></a:r>", runs + end)
    path = with_part(path, "ppt/slides/slide1.xml", data, "")
    capitals = check_laws(PptxFormat(), path)
    found = next(one.source for one in segments(PptxFormat(), path) if "Slide" in one.source.text)
    assert found.text == "Slide  of ten"
    assert [(tag.begin, tag.is_point) for tag in found.tags] == [(6, True)]
    new = inside(capitals.read_bytes())["ppt/slides/slide1.xml"]
    assert field + b'<a:r><a:rPr lang="en-US" dirty="0"/><a:t> OF TEN</a:t></a:r>' + end in new


def test_the_language_of_the_spelling_is_that_of_the_translation(tmp_path: Path) -> None:
    path = slides(tmp_path / "a.pptx")
    data = inside(path.read_bytes())["ppt/slides/slide1.xml"]
    data = data.replace(b"<a:r><a:t>First", b'<a:r><a:rPr lang="de-DE" b="1"/><a:t>First')
    path = with_part(path, "ppt/slides/slide1.xml", data, "")
    count = len(segments(PptxFormat(), path))
    new = inside(written(PptxFormat(Languages("de", "en")), path, iter([MarkedText("X")] * count)))
    assert b'<a:rPr lang="en" b="1"/>' in new["ppt/slides/slide1.xml"]


def test_another_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no presentation inside\n.*a.docx"):
        segments(PptxFormat(), word(tmp_path / "a.docx"))
    kind = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"
    with pytest.raises(DataError, match="no presentation inside"):
        segments(PptxFormat(), with_part(word(tmp_path / "b.docx"), "a.xml", b"<a/>", kind))
