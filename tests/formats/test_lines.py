"""Lines end at line feeds, faults are named by line and byte; what is no text is called by its name."""

import gzip
import io
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats.lines import MAX_LINE, Faults, lines_of, nul_error, read_lines


@pytest.mark.parametrize(
    ("head", "what", "ending"),
    [
        (b"\x1f\x8b", "gzip", ".gz"),
        (b"BZh9", "bzip2", ".bz2"),
        (b"\xfd7zXZ\0", "xz", ".xz"),
        (b"\x28\xb5\x2f\xfd", "zstd", ".zst"),
        (b"PK\3\4", "zip", ".zip"),
        (b"PAR1", "parquet", ".parquet"),
    ],
)
def test_packed_files_with_another_name(head: bytes, what: str, ending: str) -> None:
    with pytest.raises(DataError, match=f"the file is packed with {what}") as caught:
        list(lines_of(iter([head + b"abc\n"]), "f", "strict"))
    assert caught.value.where == "f:1:1"
    assert caught.value.hint == f"give it a name that ends in {ending}"


def test_faults_are_noted_where_they_are_asked_for() -> None:
    faults = Faults()
    assert list(lines_of(iter([b"a\n\xffb\nc\n"]), "f", "strict", faults)) == ["a", "\ufffdb", "c"]
    assert [(line, fault.where) for line, fault in faults.items()] == [(2, "f:2:1")]
    assert "byte 0xFF is not UTF-8" in faults[2].message


def test_a_packed_file_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\r\ntwo"))
    assert list(read_lines(str(path))) == ["one", "two"]


def test_a_line_that_does_not_end() -> None:
    with pytest.raises(DataError, match="the line has more than 1,000,000 bytes") as caught:
        list(lines_of(iter([b"a\n", b"b" * MAX_LINE, b"b"]), "f", "strict"))
    assert caught.value.where == "f:2"
    assert nul_error("f:1").code == "nul_byte"


def test_a_line_that_is_too_long_is_refused_however_well_it_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.compress(b"x\n" + b"a" * (MAX_LINE + 1) + b"\nb\n"))
    with pytest.raises(DataError, match="the line has more than 1,000,000 bytes"):
        list(read_lines(str(path)))


@settings(max_examples=60)
@given(
    text=st.text(st.sampled_from("aé\n\r\ufeff\u2028"), max_size=20),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    start=st.sampled_from(["", "\ufeff", "x"]),
)
def test_blocks_change_nothing(text: str, cuts: list[int], start: str) -> None:
    """The lines are those of the whole text without its mark; a mark at the beginning of a block is none."""
    data = (start + text).encode()
    places = sorted({0, len(data), *(cut for cut in cuts if 3 < cut < len(data))})
    blocks = [data[begin:end] for begin, end in zip(places, places[1:], strict=False)]
    lines = (start + text).removeprefix("\ufeff").split("\n")
    expected = [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
    assert list(lines_of(iter(blocks), "f", "strict")) == expected


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([b"\0"], "a NUL byte, which no text has\n  f:1\n  the file is damaged or binary"),
        ([b"\n\0\n"], "a NUL byte, which no text has\n  f:2\n"),
        ([b"\n\0"], "a NUL byte, which no text has\n  f:2\n"),
        ([b"\na\n", b"b\n\nc\0d\n"], "a NUL byte, which no text has\n  f:5\n"),
        ([b"\n\xff"], "byte 0xFF is not UTF-8\n  f:2:1\n  convert the file to UTF-8; or read on past"),
        ([b"\xe9"], "byte 0xE9 is not UTF-8\n  f:1:1\n"),
        ([b"a\nb\n", b"\ncde\x80f\n"], "byte 0x80 is not UTF-8\n  f:4:4\n"),
        ([b"\xff\xfea\0"], "the file is UTF-16, not UTF-8\n  f:1:1\n  convert it: iconv -f UTF-16 -t UTF-8"),
        ([b"\xfe\xff\0a"], "the file is UTF-16, not UTF-8\n  f:1:1\n  convert it: iconv -f UTF-16 -t UTF-8"),
    ],
)
def test_what_is_no_text_is_named_with_its_line_and_byte(blocks: list[bytes], said: str) -> None:
    with pytest.raises(DataError) as caught:
        list(lines_of(iter(blocks), "f", "strict"))
    assert str(caught.value).startswith(said)


def test_what_is_no_text_may_be_replaced_or_noted() -> None:
    blocks = [b"a\n\xff\nb\n", b"c\0\nd\xffe\n\xff"]
    assert list(lines_of(iter([b"a\xff\nb"]), "f", "replace")) == ["a\ufffd", "b"]
    faults = Faults()
    assert list(lines_of(iter(blocks), "f", "strict", faults)) == [
        "a",
        "\ufffd",
        "b",
        "c\0",
        "d\ufffde",
        "\ufffd",
    ]
    assert {line: fault.where for line, fault in faults.items()} == {2: "f:2:1", 5: "f:5:2", 6: "f:6:1"}
    both = Faults()
    assert len(list(lines_of(iter([b"\xff\na\n\xfe\n"]), "f", "strict", both))) == 3
    assert list(both) == [1, 3]


def test_only_the_beginning_of_a_file_may_be_a_mark_or_that_of_another_format() -> None:
    blocks = [b"a\n", b"\xef\xbb\xbfb\n", b"PK\3\4\n"]
    assert list(lines_of(iter(blocks), "f", "strict")) == ["a", "\ufeffb", "PK\3\4"]


def test_a_line_may_be_as_long_as_the_limit() -> None:
    long = b"b" * MAX_LINE
    assert [len(line) for line in lines_of(iter([long, b"\nc\n"]), "f", "strict")] == [MAX_LINE, 1]
    for blocks, line in (([b"a\n", long, b"b\nc"], 2), ([long + b"b", b"\nc"], 1)):
        with pytest.raises(
            DataError, match=f"the line has more than 1,000,000 bytes\n  f:{line}\n  one sentence"
        ):
            list(lines_of(iter(blocks), "f", "strict"))


def test_a_file_is_called_by_its_name_or_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\0")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\0")))
    for words, name in (({}, str(path)), ({"name": "corpus"}, "corpus")):
        with pytest.raises(DataError, match="a NUL byte") as caught:
            list(read_lines(str(path), **words))
        assert caught.value.where == f"{name}:1"
    with pytest.raises(DataError, match="a NUL byte") as caught:
        list(read_lines("-"))
    assert caught.value.where == "standard input:1"
