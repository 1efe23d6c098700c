"""The laws of a model hold when its source is a picture: (B, S, P) bytes, no end, no padding."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import Patches, build_model
from jumok.models.cost import count_parameters, forward_cost, measured_flops, parameters
from jumok.models.interface import Edits, PositionEdit, Probe, Seq2Seq

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


def batch(rows: int = 3, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    source = torch.randint(0, 256, (rows, SHAPE.places, SHAPE.numbers), dtype=torch.uint8, generator=random)
    return (
        source,
        torch.ones(source.shape[:2], dtype=torch.bool),
        torch.randint(4, 20, (rows, 5), generator=random),
    )


def test_steps_give_what_the_whole_pass_gives(model: Seq2Seq) -> None:
    source, mask, target_in = batch()
    with torch.inference_mode():
        memory = model.eval().encode(source, mask)
        assert memory.states.shape == (3, SHAPE.places, 8)
        state, steps = model.start(memory), []
        for token in target_in.unbind(dim=1):
            logits, state = model.step(token, state)
            steps.append(logits)
        torch.testing.assert_close(torch.stack(steps, dim=1), model.decode(target_in, memory))


def test_cross_attention_over_patches_sums_to_one(model: Seq2Seq) -> None:
    source, mask, target_in = batch()
    with torch.inference_mode():
        for weights in model.eval().explain(target_in, model.encode(source, mask)):
            assert weights.shape[-1] == SHAPE.places  # and no end token
            torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))


def test_neighbours_change_nothing(model: Seq2Seq) -> None:
    source, mask, target_in = batch()
    with torch.inference_mode():
        together = model.eval()(source, mask, target_in)
        for row in range(3):
            alone = model(source[row : row + 1], mask[row : row + 1], target_in[row : row + 1])
            torch.testing.assert_close(together[row : row + 1], alone)


def test_every_weight_learns(model: Seq2Seq) -> None:
    model.train()(*batch()).square().sum().backward()
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
    source, mask, target_in = batch()
    order = torch.randperm(SHAPE.places)
    with torch.inference_mode():
        plain = model.encode(source, mask)
        turned = model.encode(source[:, order], mask)
        torch.testing.assert_close(turned.states, plain.states[:, order])
        torch.testing.assert_close(model.decode(target_in, turned), model.decode(target_in, plain))


def test_a_patch_elsewhere_is_another_picture(model: Seq2Seq) -> None:
    source, mask, target_in = batch(1)
    with torch.inference_mode():
        turned = model.eval()(source.flip(1), mask, target_in)
        assert not torch.allclose(turned, model(source, mask, target_in))


def one_change(edit: PositionEdit) -> Callable[[Seq2Seq], Tensor]:
    def changed(model: Seq2Seq) -> Tensor:
        source, mask, target_in = batch(1)
        with torch.inference_mode():
            memory = model.encode(source, mask, Probe(edits=Edits(source_positions=edit)))
            return model.decode(target_in, memory)

    return changed


def test_positions_of_patches_can_be_edited() -> None:
    torch.manual_seed(0)
    model = build_model(CONFIGS[2], 0, 20, shared=False, patches=SHAPE).eval()
    with torch.no_grad():
        model.get_parameter("source_embedding.positions").normal_()
    plain = one_change(PositionEdit("shift", by=0))(model)
    torch.testing.assert_close(plain, model(*batch(1)))
    for edit in (PositionEdit("none"), PositionEdit("shuffle", seed=1), PositionEdit("shift", by=2)):
        assert not torch.allclose(one_change(edit)(model), plain)
    rows = model.position_rows(100)
    assert rows is not None
    assert rows.shape == (SHAPE.places, 8)
