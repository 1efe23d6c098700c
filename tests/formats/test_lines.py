"""Lines end at line feeds, faults are named by line and byte; what is no text is called by its name."""

import gzip
from pathlib import Path

import pytest
import zstandard

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
