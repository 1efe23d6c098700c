"""Laws of attention over ranges: sentences end to end = sentence by sentence."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.packing import own_ranges, reads_and_readers
from torch import Tensor

from jumok.nn.functional import attention_stages, causal_mask, merge_heads, split_heads
from jumok.nn.spans import (
    Spans,
    causal_spans,
    cross_attention,
    cross_spans,
    kernel_width,
    masked_attention,
    own_spans,
    self_attention,
    span_mask,
    with_wide_heads,
)

HEADS, WIDTH = 2, 8
lengths = st.integers(1, 7)
pairs = st.lists(st.tuples(lengths, lengths), max_size=5)
fillers = st.integers(1, 4)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, scale: bool) -> Tensor:
    """One sentence (L, D) by the explicit stages."""
    query, key, value = (split_heads(x[None], HEADS) for x in (q, k, v))
    return merge_heads(attention_stages(query, key, value, mask, scale=scale).context)[0]


def readers_of(mask: Tensor) -> Tensor:
    """The first and one past the last query that see each key, from a mask (T, S) without holes."""
    begin = (mask.cumsum(dim=0) == 0).sum(dim=0)
    return torch.stack((begin, begin + mask.sum(dim=0)))  # (2, S)


@settings(max_examples=25)
@given(st.lists(lengths, max_size=5), fillers, st.sampled_from([own_spans, causal_spans]), st.booleans())
def test_sentences_end_to_end_equal_sentences_alone(
    sizes: list[int],
    filler: int,
    spans_of: Callable[[Tensor], Spans],
    scale: bool,  # noqa: FBT001
) -> None:
    torch.manual_seed(0)
    own = own_ranges(sizes, filler)
    qkv = torch.randn(own.shape[1], 3 * WIDTH, dtype=torch.float64, requires_grad=True)
    out = self_attention(qkv, HEADS, spans_of(own), scale=scale)
    alone = []
    for sentence in torch.split(qkv, [*sizes, *[1] * filler]):
        q, k, v = sentence.chunk(3, dim=-1)
        everything = torch.ones(len(q), len(q), dtype=torch.bool)
        mask = causal_mask(len(q)) if spans_of is causal_spans else everything
        alone.append(attend(q, k, v, mask, scale=scale))
    torch.testing.assert_close(out, torch.cat(alone))
    d_out = torch.randn_like(out)
    (one,) = torch.autograd.grad(out, qkv, d_out)
    (other,) = torch.autograd.grad(torch.cat(alone), qkv, d_out)
    torch.testing.assert_close(one, other)


@settings(max_examples=25)
@given(pairs, st.tuples(fillers, fillers), st.booleans())
def test_targets_read_their_own_source(
    pairs: list[tuple[int, int]],
    filler: tuple[int, int],
    scale: bool,  # noqa: FBT001
) -> None:
    torch.manual_seed(0)
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    reads, readers = reads_and_readers(sources, targets, filler)
    q = torch.randn(reads.shape[1], WIDTH, dtype=torch.float64)
    kv = torch.randn(readers.shape[1], 2 * WIDTH, dtype=torch.float64)
    out = cross_attention(q, kv, HEADS, cross_spans(reads, readers), scale=scale)
    assert out.isfinite().all()
    parts = (
        torch.split(x, [*sizes, len(x) - sum(sizes)])
        for x, sizes in ((q, targets), (kv, sources), (out, targets))
    )
    for q_part, kv_part, part in list(zip(*parts, strict=True))[:-1]:
        k_part, v_part = kv_part.chunk(2, dim=-1)
        everything = torch.ones(len(q_part), len(k_part), dtype=torch.bool)
        torch.testing.assert_close(part, attend(q_part, k_part, v_part, everything, scale=scale))


@settings(max_examples=50)
@given(pairs, st.tuples(fillers, fillers), st.sampled_from(["own", "causal", "cross"]))
def test_both_halves_of_the_spans_say_the_same(
    pairs: list[tuple[int, int]], filler: tuple[int, int], kind: str
) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    spans = spans_of(kind, sources, targets, filler)
    for x in vars(spans).values():
        assert x.dtype == torch.int32
        assert (x.diff() >= 0).all(), "ranges never go back"
    assert (spans.key_begin < spans.key_end).all(), "every query sees a key"
    assert (spans.key_end <= len(spans.query_begin)).all()
    assert (spans.query_end <= len(spans.key_begin)).all()
    real_targets = sum(targets) if kind == "cross" else len(spans.key_begin)
    real_sources = sum(sources) if kind == "cross" else len(spans.query_begin)
    begin, end = readers_of(span_mask(spans)[:real_targets])
    assert torch.equal(spans.query_begin[:real_sources].long(), begin[:real_sources])
    assert torch.equal(spans.query_end[:real_sources].long(), end[:real_sources])
    assert torch.equal(spans.query_begin[real_sources:], spans.query_end[real_sources:])


def spans_of(kind: str, sources: list[int], targets: list[int], filler: tuple[int, int]) -> Spans:
    if kind == "cross":
        return cross_spans(*reads_and_readers(sources, targets, filler))
    own = own_ranges(targets, filler[1])
    return own_spans(own) if kind == "own" else causal_spans(own)


def test_a_mask_of_two_sentences() -> None:
    own = own_ranges([2, 1], 1)
    whole = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert span_mask(own_spans(own)).int().tolist() == whole
    assert span_mask(causal_spans(own)).int().tolist() == [[1, 0, 0, 0], *whole[1:]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_result_has_the_type_and_shape_of_the_queries(dtype: torch.dtype) -> None:
    own = own_ranges([3, 2], 0)
    assert self_attention(torch.randn(5, 24, dtype=dtype), 2, own_spans(own)).dtype == dtype
    reads, readers = reads_and_readers([3, 2], [1, 1], (0, 2))
    q, kv = torch.randn(4, 8, dtype=dtype), torch.randn(5, 16, dtype=dtype)
    assert cross_attention(q, kv, 2, cross_spans(reads, readers)).shape == (4, 8)


def test_loads_no_triton_where_no_kernel_runs() -> None:
    code = (
        "import sys, torch; from jumok.nn.spans import own_spans, self_attention\n"
        "x = torch.tensor([[0, 0], [2, 2]], dtype=torch.int32)\n"
        "self_attention(torch.randn(2, 48), 1, own_spans(x)); assert 'triton' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_gradient_of_a_bias_that_is_already_in_them() -> None:
    """It is that of a bias added here, whose value is 0."""
    torch.manual_seed(0)
    spans = own_spans(torch.tensor([[0, 0, 0, 3], [3, 3, 3, 4]], dtype=torch.int32))
    x, bias = torch.randn(4, 24).double(), torch.zeros(24).double().requires_grad_()
    (here,) = torch.autograd.grad(self_attention(x, 2, spans, bias).sin().sum(), bias)
    (there,) = torch.autograd.grad(self_attention(x + bias, 2, spans).sin().sum(), bias)
    torch.testing.assert_close(here, there)


@pytest.mark.parametrize("width", [1, 16, 24, 80, 128])
@pytest.mark.parametrize(("kind", "scale"), [("own", True), ("cross", True), ("cross", False)])
def test_heads_with_room_behind_them_give_the_same(width: int, kind: str, *, scale: bool) -> None:
    """What the kernels get where they take no such heads."""
    torch.manual_seed(0)
    spans = spans_of(kind, [3, 2], [1, 4], (2, 1))
    T, S = len(spans.key_begin), len(spans.query_begin)
    shapes = [(T, 6 * width)] if kind == "own" else [(T, 2 * width), (S, 4 * width)]
    inputs = tuple(torch.randn(shape).double().requires_grad_() for shape in shapes)
    wanted, found = masked_attention(inputs, HEADS, spans, scale=scale), []

    def attend_wide(given: tuple[Tensor, ...]) -> Tensor:
        found.append({x.shape[1] // HEADS % kernel_width(width) for x in given})
        return masked_attention(given, HEADS, spans, scale=scale)

    out = with_wide_heads(inputs, HEADS, attend_wide, scale=scale)
    assert found == [{0}]
    torch.testing.assert_close(out, wanted)
    d_out = torch.randn_like(out)
    one, other = (torch.autograd.grad(x, inputs, d_out) for x in (out, wanted))
    torch.testing.assert_close(one, other)


def test_the_kernels_take_heads_up_to_128_numbers() -> None:
    assert [kernel_width(width) for width in (1, 16, 17, 48, 64, 96, 128)] == [16, 16, 32, 64, 64, 128, 128]
    with pytest.raises(ValueError, match="heads of 160 numbers, and it takes up to 128"):
        kernel_width(160)
