"""Which sentences are compared, in which order they are looked for."""

import hashlib
from pathlib import Path

import pytest

from jumok.config import DataConfig
from jumok.errors import ConfigError
from jumok.export.sample import find_sample


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_given_files_come_first(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.en", "one", "", "two"), write(tmp_path / "a.de", "eins", "-", "zwei")
    data = DataConfig(name="dates", target_language="de")
    sample = find_sample(data, source, target)
    assert (sample.name, list(sample.sources)) == ("a.en", ["one", "two"])
    assert list(sample.references) == [("eins",), ("zwei",)]
    assert sample.sha256 == hashlib.sha256(b"one\ntwo").hexdigest()
    assert sample.language == "de"
    assert not find_sample(data, source).references
    assert len(find_sample(data, source, most=1).sources) == 1


def test_both_sides_may_be_in_one_file(tmp_path: Path) -> None:
    sample = find_sample(DataConfig(), write(tmp_path / "a.tsv", "one\teins"))
    assert list(sample.references) == [("eins",)]


def test_a_built_in_set_has_its_validation_part() -> None:
    sample = find_sample(DataConfig(name="dates"), most=7)
    assert (sample.name, len(sample.sources), len(sample.references)) == ("dates-valid", 7, 7)
    several = find_sample(DataConfig(name="cmudict"), most=200)
    assert max(map(len, several.references)) > 1


def test_files_of_the_settings_are_used_while_they_are_there(tmp_path: Path) -> None:
    train = write(tmp_path / "t.en", "one"), write(tmp_path / "t.de", "eins")
    valid = write(tmp_path / "v.en", "two"), write(tmp_path / "v.de", "zwei")
    data = DataConfig(source=train[0], target=train[1], valid_source=valid[0], valid_target=valid[1])
    assert find_sample(data).name == "v.en"
    Path(valid[0]).unlink()
    assert find_sample(data).name == "t.en"
    Path(train[0]).unlink()
    with pytest.raises(
        ConfigError, match="no sentences to compare the exported model with\n  give some with -s"
    ):
        find_sample(data)


def test_references_need_sources() -> None:
    with pytest.raises(ConfigError, match="a reference needs its source"):
        find_sample(DataConfig(name="dates"), target="x.de")
