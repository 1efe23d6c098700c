"""Laws of the layers around attention: embedding, feed-forward, residual, norm, dropout."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from jumok.backends.torch import TorchBackend
from jumok.nn.layers import Embedding, FeedForward, Residual, dropout, embedding_scale, init_linear

OPS = TorchBackend()


def after(block: Residual, x: Tensor, change: Tensor) -> Tensor:
    """What goes on after a sub-layer that makes this of its input (L, D)."""
    linear = nn.Linear(x.shape[1], x.shape[1])
    nn.init.eye_(linear.weight)
    nn.init.zeros_(linear.bias)
    options = {"training": block.training, "seed": None, "add": block.add}
    s, y = OPS.add_norm(x, change, linear.to(x.dtype), block.norm, block.dropout.share, **options)
    assert y is not None
    return s if block.pre else y


def test_residual_of_the_notes_example() -> None:
    """Row 12: the input goes on beside what the sub-layer adds."""
    total = after(Residual(2, 0.0, "none"), torch.tensor([[1.87, 1.09]]), torch.tensor([[2.5, -2.1]]))
    assert total.flatten().tolist() == pytest.approx([4.37, -1.01])


def test_residual_carries_the_gradient_unchanged() -> None:
    x = torch.randn(1, 3, requires_grad=True)
    after(Residual(3, 0.0, "none"), x, torch.zeros(1, 3)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1.0, 1.0, 1.0]]


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 5),
    width=st.integers(4, 64),
    size=st.floats(0.1, 100),
    middle=st.floats(-100, 100),
    seed=st.integers(0, 99),
)
def test_layer_norm_has_mean_0_and_variance_1_before_scale_and_shift(
    rows: int, width: int, size: float, middle: float, seed: int
) -> None:
    x = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).double() * size + middle
    y = after(Residual(width, 0.0, "post").double(), x, torch.zeros_like(x))  # a fresh norm changes no more
    ones = torch.ones(rows, dtype=torch.float64)
    torch.testing.assert_close(y.mean(dim=-1), 0 * ones, atol=1e-9, rtol=0)
    variance = x.var(dim=-1, correction=0)
    torch.testing.assert_close(y.var(dim=-1, correction=0), variance / (variance + 1e-5))


def test_layer_norm_by_hand() -> None:
    y = after(Residual(4, 0.0, "post"), torch.tensor([[1.0, 1.0, 3.0, 3.0]]), torch.zeros(1, 4))
    assert y.flatten().tolist() == pytest.approx([-1, -1, 1, 1], abs=1e-4)


def test_where_a_block_has_its_norm_and_its_sum() -> None:
    """tests/models/test_transformer.py::test_a_layer_by_hand has the norm before a sub-layer."""
    x, change, norm = torch.randn(3, 8), torch.randn(3, 8), nn.LayerNorm(8)
    for kind, add, wanted in (
        ("post", True, norm(x + change)),
        ("pre", True, x + change),
        ("none", True, x + change),
        ("post", False, norm(change)),
        ("none", False, change),
    ):
        block = Residual(8, 0.0, kind, add=add)
        torch.testing.assert_close(after(block, x, change), wanted)
        assert block.whole is (add and kind != "none")


@pytest.mark.parametrize("add", [True, False])
def test_a_block_without_a_norm_has_no_parameters(*, add: bool) -> None:
    assert not list(Residual(8, 0.0, "none", add=add).parameters())
    assert [name for name, _ in Residual(8, 0.0, "post", add=add).named_parameters()] == [
        "norm.weight",
        "norm.bias",
    ]


@pytest.mark.parametrize("add", [True, False])
def test_dropout_acts_on_what_the_sub_layer_makes(*, add: bool) -> None:
    torch.manual_seed(0)
    x, block = torch.ones(1, 400), Residual(400, 0.5, "none", add=add).train()
    low = 1.0 if add else 0.0
    assert set(after(block, x, 3 * x).unique().tolist()) == {low, low + 6}


def test_scaled_embeddings_start_with_variance_1() -> None:
    torch.manual_seed(0)
    embedding = Embedding(500, 256, scale=embedding_scale(256))
    assert embedding.scale == 16
    rows = OPS.embed(torch.arange(500), embedding.weight, embedding.scale)
    assert rows.var().item() == pytest.approx(1, rel=0.02)
    assert embedding.weight.norm(dim=1).mean().item() == pytest.approx(1, rel=0.02)


def test_feed_forward_is_two_linear_maps_with_relu_between() -> None:
    layer, x = FeedForward(4, 6), torch.randn(3, 4)
    nn.init.normal_(layer.inner.bias)
    hidden, _ = OPS.branch(x, *layer.first, relu=True)
    torch.testing.assert_close(hidden.values, (x @ layer.inner.weight.T + layer.inner.bias).clamp(min=0))
    assert layer.outer(hidden.values).shape == (3, 4)


def test_init_linear_is_glorot_uniform_with_zero_bias() -> None:
    layer = nn.Linear(30, 50)
    init_linear(layer)
    bound = (6 / 80) ** 0.5
    assert 0.95 * bound < layer.weight.abs().max() <= bound
    assert not layer.bias.any()
    init_linear(nn.Linear(3, 3, bias=False))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_drops_the_right_share(share: float) -> None:
    torch.manual_seed(1)
    y = dropout(torch.ones(200_000), share, training=True)
    assert (y == 0).float().mean().item() == pytest.approx(share, abs=0.005)
    assert y.mean().item() == pytest.approx(1, abs=0.03)
    assert y.unique().numel() == 2  # all that stay are scaled alike


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_dropout_does_nothing_in_eval_mode(share: float) -> None:
    x = torch.randn(3, 4)
    assert dropout(x, share, training=False) is x


def test_dropout_of_share_0_does_nothing_in_training() -> None:
    x = torch.randn(3, 4)
    assert dropout(x, 0.0, training=True) is x


@settings(max_examples=20, deadline=None)
@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_dropout_is_decided_by_the_seed_alone(shape: list[int], seed: int) -> None:
    x = torch.ones(shape)
    torch.manual_seed(seed)
    first = dropout(x, 0.5, training=True)
    torch.manual_seed(seed)
    assert torch.equal(first, dropout(x, 0.5, training=True))


def test_dropout_differs_from_call_to_call() -> None:
    x = torch.ones(64)
    assert not torch.equal(dropout(x, 0.5, training=True), dropout(x, 0.5, training=True))


def test_dropout_lets_gradient_through_where_numbers_stay() -> None:
    x = torch.ones(1000, requires_grad=True)
    y = dropout(x, 0.25, training=True)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


@pytest.mark.parametrize("share", [0.0001, 0.9985, 0.9999])
def test_dropout_near_the_ends_still_drops_and_keeps(share: float) -> None:
    torch.manual_seed(0)
    y = dropout(torch.ones(100_000), share, training=True)
    assert y.isfinite().all()
    assert 0 < (y == 0).sum() < 100_000
