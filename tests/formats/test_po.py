from pathlib import Path

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_laws, check_mark, in_capitals, segments, written

from jumok.errors import DataError
from jumok.formats.po import PoFormat
from jumok.formats.po import written as one_keyword
from jumok.formats.po_entries import unescaped
from jumok.formats.segments import MarkedText

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: {}\\n"\n\n'
FULL = (
    HEADER.format("nplurals=2; plural=(n != 1);")
    + r"""# by a person
#. for the translator
#: a.c:3
#, fuzzy, c-format
#| msgid "Helo"
msgid "Hello %s"
msgstr "Halo %s"

msgctxt "menu"
msgid "Open \"it\""
msgstr ""
msgid "Close"
msgstr "Zu"

msgid ""
"A long text that goes over "
"several lines\n"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "old"
#~ msgstr "alt"
"""
)


def catalogue(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.po"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_comes_back_and_polib_reads_it(tmp_path: Path) -> None:
    path = catalogue(tmp_path, FULL)
    new = polib.pofile(str(check_laws(PoFormat(), path)))
    old = polib.pofile(str(path))
    assert [(one.msgid, one.msgctxt, one.msgid_plural, one.occurrences, one.obsolete) for one in new] == [
        (one.msgid, one.msgctxt, one.msgid_plural, one.occurrences, one.obsolete) for one in old
    ]
    assert [one.msgstr for one in new][:4] == [
        "HELLO %S",
        'OPEN "IT"',
        "CLOSE",
        "A LONG TEXT THAT GOES OVER SEVERAL LINES\n",
    ]
    assert new[4].msgstr_plural == {0: "%D FILE", 1: "%D FILES"}
    assert (old[0].flags, new[0].flags) == (["fuzzy", "c-format"], ["c-format"])
    check_mark(PoFormat(), path)


def test_what_is_translated_or_fuzzy_has_a_target_and_stays_without_an_answer(tmp_path: Path) -> None:
    path = catalogue(tmp_path, FULL)
    found = segments(PoFormat(), path)
    assert [one.target.text if one.target else None for one in found] == [
        "Halo %s",
        None,
        "Zu",
        None,
        None,
        None,
    ]
    new = written(
        PoFormat(), path, (None if one.target else in_capitals(one.source) for one in found)
    ).decode()
    assert '#, fuzzy, c-format\n#| msgid "Helo"\nmsgid "Hello %s"\nmsgstr "Halo %s"\n' in new
    assert "#~ msgid" in new


@pytest.mark.parametrize(
    ("rule", "count", "sources"),
    [
        ("nplurals=1; plural=0;", 1, ["%d files"]),
        ("nplurals=3; plural=n==1 ? 0 : n==2 ? 1 : 2;", 3, ["%d file", "%d files", "%d files"]),
        ("nplurals=3; plural=n==0 ? 0 : n==1 ? 1 : 2;", 3, ["%d files", "%d file", "%d files"]),
    ],
)
def test_every_form_is_made_of_the_right_source(
    tmp_path: Path, rule: str, count: int, sources: list[str]
) -> None:
    forms = "".join(f'msgstr[{n}] ""\n' for n in range(count))
    path = catalogue(tmp_path, HEADER.format(rule) + f'msgid "%d file"\nmsgid_plural "%d files"\n{forms}')
    assert [one.source.text for one in segments(PoFormat(), path)] == sources


def test_long_strings_are_wrapped_as_the_source_is(tmp_path: Path) -> None:
    path = catalogue(tmp_path, HEADER.format("") + 'msgid ""\n"one "\n"two"\nmsgstr ""\n')
    text = "word " * 40
    new = written(PoFormat(), path, iter([MarkedText(text.strip())])).decode()
    assert max(map(len, new.splitlines())) <= 80
    (tmp_path / "b.po").write_text(new, encoding="utf-8")
    assert polib.pofile(str(tmp_path / "b.po"))[0].msgstr == text.strip()


@given(text=st.text(st.characters(exclude_categories=["Cs"])), wrapped=st.booleans())
def test_any_string_can_be_written(*, text: str, wrapped: bool) -> None:
    lines = one_keyword("msgstr", text, wrapped=wrapped, end="\n").removeprefix("msgstr ").split("\n")[:-1]
    assert all(line[0] == line[-1] == '"' for line in lines)
    assert unescaped("".join(line[1:-1] for line in lines)) == text


def test_line_ends_and_other_encodings_stay(tmp_path: Path) -> None:
    text = FULL.replace("UTF-8", "ISO-8859-1").replace("\n", "\r\n").replace("by a person", "für")
    path = tmp_path / "a.po"
    path.write_bytes(text.encode("latin-1"))
    new = check_laws(PoFormat(), path).read_bytes()
    assert "für".encode("latin-1") in new
    assert new.count(b"\n") == new.count(b"\r\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('msgid "a"\nmsgstr b\n', "not a line of a catalogue: 'msgstr b'\n.*a.po, line 2\n  it has keywords"),
        ('"a"\n', "not a line of a catalogue.*\n.*line 1"),
        ("words\n", "not a line of a catalogue"),
        ('msgid "a"\nmsgid "b"\nmsgstr ""\n', "not a line of a catalogue: 'msgid \"b\"'\n.*line 2"),
        ('msgid ""\nmsgstr "charset=klingon\\n"\n', "unknown charset 'klingon' in the header"),
        ('msgid ""\nmsgstr "charset=undefined\\n"\n', "unknown charset 'undefined' in the header"),
        ('msgid ""\nmsgstr "charset=punycode\\n"\n# ü-ü\n', "not PUNYCODE, as its header says"),
        (
            HEADER.format("").replace("UTF-8", "ascii") + '# ü\nmsgid "a"\n',
            "not ASCII, as its header says.*\n.*line 6",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        segments(PoFormat(), catalogue(tmp_path, text))


def test_another_kind_of_unicode_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_bytes(FULL.encode("utf-16"))
    with pytest.raises(
        DataError, match="the file is UTF-16, which no catalogue may be\n.*a.po\n  save it as"
    ):
        segments(PoFormat(), path)


def test_an_empty_catalogue_has_nothing(tmp_path: Path) -> None:
    path = catalogue(tmp_path, "")
    assert segments(PoFormat(), path) == []
    assert written(PoFormat(), path, iter(())) == b""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x" * 70, ['msgstr "' + "x" * 70 + '"']),
        ("x" * 71, ['msgstr ""', '"' + "x" * 71 + '"']),
        ("x" * 38 + " " + "y" * 38, ['msgstr ""', '"' + "x" * 38 + " " + "y" * 38 + '"']),
        ("x" * 38 + " " + "y" * 39, ['msgstr ""', '"' + "x" * 38 + ' "', '"' + "y" * 39 + '"']),
        ("x " * 80, ['msgstr ""', '"' + "x " * 38 + '"', '"' + "x " * 38 + '"', '"' + "x " * 4 + '"']),
        ("a\nb", ['msgstr ""', '"a\\n"', '"b"']),
        ("a\n", ['msgstr "a\\n"']),
        ("", ['msgstr ""']),
    ],
)
def test_a_string_that_is_wrapped_has_at_most_77_signs_in_a_line(text: str, lines: list[str]) -> None:
    assert one_keyword("msgstr", text, wrapped=True, end="\r\n") == "".join(f"{line}\r\n" for line in lines)


def test_a_string_is_wrapped_if_its_source_is_and_the_old_one_goes(tmp_path: Path) -> None:
    text = 'msgid "one"\nmsgstr ""\n"ei"\n#~ note\n"ns"\n\nmsgid ""\n"two"\nmsgstr "zwei"\n'
    new = written(PoFormat(), catalogue(tmp_path, text), iter([MarkedText("word " * 20)] * 2)).decode()
    long, first, second = "word " * 20, "word " * 15, "word " * 5
    assert new == (
        f'msgid "one"\nmsgstr "{long}"\n#~ note\n\nmsgid ""\n"two"\nmsgstr ""\n"{first}"\n"{second}"\n'
    )


def test_without_a_header_the_first_form_is_the_singular(tmp_path: Path) -> None:
    path = catalogue(tmp_path, 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] "x"\n')
    assert [(one.source.text, one.where, one.target) for one in segments(PoFormat(), path)] == [
        ("a", "line 3", None),
        ("b", "line 4", MarkedText("x")),
    ]


def test_the_charset_of_a_template_is_none_yet_and_one_far_behind_is_not_looked_for(tmp_path: Path) -> None:
    path = catalogue(tmp_path, HEADER.format("").replace("UTF-8", "CHARSET") + 'msgid "für"\nmsgstr ""\n')
    assert [one.source.text for one in segments(PoFormat(), path)] == ["für"]
    far = "# " + "x" * (1 << 14) + "\n" + HEADER.format("").replace("UTF-8", "latin-1")
    path.write_bytes(far.encode() + 'msgid "für"\n'.encode("latin-1"))
    with pytest.raises(DataError, match="the file is not UTF-8, as its header says"):
        segments(PoFormat(), path)
