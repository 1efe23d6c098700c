from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, segments, written

from jumok.errors import DataError
from jumok.formats.android import AndroidFormat
from jumok.formats.segments import MarkedText, Tag

FULL = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- a note -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="a">It\'s <b>bold</b>\nnew &amp; old</string>
    <string name="b" translatable="false">Fixed</string>
    <string name="c">Hi <xliff:g id="x">%1$s</xliff:g>, you</string>
    <string name="d">@string/a</string>
    <string name="e">"  Keep it's space "</string>
    <string name="f"><![CDATA[<b>html</b> text]]></string>
    <string name="g">with
        white   space</string>
    <string-array name="list"><item>One</item><item>@string/a</item></string-array>
    <plurals name="days"><item quantity="one">%d day</item><item quantity="other">%d days</item></plurals>
    <dimen name="x">1dp</dimen>
</resources>
"""


def resources(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "strings.xml"
    path.write_text(text, encoding="utf-8")
    return path


def one_string(tmp_path: Path, content: str) -> MarkedText:
    path = resources(tmp_path, f'<resources><string name="a">{content}</string></resources>')
    check_capitals(AndroidFormat(), path, check_laws(AndroidFormat(), path))
    return segments(AndroidFormat(), path)[0].source


def test_strings_change_and_all_else_stays(tmp_path: Path) -> None:
    path = resources(tmp_path, FULL)
    capitals = check_laws(AndroidFormat(), path)
    check_capitals(AndroidFormat(), path, capitals)
    assert [(one.where, one.source.text) for one in segments(AndroidFormat(), path)] == [
        ("a", "It's bold\nnew & old"),
        ("c", "Hi %1$s, you"),
        ("e", "  Keep it's space "),
        ("f", "html text"),
        ("g", "with white space"),
        ("list.1", "One"),
        ("days.one", "%d day"),
        ("days.other", "%d days"),
    ]
    new = capitals.read_text("utf-8")
    assert r"""<string name="a">IT\'S <b>BOLD</b>\nNEW &amp; OLD</string>""" in new
    assert '<string name="b" translatable="false">Fixed</string>' in new
    assert """<string name="e">"  KEEP IT'S SPACE "</string>""" in new
    assert "<![CDATA[<b>HTML</b> TEXT]]>" in new
    assert new.startswith(FULL[: FULL.index("<string")])
    assert len(ElementTree.fromstring(new)) == len(ElementTree.fromstring(FULL))


def test_what_must_not_be_translated_is_kept(tmp_path: Path) -> None:
    path = resources(tmp_path, FULL)
    tag = segments(AndroidFormat(), path)[1].source.tags[0]
    assert tag == Tag(3, 7, '<xliff:g id="x">', "</xliff:g>", keep=True)


def test_escaped_markup_is_markup(tmp_path: Path) -> None:
    found = one_string(tmp_path, "A &lt;b>word&lt;/b> here")
    assert found == MarkedText("A word here", (Tag(2, 6, "<b>", "</b>"),))
    assert ">A &lt;b&gt;WORD&lt;/b&gt; HERE<" in (tmp_path / "capitals-strings.xml").read_text("utf-8")


def test_escapes_are_signs_and_unknown_ones_are_their_letter(tmp_path: Path) -> None:
    found = one_string(tmp_path, r"\u00e4pfel\tund \q\@ \u0041-\\n")
    assert found.text == "äpfel\tund q@ A-\\n"
    assert r">ÄPFEL\tUND Q@ A-\\N<" in (tmp_path / "capitals-strings.xml").read_text("utf-8")


def test_elements_without_content_are_points_by_their_own_names(tmp_path: Path) -> None:
    found = one_string(tmp_path, 'Hi <b id="1" />and <i/>you <b>there</b>')
    assert [(tag.open, tag.close) for tag in found.tags] == [
        ('<b id="1"></b>', ""),
        ("<i></i>", ""),
        ("<b>", "</b>"),
    ]
    new = (tmp_path / "capitals-strings.xml").read_text("utf-8")
    assert '>HI <b id="1"></b>AND <i></i>YOU <b>THERE</b></string>' in new


def test_white_space_in_a_row_is_one_space_also_across_markup(tmp_path: Path) -> None:
    assert one_string(tmp_path, "a  <b> b</b> c ").text == "a b c "
    assert one_string(tmp_path, "a<b> b</b>\n c").text == "a b c"


def test_entities_of_the_file_are_points(tmp_path: Path) -> None:
    string = '<string name="a">Open &app; now</string>'
    text = f'<!DOCTYPE resources [<!ENTITY app "Our App">]><resources>{string}</resources>'
    path = resources(tmp_path, text)
    assert segments(AndroidFormat(), path)[0].source == MarkedText("Open  now", (Tag(5, 5, "&app;"),))
    assert check_laws(AndroidFormat(), path).read_text().count("OPEN &app; NOW") == 1


@given(st.text(st.sampled_from("ab'\"\\\n@?<&> ")).filter(lambda text: text.strip() and "  " not in text))
def test_any_answer_can_be_written(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """It is read back as it is: escapes, references and markup are undone."""
    path = resources(tmp_path_factory.mktemp("a"), '<resources><string name="a">words</string></resources>')
    text = text.strip() + "a"
    new = written(AndroidFormat(), path, iter([MarkedText(text)]))
    path.write_bytes(new)
    assert [one.source.text for one in segments(AndroidFormat(), path)] == [text]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not Android's strings: <other>\n.*strings.xml\n  its first element"):
        segments(AndroidFormat(), resources(tmp_path, "<other/>"))
    with pytest.raises(DataError, match="XML is broken: mismatched tag, .*\n.*strings.xml, line 1"):
        segments(AndroidFormat(), resources(tmp_path, "<resources><a></resources>"))


@pytest.mark.parametrize(
    ("content", "text", "new"),
    [
        ("<b>All</b>", "All", "<b>ALL</b>"),
        ("Open &app;", "Open ", "OPEN &app;"),
        ("  a\n b ", "a b", "A B"),
        ("<b>@a</b> b", "@a b", "<b>@A</b> B"),
        ("@a b", "@a b", "\\@A B"),
        ("?a b", "?a b", "\\?A B"),
        ('" a\'s "', " a's ", '" A\'S "'),
        ("<![CDATA[a's]]>", "a's", "<![CDATA[A\\'S]]>"),
    ],
)
def test_what_is_written_of_a_string(tmp_path: Path, content: str, text: str, new: str) -> None:
    head = '<!DOCTYPE resources [<!ENTITY app "App">]><resources><string name="a">'
    path = resources(tmp_path, f"{head}{content}</string></resources>")
    assert [one.source.text for one in segments(AndroidFormat(), path)] == [text]
    assert check_laws(AndroidFormat(), path).read_text("utf-8") == f"{head}{new}</string></resources>"
