"""PO: entries as gettext writes them; fuzzy and missing ones have no target, broken ones are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats.lines import Faults
from jumok.formats.po_units import header_languages, read_po

HEADER = 'msgid ""\nmsgstr ""\n"Language: pt_BR\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def read(text: str, faults: Faults | None = None) -> list[tuple[int, dict[str, str]]]:
    return [(unit.number, dict(unit.texts)) for unit in read_po(text.split("\n"), "f", faults)]


def escape(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return text


@given(st.lists(st.tuples(*[st.text('ab"\\\n\té', min_size=1, max_size=6)] * 2), max_size=4))
def test_entries_are_read_as_they_were_written(pairs: list[tuple[str, str]]) -> None:
    body = "\n".join(f'#: a.c:1\nmsgid "{escape(a)}"\nmsgstr ""\n"{escape(b)}"\n' for a, b in pairs)
    assert read(HEADER + body) == [
        (number, {"source": a, "pt-br": b}) for number, (a, b) in enumerate(pairs, start=1)
    ]


def test_what_is_fuzzy_missing_or_obsolete() -> None:
    text = (
        '#, fuzzy, c-format\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n\n#~ msgid "d"\n#~ msgstr "e"\n'
    )
    text += '#, c-format\n#| msgid "old"\nmsgctxt "menu"\nmsgid "f"\nmsgstr "g"\nmsgid "h"\nmsgstr "i"'
    source_target = [("a", ""), ("c", ""), ("f", "g"), ("h", "i")]
    assert read(text) == [
        (number, {"source": a, "target": b}) for number, (a, b) in enumerate(source_target, start=1)
    ]


def test_plurals_are_two_units_of_one_number() -> None:
    forms = 'msgstr[0] "jeden"\nmsgstr[1] "dva"\nmsgstr[2] "pet"\n'
    assert read(f'msgid "one"\nmsgid_plural "%d"\n{forms}') == [
        (1, {"source": "one", "target": "jeden"}),
        (1, {"source": "%d", "target": "pet"}),
    ]
    assert read('msgid "one"\nmsgid_plural "%d"\nmsgstr[0] "하나"\n')[1] == (
        1,
        {"source": "%d", "target": "하나"},
    )


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ('msgid "a"\nmsgstr "b"\nrubbish', "not a line of an entry: rubbish", "entry 1 (line 3)"),
        ('msgid "a"\nmsgstr "b', 'not a line of an entry: msgstr "b', "entry 1 (line 2)"),
        ('msgid "a"\nmsgstr "b" x', 'not a line of an entry: msgstr "b" x', "entry 1 (line 2)"),
        ('"a"', 'not a line of an entry: "a"', "entry 1 (line 1)"),
        ('msgid "a"\nmsgid "b"\nmsgstr "x"', 'not a line of an entry: msgid "b"', "entry 1 (line 2)"),
        ('msgstr "b"', "an entry without msgid", "entry 1 (line 1)"),
    ],
)
def test_a_broken_entry_is_named_and_the_others_are_read(text: str, message: str, where: str) -> None:
    found = list(read_po([*text.split("\n"), "", 'msgid "c"', 'msgstr "d"'], "f"))
    (fault,) = [unit.fault for unit in found if unit.fault]
    assert (fault.message, fault.where) == (message, f"f, {where}")
    assert "msgfmt -c finds such faults" in fault.hint
    assert [unit.texts["source"] for unit in found if not unit.fault] == ["c"]


def test_an_entry_that_is_cut_off() -> None:
    *_, last = read_po(['msgid "c"', 'msgstr "d"', "", 'msgid "a"'], "f")
    assert str(last.fault).startswith("an entry without msgstr\n  f, entry 2 (line 4)")


def test_a_line_that_is_no_text_is_its_entrys_fault() -> None:
    faults = {1: DataError("of a comment"), 3: DataError("of a line")}
    found = list(read_po(["# x", 'msgid "a"', 'msgstr "b"', "", 'msgid "c"', 'msgstr "d"'], "f", faults))
    assert [unit.fault and unit.fault.message for unit in found] == ["of a line", None]


def test_the_header_tells_languages_and_encoding() -> None:
    assert header_languages("X-Source-Language: en_GB\nLanguage: de\n", "f") == ("en-gb", "de")
    assert header_languages("Language: de\nX-Source-Language: de", "f") == ("source", "target")
    with pytest.raises(DataError, match="the file is iso-8859-1, not UTF-8") as caught:
        header_languages("Content-Type: text/plain; charset=ISO-8859-1", "f")
    assert caught.value.hint == "convert it: msgconv -t UTF-8"
