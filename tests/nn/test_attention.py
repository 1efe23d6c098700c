"""Laws of the attention modules: merged = split, heads = a loop, Luong = ten lines of NumPy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from jumok.nn.attention import (
    AttentionOutput,
    AttentionProbe,
    LuongAttention,
    MergedProjection,
    SplitProjection,
    make_projection,
)
from jumok.nn.functional import Stages, attention_stages, causal_mask, length_mask

EVERYTHING = torch.ones(1, 1, 1, 1, dtype=torch.bool)


def identity_output(width: int) -> AttentionOutput:
    output = AttentionOutput(width)
    nn.init.eye_(output.linear.weight)
    return output


def attend(projection: nn.Module, output: AttentionOutput, x: Tensor, mask: Tensor) -> Tensor:
    return output(*projection(x), mask)


@settings(max_examples=25, deadline=None)
@given(
    heads=st.integers(1, 4),
    head_width=st.integers(1, 5),
    parts=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_merged_and_split_projections_give_equal_outputs_and_gradients(
    heads: int, head_width: int, parts: int, seed: int
) -> None:
    torch.manual_seed(seed)
    width = heads * head_width
    merged, split = MergedProjection(width, heads, parts), SplitProjection(width, heads, parts)
    nn.init.normal_(merged.linear.bias)
    split.load_merged(merged)
    x = torch.randn(2, 3, width)
    x_merged, x_split = x.clone().requires_grad_(), x.clone().requires_grad_()
    for one, other in zip(merged(x_merged), split(x_split), strict=True):
        assert one.shape == (2, heads, 3, head_width)
        torch.testing.assert_close(one, other)
    weigh = torch.randn(parts, 2, heads, 3, head_width)
    (torch.stack(merged(x_merged)) * weigh).sum().backward()
    (torch.stack(split(x_split)) * weigh).sum().backward()
    torch.testing.assert_close(x_merged.grad, x_split.grad)
    weight_grad = merged.linear.weight.grad.view(parts, heads, head_width, width).mT
    torch.testing.assert_close(weight_grad, split.weight.grad)
    torch.testing.assert_close(merged.linear.bias.grad.view_as(split.bias), split.bias.grad)


def test_make_projection_builds_the_kind_it_is_told() -> None:
    assert isinstance(make_projection("merged", 8, 2, parts=3), MergedProjection)
    assert isinstance(make_projection("split", 8, 2, parts=3), SplitProjection)


@pytest.mark.parametrize("kind", ["merged", "split"])
def test_projections_start_as_glorot_uniform_with_zero_bias(kind: str) -> None:
    torch.manual_seed(0)
    width = 64
    projection = make_projection(kind, width, 4, parts=3)
    weight, bias = (
        (projection.linear.weight, projection.linear.bias)
        if isinstance(projection, MergedProjection)
        else (projection.weight, projection.bias)
    )
    bound = (6 / (width + width)) ** 0.5
    assert weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert not bias.any()


def test_one_head_with_identity_output_is_plain_attention() -> None:
    """Row 7: h = 1 and W_O = I."""
    projection = MergedProjection(6, heads=1, parts=3)
    x = torch.randn(2, 4, 6)
    query, key, value = (part[:, 0] for part in projection(x))  # (B, L, D)
    weights = (query @ key.mT / 6**0.5).softmax(dim=-1)
    torch.testing.assert_close(attend(projection, identity_output(6), x, EVERYTHING), weights @ value)


@pytest.mark.parametrize("kind", ["merged", "split"])
def test_heads_equal_a_loop_over_single_heads(kind: str) -> None:
    """Row 7: Concat(head_1, …, head_h) W_O."""
    heads, width = 3, 12
    projection, output = make_projection(kind, width, heads, parts=3), AttentionOutput(width)
    x, mask = torch.randn(2, 5, width), causal_mask(5)
    query, key, value = projection(x)  # (B, H, L, K)
    single = []
    for i in range(heads):
        one = slice(i, i + 1)
        single.append(attention_stages(query[:, one], key[:, one], value[:, one], mask).context[:, 0])
    expected = torch.cat(single, dim=-1) @ output.linear.weight.T + output.linear.bias
    torch.testing.assert_close(attend(projection, output, x, mask), expected)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("mask", [None, causal_mask(4)], ids=["all", "causal"])
def test_recording_changes_no_number_and_hands_out_every_stage(mask: Tensor | None, *, scale: bool) -> None:
    output, kept = AttentionOutput(8, scale=scale), []
    query, key, value = (torch.randn(2, 2, 4, 4) for _ in range(3))
    fused = output(query, key, value, mask)
    explicit = output(query, key, value, mask, AttentionProbe(kept.append))
    torch.testing.assert_close(fused, explicit)
    (stages,) = kept
    assert isinstance(stages, Stages)
    assert stages.weights.shape == (2, 2, 4, 4)
    assert torch.equal(stages.out, explicit)
    torch.testing.assert_close(stages.scaled, stages.scores / (2 if scale else 1))


def numpy_luong(
    s: NDArray[np.float32], H: NDArray[np.float32], W_a: NDArray[np.float32], W_c: NDArray[np.float32]
) -> NDArray[np.float32]:
    """E_t = (s_t W_a) H^T; alpha_t = softmax(E_t); c_t = alpha_t H; s~_t = tanh([c_t; s_t] W_c)."""
    E = (s @ W_a) @ H.transpose(0, 2, 1)
    alpha = np.exp(E - E.max(axis=-1, keepdims=True))
    alpha /= alpha.sum(axis=-1, keepdims=True)
    c = alpha @ H
    return np.tanh(np.concatenate((c, s), axis=-1) @ W_c)


@settings(max_examples=25, deadline=None)
@given(
    B=st.integers(1, 3),
    T=st.integers(1, 4),
    S=st.integers(1, 5),
    D=st.integers(1, 16),
    seed=st.integers(0, 99),
)
def test_luong_attention_equals_ten_lines_of_numpy(B: int, T: int, S: int, D: int, seed: int) -> None:
    torch.manual_seed(seed)
    attention = LuongAttention(D, "general")
    s, H = torch.randn(B, T, D), torch.randn(B, S, D)
    ours = attention(s, H, torch.ones(B, S, dtype=torch.bool)).detach()
    W_a, W_c = attention.w_a.detach().numpy(), attention.w_c.weight.detach().T.numpy()
    torch.testing.assert_close(ours, torch.from_numpy(numpy_luong(s.numpy(), H.numpy(), W_a, W_c)))


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_luong_weights_are_a_distribution_and_zero_on_padding(score: str) -> None:
    attention, kept = LuongAttention(6, score), []
    mask = length_mask(torch.tensor([2, 5]), 5)
    attention(torch.randn(2, 3, 6), torch.randn(2, 5, 6), mask, AttentionProbe(kept.append))
    weights = kept[0].weights  # (B, 1, T, S)
    assert weights.shape == (2, 1, 3, 5)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 1, 3))
    assert not weights[0, :, :, 2:].any()


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_luong_records_stages_that_belong_together(score: str) -> None:
    attention, kept = LuongAttention(6, score), []
    query, memory = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    mask = torch.ones(2, 5, dtype=torch.bool)
    with_record = attention(query, memory, mask, AttentionProbe(kept.append))
    torch.testing.assert_close(with_record, attention(query, memory, mask))
    (stages,) = kept
    assert torch.equal(stages.out, with_record)
    assert stages.query.shape == (2, 1, 3, 6)
    assert stages.key.shape == stages.value.shape == (2, 1, 5, 6)
    assert torch.equal(stages.scores, stages.scaled)
    if score != "concat":  # what is shown as the query is what meets the keys
        torch.testing.assert_close(stages.query @ stages.key.mT, stages.scores)
    torch.testing.assert_close(stages.weights, stages.scores.softmax(dim=-1))
    torch.testing.assert_close(stages.context, stages.weights @ stages.value)


def test_luong_attends_to_the_state_that_fits_best() -> None:
    attention, kept = LuongAttention(4, "dot"), []
    memory = 20 * torch.eye(4)[None]
    attention(memory[:, 2:3] / 20, memory, torch.ones(1, 4, dtype=torch.bool), AttentionProbe(kept.append))
    assert kept[0].weights.argmax().item() == 2
