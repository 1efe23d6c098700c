"""A budget is the same for every entry, whatever it is counted in."""

from pathlib import Path

import pytest

from jumok.comparison.budget import NO_END, Budget, steps_for
from jumok.errors import ConfigError
from jumok.settings import nest, parse_config
from tests.comparison.conftest import tiny_request


def test_settings() -> None:
    assert Budget("time", 90.0).settings() == {
        "training.max_steps": NO_END,
        "training.time_limit": 90.0,
        "training.patience": 0,
    }
    assert Budget("steps", 20).settings()["training.max_steps"] == 20
    assert Budget("steps", 20).settings()["training.time_limit"] == 0
    assert Budget("flops", 1e9).settings(7)["training.max_steps"] == 7
    for value in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ConfigError, match="cannot work"):
            Budget("time", value)


def test_flops_become_steps_by_the_formula(corpus: Path) -> None:
    from jumok.comparison.experiment import open_experiment

    experiment = open_experiment(tiny_request(corpus, budget=Budget("flops", 2e9)))
    prepared = experiment.prepared
    spent = {}
    for arch, settings in experiment.bases.items():
        config = parse_config(nest(settings))
        steps = settings["training.max_steps"]
        assert steps == steps_for(2e9, config, prepared.train, prepared.tokenizers)
        assert steps_for(4e9, config, prepared.train, prepared.tokenizers) in (2 * steps, 2 * steps + 1)
        spent[arch] = steps
    assert spent["rnn"] > spent["transformer"] > 10  # of the same width, a Transformer's update costs more
    with pytest.raises(ConfigError, match="less than one update of transformer"):
        steps_for(1e3, config, prepared.train, prepared.tokenizers)
