"""Attention in bands: equal to one large rectangle, and never larger than it must be."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jumok.backends.banded import banded_attention, blocks
from jumok.backends.torch import TorchBackend
from jumok.backends.values import Projected
from jumok.models.sentences import Sentences
from jumok.nn.functional import fused_attention, merge_heads, split_heads
from jumok.nn.relative import Relative, RelativeBias
from jumok.nn.spans import Spans, causal_spans, own_spans, span_mask

HEADS, K = 2, 3
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def laid(sizes: list[int]) -> Sentences:
    return Sentences.of(torch.zeros(sum(sizes), dtype=torch.long), np.array(sizes))


def slow(qkv: Tensor, spans: Spans, bias: RelativeBias) -> Tensor:
    """All queries against all keys."""
    q, k, v = (split_heads(x[None], HEADS) for x in qkv.chunk(3, dim=-1))
    place = torch.arange(len(qkv))
    added = bias(place - place[:, None])[None]
    return merge_heads(fused_attention(q, k, v, span_mask(spans), scale=True, bias=added))[0]


@settings(max_examples=60, deadline=None)
@given(sizes=lengths, causal=st.booleans(), spare=st.integers(0, 3), seed=st.integers(0, 99))
def test_bands_are_one_rectangle_with_its_gradients(
    sizes: list[int],
    causal: bool,  # noqa: FBT001
    spare: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    sentences, bias = laid(sizes), RelativeBias(4, HEADS, 5, 4, both=not causal)
    spans = (causal_spans if causal else own_spans)(sentences.range)
    qkv = torch.randn(sum(sizes), 3 * HEADS * K)
    relative = Relative(bias, max(sizes) + spare)

    def fast(x: Tensor) -> Tensor:
        return banded_attention(tuple(x.chunk(3, dim=-1)), HEADS, spans, relative, scale=True)

    found = {}
    for name, run in (("fast", fast), ("slow", lambda x: slow(x, spans, bias))):
        leaf = qkv.clone().requires_grad_()
        bias.zero_grad()
        out = run(leaf)
        (out * torch.arange(out.numel()).view_as(out).cos()).sum().backward()
        found[name] = (out, leaf.grad, bias.weight.grad.clone())
    for one, other in zip(found["fast"], found["slow"], strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_an_op_says_the_same_with_and_without_lengths(*, causal: bool) -> None:
    torch.manual_seed(1)
    sizes = [4, 1, 6]
    sentences, bias = laid(sizes), RelativeBias(6, HEADS, 4, 4, both=not causal)
    known = sentences.causal_spans if causal else sentences.own_spans
    unknown = (causal_spans if causal else own_spans)(sentences.range)
    qkv, where = Projected(torch.randn(11, 3 * HEADS * K)), ("enc_self", 0)
    options: Any = {"scale": True, "where": where, "relative": Relative(bias, 6)}
    one, other = (TorchBackend().attend((qkv,), HEADS, spans, **options) for spans in (known, unknown))
    torch.testing.assert_close(one, other)
    without = TorchBackend().attend((qkv,), HEADS, known, scale=True, where=where)  # type: ignore[arg-type]
    assert not torch.allclose(one, without)


def test_memory_grows_with_the_longest_sentence_not_with_its_square_of_all() -> None:
    """2,000 tokens in sentences of at most 10: no tensor has more than 2,000 · 3 · 10 scores a head."""
    largest = 0

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal largest
            found = function(*args, **(kwargs or {}))
            if isinstance(found, Tensor):
                largest = max(largest, found.numel())
            return found

    sentences, bias = laid([10] * 200), RelativeBias(4, HEADS, 5, 4, both=True)
    qkv = torch.randn(2000, 3 * HEADS * K)
    with Watch():
        banded_attention(
            tuple(qkv.chunk(3, dim=-1)), HEADS, own_spans(sentences.range), Relative(bias, 10), scale=True
        )
    assert 2000 < largest <= 2000 * 3 * 10 * HEADS


def test_blocks_have_their_neighbours_around_them() -> None:
    x = torch.arange(1, 6)[:, None]
    assert blocks(x, 2)[:, :, 0].tolist() == [[1, 2], [3, 4], [5, 0]]
    assert blocks(x, 2, 1, 1)[:, :, 0].tolist() == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 0, 0]]
