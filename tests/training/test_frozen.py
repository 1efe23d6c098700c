"""What is frozen stays as it is and costs nothing; everything else learns as it would have."""

from typing import Any

import pytest
import torch

from jumok.backends.choose import choose_backend
from jumok.config import FREEZABLE, LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.errors import ConfigError
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.training.frozen import NAMES, freeze, is_frozen
from jumok.training.optimizer import Optimizers
from jumok.training.step import batch_loss, train_step

MODELS: tuple[ModelConfig, ...] = (
    TransformerConfig(width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1, dropout=0.0),
    LuongConfig(width=16, dropout=0.0),
    RnnConfig(width=16, dropout=0.0),
)
BATCH = lay_pairs([[4, 5, 6], [7], [8, 9, 10, 11]], [[6, 7], [8, 9, 10], [4]])


def make(config: ModelConfig, *, fast: bool = False, **more: Any) -> Seq2Seq:
    torch.manual_seed(3)
    model = build_model(config, 20, 20, shared=True, **more)
    if fast:
        model.ops = choose_backend("cpu")
    return model


def gradients(model: Seq2Seq) -> dict[str, torch.Tensor]:
    loss, _ = batch_loss(model, BATCH, TrainingConfig())
    loss.backward()
    return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("config", MODELS, ids=lambda config: config.arch)
@pytest.mark.parametrize(
    "parts", [("encoder",), ("embeddings",), ("decoder",), ("biases",), ("encoder", "embeddings")]
)
def test_the_gradients_of_what_is_left_are_those_of_before(
    config: ModelConfig, parts: tuple[str, ...], *, fast: bool
) -> None:
    whole = gradients(make(config, fast=fast))
    model = make(config, fast=fast)
    freeze(model, parts)
    left = gradients(model)
    assert left.keys() == {name for name in whole if not is_frozen(name, parts)}
    for name, gradient in left.items():
        torch.testing.assert_close(gradient, whole[name])


@pytest.mark.parametrize("config", MODELS, ids=lambda config: config.arch)
def test_a_step_changes_and_remembers_nothing_of_what_is_frozen(config: ModelConfig) -> None:
    model, training = make(config, fast=True), TrainingConfig()
    freeze(model, ("encoder", "embeddings"))
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    optimizers = Optimizers(model, training)
    train_step(model, optimizers, [BATCH], training, lr=1e-2, step=1, seed=1)
    changed = {name for name, one in model.named_parameters() if not torch.equal(one, before[name])}
    assert changed == {name for name in before if not is_frozen(name, ("encoder", "embeddings"))}
    assert {key.partition("/")[2] for key in optimizers.tensors()} == changed


def test_every_weight_of_a_transformer_is_in_a_part() -> None:
    assert tuple(NAMES) == FREEZABLE
    model = make(
        TransformerConfig(width=16, heads=2, feedforward=24, tied=False, copy=True, positions="learned")
    )
    named = {
        name: [part for part in FREEZABLE if is_frozen(name, (part,))] for name, _ in model.named_parameters()
    }
    assert named["encoder.0.attention.project.linear.weight"] == ["encoder", "attention"]
    assert named["decoder.0.cross.output.linear.bias"] == ["decoder", "attention", "biases"]
    assert named["decoder.0.add_cross.norm.weight"] == ["decoder", "norms"]
    assert named["decoder.0.feedforward.inner.weight"] == ["decoder", "feedforward"]
    assert named["output.weight"] == named["copying.query.weight"] == ["output"]
    assert named["target_positions.table"] == named["target_embedding.weight"] == ["embeddings"]
    assert all(named.values())


def test_parts_of_later_architectures_have_their_place() -> None:
    assert is_frozen("encoder_bias.weight", ("attention",))
    assert is_frozen("encoder_bias.weight", ("encoder",))
    assert is_frozen("decoder_norm.weight", ("norms",))
    assert is_frozen("source_norm.weight", ("embeddings",))
    assert is_frozen("logits_bias", ("output",))
    assert is_frozen("logits_bias", ("biases",))
    assert not is_frozen("encoder_bias.weight", ("biases",))
    assert not is_frozen("encoder.0.feedforward.gate.weight", ("attention", "decoder", "norms"))


def test_what_is_not_there_or_leaves_nothing_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        freeze(make(MODELS[0]), ("output",))
    assert str(caught.value) == (
        "training.freeze=output: this model has no such weights\n"
        "  it has embeddings, encoder, decoder, attention, feedforward, norms, biases; tied output weights "
        "belong to the embeddings"
    )
    with pytest.raises(ConfigError) as caught:
        freeze(make(MODELS[0]), ("encoder", "decoder", "embeddings"))
    assert str(caught.value) == (
        "training.freeze=encoder,decoder,embeddings leaves nothing that could learn\n"
        "  leave a part out: --freeze encoder,embeddings"
    )
