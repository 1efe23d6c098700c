import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.formats.laws import check_laws, inside, segments, texts, written

from jumok.errors import DataError
from jumok.formats import epub as module
from jumok.formats.epub import EpubFormat
from jumok.formats.segments import Languages, MarkedText

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
BOOK = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>A small book</dc:title><dc:creator>Ann</dc:creator>
<dc:language>en</dc:language></metadata>
<manifest><item href="chapter%201.xhtml" media-type="application/xhtml+xml"/>
<item href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item href="../style.css" media-type="text/css"/></manifest></package>"""
CHAPTER = """<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><title>One</title></head>
<body><h1>Chapter one</h1><p>It was <em>very</em>&#160;dark and cold. <img src="a.png" alt="A house"/></p>
<pre>code stays</pre></body></html>"""
CONTENTS = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navLabel><text>Chapter one</text></navLabel></ncx>'
)


def book(path: Path, **other: str) -> Path:
    parts = {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": BOOK,
        "OEBPS/chapter 1.xhtml": CHAPTER,
        "OEBPS/toc.ncx": CONTENTS,
        "style.css": "p { color: red }",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        for name, text in (parts | other).items():
            archive.writestr(name, text if name == "style.css" else HEAD + text)
    return path


def test_chapters_contents_and_title_change_and_all_else_stays(tmp_path: Path) -> None:
    path = book(tmp_path / "a.epub")
    capitals = check_laws(EpubFormat(), path)
    found = texts(EpubFormat(), path)
    assert found[0] == "A small book"
    assert {"One", "Chapter one", "A house"} <= set(found)
    assert [one.where for one in segments(EpubFormat(), path) if "toc" in one.where] == [
        "OEBPS/toc.ncx, label 1"
    ]
    old, new = inside(path.read_bytes()), inside(capitals.read_bytes())
    assert {name for name in old if old[name] == new[name]} == {
        "mimetype",
        "META-INF/container.xml",
        "style.css",
    }
    assert list(new)[0] == "mimetype"
    assert b"<dc:title>A SMALL BOOK</dc:title><dc:creator>Ann</dc:creator>" in new["OEBPS/book.opf"]
    assert b"<text>CHAPTER ONE</text>" in new["OEBPS/toc.ncx"]
    page = ElementTree.fromstring(new["OEBPS/chapter 1.xhtml"])
    assert [one.text for one in page.iter("{http://www.w3.org/1999/xhtml}em")] == ["VERY"]
    assert page.find(".//{http://www.w3.org/1999/xhtml}img").attrib["alt"] == "A HOUSE"  # type: ignore[union-attr]
    assert b"<pre>code stays</pre>" in new["OEBPS/chapter 1.xhtml"]


def test_the_language_is_the_new_one(tmp_path: Path) -> None:
    path = book(tmp_path / "a.epub")
    count = len(segments(EpubFormat(), path))
    new = inside(written(EpubFormat(Languages("en", "de")), path, iter([MarkedText("Ein\xa0Wort")] * count)))
    expected = BOOK.replace("A small book", "Ein\xa0Wort").replace(">en</dc:language>", ">de</dc:language>")
    assert new["OEBPS/book.opf"].decode() == HEAD + expected
    assert b'xml:lang="de" lang="de"' in new["OEBPS/chapter 1.xhtml"]
    assert b"&nbsp;" not in new["OEBPS/chapter 1.xhtml"]
    ElementTree.fromstring(new["OEBPS/chapter 1.xhtml"])


def test_places_name_the_chapter(tmp_path: Path) -> None:
    found = segments(EpubFormat(), book(tmp_path / "a.epub"))
    assert found[0].where == "OEBPS/book.opf, dc:title"
    assert any(one.where.startswith("OEBPS/chapter 1.xhtml, line") for one in found)


def test_protected_books_and_other_files_are_refused(tmp_path: Path) -> None:
    lock = '<encryption><CipherReference URI="OEBPS/chapter%201.xhtml"/></encryption>'
    path = book(tmp_path / "a.epub", **{"META-INF/encryption.xml": lock})
    with pytest.raises(DataError, match="protected by a password\n.*part OEBPS/chapter 1.xhtml"):
        segments(EpubFormat(), path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(DataError, match="no book inside: it has no list of its parts\n.*a.epub"):
        segments(EpubFormat(), path)


def test_a_chapter_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = book(tmp_path / "a.epub")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/book.opf", BOOK)
        archive.writestr("OEBPS/chapter 1.xhtml", "<p>für</p>".encode("latin-1"))
    with pytest.raises(DataError, match="the chapter is not UTF-8: .*\n.*part OEBPS/chapter 1.xhtml"):
        segments(EpubFormat(), path)


def test_only_items_of_the_book_are_its_parts(tmp_path: Path) -> None:
    record = '<link rel="record" href="other.xhtml" media-type="application/xhtml+xml"/>'
    path = book(
        tmp_path / "a.epub",
        **{"OEBPS/book.opf": BOOK.replace("</metadata>", f"{record}</metadata>")},
        **{"OEBPS/other.xhtml": "<p>Not of the book</p>"},
    )
    assert texts(EpubFormat(), path) == texts(EpubFormat(), book(tmp_path / "b.epub"))


def test_a_chapter_in_utf_16_stays_in_it(tmp_path: Path) -> None:
    path = book(tmp_path / "a.epub")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/book.opf", BOOK)
        archive.writestr("OEBPS/chapter 1.xhtml", "<p>One wörd</p>".encode("utf-16"))
    new = inside(check_laws(EpubFormat(), path).read_bytes())["OEBPS/chapter 1.xhtml"]
    assert new == "<p>ONE WÖRD</p>".encode("utf-16")


def test_a_chapter_has_a_limit_and_the_contents_have_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = "<navLabel><text>{}</text></navLabel>"
    labels = "".join(map(label.format, ("One", "2", "Three")))
    path = book(
        tmp_path / "a.epub", **{"OEBPS/toc.ncx": CONTENTS.replace(label.format("Chapter one"), labels)}
    )
    monkeypatch.setattr(module, "LARGEST", len((HEAD + CHAPTER).encode()))
    assert [(one.source.text, one.where) for one in segments(EpubFormat(), path)][-2:] == [
        ("One", "OEBPS/toc.ncx, label 1"),
        ("Three", "OEBPS/toc.ncx, label 3"),
    ]
    monkeypatch.setattr(module, "LARGEST", len((HEAD + CHAPTER).encode()) - 1)
    with pytest.raises(
        DataError, match="a chapter of more than 0 MiB\n.*part OEBPS/chapter 1.xhtml\n  divide the chapter"
    ):
        segments(EpubFormat(), path)
