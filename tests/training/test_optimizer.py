"""Each optimiser's update by hand, and its memory written down and read back."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from jumok.config import LuongConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.training.optimizer import Muon, Optimizers, is_hidden_matrix, orthogonal, plain

RATE = 0.1


class OneWeight(nn.Module):
    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())


def after(config: TrainingConfig, weight: Tensor, gradients: list[Tensor]) -> Tensor:
    """The weight after one step per gradient."""
    model = OneWeight(weight)
    optimizers = Optimizers(model, config)
    for gradient in gradients:
        model.weight.grad = gradient.clone()
        optimizers.step(RATE)
    return model.weight.detach()


def config(**changes: Any) -> TrainingConfig:
    return TrainingConfig(**{"momentum": 0.9, "beta2": 0.98, "weight_decay": 0.0} | changes)


def adam_by_hand(weight: Tensor, gradients: list[Tensor], *, decoupled_decay: float = 0.0) -> Tensor:
    """m and v with bias correction, then w - lr m^ / (sqrt(v^) + eps)."""
    b1, b2, eps = 0.9, 0.98, 1e-9
    m, v = torch.zeros_like(weight), torch.zeros_like(weight)
    for t, g in enumerate(gradients, start=1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        m_hat, v_hat = m / (1 - b1**t), v / (1 - b2**t)
        weight = weight - RATE * decoupled_decay * weight
        weight = weight - RATE * m_hat / (v_hat.sqrt() + eps)
    return weight


def test_one_adam_step_equals_the_formula_by_hand() -> None:
    """Row 14: the first step, bias correction included, has size lr whatever the gradient's size."""
    weight, gradient = torch.tensor([1.5, -2.0, 0.0]), torch.tensor([0.3, -0.0004, 5.0])
    stepped = after(config(optimizer="adam"), weight, [gradient])
    torch.testing.assert_close(stepped, adam_by_hand(weight, [gradient]))
    torch.testing.assert_close(stepped, weight - RATE * gradient.sign(), atol=1e-5, rtol=0)


def test_five_adam_steps_equal_the_formula_by_hand() -> None:
    torch.manual_seed(0)
    weight, gradients = torch.randn(7), [torch.randn(7) for _ in range(5)]
    stepped = after(config(optimizer="adam"), weight, gradients)
    torch.testing.assert_close(stepped, adam_by_hand(weight, gradients))


def test_adamw_decays_the_weight_and_not_the_gradient() -> None:
    torch.manual_seed(0)
    weight, gradients = torch.randn(7), [torch.randn(7) for _ in range(3)]
    stepped = after(config(optimizer="adamw", weight_decay=0.1), weight, gradients)
    torch.testing.assert_close(stepped, adam_by_hand(weight, gradients, decoupled_decay=0.1))
    coupled = after(config(optimizer="adam", weight_decay=0.1), weight, gradients)
    assert not torch.allclose(stepped, coupled)


