"""Laws of the pure functions: masks, the five stages of attention, Luong's scores."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jumok.nn.functional import (
    attention_stages,
    causal_mask,
    fused_attention,
    length_mask,
    luong_concat,
    luong_dot,
    luong_general,
    masked_softmax,
    merge_heads,
    split_heads,
)

shapes = st.fixed_dictionaries(
    {
        "B": st.integers(1, 3),
        "H": st.integers(1, 3),
        "T": st.integers(1, 5),
        "S": st.integers(1, 5),
        "K": st.integers(1, 8),
        "seed": st.integers(0, 999),
    }
)


def query_key_value(B: int, H: int, T: int, S: int, K: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(B, H, T, K, generator=generator),
        torch.randn(B, H, S, K, generator=generator),
        torch.randn(B, H, S, K, generator=generator),
    )


def random_mask(B: int, S: int, seed: int) -> Tensor:
    """(B, 1, 1, S), at least the first key seen."""
    lengths = torch.randint(1, S + 1, (B,), generator=torch.Generator().manual_seed(seed))
    return length_mask(lengths, S)[:, None, None, :]


@settings(max_examples=60, deadline=None)
@given(shapes, st.booleans())
def test_explicit_attention_equals_fused_attention(shape: dict[str, int], scale: bool) -> None:  # noqa: FBT001
    query, key, value = query_key_value(**shape)
    mask = random_mask(shape["B"], shape["S"], shape["seed"])
    stages = attention_stages(query, key, value, mask, scale=scale)
    torch.testing.assert_close(stages.context, fused_attention(query, key, value, mask, scale=scale))


@settings(max_examples=20, deadline=None)
@given(shapes)
def test_fused_attention_without_a_mask_sees_every_key(shape: dict[str, int]) -> None:
    query, key, value = query_key_value(**shape)
    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    stages = attention_stages(query, key, value, everything)
    torch.testing.assert_close(stages.context, fused_attention(query, key, value, None))


def test_explicit_and_fused_attention_have_equal_gradients() -> None:
    inputs = [x.requires_grad_() for x in query_key_value(2, 3, 4, 4, 8, seed=1)]
    mask = causal_mask(4)
    explicit = torch.autograd.grad(attention_stages(*inputs, mask).context.square().sum(), inputs)
    fused = torch.autograd.grad(fused_attention(*inputs, mask).square().sum(), inputs)
    torch.testing.assert_close(explicit, fused)


@settings(max_examples=60, deadline=None)
@given(shapes)
def test_attention_weights_are_a_distribution_and_zero_on_padding(shape: dict[str, int]) -> None:
    query, key, value = query_key_value(**shape)
    mask = random_mask(shape["B"], shape["S"], shape["seed"])
    weights = attention_stages(query, key, value, mask).weights
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    assert (weights.masked_select(~mask) == 0).all()


@settings(max_examples=30, deadline=None)
@given(shapes)
def test_the_stages_are_project_score_scale_softmax_and_sum(shape: dict[str, int]) -> None:
    query, key, value = query_key_value(**shape)
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    stages = attention_stages(query, key, value, mask)
    assert stages.query is query
    assert stages.key is key
    assert stages.value is value
    torch.testing.assert_close(stages.scores, torch.einsum("bhtk,bhsk->bhts", query, key))
    torch.testing.assert_close(stages.scaled, stages.scores / math.sqrt(shape["K"]))
    torch.testing.assert_close(
        stages.weights, stages.scaled.exp() / stages.scaled.exp().sum(-1, keepdim=True)
    )
    torch.testing.assert_close(stages.context, torch.einsum("bhts,bhsk->bhtk", stages.weights, value))


def test_without_scaling_the_scores_go_into_the_softmax_as_they_are() -> None:
    query, key, value = query_key_value(1, 2, 3, 4, 9, seed=0)
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    stages = attention_stages(query, key, value, mask, scale=False)
    assert stages.scaled is stages.scores
    torch.testing.assert_close(stages.weights, (query @ key.mT).softmax(dim=-1))


def test_attention_by_hand() -> None:
    query = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])  # one query, d_k = 4
    key = torch.tensor([[[[1.0, 0, 0, 0], [0.0, 1, 0, 0]]]])
    value = torch.tensor([[[[1.0, 0, 0, 0], [0.0, 1, 0, 0]]]])
    stages = attention_stages(query, key, value, torch.ones(1, 1, 1, 1, dtype=torch.bool))
    assert stages.scores.flatten().tolist() == [2.0, 0.0]
    assert stages.scaled.flatten().tolist() == [1.0, 0.0]
    e = math.e
    assert stages.weights.flatten().tolist() == pytest.approx([e / (e + 1), 1 / (e + 1)])
    assert stages.context.flatten().tolist() == pytest.approx([e / (e + 1), 1 / (e + 1), 0, 0])


def entropy_of_weights(d_k: int, *, scale: bool) -> float:
    """Mean entropy of the weights that random queries of this width give to 32 random keys."""
    query, key, value = query_key_value(2, 2, 200, 32, d_k, seed=d_k)
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    weights = attention_stages(query, key, value, mask, scale=scale).weights
    return torch.special.entr(weights).sum(dim=-1).mean().item()


def test_without_scaling_the_entropy_of_the_weights_falls_as_d_k_grows() -> None:
    widths = (4, 16, 64, 256)
    unscaled = [entropy_of_weights(d_k, scale=False) for d_k in widths]
    scaled = [entropy_of_weights(d_k, scale=True) for d_k in widths]
    assert unscaled == sorted(unscaled, reverse=True)
    assert unscaled[-1] < 0.2 * unscaled[0]
    assert max(scaled) - min(scaled) < 0.1 * max(scaled)


def test_length_mask_is_true_at_real_tokens() -> None:
    assert length_mask(torch.tensor([1, 3]), 4).tolist() == [
        [True, False, False, False],
        [True, True, True, False],
    ]


def test_causal_mask_looks_at_itself_and_back() -> None:
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_masked_softmax_gives_exactly_zero_where_looking_is_forbidden() -> None:
    scores = torch.tensor([0.0, 1e30, 0.0])
    weights = masked_softmax(scores, torch.tensor([True, False, True]))
    assert weights.tolist() == [0.5, 0.0, 0.5]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(1, 4))
def test_merging_heads_undoes_splitting_them(B: int, L: int, H: int, K: int) -> None:
    x = torch.randn(B, L, H * K)
    heads = split_heads(x, H)
    assert heads.shape == (B, H, L, K)
    assert torch.equal(heads[:, 0], x[:, :, :K])
    assert torch.equal(merge_heads(heads), x)


def test_luong_general_with_the_identity_is_luong_dot() -> None:
    query, memory = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    torch.testing.assert_close(luong_general(query, memory, torch.eye(4)), luong_dot(query, memory))


def test_luong_scores_equal_loops_over_every_pair() -> None:
    query, memory = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    w_a, w_query, w_memory, v_a = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4, 4), torch.randn(4)
    W = torch.cat((w_query, w_memory))  # one matrix for [s_t; h_s]
    for b in range(2):
        for t in range(3):
            for s in range(5):
                s_t, h_s = query[b, t], memory[b, s]
                concat = v_a @ (torch.cat((s_t, h_s)) @ W).tanh()
                torch.testing.assert_close(luong_dot(query, memory)[b, t, s], s_t @ h_s)
                torch.testing.assert_close(luong_general(query, memory, w_a)[b, t, s], s_t @ w_a @ h_s)
                scores = luong_concat(query, memory, w_query, w_memory, v_a)
                torch.testing.assert_close(scores[b, t, s], concat)
