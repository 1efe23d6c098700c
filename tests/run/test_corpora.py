"""One corpus or several: what a run's settings open."""

from pathlib import Path

import pytest

from jumok.config import DataConfig, RunConfig, StartConfig
from jumok.errors import ConfigError, DataError
from jumok.run.corpora import looks_like_a_name, open_corpora, read_corpora
from jumok.text.frame import PLAIN


def test_a_built_in_set_has_no_mixture() -> None:
    corpora = open_corpora(RunConfig(data=DataConfig(name="dates")))
    assert corpora.mixture is None
    assert corpora.frame(DataConfig()) == PLAIN


def test_old_pairs_are_one_of_several_corpora() -> None:
    config = RunConfig(data=DataConfig(corpora=("a.tsv",)), start=StartConfig(model="runs/x", keep="old.tsv"))
    with pytest.raises(ConfigError, match=r"--keep old.tsv and several corpora \(--data\) exclude") as told:
        open_corpora(config)
    assert "--data old.tsv:1" in told.value.hint


def test_what_can_only_be_a_name() -> None:
    assert looks_like_a_name("dates-cjk")
    assert not looks_like_a_name("pairs.tsv")
    assert not looks_like_a_name("pairs:2")


def test_too_few_old_pairs_are_refused(tmp_path: Path) -> None:
    new, old = tmp_path / "new.tsv", tmp_path / "old.tsv"
    new.write_text("".join(f"a {n}\tb {n}\n" for n in range(30)))
    old.write_text("a\tb\n")
    data, start = DataConfig(source=str(new)), StartConfig(model="runs/x", keep=str(old))
    with pytest.raises(DataError, match="old.tsv has 1 pair with text on both sides"):
        read_corpora(open_corpora(RunConfig(data=data, start=start)))
