"""An object that exists is valid; every refusal is tested by its text."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass
from math import inf, nan
from typing import Any

import pytest

from jumok import config as module
from jumok.architectures import AlignHead
from jumok.config import (
    ARCHS,
    DataConfig,
    DecodingConfig,
    LuongConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TrainingConfig,
    TransformerConfig,
)
from jumok.errors import ConfigError

KINDS = [kind for kind in vars(module).values() if isinstance(kind, type) and is_dataclass(kind)]
CLASSES = [kind for kind in KINDS if kind is not AlignHead]  # which is a place in a model
ABOVE_0 = "choose a number above 0"
FROM_0 = "choose 0 or more"
BELOW_1 = "choose a share from 0 up to, but not including, 1"
TO_1 = "choose a share from 0 to 1"

REFUSED: list[tuple[type[Any], str, object, str]] = [
    *(
        (kind, f"model.{name}", 0, ABOVE_0)
        for kind in (RnnConfig, LuongConfig)
        for name in ("width", "layers")
    ),
    *(
        (TransformerConfig, f"model.{name}", -1, ABOVE_0)
        for name in ("encoder_layers", "decoder_layers", "width", "heads", "feedforward", "max_positions")
    ),
    *(
        (kind, "model.dropout", value, BELOW_1)
        for kind in (RnnConfig, LuongConfig, TransformerConfig)
        for value in (1.0, -0.1, nan)
    ),
    (
        TextConfig,
        "text.vocabulary",
        299,
        "260 places belong to the special and byte tokens: choose 300 or more",
    ),
    (DataConfig, "data.max_length", 0, ABOVE_0),
    (DataConfig, "data.hold_out", -1, "choose 0 or more pairs"),
    *(
        (TrainingConfig, f"training.{name}", 0, ABOVE_0)
        for name in (
            "batch_tokens",
            "accumulate",
            "max_steps",
            "lr",
            "log_every",
            "validate_every",
            "save_every",
            "valid_sentences",
        )
    ),
    (TrainingConfig, "training.lr", nan, ABOVE_0),
    (TrainingConfig, "training.lr", inf, ABOVE_0),
    *(
        (TrainingConfig, f"training.{name}", -1, FROM_0)
        for name in ("time_limit", "warmup", "weight_decay", "clip", "average", "patience", "threads")
    ),
    (TrainingConfig, "training.time_limit", inf, FROM_0),
    *(
        (TrainingConfig, f"training.{name}", 1.0, BELOW_1)
        for name in ("momentum", "beta2", "label_smoothing", "ema")
    ),
    *(
        (TrainingConfig, f"training.{name}", value, TO_1)
        for name in ("teacher_forcing", "cooldown")
        for value in (-0.1, 1.1, nan)
    ),
    *(
        (DecodingConfig, f"decoding.{name}", 0, ABOVE_0)
        for name in ("beam", "n_best", "max_len", "temperature")
    ),
    *(
        (DecodingConfig, f"decoding.{name}", -1, FROM_0)
        for name in ("length_penalty", "min_len", "no_repeat_ngram", "top_k", "batch_tokens")
    ),
    *((DecodingConfig, "decoding.top_p", value, "choose a share above 0, up to 1") for value in (0.0, 1.1)),
    (DecodingConfig, "decoding.min_len", 300, "min_len is above decoding.max_len=256"),
    (
        DecodingConfig,
        "decoding.n_best",
        6,
        "a beam of 5 gives at most 5 answers: raise decoding.beam",
    ),
    *((DecodingConfig, "decoding.mbr", value, "mbr is 0, or from 2 to 256") for value in (-1, 1, 257)),
    (DecodingConfig, "decoding.utility", "bleu", "choose chrf or rouge1"),
]


@pytest.mark.parametrize(
    ("kind", "key", "value", "advice"),
    REFUSED,
    ids=[f"{kind.__name__}-{key}={v}" for kind, key, v, _ in REFUSED],
)
def test_a_value_that_cannot_work_is_refused_by_its_full_name(
    kind: type[Any], key: str, value: object, advice: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        kind(**{key.partition(".")[2]: value})
    assert str(caught.value) == f"{key}={value} cannot work\n  {advice}"
    assert caught.value.code == "bad_config"


@pytest.mark.parametrize(("width", "heads", "offer"), [(500, 8, "496 or 504"), (7, 3, "6 or 9")])
def test_a_width_that_does_not_split_into_heads_offers_widths_that_work(
    width: int, heads: int, offer: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        TransformerConfig(width=width, heads=heads)
    assert str(caught.value) == (
        f"model.width={width} does not split into model.heads={heads} equal heads\n"
        f"  set model.width to {offer}, or change model.heads"
    )


def test_rotary_positions_need_heads_of_even_width() -> None:
    TransformerConfig(width=12, heads=3, positions="rotary")
    with pytest.raises(ConfigError) as caught:
        TransformerConfig(width=9, heads=3, positions="rotary")
    assert str(caught.value) == (
        "model.positions=rotary cannot work\n"
        "  rotary positions turn pairs of numbers: model.width / model.heads must be even"
    )


def test_sinusoidal_positions_need_an_even_width() -> None:
    TransformerConfig(width=9, heads=3, positions="learned")
    with pytest.raises(ConfigError) as caught:
        TransformerConfig(width=9, heads=3)
    assert str(caught.value) == (
        "model.width=9 cannot work\n"
        "  sinusoidal positions come in pairs of sine and cosine: choose an even width"
    )


def test_copying_needs_one_vocabulary_for_both_sides() -> None:
    RunConfig(model=TransformerConfig(copy=True))
    RunConfig(text=TextConfig(shared=False))
    with pytest.raises(ConfigError) as caught:
        RunConfig(model=TransformerConfig(copy=True), text=TextConfig(shared=False))
    assert str(caught.value) == (
        "model.copy=true cannot work\n"
        "  what is copied must be a token of both sides: it needs text.shared=true and one text.kind"
    )
    with pytest.raises(ConfigError, match="a token of both sides"):
        RunConfig(model=TransformerConfig(copy=True), text=TextConfig(kind="char", target_kind="word"))
    with pytest.raises(ConfigError, match="a picture has no tokens to copy: leave it out"):
        RunConfig(model=TransformerConfig(copy=True), data=DataConfig(images="pictures.zip"))


@pytest.mark.parametrize("kind", [RnnConfig, LuongConfig])
def test_two_directions_need_an_even_width(kind: type[Any]) -> None:
    kind(width=9, bidirectional=False)
    with pytest.raises(ConfigError) as caught:
        kind(width=9, bidirectional=True)
    assert str(caught.value) == (
        "model.width=9 cannot work\n"
        "  a bidirectional encoder gives half of the width to each direction: choose an even number"
    )


def test_a_warm_up_longer_than_the_run_is_refused() -> None:
    TrainingConfig(warmup=100, max_steps=100, schedule="constant")
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(warmup=100, max_steps=100)
    assert str(caught.value) == (
        "training.warmup=100 cannot work\n"
        "  the run ends after 100 steps, before the rate reaches its peak: "
        "choose a warm-up well below training.max_steps"
    )


def test_sampling_may_give_more_answers_than_a_beam() -> None:
    assert DecodingConfig(sample=True, n_best=9, beam=1).draws == 9


def test_draws_to_choose_from_bound_the_answers_and_do_without_a_beam() -> None:
    assert DecodingConfig(mbr=9, n_best=9, beam=1).draws == 9
    assert [DecodingConfig(mbr=draws).draws for draws in (2, 256)] == [2, 256]
    assert DecodingConfig(beam=5, n_best=5).draws == 0
    for settings, message in (
        (
            {"mbr": 9, "n_best": 10},
            "decoding.n_best=10 cannot work\n  9 draws give at most 9 answers: raise d",
        ),
        (
            {"mbr": 9, "sample": True},
            "decoding.mbr=9 cannot work\n  it draws its answers by itself: set deco",
        ),
    ):
        with pytest.raises(ConfigError, match=message):
            DecodingConfig(**settings)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_class_is_frozen_complete_with_defaults_and_documented(kind: type[Any]) -> None:
    made = kind()
    first = fields(kind)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(made, first, getattr(made, first))
    with pytest.raises(TypeError):
        kind(getattr(made, first))  # by name only
    assert kind.__doc__
    assert made == kind()


def test_every_architecture_has_its_class() -> None:
    assert tuple(kind().arch for kind in (RnnConfig, LuongConfig, TransformerConfig)) == ARCHS


def test_the_default_model_is_a_transformer() -> None:
    assert RunConfig().model == TransformerConfig()


def test_configuration_needs_no_torch() -> None:
    code = "import jumok.config, jumok.settings, jumok.presets, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
