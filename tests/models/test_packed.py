"""Sentences laid end to end give the numbers of the padded pass: losses, gradients, dropout or not."""

import copy
import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jumok.models.packed import Table, exact_weights, position_table, positions_of
from torch import Tensor

from jumok.config import TransformerConfig
from jumok.data.batch import Packed, Room, pack_pairs, pad_pairs
from jumok.models.build import build_model
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn import branch, kernels
from jumok.nn.positions import SinusoidalPositions, sinusoidal

VOCAB = 20
ROOM = Room(64, 64)
SENTENCE = st.lists(st.integers(4, VOCAB - 1), max_size=8)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6)
KINDS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm": "pre"},
    "rotary": {"positions": "rotary"},
    "learned": {"positions": "learned", "max_positions": 16},
    "none": {"positions": "none"},
    "split": {"projection": "split"},
    "untied": {"tied": False},
    "unscaled": {"scaled": False},
    "unscaled-rotary": {"scaled": False, "positions": "rotary"},
    "no-norm": {"norm": "none"},
    "no-residual": {"residual": False},
    "no-residual-pre": {"residual": False, "norm": "pre"},
    "bare": {"residual": False, "norm": "none", "scaled": False},
    "copy": {"copy": True, "norm": "pre", "positions": "rotary"},
}


def make(*, shared: bool = True, **options: Any) -> TransformerSeq2Seq:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "width": 16,
        "heads": 2,
        "feedforward": 24,
        "encoder_layers": 2,
        "decoder_layers": 2,
    }
    config = TransformerConfig(**sizes, **({"dropout": 0.0} | options))
    model = build_model(config, VOCAB, VOCAB, shared=shared).double()
    assert isinstance(model, TransformerSeq2Seq)
    return model


def logits_both_ways(
    model: TransformerSeq2Seq, sources: list[list[int]], targets: list[list[int]]
) -> tuple[Tensor, Tensor]:
    """Logits of every real target token: of the padded pass, and of the packed one."""
    room = replace(ROOM, longest=max(map(len, sources)) + 1)  # no larger: what is copied comes from there
    padded, packed = pad_pairs(sources, targets), pack_pairs(sources, targets, room)
    whole = model(padded.source, padded.source_mask, padded.target_in)[padded.target_mask]
    laid = model.packed_logits(packed)[: packed.tokens]
    return whole, laid


@pytest.mark.parametrize("kind", KINDS)
@given(pairs=PAIRS)
@settings(max_examples=8, deadline=None)
def test_packed_logits_and_gradients_equal_the_padded_ones(
    kind: str, pairs: list[tuple[list[int], list[int]]]
) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    model = make(**KINDS[kind])
    whole, laid = logits_both_ways(model, sources, targets)
    torch.testing.assert_close(laid, whole, atol=1e-11, rtol=1e-10)
    grads = []
    for logits in (whole, laid):
        model.zero_grad()
        logits.log_softmax(dim=-1)[:, 5].sum().backward()  # type: ignore[no-untyped-call]
        grads.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    assert grads[0].keys() == grads[1].keys() == dict(model.named_parameters()).keys()
    torch.testing.assert_close(grads[1], grads[0], atol=1e-10, rtol=1e-8)


def test_two_vocabularies() -> None:
    model = make(shared=False)
    whole, laid = logits_both_ways(model, [[4, 5, 6], [7]], [[8], [9, 10]])
    torch.testing.assert_close(laid, whole, atol=1e-11, rtol=1e-10)


def test_fillers_and_neighbours_change_nothing() -> None:
    """Decision 6 for packed batches: alone, beside others, in a small or in a large room."""
    model = make()
    alone = model.features(pack_pairs([[4, 5]], [[6]], Room(64, 64)))[:2]
    beside = model.features(pack_pairs([[4, 5], [9] * 7], [[6], [7, 8]], Room(128, 192)))[:2]
    torch.testing.assert_close(beside, alone, atol=1e-12, rtol=0)


