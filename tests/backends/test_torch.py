"""Each op in plain torch against its definition: it is what all other back ends are compared with."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from jumok.backends.torch import TorchBackend, masked_attention, query_key_value
from jumok.backends.values import Projected
from jumok.models.sentences import Sentences
from jumok.nn.functional import attention_stages, causal_mask, merge_heads, split_heads
from jumok.nn.positions import sinusoidal

OPS, HEADS, WIDTH = TorchBackend(), 2, 8
sizes = st.integers(1, 9)
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=5)
pairs = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=5)


def laid(rows: list[int]) -> Sentences:
    return Sentences.of(torch.zeros(sum(rows), dtype=torch.long), np.array(rows))


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


def alone(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, scale: bool) -> Tensor:
    """One sentence (L, D) by the explicit stages."""
    query, key, value = (split_heads(x[None], HEADS) for x in (q, k, v))
    return merge_heads(attention_stages(query, key, value, mask, scale=scale).context)[0]


@settings(max_examples=25)
@given(rows=lengths, causal=st.booleans(), scale=st.booleans(), known=st.booleans())
def test_sentences_end_to_end_attend_as_sentences_alone(
    rows: list[int], *, causal: bool, scale: bool, known: bool
) -> None:
    torch.manual_seed(0)
    sentences = laid(rows)
    spans = sentences.causal_spans if causal else sentences.own_spans
    if not known:
        spans = type(spans)(spans.key_begin, spans.key_end, spans.query_begin, spans.query_end)
    qkv, found = leaf(sum(rows), 3 * WIDTH), []
    out = OPS.attend((Projected(qkv),), HEADS, spans, scale=scale, where=("enc_self", 0))
    for sentence in torch.split(qkv, rows):
        q, k, v = sentence.chunk(3, dim=-1)
        mask = causal_mask(len(q)) if causal else torch.ones(len(q), len(q), dtype=torch.bool)
        found.append(alone(q, k, v, mask, scale=scale))
    torch.testing.assert_close(out, torch.cat(found))
    d_out = torch.randn_like(out)
    one, other = (torch.autograd.grad(x, qkv, d_out) for x in (out, torch.cat(found)))
    torch.testing.assert_close(one, other)


@settings(max_examples=25)
@given(sizes=pairs, scale=st.booleans())
def test_targets_attend_to_their_own_source(sizes: list[tuple[int, int]], *, scale: bool) -> None:
    torch.manual_seed(0)
    sources, targets = [source for source, _ in sizes], [target for _, target in sizes]
    spans = laid(targets).spans_over(laid(sources))
    q, kv = leaf(sum(targets), WIDTH), leaf(sum(sources), 2 * WIDTH)
    inputs = (Projected(q), Projected(kv))
    out = OPS.attend(inputs, HEADS, spans, scale=scale, where=("cross", 0))
    found = []
    for q_part, kv_part in zip(torch.split(q, targets), torch.split(kv, sources), strict=True):
        everything = torch.ones(len(q_part), len(kv_part), dtype=torch.bool)
        found.append(alone(q_part, *kv_part.chunk(2, dim=-1), everything, scale=scale))
    torch.testing.assert_close(out, torch.cat(found))
    torch.testing.assert_close(masked_attention(query_key_value((q, kv)), HEADS, spans, scale=scale), out)


@settings(max_examples=25)
@given(sizes=pairs)
def test_attention_by_any_score_is_a_softmax_over_ones_own_source(sizes: list[tuple[int, int]]) -> None:
    torch.manual_seed(0)
    sources, targets = [source for source, _ in sizes], [target for _, target in sizes]
    spans = laid(targets).spans_over(laid(sources))
    q, k, v = leaf(sum(targets), 3), leaf(sum(sources), 3), leaf(sum(sources), 3)

    def score(a: Tensor, b: Tensor) -> Tensor:
        return (a[:, :, None] - b[:, None]).abs().sum(-1)

    out = OPS.attend_by(score, q, k, v, spans, where=("cross", 0))
    parts = zip(torch.split(q, targets), torch.split(k, sources), torch.split(v, sources), strict=True)
    wanted = [score(a[None], b[None])[0].softmax(-1) @ c for a, b, c in parts]
    torch.testing.assert_close(out, torch.cat(wanted))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_context_has_the_type_and_shape_of_the_queries(dtype: torch.dtype) -> None:
    inputs = Projected(torch.randn(4, 8, dtype=dtype)), Projected(torch.randn(5, 16, dtype=dtype))
    out = OPS.attend(inputs, 2, laid([1, 3]).spans_over(laid([3, 2])), scale=True, where=("cross", 0))
    assert (out.dtype, out.shape) == (dtype, (4, 8))


@given(rows=sizes, width=sizes, inner=sizes, seed=st.integers(0, 99))
def test_add_norm_is_the_sum_and_its_layer_norm(rows: int, width: int, inner: int, seed: int) -> None:
    torch.manual_seed(seed)
    x, states = leaf(rows, width), leaf(rows, inner)
    linear, norm = nn.Linear(inner, width).double(), nn.LayerNorm(width).double()
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    given_: dict[str, Any] = {"training": False, "seed": None}
    s, y = OPS.add_norm(x, states, linear, norm, 0.5, **given_)
    torch.testing.assert_close(s, x + linear(states))
    torch.testing.assert_close(y, norm(s))
    s, y = OPS.add_norm(x, states, linear, None, 0.5, **given_, add=False)
    torch.testing.assert_close(s, linear(states))
    assert y is None
    s, y = OPS.add_norm(x, states, linear, nn.Identity(), 0.5, **given_)
    assert y is s


def test_add_norm_in_training_drops_what_is_added_and_nothing_else() -> None:
    torch.manual_seed(0)
    x, states = leaf(50, 40), leaf(50, 8)
    linear, norm = nn.Linear(8, 40).double(), nn.LayerNorm(40).double()
    s, y = OPS.add_norm(x, states, linear, norm, 0.25, training=True, seed=None)
    kept = (s - x).abs() > 1e-9
    assert kept.double().mean() == pytest.approx(0.75, abs=0.05)
    torch.testing.assert_close(s, torch.where(kept, x + linear(states) / 0.75, x))
    torch.testing.assert_close(y, norm(s))


def test_a_norm_of_bfloat16_is_computed_in_float32() -> None:
    torch.manual_seed(0)
    x, states = torch.randn(2, 30, 64).bfloat16()
    linear, norm = nn.Linear(64, 64).bfloat16(), nn.LayerNorm(64)
    s, y = OPS.add_norm(x, states, linear, norm, 0.1, training=False, seed=None)
    assert s.dtype == y.dtype == torch.bfloat16
    assert torch.equal(y, norm(s.float()).bfloat16())


def test_drop_is_dropout_in_training_alone() -> None:
    x = torch.ones(1000)
    assert OPS.drop(x, 0.5, training=False) is x
    assert OPS.drop(x, 0.0, training=True) is x
    assert set(OPS.drop(x, 0.5, training=True).tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("relu", [False, True])
def test_a_branch_is_a_product_beside_its_input(*, relu: bool) -> None:
    x, weight, bias = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7)
    y, after = OPS.branch(x, weight, bias, relu=relu, owed=True)
    wanted = F.linear(x, weight, bias)
    torch.testing.assert_close(y.values, wanted.relu() if relu else wanted)
    assert y.bias is None  # nothing is owed
    assert after is x


def test_rows_of_an_embedding_and_of_positions() -> None:
    ids, table = torch.tensor([3, 0, 3]), torch.randn(5, 4)
    torch.testing.assert_close(OPS.embed(ids, table, 2.0), table[ids] * 2)
    torch.testing.assert_close(OPS.sinusoids(ids, None, 6, torch.float64), sinusoidal(ids, 6).double())


def test_ops_that_only_a_what_if_changes_hand_on_what_they_get() -> None:
    x, sentences = torch.randn(2, 3), laid([2, 1])
    assert OPS.output(("cross", 0), x) is x
    assert OPS.bridge(x) is x
    assert OPS.positions("source", sentences, None) is sentences.positions
    assert OPS.next_positions(x, None) is x


def test_a_cpu_never_loads_triton() -> None:
    code = (
        "import sys, torch; from jumok.backends.choose import choose_backend\n"
        "from jumok.config import RnnConfig\n"
        "from jumok.models.build import build_model; from jumok.models.sentences import Sentences\n"
        "model = build_model(RnnConfig(width=8), 9, 9, shared=True).using(choose_backend('cpu'))\n"
        "x = Sentences.lay([[4, 5]], torch.device('cpu')); model(x, x).loss(x.tokens, 0.1)[0].backward()\n"
        "sys.exit('triton' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
