"""Parquet: rows by column, also of nested ones; what is none is refused, and the package is named."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumok.errors import ConfigError, DataError
from jumok.formats import files
from jumok.formats.parquet import read_parquet


def write(path: Path, columns: dict[str, Any], **options: Any) -> str:
    parquet.write_table(pa.table(columns), path, **options)
    return str(path)


def test_rows_come_by_column(tmp_path: Path) -> None:
    columns = {"en": ["a", None, "c"], "n": [1, 2, 3], "de": pa.array(["x", "y", "x"]).dictionary_encode()}
    found = list(read_parquet(write(tmp_path / "a.parquet", columns), "f"))
    assert [(unit.number, unit.texts) for unit in found] == [
        (1, {"en": "a", "de": "x"}),
        (2, {"en": "", "de": "y"}),
        (3, {"en": "c", "de": "x"}),
    ]


def test_a_nested_column_is_an_object(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"translation": [{"en": "a", "de": "b"}, {"en": "c", "de": None}]})
    assert [unit.texts for unit in read_parquet(path, "f")] == [
        {"translation": {"en": "a", "de": "b"}},
        {"translation": {"en": "c", "de": ""}},
    ]


def test_many_rows_are_read_in_their_order(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"t": [str(n) for n in range(3_500)]}, row_group_size=700)
    assert [unit.texts["t"] for unit in read_parquet(path, "f")] == [str(n) for n in range(3_500)]


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    whole = Path(write(tmp_path / "whole.parquet", {"t": ["text"] * 100})).read_bytes()
    for data in (b"", b"plain text, no parquet", whole[:-20], whole[:10] + whole[40:]):
        path.write_bytes(data)
        with pytest.raises(DataError, match="not a sound parquet file") as caught:
            list(read_parquet(str(path), "f"))
        assert (caught.value.hint, caught.value.code) == ("copy it again", "bad_parquet")
        assert caught.value.where == "f"
    with pytest.raises(DataError, match="no column holds texts\n  f\n  save the texts as strings"):
        list(read_parquet(write(path, {"n": [1]}), "f"))


def test_a_damaged_place_is_named_by_the_rows_before_it(tmp_path: Path) -> None:
    options = {"row_group_size": 1_000, "compression": "none", "use_dictionary": False}
    path = write(tmp_path / "a.parquet", {"t": ["text"] * 2_000}, **options)
    place = parquet.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 40)
    with pytest.raises(DataError) as caught:
        list(read_parquet(path, "f"))
    assert caught.value.where == "f, after row 1,000"


def test_a_file_that_grows_without_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROWTH_FREE", 1_000)
    path = write(tmp_path / "a.parquet", {"t": ["a" * 3_000_000]}, compression="zstd", use_dictionary=False)
    with pytest.raises(DataError, match="over 200 times its size") as caught:
        list(read_parquet(path, "f"))
    assert caught.value.code == "parquet_bomb"


def test_without_the_package_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="parquet files need the package pyarrow") as caught:
        list(read_parquet(str(tmp_path / "a.parquet"), "f"))
    assert 'pip install "jumok[corpora]"' in caught.value.hint


def test_a_file_that_does_not_grow_may_be_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROWTH_FREE", 10)
    path = write(tmp_path / "a.parquet", {"t": [str(n**9) for n in range(500)]}, compression="none")
    assert len(list(read_parquet(path, "f"))) == 500
