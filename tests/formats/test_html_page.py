"""HTML pages: what is text, what is kept, and what is written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.copies import as_source, capitals, texts, written

from jumok.errors import DataError, LimitError
from jumok.formats import html_page
from jumok.formats.html_page import HtmlFormat
from jumok.formats.markdown import MarkdownFormat
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.spliced import SplicedFormat

FORMAT = HtmlFormat(Languages("de", "en"))
PARTS = st.sampled_from(
    ["<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<br>", "<img alt=x>", "<pre>", "</pre>", "<code>",
     "</code>", "Wort ", "zwei Wörter", "&amp;", " ", "\n", "<", "<!-- c -->", "<script>1</script>", "&nbsp;"]
)  # fmt: skip


def page(tmp_path: Path, text: str) -> Path:
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    return tmp_path / "a.html"


@given(st.lists(PARTS, max_size=25).map("".join))
def test_a_page_without_answers_is_as_it_was_and_a_copy_has_the_same_tags(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = page(tmp_path_factory.mktemp("html"), text)
    assert written(HtmlFormat(), path).decode() == text
    copy = written(HtmlFormat(), path, as_source).decode()
    path.write_text(copy, encoding="utf-8")
    assert written(HtmlFormat(), path, as_source).decode() == copy
    old, new = ("".join(one.split()).replace("&lt;", "<").replace('"', "") for one in (text, copy))
    assert old == new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<p>Hallo <b>Welt</b>!</p>", "<p>HALLO <b>WELT</b>!</p>"),
        ("<p>\n  eins\n  zwei </p>", "<p>\n  EINS ZWEI </p>"),
        ("<p>&#13;\n\teins&#10; zwei &#32;\n</p>", "<p>&#13;\n\tEINS ZWEI &#32;\n</p>"),
        ("<li>a<li>b &amp; &lt;c", "<li>A<li>B &amp; &lt;C"),
        ("<p>&#9;\"a\" 'b'&#32;</p>", "<p>&#9;\"A\" 'B'&#32;</p>"),
        ("<pre>nie</pre>ja", "<pre>nie</pre>JA"),
        ("<div translate=no>nie <p>nie</p></div>ja", "<div translate=no>nie <p>nie</p></div>JA"),
        ("<p class='x notranslate'>nie</p>", "<p class='x notranslate'>nie</p>"),
        ("<p class=translate>ja</p>", "<p class=translate>JA</p>"),
        ("<p translate=yes class=x>ja</p>", "<p translate=yes class=x>JA</p>"),
        ("<div translate=NO><div>nie</div>nie</div><div>ja</div>",
         "<div translate=NO><div>nie</div>nie</div><div>JA</div>"),
        ("<div translate=no>nie<br/>nie", "<div translate=no>nie<br/>nie"),
        ('<img alt="nie" class="notranslate">ja', '<img alt="nie" class="notranslate">JA'),
        ('<meta property="og:title" content="T"><meta content="nie"><meta name=og:title content=" ">',
         '<meta property="og:title" content="T"><meta content="nie"><meta name=og:title content=" ">'),
        ('<input type=RESET value=los><input type=text value=nie><input value=nie><p value=nie>',
         '<input type=RESET value="LOS"><input type=text value=nie><input value=nie><p value=nie>'),
        ('<track label="eins" title="zwei"></p title="nie">',
         '<track label="EINS" title="ZWEI"></p title="nie">'),
        ("<script>var nie</script><style>nie</style><textarea>nie</textarea>",) * 2,
        ('<img alt="Bild" title=Titel src=s>', '<img alt="BILD" title="TITEL" src=s>'),
        ('ein <a href="u"><img alt="Bild"></a> hier', 'EIN <a href="u"><img alt="BILD"></a> HIER'),
        ('<input placeholder="Name" value="nie"><input type="submit" value="Los">',
         '<input placeholder="NAME" value="nie"><input type="submit" value="LOS">'),
        ("<button aria-label='zu'>x</button>", "<button aria-label='ZU'>X</button>"),
        ('<meta name="description" content="Text"><meta name="robots" content="nie">',
         '<meta name="description" content="TEXT"><meta name="robots" content="nie">'),
        ("eins<br>Zwei<br>drei", "EINS<br>ZWEI<br> DREI"),
        ("a&nbsp;b", "A&nbsp;B"),
        ("<p>offen <b>fett</p>", "<p>OFFEN <b>FETT</p>"),
        ('<html lang="de" dir="rtl"><p>x</html>', '<html lang="en" dir="ltr"><p>X</html>'),
        ("<html><p>x</html>", '<html lang="en"><p>X</html>'),
    ],
)  # fmt: skip
def test_what_is_translated(tmp_path: Path, before: str, after: str) -> None:
    assert written(FORMAT, page(tmp_path, before), capitals).decode() == after


def test_texts_and_where_they_stand(tmp_path: Path) -> None:
    path = page(
        tmp_path, "<p>eins</p>\n<p>zwei\n<img alt='Bild'></p>\nEin Satz<br>geht weiter.<br>Noch einer."
    )
    assert [(one.source.text, one.where) for one in FORMAT.read(path)] == [
        ("eins", "line 1"),
        ("zwei ", "line 2"),
        ("Bild", "line 3, alt"),
        ("Ein Satz geht weiter.", "line 4"),
        ("Noch einer.", "line 4"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("eins<br><b><i>zwei</i></b>", ["eins zwei"]),
        ("eins<br><b><i><u>zwei</u></i></b>", ["eins", "zwei"]),
        ("eins<br> <b>&nbsp;</b>zwei", ["eins", "\xa0zwei"]),
        ("eins<br>\n<b>zwei", ["eins zwei"]),
        ("eins<br>2 zwei", ["eins", "2 zwei"]),
        ("eins<br>2a zwei", ["eins", "2a zwei"]),
        ("eins<br>zWEI", ["eins zWEI"]),
        ("eins<br>", ["eins"]),
        ("Eins<p>zwei<br>drei", ["Eins", "zwei drei"]),
    ],
)
def test_a_line_goes_on_with_a_small_letter_that_is_near(tmp_path: Path, text: str, found: list[str]) -> None:
    assert texts(FORMAT, page(tmp_path, text)) == found


def test_attributes_that_are_empty_or_not_there_are_no_texts(tmp_path: Path) -> None:
    path = page(tmp_path, '<img alt=""><meta name="description"><input type=submit><p title=" ">x</p>')
    assert texts(FORMAT, path) == ["x"]


def test_a_tag_that_has_no_end_inside_another_is_a_point(tmp_path: Path) -> None:
    (found,) = FORMAT.read(page(tmp_path, "x <b>a <i>c <u>d</b> e</i> <u>f</u>"))
    assert [(tag.begin, tag.end, tag.open, tag.close) for tag in found.source.tags] == [
        (2, 7, "<b>", "</b>"),
        (4, 4, "<i>", ""),
        (6, 6, "<u>", ""),
        (9, 9, "</i>", ""),
        (10, 11, "<u>", "</u>"),
    ]


def test_what_is_one_thing_is_one_point_with_all_that_is_inside(tmp_path: Path) -> None:
    svg = "<svg><svg/><text>nie</text><svg>x</svg></svg>"
    (found,) = FORMAT.read(page(tmp_path, f"a {svg} <code class=translate>b</code> <i class=translate>c</i>"))
    assert [(tag.begin, tag.end, tag.open, tag.keep) for tag in found.source.tags] == [
        (2, 2, f"{svg} ", False),
        (2, 3, "<code class=translate>", True),
        (4, 5, "<i class=translate>", False),
    ]


def test_code_inside_a_sentence_is_kept(tmp_path: Path) -> None:
    (found,) = FORMAT.read(
        page(tmp_path, "Run <code>ls -l</code> in <i class=notranslate>Unix</i> <b>now</b>")
    )
    assert [(tag.open, tag.keep) for tag in found.source.tags] == [
        ("<code>", True),
        ("<i class=notranslate>", True),
        ("<b>", False),
    ]


def test_right_to_left(tmp_path: Path) -> None:
    result = written(HtmlFormat(Languages("de", "ar")), page(tmp_path, "<html lang=de><p>x</html>"))
    assert result.decode() == '<html lang="ar" dir="rtl"><p>x</html>'


def test_an_answer_for_an_attribute_alone(tmp_path: Path) -> None:
    def only_alt(segment: Segment) -> MarkedText | None:
        return MarkedText('"new"') if segment.where.endswith("alt") else None

    result = written(FORMAT, page(tmp_path, "<p>text <img alt='Bild'> more</p>"), only_alt)
    assert result.decode() == "<p>text <img alt='&quot;new&quot;'> more</p>"


@pytest.mark.parametrize("name", ["hex", "rot13", "idna", "undefined", "punycode", "utf-16", "utf-8-sig"])
def test_a_charset_that_a_page_cannot_have_is_as_none(tmp_path: Path, name: str) -> None:
    path = page(tmp_path, f"<meta charset={name}><p>Grüße</p>")
    assert texts(FORMAT, path) == ["Grüße"]
    assert written(FORMAT, path).decode() == f"<meta charset={name}><p>Grüße</p>"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    with pytest.raises(DataError, match="the file is not UTF-8: byte 0xfc is no character\n.*line 1"):
        texts(FORMAT, path)


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes('<meta charset="iso-8859-1"><p>Grüße</p>'.encode("latin-1"))
    assert texts(FORMAT, path) == ["Grüße"]
    result = written(FORMAT, path, lambda _: MarkedText("안녕"))
    assert result == '<meta charset="iso-8859-1"><p>&#50504;&#45397;</p>'.encode("latin-1")
    path.write_bytes(b'<meta charset="iso-8859-1"><p>\x93Ja\x94</p>')  # browsers read Windows' quotes
    assert texts(FORMAT, path) == ["“Ja”"]
    path.write_bytes('<meta charset="euc-kr"><p>안녕</p>'.encode("euc-kr"))
    assert texts(FORMAT, path) == ["안녕"]
    meta = b"<meta charset=koi8-r"
    path.write_bytes(b" " * (2048 - len(meta)) + meta + b"><p>\xc1</p>")  # it ends with byte 2,048
    assert texts(FORMAT, path) == ["а"]
    path.write_bytes(b" " + path.read_bytes())
    with pytest.raises(DataError, match="the file is not UTF-8: byte 0xc1"):
        texts(FORMAT, path)
    path.write_bytes("<p>Grüße</p>".encode("latin-1"))
    with pytest.raises(DataError, match="the file is not UTF-8: byte 0xfc is no character\n.*line 1"):
        texts(FORMAT, path)


def test_a_page_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_page, "LARGEST", 1 << 20)
    with pytest.raises(LimitError, match="a.html has 2 MiB, and a page may have 1\n.*\n  split it"):
        texts(FORMAT, page(tmp_path, "x" * (2 << 20)))


@pytest.mark.parametrize(("form", "word"), [(HtmlFormat(), "page"), (MarkdownFormat(), "file")])
def test_a_page_of_64_mib_is_read_and_a_byte_more_is_not(
    form: SplicedFormat, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page about documents says; the files are all hole, and nobody waits until that is read."""
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")
    path = tmp_path / f"a{form.suffixes[0]}"
    with path.open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    with pytest.raises(LimitError, match=f"a{form.suffixes[0]} has 64 MiB, and a {word} may have 64\n"):
        next(form.pieces(path))
    with path.open("r+b") as file:
        file.truncate(64 * 1024 * 1024)
    assert next(form.pieces(path)) == b""
