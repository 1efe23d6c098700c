"""A budget is the same for every entry, whatever it is counted in."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from jumok.checkpoint.model import build_for, patches_of
from jumok.comparison.budget import WITHIN, Budget, closest, count, fit, spread, steps_for, widths
from jumok.config import (
    ENDLESS,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TrainingConfig,
    TransformerConfig,
)
from jumok.errors import ConfigError
from jumok.images.patches import PatchReader
from jumok.models.cost import forward_cost
from jumok.settings import nest, parse_config
from jumok.text.tokenizer import Tokenizers, train_tokenizer
from tests.comparison.conftest import tiny_request


def test_settings() -> None:
    assert Budget("time", 90.0).settings() == {
        "training.max_steps": ENDLESS,
        "training.time_limit": 90.0,
        "training.patience": 0,
    }
    assert Budget("steps", 20).settings()["training.max_steps"] == 20
    assert Budget("steps", 20).settings()["training.time_limit"] == 0
    assert Budget("flops", 1e9).settings(7)["training.max_steps"] == 7
    assert Budget("time", 1e-3).settings(7)["training.time_limit"] == 1e-3
    assert Budget() == Budget("time", 600)
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


@pytest.mark.parametrize("rdrop", [0.0, 1.0])
def test_an_update_costs_three_forward_passes_of_its_pairs_with_their_ends(rdrop: float) -> None:
    """Two of them with R-Drop. By hand, of pairs that are all 4 and 6 tokens long, and an end each."""
    config = RunConfig(model=LuongConfig(width=24), training=TrainingConfig(batch_tokens=120, rdrop=rdrop))
    lengths = {"source_lengths": np.full(9, 4), "target_lengths": np.full(9, 6)}
    store: Any = type("NinePairs", (), {"__len__": lambda _: 9, **lengths})()
    both = tokenizers("shared")
    update = 3 * (2 if rdrop else 1) * forward_cost(config.model, 5, 7, both.target.size).flops * (120 / 12)
    assert steps_for(50.5 * update, config, store, both) == 50
    assert steps_for(49.9 * update, config, store, both) == 49


def test_the_cost_of_a_pair_is_the_mean_of_all_from_the_first_to_the_last() -> None:
    config = RunConfig(model=LuongConfig(width=24), training=TrainingConfig(batch_tokens=120))
    read, written = np.array([2, 9, 30, 80]), np.array([50, 7, 6, 3])
    lengths = {"source_lengths": read, "target_lengths": written}
    store: Any = type("FourPairs", (), {"__len__": lambda _: 4, **lengths})()
    both = tokenizers("shared")
    costs = [
        forward_cost(config.model, S + 1, T + 1, both.target.size).flops
        for S, T in zip(read.tolist(), written.tolist(), strict=True)
    ]
    update = 3 * (sum(costs) / 4) * 120 / ((read.sum() + written.sum() + 8) / 4)
    assert steps_for(1000.5 * update, config, store, both) == 1000


MODELS: list[ModelConfig] = [
    RnnConfig(width=24, cell="lstm", layers=2),
    LuongConfig(width=24, input_feeding=True),
    TransformerConfig(width=24, heads=2, feedforward=40, encoder_layers=2, decoder_layers=1, norm="pre"),
    TransformerConfig(
        width=16, heads=4, feedforward=24, encoder_layers=1, decoder_layers=2, positions="rotary"
    ),
]

POSITIONS: list[ModelConfig] = [
    TransformerConfig(width=16, heads=4, feedforward=24, positions="learned", max_positions=20),
    TransformerConfig(width=16, heads=4, feedforward=24, positions="none"),
]


def tokenizers(kind: str) -> Tokenizers:
    words = train_tokenizer(iter(["eins zwei drei"] * 3), TextConfig(vocabulary=300))
    letters = train_tokenizer(iter(["a b c"]), TextConfig(kind="char", vocabulary=300))
    source = {"shared": words, "two": letters, "pictures": PatchReader(8, 4)}[kind]
    return Tokenizers(source, words)


@pytest.mark.parametrize("kind", ["shared", "two", "pictures"])
@pytest.mark.parametrize("model", MODELS + POSITIONS, ids=lambda model: model.arch)
def test_the_count_is_that_of_the_real_model(model: ModelConfig, kind: str) -> None:
    both = tokenizers(kind)
    with torch.device("meta"):
        real = build_for(model, both)
    assert count(model, both) == sum(one.numel() for one in real.parameters())


@pytest.mark.parametrize("target", [60_000, 1_000_000, 20_000_000])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.arch}-{model.width}")
def test_a_width_brings_the_count_to_the_target(model: ModelConfig, target: int) -> None:
    both = tokenizers("shared")
    fitted = fit(model, target, both)
    assert abs(count(fitted, both) / target - 1) <= WITHIN
    if isinstance(fitted, TransformerConfig):
        assert isinstance(model, TransformerConfig)
        ratio = fitted.feedforward / fitted.width
        assert ratio == pytest.approx(model.feedforward / model.width, rel=0.05)
        assert replace(fitted, width=model.width, feedforward=model.feedforward) == model
    else:
        assert replace(fitted, width=model.width) == model


def test_widths_are_as_round_as_comes_close_enough() -> None:
    """Multiples of 16, of 8 where none of those is within two in a hundred, and of two for small models."""
    both = tokenizers("shared")
    for width, step in ((160, 16), (56, 8), (18, 2)):
        target = count(RnnConfig(width=width), both)
        fitted = fit(RnnConfig(), target, both).width
        assert (fitted % step, abs(fitted - width) < step) == (0, True)
        assert fitted % (2 * step) or step == 16
    assert fit(RnnConfig(), count(RnnConfig(width=322), both), both).width == 320
    assert fit(RnnConfig(), count(RnnConfig(width=1001), both), both).width == 1008  # 16 · 63


@pytest.mark.parametrize(
    ("positions", "heads", "step", "first"),
    [("sinusoidal", 4, 16, 16), ("sinusoidal", 3, 16, 48), ("rotary", 3, 2, 6), ("rotary", 8, 8, 16)],
)
def test_widths_hold_whole_heads(positions: Any, heads: int, step: int, first: int) -> None:
    """A head that is turned has an even width."""
    model = TransformerConfig(width=48, heads=heads, positions=positions)
    found = widths(model, step)
    assert (found.start, found.step, found[-1] + first > 8192 >= found[-1]) == (first, first, True)
    assert widths(replace(model, head_width=4), step) == widths(RnnConfig(), step)


def test_a_text_of_pictures_has_no_end_of_its_own() -> None:
    config = RunConfig(model=LuongConfig(width=24), training=TrainingConfig(batch_tokens=110))
    lengths = {"source_lengths": np.full(9, 4), "target_lengths": np.full(9, 6)}
    store: Any = type("NinePairs", (), {"__len__": lambda _: 9, **lengths})()
    both = tokenizers("pictures")
    cost = forward_cost(config.model, 4, 7, both.target.size, patches=patches_of(both)).flops
    assert steps_for(50.5 * 3 * cost * 10, config, store, both) == 50
    with pytest.raises(ConfigError, match=re.escape(f"one takes about {3 * cost * 10:.2g}")):
        steps_for(0.99 * 3 * cost * 10, config, store, both)
    assert steps_for(1.01 * 3 * cost * 10, config, store, both) == 1


def test_the_inner_width_stays_if_it_was_given() -> None:
    model = MODELS[2]
    fitted = fit(model, 1_000_000, tokenizers("shared"), inner=False)
    assert isinstance(fitted, TransformerConfig)
    assert fitted.feedforward == 40
    assert fitted.width > model.width


def test_an_impossible_target_gets_the_nearest() -> None:
    assert fit(RnnConfig(), 1, tokenizers("shared")).width == 2


def test_of_two_widths_that_are_as_near_it_is_the_wider() -> None:
    both, models = tokenizers("shared"), [RnnConfig(width=width) for width in (16, 24, 32)]
    small, large, _ = (count(model, both) for model in models)
    assert closest(models, (small + large) // 2, both) == models[1]
    assert closest(models, (small + large) // 2 - 1, both) == models[0]


def test_widths_far_beyond_are_not_looked_at() -> None:
    both, looked = tokenizers("shared"), list[int]()

    def models() -> Iterator[ModelConfig]:
        for width in range(16, 400, 16):
            looked.append(width)
            yield RnnConfig(width=width)

    assert closest(models(), count(RnnConfig(width=48), both), both) == RnnConfig(width=48)
    assert looked == [16, 32, 48, 64]


def test_spread() -> None:
    assert spread([100, 105, 102]) == pytest.approx(0.05)
    assert spread([7]) == 0
