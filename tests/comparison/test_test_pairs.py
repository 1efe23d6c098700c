"""What is tested: files, a built-in split, or what validation looks at."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from jumok.comparison.test_pairs import read_test, usual_metrics, validation_pairs
from jumok.config import RunConfig, TrainingConfig
from jumok.errors import ConfigError
from jumok.evaluation.metrics import check_names
from jumok.settings import nest, parse_config


def config(**settings: Any) -> RunConfig:
    return parse_config(nest({name.replace("__", "."): value for name, value in settings.items()}))


def test_files(tmp_path: Path) -> None:
    (tmp_path / "t.en").write_text("one\ntwo\n")
    (tmp_path / "t.de").write_text("eins\nzwei\n")
    found = read_test(str(tmp_path / "t.en"), str(tmp_path / "t.de"), config())
    assert found is not None
    assert (found.name, found.sources, found.references) == ("t", ("one", "two"), ("eins", "zwei"))
    (tmp_path / "three.tsv").write_text("x\tone\teins\nx\ttwo\tzwei\n")
    found = read_test(str(tmp_path / "three.tsv"), "", config(data__columns="2,3"))
    assert found is not None
    assert found.answers == (("eins",), ("zwei",))


def test_a_built_in_split() -> None:
    found = read_test("", "", config(data__name="dates"))
    assert found is not None
    assert (found.name, len(found)) == ("dates test", 2000)


def test_nothing_but_validation() -> None:
    assert read_test("", "", config(data__source="a.tsv")) is None
    prepared: Any = SimpleNamespace(valid_pairs=(("a", "b"), ("c", "d")))
    found = validation_pairs(prepared)
    assert (found.sources, found.references, found.name) == (("a", "c"), ("b", "d"), "validation")


def test_a_target_without_a_source() -> None:
    with pytest.raises(ConfigError, match="--test-target is given without --test-source"):
        read_test("", "t.de", config())


def test_every_metric_of_training_has_metrics_of_a_test() -> None:
    for metric in get_args(TrainingConfig.__annotations__["metric"]):
        names = usual_metrics(metric)
        assert check_names(names) == names
        assert metric in ("loss", names[0])