def test_features_of_an_empty_batch_are_finite() -> None:
    assert make().features(Packed.empty(ROOM)).isfinite().all()


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["post", "pre", "none"])
def test_dropout_acts_in_training_and_nowhere_else(norm: str, *, residual: bool) -> None:
    model, batch = make(dropout=0.4, norm=norm, residual=residual), pack_pairs([[4, 5, 6]], [[7, 8]], ROOM)
    one, two = model.eval().features(batch), model.features(batch)
    assert torch.equal(one, two)
    torch.manual_seed(1)
    first = model.train().features(batch)
    torch.manual_seed(1)
    assert torch.equal(first, model.features(batch))
    assert not torch.allclose(first, model.features(batch))


def test_positions_count_from_the_beginning_of_each_sentence() -> None:
    batch = pack_pairs([[4, 5], [6]], [[7], [8, 9, 10]], ROOM)
    assert positions_of(batch.source_range)[:6].tolist() == [0, 1, 2, 0, 1, 0]
    assert positions_of(batch.target_range)[:7].tolist() == [0, 1, 0, 1, 2, 3, 0]


def test_a_table_of_positions_stays_as_long_as_its_model() -> None:
    """A captured step reads it where it lies, whatever else is computed meanwhile."""
    places, table = SinusoidalPositions(), Table(32, 16, torch.device("cpu"), torch.float32)
    rows = position_table(places, table)
    assert torch.equal(rows, sinusoidal(torch.arange(32), 16))
    for length in range(1, 20):
        position_table(places, replace(table, rows=length))
        position_table(SinusoidalPositions(), replace(table, rows=length))
    assert position_table(places, table) is rows
    gone = weakref.ref(rows)
    del places, rows
    gc.collect()
    assert gone() is None


def test_what_add_and_norm_uses_is_read_exactly() -> None:
    model = make()
    exact = exact_weights(model)
    names = {name for name, weight in model.named_parameters() if weight in exact}
    assert names == {
        name
        for name, _ in model.named_parameters()
        if ".norm." in name or name.endswith(("output.linear.bias", "outer.bias"))
    }


@pytest.mark.parametrize("kind", KINDS)
def test_branches_as_a_gpu_takes_them_leave_the_gradient_that_was_given(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`branch` adds to a gradient in place, which must never be the caller's."""
    batch, found = pack_pairs([[4, 5, 6], [7]], [[8], [9, 10]], ROOM), []
    given = torch.randn(len(batch.target_in), 16, dtype=torch.float64)
    kept = given.clone()
    monkeypatch.setattr(kernels, "_off", {"mask_and_sum", "column_sums"})
    for on in (False, True):
        monkeypatch.setattr(branch, "available", lambda _, on=on: on)
        model = make(**KINDS[kind])
        model.features(batch).backward(given)  # type: ignore[no-untyped-call]
        assert torch.equal(given, kept)
        found.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    torch.testing.assert_close(found[1], found[0], atol=1e-4, rtol=1e-4)  # sums over rows are in float32


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_gives_the_numbers_of_float64_and_leaves_the_gradient_it_was_given(kind: str) -> None:
    """Kernels or not: which of them run depends on what the model has."""
    exact = make(**KINDS[kind])
    model = copy.deepcopy(exact).float().cuda()
    sources, targets = [[4, 5, 6], [7], [9] * 7], [[8], [9, 10], [11, 12, 13]]
    here = pack_pairs(sources, targets, ROOM)
    there = replace(here, numbers=here.numbers.cuda())
    found, wanted = model.features(there), exact.features(here)
    torch.testing.assert_close(found.cpu().double(), wanted, atol=1e-5, rtol=1e-4)
    given = torch.randn_like(wanted)
    given[here.tokens :] = 0
    handed = given.float().cuda()
    kept = handed.clone()
    found.backward(handed)  # type: ignore[no-untyped-call]
    wanted.backward(given)  # type: ignore[no-untyped-call]
    assert torch.equal(handed, kept)
    for (name, one), other in zip(model.named_parameters(), exact.parameters(), strict=True):
        if one.grad is None or other.grad is None:
            assert one.grad is other.grad, name  # the head, which is not part of this
            continue
        torch.testing.assert_close(one.grad.cpu().double(), other.grad, atol=2e-4, rtol=1e-3)
