"""The laws of a model hold when its source is a picture: patches of bytes, and no end."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.edits import Edits, PositionEdit
from jumok.models.build import build_model
from jumok.models.cost import count_parameters, forward_cost, measured_flops, parameters
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.nn.patches import Patches

SHAPE = Patches(numbers=12, places=9)
SMALL = {"width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 16, "dropout": 0.0}
CONFIGS = [
    RnnConfig(width=8, dropout=0.0),
    LuongConfig(width=8, dropout=0.0),
    TransformerConfig(**SMALL),  # type: ignore[arg-type]
    TransformerConfig(positions="rotary", norm="pre", **SMALL),  # type: ignore[arg-type]
]


@pytest.fixture(params=CONFIGS, ids=lambda one: f"{one.arch}")
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    torch.manual_seed(0)
    config: ModelConfig = request.param
    return build_model(config, 0, 20, shared=False, patches=SHAPE)


def batch(rows: int = 3, seed: int = 0) -> tuple[Sentences, Sentences]:
    random = torch.Generator().manual_seed(seed)
    size = (rows * SHAPE.places, SHAPE.numbers)
    patches = torch.randint(0, 256, size, dtype=torch.uint8, generator=random)
    target = torch.randint(4, 20, (rows, 5), generator=random).tolist()
    source = Sentences.of(patches, np.full(rows, SHAPE.places))
    return source, Sentences.lay(target, torch.device("cpu"))


def logits(model: Seq2Seq, source: Sentences, target_in: Sentences) -> Tensor:
    with torch.inference_mode():
        found: Tensor = model.eval()(source, target_in).logits()
    return found


def reordered(source: Sentences, order: Tensor) -> Sentences:
    """The patches of one picture in another order."""
    return source.with_tokens(source.tokens[order])


def test_steps_give_what_the_whole_pass_gives(bench: Any, model: Seq2Seq) -> None:
    source, target_in = batch()
    with torch.inference_mode():
        memory = model.eval().encode(source)
        assert memory.states.shape == (3 * SHAPE.places, 8)
        steps = bench.step_by_step(model, target_in, memory)
    torch.testing.assert_close(steps, logits(model, source, target_in))


def test_cross_attention_over_patches_sums_to_one(model: Seq2Seq) -> None:
    source, target_in = batch()
    with torch.inference_mode():
        for weights in model.eval().explain(target_in, model.encode(source)):
            assert weights.shape[-1] == SHAPE.places  # and no end token
            torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))


def test_neighbours_change_nothing(model: Seq2Seq) -> None:
    source, target_in = batch()
    alone = [logits(model, source.select([row])[0], target_in.select([row])[0]) for row in range(3)]
    torch.testing.assert_close(logits(model, source, target_in), torch.cat(alone))


def test_every_weight_learns(model: Seq2Seq) -> None:
    model.train()(*batch()).logits().square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0 or "project.bias" in name, name


LEARNED = TransformerConfig(positions="learned", tied=False, **SMALL)  # type: ignore[arg-type]
NOWHERE = TransformerConfig(positions="none", **SMALL)  # type: ignore[arg-type]


@pytest.mark.parametrize("config", [*CONFIGS, LEARNED, NOWHERE])
def test_work_is_what_torch_counts(config: ModelConfig) -> None:
    model = build_model(config, 0, 20, shared=False, patches=SHAPE)
    predicted = forward_cost(config, SHAPE.places, 5, 20, patches=SHAPE)
    assert predicted.work[0].flops == 2 * SHAPE.places * SHAPE.numbers * config.width
    assert predicted.flops == measured_flops(model, SHAPE.places, 5, patches=SHAPE)


@pytest.mark.parametrize("config", [*CONFIGS, LEARNED, NOWHERE])
def test_parameters_are_counted_by_the_formula(config: ModelConfig) -> None:
    model = build_model(config, 0, 20, shared=False, patches=SHAPE)
    parts = parameters(config, 0, 20, shared=False, patches=SHAPE)
    assert sum(part.count for part in parts) == count_parameters(model)


def test_without_positions_a_picture_is_a_bag_of_patches() -> None:
    torch.manual_seed(0)
    model = build_model(NOWHERE, 0, 20, shared=False, patches=SHAPE).eval()
    assert not [name for name, _ in model.named_parameters() if "positions" in name]
    assert model.position_rows(9) is None
    source, target_in = batch(1)
    order = torch.randperm(SHAPE.places)
    turned = reordered(source, order)
    with torch.inference_mode():
        torch.testing.assert_close(model.encode(turned).states, model.encode(source).states[order])
    torch.testing.assert_close(logits(model, turned, target_in), logits(model, source, target_in))


def test_a_patch_elsewhere_is_another_picture(model: Seq2Seq) -> None:
    source, target_in = batch(1)
    turned = reordered(source, torch.arange(SHAPE.places).flip(0))
    assert not torch.allclose(logits(model, turned, target_in), logits(model, source, target_in))


def changed(model: Seq2Seq, edit: PositionEdit) -> Tensor:
    return logits(model.using(RecordingBackend(Edits(source_positions=edit))), *batch(1))


def test_positions_of_patches_can_be_edited() -> None:
    torch.manual_seed(0)
    model = build_model(CONFIGS[2], 0, 20, shared=False, patches=SHAPE).eval()
    with torch.no_grad():
        model.get_parameter("source_embedding.positions").normal_()
    plain = changed(model, PositionEdit("shift", by=0))
    torch.testing.assert_close(plain, logits(model, *batch(1)))
    for edit in (PositionEdit("none"), PositionEdit("shuffle", seed=1), PositionEdit("shift", by=2)):
        assert not torch.allclose(changed(model, edit), plain)
    rows = model.position_rows(100)
    assert rows is not None
    assert rows.shape == (SHAPE.places, 8)
