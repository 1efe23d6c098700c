"""Packed bytes come out as they went in; what is damaged, cut short or grows without measure is refused."""

import bz2
import gzip
import lzma
import os
import socket
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.errors import ConfigError, DataError
from jumok.formats import files
from jumok.formats.files import ZstdStream, file_blocks, growth_limit, raw_blocks, split_packing
from jumok.formats.lines import MAX_LINE

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.tsv.xz", ("a.tsv", ".xz")),
        ("a.TSV.GZ", ("a.TSV", ".GZ")),
        ("a.zstd", ("a", ".zstd")),
        ("gz", ("gz", "")),
        ("a.tsv", ("a.tsv", "")),
    ],
)
def test_the_ending_says_how_a_file_is_packed(name: str, parts: tuple[str, str]) -> None:
    assert split_packing(name) == parts


@pytest.mark.parametrize("ending", PACK)
@settings(max_examples=15, deadline=None)
@given(pieces=st.lists(st.binary(max_size=300), max_size=4))
def test_packed_bytes_come_out_as_they_went_in(
    ending: str, pieces: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("packed") / f"a{ending}"
    path.write_bytes(b"".join(map(PACK[ending], pieces)) or PACK[ending](b""))  # several in one file
    assert b"".join(file_blocks(str(path))) == b"".join(pieces)


@pytest.mark.parametrize("ending", PACK)
def test_a_file_that_is_cut_short_or_damaged(ending: str, tmp_path: Path) -> None:
    whole, path = PACK[ending](os.urandom(40_000)), tmp_path / f"a{ending}"
    word = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}[ending]
    path.write_bytes(whole[:-300])
    with pytest.raises(DataError, match=f"the {word} file is cut short") as caught:
        list(file_blocks(str(path)))
    assert caught.value.where.startswith(f"{path}, after ")
    assert (caught.value.hint, caught.value.code) == ("copy it again", f"bad_{word}")
    path.write_bytes(b"plain text, long enough to be read")
    with pytest.raises(DataError, match=f"not a sound {word} file"):
        list(file_blocks(str(path)))


@pytest.mark.parametrize("ending", PACK)
def test_a_bomb_is_refused(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROWTH_FREE", 1 << 20)
    path = tmp_path / f"bomb{ending}"
    path.write_bytes(PACK[ending](b"\0" * (9 << 20)))
    with pytest.raises(DataError, match="over 200 times its size") as caught:
        assert sum(map(len, file_blocks(str(path)))) < (4 << 20)
    assert caught.value.code.endswith("_bomb")


def test_growth_is_limited_by_size() -> None:
    assert growth_limit(10) == growth_limit(64 * 1024 * 1024 // 200) == 64 * 1024 * 1024
    assert growth_limit(1 << 30) == 200 << 30


def test_a_window_beyond_measure_is_refused(tmp_path: Path) -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=28, compression_level=3)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    path = tmp_path / "wide.zst"
    path.write_bytes(packer.compress(b"a") + packer.flush())
    with pytest.raises(DataError, match="not a sound zstd file"):
        list(file_blocks(str(path)))


def test_without_the_package_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    monkeypatch.setattr(files.sys, "version_info", (3, 11))
    path = tmp_path / "a.zst"
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match="zstd files need Python 3.14, or the package zstandard") as caught:
        list(file_blocks(str(path)))
    assert 'pip install "jumok[corpora]"' in caught.value.hint


def test_a_stream_gives_what_is_asked_for_and_at_the_end_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(PACK[".zst"](os.urandom(50_000)) + PACK[".zst"](b"a" * 50_000))
    with path.open("rb") as file:
        stream = ZstdStream(file)
        assert [len(stream.read(30_000)) for _ in range(5)] == [30_000, 30_000, 30_000, 10_000, 0]


@pytest.mark.parametrize("ending", ["", *PACK])
def test_no_block_is_as_long_as_the_longest_line(ending: str, tmp_path: Path) -> None:
    """So that only a line that spans blocks can be too long."""
    path, data = tmp_path / f"a.txt{ending}", b"a" * (2 * MAX_LINE)
    path.write_bytes(PACK[ending](data) if ending else data)
    blocks = list(file_blocks(str(path), "a"))
    assert b"".join(blocks) == data
    assert max(map(len, blocks)) < MAX_LINE


def test_what_stands_at_a_path_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(path: str | Path) -> str:
        with pytest.raises(DataError) as caught:
            list(file_blocks(str(path)))
        return str(caught.value)

    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    assert told(folder) == f"a folder, not a file\n  {folder}\n  name a file"
    for name in "gfedcba":
        (folder / f"{name}.txt").touch()
    assert told(folder).endswith("\n  name a file in it: a.txt, b.txt, c.txt, d.txt, e.txt")
    assert told(folder / "a.tx") == f"no such file\n  {folder}/a.tx\n  did you mean 'a.txt'?"
    assert told(folder / "words") == f"no such file\n  {folder}/words\n  check the path"
    assert (
        told(folder / "no" / "a") == f"no such file\n  {folder}/no/a\n  there is no folder {folder}/no either"
    )
    assert told("/dev/null") == "a device, not a file\n  /dev/null\n  give a text file"
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
    assert told("s") == "a socket, not a file\n  s\n  give a text file"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "permission denied\n  f\n  check who may read it: ls -l"),
        (OSError(5, "Input/output error"), "input/output error\n  f\n  give a text file"),
        (OSError(), "unknown reason\n  f\n  give a text file"),
    ],
)
def test_what_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        list(raw_blocks(Mock(read1=Mock(side_effect=error)), "f"))
    assert str(caught.value) == f"cannot read the file: {said}"
    (tmp_path / "a.gz").touch()
    monkeypatch.setattr("builtins.open", Mock(side_effect=error))
    with pytest.raises(DataError) as caught:
        list(file_blocks(str(tmp_path / "a.gz")))
    assert str(caught.value) == f"cannot read the file: {said.replace('  f', f'  {tmp_path}/a.gz')}"


def test_a_packed_file_that_stops_being_readable_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(PACK[".gz"](b"a"))
    reader = Mock(read=Mock(side_effect=[b"a", OSError(5, "Input/output error")]))
    monkeypatch.setattr(files, "_unpacker", lambda file, packing: reader)
    with pytest.raises(
        DataError, match="^cannot read the file: input/output error\n  .*a.gz\n  give a text file$"
    ):
        list(file_blocks(str(path)))
    reader.read.side_effect = [b"abc", OSError("Not a gzipped file")]
    with pytest.raises(
        DataError, match="^not a sound gzip file\n  .*a.gz, after 3 unpacked bytes\n  copy it again$"
    ):
        list(file_blocks(str(path)))


def test_a_packed_file_may_grow_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(PACK[".gz"](b"a" * 100_000))
    monkeypatch.setattr(files, "GROWTH_RATIO", 0)
    monkeypatch.setattr(files, "GROWTH_FREE", 100_000)
    assert sum(map(len, file_blocks(str(path)))) == 100_000
    monkeypatch.setattr(files, "GROWTH_FREE", 99_999)
    with pytest.raises(DataError, match="unpacks to more than 0 MiB, over 0 times its size"):
        list(file_blocks(str(path), "f"))


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    for name in ("a.txt", "a.gz", "a.zst"):
        (tmp_path / name).touch()
        assert list(file_blocks(str(tmp_path / name))) == []
