import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.laws import check_capitals, check_laws, check_mark, segments, texts, upper, written

from jumok.errors import ConfigError, DataError
from jumok.formats.csv_table import CsvFormat, TsvFormat, value
from jumok.formats.segments import MarkedText

CELLS = st.text(st.sampled_from('ab ,;"\n\té1'), max_size=6)


def table(tmp_path: Path, data: str, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode())
    return path


def test_columns_by_name_leave_the_header_and_the_others(tmp_path: Path) -> None:
    path = table(tmp_path, 'id;Text;x\r\n1;"Hello; ""you""";foo\r\n2;plain text;bar\r\n3;"two\nlines";z')
    format = CsvFormat(columns=("text",))
    capitals = check_laws(format, path)
    check_capitals(format, path, capitals)
    assert capitals.read_bytes() == (
        b'id;Text;x\r\n1;"HELLO; ""YOU""";foo\r\n2;PLAIN TEXT;bar\r\n3;"TWO\nLINES";z'
    )
    assert [one.where for one in segments(format, path)] == [
        "row 2, column 2",
        "row 3, column 2",
        "row 4, column 2",
    ]


def test_columns_by_number_have_no_header(tmp_path: Path) -> None:
    path = table(tmp_path, "some words\t1\nmore words\t2\n", "a.tsv")
    assert [(one.source.text, one.where) for one in segments(TsvFormat(columns=("1",)), path)] == [
        ("some words", "row 1, column 1"),
        ("more words", "row 2, column 1"),
    ]
    check_mark(TsvFormat(columns=("1",)), path)


def test_one_column_need_not_be_chosen(tmp_path: Path) -> None:
    assert texts(CsvFormat(), table(tmp_path, "some words\nmore words\n")) == ["some words", "more words"]


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_any_table_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], mark: str
) -> None:
    """The second column in capitals, as Python's own reader sees it."""
    out = io.StringIO()
    csv.writer(out, delimiter=mark, quoting=csv.QUOTE_ALL).writerows([("id", "text"), *rows])
    path = table(tmp_path_factory.mktemp("csv"), out.getvalue())
    new = check_laws(CsvFormat(columns=("2", "text")), path).read_bytes().decode()
    assert list(csv.reader(io.StringIO(new, newline=""), delimiter=mark))[1:] == [
        [one, upper(two)] for one, two in rows
    ]


@given(CELLS.filter(lambda text: text.strip()))
def test_any_answer_can_be_written(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = table(tmp_path_factory.mktemp("csv"), "a,some words,b\n")
    new = written(CsvFormat(columns=("2",)), path, iter([MarkedText(text)])).decode()
    assert list(csv.reader(io.StringIO(new, newline=""))) == [["a", text, "b"]]
    path = table(path.parent, "a\tsome words\tb\n", "a.tsv")
    new = written(TsvFormat(columns=("2",)), path, iter([MarkedText(text)])).decode()
    assert (new.count("\t"), new.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            (),
            "which columns are to be translated\\?\n.*\n  choose by .*: --format csv:2; .*: id, text",
        ),
        (("tex",), "the table has no column 'tex'\n.*\n  did you mean 'text'"),
        (("3",), "the table has 2 columns, not 3"),
        (("0",), "the table has 2 columns, not 0"),
        (("1", "3"), "the table has 2 columns, not 3"),
        (("0", "2"), "the table has 2 columns, not 2"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, columns: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        segments(CsvFormat(columns=columns), table(tmp_path, "id,text\n1,words\n"))


def test_a_quotation_without_an_end(tmp_path: Path) -> None:
    path = table(tmp_path, 'id,text\n1,"words\n2,more\n')
    with pytest.raises(DataError, match="a quoted cell never ends\n.*a.csv, line 2\n  close the quotation"):
        segments(CsvFormat(columns=("text",)), path)
    path = table(tmp_path, 'id,text\n1,"words\n' + "2,more\n" * 50_000)
    with pytest.raises(DataError, match="not a row of CSV: field larger than .*\n.*line 2\n  a text with"):
        segments(CsvFormat(columns=("text",)), path)


def test_a_sign_of_inches_is_no_quotation(tmp_path: Path) -> None:
    path = table(tmp_path, 'id,text\n1,a 5" pipe\n2,"so" called\n3,"one, ""two"""\n')
    assert texts(CsvFormat(columns=("text",)), path) == ['a 5" pipe', '"so" called', 'one, "two"']
    capitals = check_laws(CsvFormat(columns=("text",)), path).read_bytes().decode()
    assert capitals.splitlines()[1:] == ['1,"A 5"" PIPE"', '2,"""SO"" CALLED"', '3,"ONE, ""TWO"""']


def test_a_quotation_mark_that_nothing_closes_is_a_sign_in_a_tsv(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b'1\tone\n"x\ttwo\n3\t"three\n4\t"four"\r\n')
    assert texts(TsvFormat(columns=("2",)), path) == ["one", "two", '"three', "four"]
    capitals = check_laws(TsvFormat(columns=("2",)), path).read_bytes()
    assert capitals == b'1\tONE\n"x\tTWO\n3\t"THREE\n4\t"FOUR"\r\n'


def test_rows_that_are_short_or_blank_stay(tmp_path: Path) -> None:
    path = table(tmp_path, "id,text\n1\n\n2,words,more\n")
    assert texts(CsvFormat(columns=("text",)), path) == ["words"]
    assert check_laws(CsvFormat(columns=("text",)), path).read_bytes() == b"id,text\n1\n\n2,WORDS,more\n"


def test_of_a_wide_table_an_error_shows_the_beginning(tmp_path: Path) -> None:
    names = [f"{n:02}" + "x" * 29 for n in range(50)]
    path = table(tmp_path, ",".join(names) + "\n")
    with pytest.raises(ConfigError, match="which columns") as caught:
        segments(CsvFormat(), path)
    shown = ", ".join(name[:30] for name in names[:12])
    assert caught.value.hint == f"choose by name or number: --format csv:2; the first row is: {shown}"
    for count, said in ((49, True), (50, False)):
        table(tmp_path, ",".join(names[:count]) + "\n")
        with pytest.raises(ConfigError, match="the table has no column '07xxx'") as caught:
            segments(CsvFormat(columns=("07xxx",)), path)
        assert bool(caught.value.hint) == said


@pytest.mark.parametrize(
    ("cell", "said"),
    [('"', '"'), ('""', ""), ('"a"', "a"), (' "a" ', "a"), ('"a""b"', 'a"b'), (" a ", " a "), ('a"', 'a"')],
)
def test_what_a_cell_says(cell: str, said: str) -> None:
    assert value(cell) == said


def test_an_answer_is_quoted_if_the_old_cell_was_or_if_it_must_be(tmp_path: Path) -> None:
    path = table(tmp_path, 'text,x\n"so" called,1\n called "so",2\n"a b",3\nc,4\n')
    answers = iter(map(MarkedText, ("d", "e", "f", "g, h")))
    new = written(CsvFormat(columns=("text",)), path, answers).decode()
    assert new == 'text,x\nd,1\n e,2\n"f",3\n"g, h",4\n'
