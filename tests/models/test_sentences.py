"""Sentences end to end: every token once, rectangles that can be undone, the order of time."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.conftest import Bench

from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.sentences import Sentences, time_order
from jumok.nn.spans import span_mask
from jumok.training.step import sides_of

CPU = torch.device("cpu")
lengths = st.lists(st.integers(1, 12), min_size=1, max_size=9)
pairs = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6)


def numbered(sizes: list[int]) -> list[list[int]]:
    """Ids that tell the sentence and the place: 100 · sentence + place."""
    return [[100 * (i + 1) + t for t in range(n)] for i, n in enumerate(sizes)]


@given(lengths, st.integers(0, 3))
def test_a_rectangle_is_undone_and_has_zeros_behind_short_sentences(sizes: list[int], fillers: int) -> None:
    laid = Bench().fill(Sentences.lay(numbered(sizes), CPU), fillers)
    x = torch.stack((laid.tokens, -laid.tokens), dim=1)  # (L, 2)
    grid = laid.grid(x)
    assert grid.shape == (len(sizes), max(sizes), 2)
    assert [row[: len(ids)] for row, ids in zip(grid[:, :, 0].tolist(), numbered(sizes), strict=True)] == (
        numbered(sizes)
    )
    assert torch.equal(grid[:, :, 0] != 0, laid.mask)
    back = laid.flat(grid)
    assert torch.equal(back[: sum(sizes)], x[: sum(sizes)])
    assert len(back) == len(x)
    assert not back[sum(sizes) :].any()


@given(lengths, st.integers(0, 3))
def test_every_token_knows_its_sentence_and_its_place(sizes: list[int], fillers: int) -> None:
    laid = Bench().fill(Sentences.lay(numbered(sizes), CPU), fillers)
    places = [t for n in sizes for t in range(n)]
    assert laid.positions.tolist() == places + [0] * fillers
    assert laid.row_and_place[1].tolist() == places
    begin, end = laid.range
    assert (end - begin).tolist() == [n for n in sizes for _ in range(n)] + [1] * fillers
    assert (len(laid), laid.longest) == (len(sizes), max(sizes))


@given(lengths, st.data())
def test_selecting_picks_sentences_in_order(sizes: list[int], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=5))
    laid = Sentences.lay(numbered(sizes), CPU)
    some, places = laid.select(rows)
    assert some.tokens.tolist() == [id for row in rows for id in numbered(sizes)[row]]
    assert torch.equal(laid.tokens[places], some.tokens)
    assert some.known_lengths.tolist() == [sizes[row] for row in rows]


def test_patches_are_laid_as_bytes() -> None:
    laid = Sentences.lay([[bytes([1, 2]), bytes([3, 4])], [bytes([5, 6])]], CPU)
    assert laid.tokens.dtype == torch.uint8
    assert laid.tokens.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert laid.known_lengths.tolist() == [2, 1]


def test_no_sentences_at_all() -> None:
    empty = Sentences.lay([], CPU)
    assert (len(empty), empty.longest, len(empty.tokens)) == (0, 0, 0)


@given(pairs)
def test_a_target_sees_the_source_of_its_pair_whoever_says_so(sizes: list[tuple[int, int]]) -> None:
    """Ranges worked out from lengths are those of a training batch."""
    sources, targets = numbered([s - 1 for s, _ in sizes]), numbered([t - 1 for _, t in sizes])
    source, target = sides_of(lay_pairs(sources, targets, Room(64, 64)))
    across = span_mask(target.spans_over(source))
    bare = Sentences.lay([[0, *ids] for ids in targets], CPU)
    alone = bare.spans_over(Sentences.lay([[*ids, 2] for ids in sources], CPU))
    M, N = len(bare.tokens), sum(s for s, _ in sizes)
    assert torch.equal(across[:M, :N], span_mask(alone))
    assert not across[:M, N:].any()
    for one, own in ((target.own_spans, bare.own_spans), (target.causal_spans, bare.causal_spans)):
        assert torch.equal(span_mask(one)[:M, :M], span_mask(own))


def test_who_reads_what_is_as_a_target_says() -> None:
    """Not sentence by sentence, where it says so itself."""
    source, target = Sentences.lay([[5, 6], [7]], CPU), Sentences.lay([[1], [2, 3]], CPU)
    turned = replace(
        target, reads=torch.tensor([[2, 0, 0], [3, 2, 2]]), readers=torch.tensor([[1, 1, 0], [3, 3, 1]])
    )
    assert span_mask(target.spans_over(source)).tolist() == [[True, True, False], *[[False, False, True]] * 2]
    spans = turned.spans_over(source)
    assert span_mask(spans).tolist() == [[False, False, True], *[[True, True, False]] * 2]
    assert (spans.query_begin.tolist(), spans.query_end.tolist()) == ([1, 1, 0], [3, 3, 1])
    assert spans.lengths is not None
    assert [side.tolist() for side in spans.lengths] == [[1, 2], [2, 1]]
    assert (spans.causal, source.own_spans.causal, source.causal_spans.causal) == (False, False, True)


def test_other_tokens_stand_where_the_first_did() -> None:
    laid = Sentences.lay([[5, 6], [7]], CPU)
    other = laid.with_tokens(torch.tensor([8, 9, 4]))
    assert (other.tokens.tolist(), other.longest, len(other)) == ([8, 9, 4], 2, 2)
    assert torch.equal(other.range, laid.range)


def test_lengths_are_unknown_inside_a_captured_step() -> None:
    source, _ = sides_of(lay_pairs([[5]], [[6]], Room(64, 64)), fixed=True)
    assert source.own_spans.lengths is None
    with pytest.raises(AssertionError, match="lengths are unknown inside a captured step"):
        len(source)


def test_a_batch_without_sentences_has_none() -> None:
    source, target = sides_of(Batch.empty(Room(64, 64)))
    assert len(source) == len(target) == 0
    assert span_mask(target.spans_over(source)).any(dim=1).all()  # a filler sees something, too


def test_the_order_of_time_of_the_docstring() -> None:
    time = time_order(np.array([2, 3, 1]), CPU)  # a, b, c
    laid_out = np.array(["a0", "a1", "b0", "b1", "b2", "c0"])
    assert laid_out[time.places.numpy()].tolist() == ["b0", "a0", "c0", "b1", "a1", "b2"]
    assert time.sizes.tolist() == [3, 2, 1]
    assert time.order.tolist() == [1, 0, 2]
    assert time.inverse.tolist() == [1, 0, 2]


@given(lengths)
def test_order_of_time_is_that_of_torchs_packed_sequences(sizes: list[int]) -> None:
    laid = Sentences.lay(numbered(sizes), CPU)
    packed = torch.nn.utils.rnn.pack_sequence(
        [torch.tensor(ids) for ids in numbered(sizes)], enforce_sorted=False
    )
    assert torch.equal(laid.tokens[laid.time.places], packed.data)
    assert torch.equal(laid.time.sizes, packed.batch_sizes)
    assert torch.equal(laid.time.order[laid.time.inverse], torch.arange(len(sizes)))
