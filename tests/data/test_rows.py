"""Reading a corpus with all its faults."""

import gzip
from pathlib import Path

import pytest

from jumok.data.corpus import open_corpus
from jumok.data.rows import form_of, line_lengths, read_rows
from jumok.errors import DataError


def write(path: Path, data: bytes) -> str:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_two_files_are_read_side_by_side(tmp_path: Path) -> None:
    corpus = open_corpus(
        write(tmp_path / "a.en", b"one\r\ntwo"), write(tmp_path / "a.de.gz", b"eins\nzwei\n")
    )
    rows = list(read_rows(corpus))
    assert [(row.number, row.source, row.target) for row in rows] == [(1, "one", "eins"), (2, "two", "zwei")]
    assert all(row.is_pair for row in rows)
    assert form_of(corpus) == "lines"


def test_reading_goes_on_after_a_bad_byte(tmp_path: Path) -> None:
    corpus = open_corpus(
        write(tmp_path / "a.en", b"ok\nb\xffd\nok\n"), write(tmp_path / "a.de", b"1\n2\n3\n")
    )
    rows = list(read_rows(corpus))
    assert [row.problem for row in rows] == ["", "bad_encoding", ""]
    assert rows[1].note == f"{tmp_path}/a.en:2:2: byte 0xFF"


def test_the_longer_file_is_read_to_its_end(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path / "a.en", b"1\n2\n3\n"), write(tmp_path / "a.de", b"eins\n"))
    assert [(row.has_source, row.has_target) for row in read_rows(corpus)] == [
        (True, True),
        (True, False),
        (True, False),
    ]
    assert list(line_lengths(corpus, 0)) == [1, 1, 1]
    assert list(line_lengths(corpus, 1)) == [4]


def test_unicode_line_breaks_do_not_shift_the_pairs(tmp_path: Path) -> None:
    data = "a\u2028b\x85c\vd\n2\n".encode()
    corpus = open_corpus(write(tmp_path / "a.en", data), write(tmp_path / "a.de", b"x\ny\n"))
    assert [row.target for row in read_rows(corpus)] == ["x", "y"]


def test_tsv_rows_without_two_columns_are_named(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path / "p.tsv", b"a\tb\nalone\n1\t2\t3\n"))
    rows = list(read_rows(corpus))
    assert [row.problem for row in rows] == ["", "bad_row", "bad_row"]
    assert rows[1].note == f"{tmp_path}/p.tsv:2: 1 column instead of 2"
    assert form_of(corpus) == "tsv"


def test_jsonl_rows_are_read_or_named(tmp_path: Path) -> None:
    lines = [
        b'{"src": "a", "tgt": "b"}',
        b"{broken",
        b'{"src": "\\ud800", "tgt": "b"}',
        b'{"src": "\\u0000", "tgt": "b"}',
    ]
    corpus = open_corpus(write(tmp_path / "p.jsonl", b"\n".join(lines)))
    rows = list(read_rows(corpus))
    assert (rows[0].source, rows[0].target) == ("a", "b")
    assert [row.problem for row in rows] == ["", "bad_row", "bad_encoding", "nul"]
    assert form_of(corpus) == "jsonl"


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path / "p.tsv", b"\xef\xbb\xbfa\tb\n"))
    assert next(read_rows(corpus)).source == "a"


def test_lines_may_span_blocks(tmp_path: Path) -> None:
    long = b"x" * 600_000
    corpus = open_corpus(write(tmp_path / "p.tsv", long + b"\tb\nc\td\n"))
    assert [len(row.source) for row in read_rows(corpus)] == [600_000, 1]


def test_a_line_without_measure_is_refused(tmp_path: Path) -> None:
    corpus = open_corpus(write(tmp_path / "p.tsv", b"x" * 3_000_000))
    with pytest.raises(DataError, match="more than 1,000,000 bytes"):
        list(read_rows(corpus))


def test_named_columns_and_lines_without_them(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\tc\nd\te\n")
    first, second = read_rows(open_corpus(str(path), columns="1,3"))
    assert (first.source, first.target) == ("a", "c")
    assert (second.problem, second.note) == ("bad_row", f"{path}:2: 2 columns, and no column 3")
