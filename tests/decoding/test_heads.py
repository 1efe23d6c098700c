"""Which head aligns."""

from dataclasses import replace

import pytest

from jumok.architectures import AlignHead, LuongConfig, RnnConfig, TransformerConfig
from jumok.config import DataConfig, RunConfig, TrainingConfig
from jumok.decoding.heads import KEY, head_of, no_head
from jumok.errors import ConfigError

SHAPE = TransformerConfig(decoder_layers=3, heads=4)


def test_the_taught_head_comes_first_then_the_found_then_the_mean() -> None:
    plain, taught = RunConfig(model=SHAPE), RunConfig(model=SHAPE, training=TrainingConfig(align=0.1))
    found = {KEY: {"layer": 2, "head": 3, "agreement": 0.5}}
    assert head_of(taught, found) == AlignHead(1, 0, after=True)
    assert head_of(plain, found) == AlignHead(2, 3)
    assert head_of(plain, {KEY: {"layer": 1, "head": None}}) == AlignHead(1)
    assert head_of(plain, {}) == AlignHead(2)
    assert head_of(RunConfig(model=LuongConfig()), found) == AlignHead(0)


@pytest.mark.parametrize(
    "value", [{"layer": 3, "head": 0}, {"layer": 0, "head": 4}, {"layer": -1, "head": 0}, 7]
)
def test_a_head_that_the_model_does_not_have_is_passed_over(value: object) -> None:
    assert head_of(RunConfig(model=SHAPE), {KEY: value}) == AlignHead(2)


def test_without_attention_and_for_pictures_there_is_none() -> None:
    blind = RunConfig(model=RnnConfig())
    assert head_of(blind, {}) is None
    assert "cannot align: a model of the architecture rnn has no attention" in no_head(blind).message
    seeing = RunConfig(model=SHAPE, data=DataConfig(images="x"))
    assert head_of(seeing, {}) is None
    assert "cannot align: it reads pictures" in no_head(seeing).message


def test_only_what_can_be_taught_is_taught() -> None:
    given = TrainingConfig(align=0.1)
    for config in (RunConfig(model=LuongConfig()), RunConfig(data=DataConfig(images="x"))):
        with pytest.raises(ConfigError, match=r"training\.align=0\.1 cannot work"):
            replace(config, training=given)
    with pytest.raises(ConfigError, match=r"training\.batches=packed cannot work"):
        RunConfig(training=replace(given, batches="packed"))
    with pytest.raises(ConfigError, match=r"training\.align=-1\.0 cannot work"):
        TrainingConfig(align=-1.0)
