"""Entries of a catalogue: all lines are there, each field with its own."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.po_entries import po_entries, unescaped

LINES = ["# c", "#, fuzzy", "#~ msgid", 'msgctxt "c"', 'msgid "a"', '"more"', 'msgid_plural "b"']
LINES += ['msgstr "x"', 'msgstr[0] "y"', 'msgstr[1] ""', "", "  ", "rubbish"]


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_every_line_is_in_one_entry(lines: list[str]) -> None:
    found = list(po_entries(lines))
    assert [line for entry in found for line in entry.lines] == lines
    begun = 1
    for entry in found:
        assert entry.begun == begun
        begun += len(entry.lines)


def test_fields_with_their_lines_and_flags() -> None:
    first, blank, second, third = po_entries(
        ["#, c-format, fuzzy", 'msgid ""', '"a\\n"', '"b"', 'msgstr "c"', "", 'msgid "d"', 'msgstr ""']
        + ["# of the next", 'msgid "e"', 'msgstr "f"']
    )
    assert [(one.key, one.text, one.lines) for one in first.fields] == [
        ("msgid", "a\nb", range(1, 4)),
        ("msgstr", "c", range(4, 5)),
    ]
    assert (first.fuzzy, second.fuzzy) == (True, False)
    assert (blank.lines, blank.fields) == ([""], [])
    assert (second.begun, third.begun, third.lines[0]) == (7, 9, "# of the next")


def test_a_line_that_belongs_nowhere() -> None:
    (entry,) = po_entries(['msgid "a"', 'msgid "b"', 'msgstr "c"'])
    assert (entry.wrong, entry.texts) == (2, {"msgid": "a"})
    (entry,) = po_entries(['msgid "a"', 'msgstr "b', '"c"'])
    assert entry.wrong == 2


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=20))
def test_escaping_is_undone(text: str) -> None:
    escaped = text
    for plain, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        escaped = escaped.replace(plain, written)
    assert unescaped(escaped) == text


def test_an_octal_number_ends_with_its_line() -> None:
    (entry,) = po_entries(['msgid "\\1"', '"2\\x41\\101"', 'msgstr ""'])
    assert entry.texts["msgid"] == "\x012AA"


def test_only_a_flag_makes_an_entry_fuzzy() -> None:
    for comment, fuzzy in (
        ("# fuzzy", False),
        ("#, c-format", False),
        ("#. fuzzy", False),
        ("#, fuzzy", True),
    ):
        (entry,) = po_entries([comment, "# x", 'msgid "a"', 'msgstr "b"'])
        assert entry.fuzzy == fuzzy


def test_the_header_is_the_entry_of_nothing() -> None:
    for lines, header in (
        (['msgid ""', 'msgstr "x"'], True),
        (['msgid "a"', 'msgstr "x"'], False),
        (['msgctxt "c"', 'msgid ""', 'msgstr "x"'], False),
        (['msgid ""', "rubbish"], False),
        (["# c"], False),
    ):
        (entry,) = po_entries(lines)
        assert entry.is_header == header
    (entry,) = po_entries(['msgid "a"', '"b"', 'msgstr "c"', '"d"'])
    assert entry.texts == {"msgid": "ab", "msgstr": "cd"}