def test_sgd_is_gradient_descent_with_momentum() -> None:
    weight, gradient = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0])
    plain = after(config(optimizer="sgd", momentum=0.0), weight, [gradient])
    assert plain.tolist() == pytest.approx([0.95, 2.1])
    twice = after(config(optimizer="sgd", momentum=0.9), weight, [gradient, gradient])
    torch.testing.assert_close(twice, weight - RATE * gradient - RATE * 1.9 * gradient)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_a_first_step_that_is_skipped_leaves_nothing_behind(
    optimizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before steps are captured on a GPU they are tried, and skipped; new memory may hold anything."""
    monkeypatch.setattr(torch, "empty_like", lambda x, **_: torch.full_like(x, torch.nan))
    torch.manual_seed(0)
    weight, gradients = torch.randn(4, 6), [torch.randn(4, 6) for _ in range(3)]
    wanted = after(config(optimizer=optimizer), weight, gradients)
    model = OneWeight(weight)
    optimizers = Optimizers(model, config(optimizer=optimizer))
    for number, gradient in enumerate([gradients[0], *gradients]):
        model.weight.grad = gradient.clone()
        optimizers.step(RATE, skip=torch.tensor(number == 0))
    torch.testing.assert_close(model.weight.detach(), wanted)


@settings(max_examples=25, deadline=None)
@given(rows=st.integers(1, 24), columns=st.integers(1, 24), seed=st.integers(0, 99))
def test_orthogonal_keeps_directions_and_evens_out_lengths(rows: int, columns: int, seed: int) -> None:
    """U S V^T -> near U V^T: all singular values near 1, the singular vectors as they were."""
    generator = torch.Generator().manual_seed(seed)
    U, _, Vh = torch.linalg.svd(torch.randn(rows, columns, generator=generator), full_matrices=False)
    spread = 0.1 + torch.rand(min(rows, columns), generator=generator)  # singular values from 0.1 to 1.1
    made = orthogonal(U @ torch.diag(spread) @ Vh)
    assert made.shape == (rows, columns)
    core = U.mT @ made @ Vh.mT
    values = core.diagonal()
    assert ((values > 0.5) & (values < 1.3)).all()
    torch.testing.assert_close(core, torch.diag(values), atol=1e-3, rtol=0)


def test_orthogonal_does_not_depend_on_the_size_of_the_gradient() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(4, 6)
    torch.testing.assert_close(orthogonal(matrix), orthogonal(1e-3 * matrix), atol=1e-3, rtol=0)
    assert orthogonal(torch.zeros(3, 3)).isfinite().all()


def test_two_muon_steps_by_hand() -> None:
    torch.manual_seed(0)
    weight, gradients = torch.randn(4, 6), [torch.randn(4, 6), torch.randn(4, 6)]
    parameter = nn.Parameter(weight.clone())
    muon = Muon([parameter], RATE, 0.9, 0.05)
    momentum = torch.zeros_like(weight)
    for gradient in gradients:
        parameter.grad = gradient.clone()
        muon.step()
        momentum = 0.9 * momentum + gradient
        update = orthogonal(gradient + 0.9 * momentum)
        weight = weight * (1 - RATE * 0.05) - RATE * 0.2 * 6**0.5 * update
    torch.testing.assert_close(parameter.detach(), weight)


def test_muon_leaves_weights_without_gradient_alone() -> None:
    parameter = nn.Parameter(torch.ones(2, 2))
    Muon([parameter], RATE, 0.9, 0.5).step()
    assert torch.equal(parameter.detach(), torch.ones(2, 2))


def test_muon_goes_on_behind_a_weight_without_gradient() -> None:
    frozen, learning = (nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    learning.grad = torch.eye(2)
    Muon([frozen, learning], RATE, 0.9, 0.0).step()
    assert torch.equal(frozen.detach(), torch.ones(2, 2))
    assert not torch.equal(learning.detach(), torch.ones(2, 2))


SMALL = {"width": 8, "heads": 2, "feedforward": 8, "encoder_layers": 1, "decoder_layers": 1}
MODELS = {
    "rnn": RnnConfig(width=8, tied=False),
    "luong": LuongConfig(width=8, score="concat", tied=False),
    "transformer": TransformerConfig(**SMALL, tied=False, positions="learned"),
}


@pytest.mark.parametrize("arch", MODELS)
def test_muon_takes_hidden_matrices_and_adamw_the_rest(arch: str) -> None:
    model = build_model(MODELS[arch], 11, 9, shared=False)
    muon, adamw = Optimizers(model, config(optimizer="muon")).all
    names = {parameter: name for name, parameter in model.named_parameters()}
    hidden = {names[p] for group in muon.param_groups for p in group["params"]}
    rest = {names[p] for group in adamw.param_groups for p in group["params"]}
    assert isinstance(muon, Muon)
    assert hidden | rest == set(names.values())
    assert not hidden & rest
    assert {"source_embedding.weight", "target_embedding.weight", "output.weight"} <= rest
    assert not any("bias" in name or "norm" in name or "table" in name for name in hidden)
    assert hidden


def test_a_table_of_positions_is_no_hidden_matrix() -> None:
    matrix = torch.zeros(3, 3)
    assert is_hidden_matrix("encoder.0.feedforward.inner.weight", matrix)
    assert is_hidden_matrix("attention.output.linear.weight", matrix)
    assert not is_hidden_matrix("source_positions.table", matrix)
    assert not is_hidden_matrix("output.weight", matrix)
    assert not is_hidden_matrix("encoder_bias.weight", matrix)
    assert not is_hidden_matrix("encoder.0.feedforward.inner.bias", torch.zeros(3))


def test_a_step_uses_the_rate_it_is_given() -> None:
    for name in ("sgd", "adam", "adamw", "muon"):
        for rate in (0.0, RATE):
            model = nn.Linear(2, 3)
            before = [parameter.detach().clone() for parameter in model.parameters()]
            optimizers = Optimizers(model, config(optimizer=name))
            model(torch.ones(1, 2)).sum().backward()
            optimizers.step(rate)
            for old, new in zip(before, model.parameters(), strict=True):
                assert torch.equal(old, new) is (rate == 0), name


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("arch", MODELS)
def test_memory_written_down_and_read_back_gives_a_bit_identical_step(optimizer: str, arch: str) -> None:
    settings = config(optimizer=optimizer, weight_decay=0.01)

    def fill(model: nn.Module, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)

    def fresh() -> tuple[nn.Module, Optimizers]:
        torch.manual_seed(0)
        model = build_model(MODELS[arch], 11, 9, shared=False)
        return model, Optimizers(model, settings)

    model, optimizers = fresh()
    for seed in range(3):
        fill(model, seed)
        optimizers.step(RATE)
    written = {key: value.clone() for key, value in optimizers.tensors().items()}
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    resumed, resumed_optimizers = fresh()
    resumed.load_state_dict(weights)
    resumed_optimizers.load(written)
    for one, both in ((model, optimizers), (resumed, resumed_optimizers)):
        fill(one, 99)
        both.step(RATE)
    for name, value in model.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    for key, value in optimizers.tensors().items():
        assert torch.equal(value, resumed_optimizers.tensors()[key]), key


def test_memory_is_named_by_what_and_parameter() -> None:
    model = OneWeight(torch.ones(2))
    optimizers = Optimizers(model, config(optimizer="adam"))
    assert optimizers.tensors() == {}
    model.weight.grad = torch.ones(2)
    optimizers.step(RATE)
    assert set(optimizers.tensors()) == {"step/weight", "exp_avg/weight", "exp_avg_sq/weight"}


def test_loading_copies_so_that_later_steps_leave_the_given_tensors_alone() -> None:
    model = OneWeight(torch.ones(2))
    optimizers = Optimizers(model, config(optimizer="adam"))
    given = {
        "step/weight": torch.tensor(3.0),
        "exp_avg/weight": torch.ones(2),
        "exp_avg_sq/weight": torch.ones(2),
    }
    optimizers.load(given)
    model.weight.grad = torch.ones(2)
    optimizers.step(RATE)
    assert given["step/weight"] == 3
    assert optimizers.tensors()["step/weight"] == 4


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_without_its_wrappers_an_optimiser_does_the_same(kind: Any) -> None:
    weights = [torch.linspace(-1, 1, 7).requires_grad_() for _ in range(2)]
    pair = [
        make([weight], lr=0.1, fused=True) for make, weight in zip((kind, plain(kind)), weights, strict=True)
    ]
    for step in range(3):
        for optimizer, weight in zip(pair, weights, strict=True):
            weight.grad = torch.linspace(1, step, 7)
            optimizer.step()
    assert torch.equal(*weights)
    assert pair[0].state_dict()["param_groups"] == pair[1].state_dict()["param_groups"]


def test_an_anchor_takes_back_a_share_of_the_way() -> None:
    weight, gradient = torch.tensor([1.5, -2.0, 0.0]), torch.tensor([0.3, -0.5, 5.0])
    free = after(config(optimizer="adam"), weight, [gradient])
    held = after(config(optimizer="adam", anchor=2.0), weight, [gradient])
    torch.testing.assert_close(held, free - RATE * 2.0 * (free - weight))
    pinned = after(config(optimizer="adam", anchor=1000.0), weight, [gradient] * 3)  # at most all of the way
    torch.testing.assert_close(pinned, weight)


def test_a_step_that_is_skipped_is_not_pulled_either() -> None:
    model = OneWeight(torch.tensor([1.0, 2.0]))
    optimizers = Optimizers(model, config(optimizer="adam", anchor=2.0))
    with torch.no_grad():
        model.weight += 1
    model.weight.grad = torch.ones(2)
    optimizers.pull(0.0 * ~torch.tensor(data=True))
    assert model.weight.tolist() == [2.0, 3.0]
    optimizers.step(torch.tensor(RATE), skip=torch.tensor(data=True))
    assert model.weight.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("frozen", ["hidden", "rest"])
def test_muon_does_without_the_half_that_is_frozen(frozen: str) -> None:
    model = build_model(
        TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1),
        9,
        9,
        shared=True,
    )
    for name, weight in model.named_parameters():
        weight.requires_grad = is_hidden_matrix(name, weight) != (frozen == "hidden")
    assert [type(one).__name__ for one in Optimizers(model, config(optimizer="muon")).all] == (
        ["AdamW"] if frozen == "hidden" else ["Muon"]
    )


def test_gradients_come_in_the_order_of_what_learns() -> None:
    model = nn.Linear(2, 3)
    optimizers = Optimizers(model, TrainingConfig())
    found = {weight: torch.full_like(weight, n) for n, weight in enumerate((model.bias, model.weight))}
    assert [one.unique().item() for one in optimizers.gradients(found)] == [1, 0]
    assert optimizers.weights[0] is model.weight
