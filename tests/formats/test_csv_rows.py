"""CSV: what the standard library writes is what we read; a stray quote costs one row."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats.csv_rows import delimiter_of, read_csv

CELL = st.text(st.sampled_from('ab",;\n\té '), min_size=1, max_size=6)


def read(text: str) -> list[tuple[int, dict[str, str]]]:
    return [(unit.number, dict(unit.texts)) for unit in read_csv(text.split("\n"), "f")]


@given(rows=st.lists(st.tuples(CELL, CELL), max_size=5), delimiter=st.sampled_from(",;\t|"))
def test_what_is_written_is_read(rows: list[tuple[str, str]], delimiter: str) -> None:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("source", "the, target"), *rows])
    found = read(file.getvalue().removesuffix("\n"))
    assert found == [(n, {"source": a, "the, target": b}) for n, (a, b) in enumerate(rows, start=2)]


def test_rows_are_counted_as_in_a_spreadsheet() -> None:
    assert read('en,de\n"a\nb",c\n\nd,e\n') == [(2, {"en": "a\nb", "de": "c"}), (4, {"en": "d", "de": "e"})]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('"stray,b', "not a row of CSV: unexpected end of data"),
        ('"a"b,c', "not a row of CSV: ',' expected after '\"'"),
        ("a", "1 cell, and the header has 2"),
        ("a,b,c", "3 cells, and the header has 2"),
    ],
)
def test_a_broken_row_is_named_and_the_others_are_read(row: str, message: str) -> None:
    found = list(read_csv(["en,de", "one,eins", row, "two,zwei", "three,drei"], "f"))
    (fault,) = [unit.fault for unit in found if unit.fault]
    assert (fault.message, fault.where) == (message, "f, row 3 (line 3)")
    assert "a quote inside it is doubled" in fault.hint
    assert [unit.texts["en"] for unit in found if not unit.fault] == ["one", "two", "three"]


def test_a_stray_quote_at_the_top_of_a_long_file_costs_one_row() -> None:
    lines = ["en,de", '"a,b', *(f"{n},{n}" for n in range(50_000))]
    found = list(read_csv(lines, "f"))
    assert len(found) == 50_001
    assert [unit.number for unit in found if unit.fault] == [2]
    assert "field larger than field limit" in str(found[0].fault)


def test_a_line_that_is_no_text_is_its_rows_fault() -> None:
    found = list(read_csv(["en,de", "a,b", "c,d"], "f", {3: DataError("of a line")}))
    assert [unit.fault and unit.fault.message for unit in found] == [None, "of a line"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "the header names 0 columns"),
        ("text", "the header names 1 column: text"),
        ("a,b,a", "two columns are called 'a'"),
        ('a,"b', "the header is not a row of CSV: unexpected end of data"),
        ("a,b\rc", "the header is not a row of CSV: new-line character seen"),
    ],
)
def test_a_header_that_cannot_be_used(header: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(f"{header}\nx,y")
    assert caught.value.where == "f:1"
    assert "name" in caught.value.hint


def test_after_a_stray_quote_rows_and_lines_are_counted_on() -> None:
    found = list(read_csv(["en,de", '"stray,b', "two,zwei", "three", '"4', 'four",vier', "x"], "f"))
    assert [(unit.number, unit.fault.where if unit.fault else unit.texts["en"]) for unit in found] == [
        (2, "f, row 2 (line 2)"),
        (3, "two"),
        (4, "f, row 4 (line 4)"),
        (5, "4\nfour"),
        (6, "f, row 6 (line 7)"),
    ]


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("a;b,c;d", ";"),
        ("a,b;c,d", ","),
        ("a\tb;c|d,e", "\t"),
        ("a|b;c|d", "|"),
        ("text", ","),
        ('"a;b;c","d;e;f",x', ","),
        ('"a,b";"c,d,e"', ";"),
        ('"a;b"', ","),
    ],
)
def test_columns_are_parted_by_what_the_header_has_most_of(header: str, delimiter: str) -> None:
    assert delimiter_of(header) == delimiter
