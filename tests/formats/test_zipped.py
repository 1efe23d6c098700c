"""Zip files: their texts without what stands beside them; damaged, locked and swelling ones are refused."""

import zipfile
from pathlib import Path

import pytest

from jumok.errors import DataError
from jumok.formats import files
from jumok.formats.zipped import member_blocks, text_members


def write(path: Path, **members: bytes) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return str(path)


def test_papers_are_no_texts(tmp_path: Path) -> None:
    names = [
        "README",
        "LICENSE.txt",
        "a.de-en.de",
        "a.de-en.en",
        "a.de-en.xml",
        "a.ids",
        "__MACOSX/a",
        ".x",
        "d/",
    ]
    path = write(tmp_path / "a.zip", **dict.fromkeys(names, b"x\n"))
    assert text_members(path) == ["a.de-en.de", "a.de-en.en"]
    assert b"".join(member_blocks(path, "a.de-en.de")) == b"x\n"


def test_archives_that_are_none_or_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    whole = Path(write(tmp_path / "whole.zip", a=bytes(range(256)) * 50)).read_bytes()
    for data in (b"", b"plain text", whole[:-10]):
        path.write_bytes(data)
        with pytest.raises(DataError, match="not a sound zip file") as caught:
            text_members(str(path))
        assert (caught.value.where, caught.value.hint) == (str(path), "copy it again")
    path.write_bytes(whole[:60] + bytes(100) + whole[160:])
    with pytest.raises(DataError, match="not a sound zip file") as caught:
        list(member_blocks(str(path), "a"))
    assert caught.value.where.startswith(f"{path}/a")


def test_a_locked_file_is_named(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.zip", a=b"text"))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="protected by a password"):
        list(member_blocks(str(path), "a"))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROWTH_FREE", 1 << 20)
    path = write(tmp_path / "a.zip", a=bytes(9 << 20))
    with pytest.raises(DataError, match="over 200 times its size") as caught:
        list(member_blocks(path, "a"))
    assert caught.value.code == "zip_bomb"


def test_a_file_may_grow_to_the_limit_and_a_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.zip", a=bytes(1 << 16))
    monkeypatch.setattr(files, "GROWTH_RATIO", 0)
    monkeypatch.setattr(files, "GROWTH_FREE", 1 << 16)
    assert sum(map(len, member_blocks(path, "a"))) == 1 << 16
    monkeypatch.setattr(files, "GROWTH_FREE", (1 << 16) - 1)
    with pytest.raises(DataError, match="unpacks to more than 0 MiB, over 0 times its size\n  .*a.zip/a\n"):
        list(member_blocks(path, "a"))
    (tmp_path / "b.zip").write_bytes(b"plain text")
    with pytest.raises(DataError, match="^not a sound zip file: File is not a zip file\n"):
        text_members(str(tmp_path / "b.zip"))
