"""Laws of the layers around attention: embedding, feed-forward, residual, norm, dropout."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from jumok.nn.layers import (
    Dropout,
    Embedding,
    FeedForward,
    Residual,
    dropout,
    embedding_scale,
    init_linear,
    residual,
)


def test_residual_of_the_notes_example() -> None:
    """Row 12: the input goes on beside what the sub-layer adds."""
    total = residual(torch.tensor([1.87, 1.09]), torch.tensor([2.5, -2.1]))
    assert total.tolist() == pytest.approx([4.37, -1.01])


def test_residual_carries_the_gradient_unchanged() -> None:
    x = torch.randn(3, requires_grad=True)
    residual(x, torch.zeros(3)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


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
    y = Residual(width, 0.0, "post").double()(x, torch.zeros_like)  # a fresh norm scales by 1, shifts by 0
    ones = torch.ones(rows, dtype=torch.float64)
    torch.testing.assert_close(y.mean(dim=-1), 0 * ones, atol=1e-9, rtol=0)
    variance = x.var(dim=-1, correction=0)
    torch.testing.assert_close(y.var(dim=-1, correction=0), variance / (variance + 1e-5))
    torch.testing.assert_close(
        y.var(dim=-1, correction=0)[variance > 0.1], ones[variance > 0.1], atol=2e-4, rtol=0
    )


def test_layer_norm_by_hand() -> None:
    block = Residual(4, 0.0, "post")
    y = block(torch.tensor([[1.0, 1.0, 3.0, 3.0]]), torch.zeros_like)
    assert y.flatten().tolist() == pytest.approx([-1, -1, 1, 1], abs=1e-4)


def test_post_norm_normalises_the_sum_and_pre_norm_the_input() -> None:
    x, norm = torch.randn(2, 3, 8), nn.LayerNorm(8)
    torch.testing.assert_close(Residual(8, 0.0, "post")(x, lambda y: 2 * y), norm(x + 2 * x))
    torch.testing.assert_close(Residual(8, 0.0, "pre")(x, lambda y: 2 * y), x + 2 * norm(x))


def test_without_norms_the_sum_goes_on_and_without_sums_what_the_sub_layer_makes() -> None:
    x, norm = torch.randn(2, 3, 8), nn.LayerNorm(8)
    torch.testing.assert_close(Residual(8, 0.0, "none")(x, lambda y: 2 * y), x + 2 * x)
    torch.testing.assert_close(Residual(8, 0.0, "post", add=False)(x, lambda y: 2 * y), norm(2 * x))
    torch.testing.assert_close(Residual(8, 0.0, "pre", add=False)(x, lambda y: 2 * y), 2 * norm(x))
    torch.testing.assert_close(Residual(8, 0.0, "none", add=False)(x, lambda y: 2 * y), 2 * x)


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
    x, block = torch.ones(1, 1, 400), Residual(400, 0.5, "none", add=add).train()
    low = 1.0 if add else 0.0
    assert set(block(x, lambda y: 3 * y).unique().tolist()) == {low, low + 6}


def test_embedding_looks_up_rows_and_scales_them() -> None:
    plain, scaled = Embedding(5, 4), Embedding(5, 4, scale=3.0)
    ids = torch.tensor([[4, 0]])
    assert torch.equal(plain(ids)[0, 0], plain.weight[4])
    torch.testing.assert_close(scaled(ids)[0, 1], 3 * scaled.weight[0])


def test_embedding_is_the_product_of_a_one_hot_row_and_the_table() -> None:
    embedding = Embedding(5, 4)
    one_hot = nn.functional.one_hot(torch.tensor([[3, 1]]), 5).float()
    torch.testing.assert_close(embedding(torch.tensor([[3, 1]])), one_hot @ embedding.weight)


def test_tied_logits_are_products_with_the_rows() -> None:
    embedding, states = Embedding(5, 4), torch.randn(2, 3, 4)
    logits = embedding.logits(states)
    assert logits.shape == (2, 3, 5)
    torch.testing.assert_close(logits[1, 2, 4], states[1, 2] @ embedding.weight[4])


def test_scaled_embeddings_start_with_variance_1() -> None:
    torch.manual_seed(0)
    embedding = Embedding(500, 256, scale=embedding_scale(256))
    assert embedding_scale(256) == 16
    assert embedding(torch.arange(500)[None]).var().item() == pytest.approx(1, rel=0.02)
    assert embedding.weight.norm(dim=1).mean().item() == pytest.approx(1, rel=0.02)


def test_feed_forward_is_two_linear_maps_with_relu_between() -> None:
    layer = FeedForward(4, 6)
    x = torch.randn(2, 3, 4)
    hidden = (x @ layer.inner.weight.T + layer.inner.bias).clamp(min=0)
    assert hidden.shape == (2, 3, 6)
    torch.testing.assert_close(layer(x), hidden @ layer.outer.weight.T + layer.outer.bias)


def test_feed_forward_treats_each_position_on_its_own() -> None:
    layer, x = FeedForward(4, 6), torch.randn(1, 5, 4)
    order = torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order])


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
    assert Dropout(share).eval()(x) is x


def test_dropout_of_share_0_does_nothing_in_training() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.0).train()(x) is x


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
