"""Laws of the attention modules: merged = split, heads = a loop, Luong = ten lines of NumPy."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from jumok.backends.torch import TorchBackend
from jumok.backends.values import Projected
from jumok.models.sentences import Sentences
from jumok.nn.attention import (
    AttentionOutput,
    LuongAttention,
    MergedProjection,
    SplitProjection,
    make_projection,
)
from jumok.nn.functional import attention_stages, causal_mask

OPS = TorchBackend()


def attend(projection: MergedProjection | SplitProjection, output: AttentionOutput, x: Tensor) -> Tensor:
    """Masked self-attention of one sentence x (L, D)."""
    qkv = Projected(nn.functional.linear(x, *projection.matrix))
    spans = Sentences.lay([[0] * len(x)], torch.device("cpu")).causal_spans
    context = OPS.attend((qkv,), projection_heads(projection), spans, scale=True, where=("dec_self", 0))
    return output.linear(context)  # type: ignore[no-any-return]


def projection_heads(projection: MergedProjection | SplitProjection) -> int:
    return projection.heads if isinstance(projection, MergedProjection) else projection.weight.shape[1]


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
    x = torch.randn(3, width)
    x_merged, x_split = x.clone().requires_grad_(), x.clone().requires_grad_()
    one, other = nn.functional.linear(x_merged, *merged.matrix), nn.functional.linear(x_split, *split.matrix)
    assert one.shape == (3, parts * width)
    torch.testing.assert_close(one, other)
    weigh = torch.randn_like(one)
    (one * weigh).sum().backward()
    (other * weigh).sum().backward()
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
    projection, output, x = MergedProjection(6, heads=1, parts=3), AttentionOutput(6), torch.randn(4, 6)
    nn.init.eye_(output.linear.weight)
    query, key, value = projection.linear(x).chunk(3, dim=-1)  # (L, D)
    scores = (query @ key.mT / 6**0.5).masked_fill(~causal_mask(4), -torch.inf)
    torch.testing.assert_close(attend(projection, output, x), scores.softmax(dim=-1) @ value)


@pytest.mark.parametrize("kind", ["merged", "split"])
def test_heads_equal_a_loop_over_single_heads(kind: Any) -> None:
    """Row 7: Concat(head_1, …, head_h) W_O."""
    heads, width = 3, 12
    projection, output = make_projection(kind, width, heads, parts=3), AttentionOutput(width)
    x = torch.randn(5, width)
    qkv = nn.functional.linear(x, *projection.matrix).view(5, 3, heads, -1).permute(1, 2, 0, 3)
    single = [attention_stages(*(one[None, i : i + 1] for one in qkv), causal_mask(5)) for i in range(heads)]
    joined = torch.cat([stages.context[0, 0] for stages in single], dim=-1)
    torch.testing.assert_close(attend(projection, output, x), output.linear(joined))


def numpy_luong(
    s: NDArray[np.float32], H: NDArray[np.float32], W_a: NDArray[np.float32], W_c: NDArray[np.float32]
) -> NDArray[np.float32]:
    """E_t = (s_t W_a) H^T; alpha_t = softmax(E_t); c_t = alpha_t H; s~_t = tanh([c_t; s_t] W_c)."""
    E = (s @ W_a) @ H.transpose(0, 2, 1)
    alpha = np.exp(E - E.max(axis=-1, keepdims=True))
    alpha /= alpha.sum(axis=-1, keepdims=True)
    c = alpha @ H
    return np.tanh(np.concatenate((c, s), axis=-1) @ W_c)


def luong(attention: LuongAttention, s: Tensor, H: Tensor) -> Tensor:
    """s~ (B, T, D) of states (B, T, D) and a memory (B, S, D)."""
    weights = attention.compare(attention.queries(s), attention.keys(H)).softmax(dim=-1)
    return attention.attentional(weights @ H, s)


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
    ours = luong(attention, s, H).detach()
    W_a, W_c = attention.w_a.detach().numpy(), attention.w_c.weight.detach().T.numpy()
    torch.testing.assert_close(ours, torch.from_numpy(numpy_luong(s.numpy(), H.numpy(), W_a, W_c)))


def test_scores_equal_loops_over_every_pair() -> None:
    """Luong et al. 2015, eq. 8."""
    s, H = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    for score in ("dot", "general", "concat"):
        attention = LuongAttention(4, score)  # type: ignore[arg-type]
        scores = attention.compare(attention.queries(s), attention.keys(H))
        for b, t, i in itertools.product(range(2), range(3), range(5)):
            s_t, h_s = s[b, t], H[b, i]
            if score == "dot":
                wanted = s_t @ h_s
            elif score == "general":
                wanted = s_t @ attention.w_a @ h_s
            else:
                W_a = torch.cat((attention.w_query, attention.w_memory))  # one matrix for [s_t; h_s]
                wanted = attention.v_a @ (torch.cat((s_t, h_s)) @ W_a).tanh()
            torch.testing.assert_close(scores[b, t, i], wanted)
