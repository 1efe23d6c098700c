"""Sentence pairs laid end to end, in a fixed room or in one of just their size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jumok.data.batch import Batch, Room, lay_pairs, lay_rows, room_for
from jumok.data.store import Store
from jumok.text.tokenizer import BOS, EOS, PAD

ids = st.lists(st.integers(4, 99), max_size=7)
some = st.lists(st.integers(4, 99), min_size=1, max_size=7)  # a store has no blank sentences
Pairs = list[tuple[list[int], list[int]]]


def test_a_batch_by_hand() -> None:
    batch = lay_pairs([[7, 8], np.array([9], dtype=np.uint16)], [[5], [6, 4]], Room(7, 6))
    assert batch.source.tolist() == [7, 8, EOS, 9, EOS, PAD, PAD]
    assert batch.source_range.tolist() == [[0, 0, 0, 3, 3, 5, 6], [3, 3, 3, 5, 5, 6, 7]]
    assert batch.source_readers.tolist() == [[0, 0, 0, 2, 2, 5, 5], [2, 2, 2, 5, 5, 5, 5]]
    assert batch.target_in.tolist() == [BOS, 5, BOS, 6, 4, PAD]
    assert batch.target_out.tolist() == [5, EOS, 6, 4, EOS, PAD]
    assert batch.target_range.tolist() == [[0, 0, 2, 2, 2, 5], [2, 2, 5, 5, 5, 6]]
    assert batch.target_reads.tolist() == [[0, 0, 3, 3, 3, 4], [3, 3, 5, 5, 5, 5]]
    assert batch.source_lengths.tolist() == [3, 2]
    assert batch.target_lengths.tolist() == [2, 3]
    assert (batch.sentences, batch.source_tokens, batch.tokens) == (2, 5, 5)
    assert batch.numbers.dtype == torch.int32


def test_an_empty_room_is_fillers() -> None:
    batch = Batch.empty(Room(3, 2))
    assert batch.source.tolist() == [PAD] * 3
    assert batch.source_range.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert batch.source_readers.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert batch.target_in.tolist() == batch.target_out.tolist() == [PAD] * 2
    assert batch.target_range.tolist() == [[0, 1], [1, 2]]
    assert batch.target_reads.tolist() == [[0, 0], [1, 1]]
    assert (batch.sentences, batch.source_tokens, batch.tokens) == (0, 0, 0)


def laid(pairs: Pairs, spare: tuple[int, int] = (0, 0)) -> Batch:
    """The pairs in a room with so many places to spare, and never none."""
    source, target = (sum(len(pair[side]) + 1 for pair in pairs) + spare[side] for side in (0, 1))
    room = Room(max(source, 1), max(target, 1))
    return lay_pairs([source for source, _ in pairs], [target for _, target in pairs], room)


spares = st.tuples(st.integers(0, 5), st.integers(0, 5))


@given(st.lists(st.tuples(ids, ids), max_size=6), spares)
def test_what_is_real_comes_back_and_the_rest_is_fillers(pairs: Pairs, spare: tuple[int, int]) -> None:
    batch = laid(pairs, spare)
    assert batch.source[: batch.source_tokens].tolist() == [id for x, _ in pairs for id in (*x, EOS)]
    assert batch.target_in[: batch.tokens].tolist() == [id for _, y in pairs for id in (BOS, *y)]
    assert batch.target_out[: batch.tokens].tolist() == [id for _, y in pairs for id in (*y, EOS)]
    for ids, real in (
        (batch.source, batch.source_tokens),
        (batch.target_in, batch.tokens),
        (batch.target_out, batch.tokens),
    ):
        assert (ids[real:] == PAD).all()
    assert batch.sentences == len(pairs)


@given(st.lists(st.tuples(ids, ids), max_size=6))
def test_without_a_room_there_is_one_of_just_their_size(pairs: Pairs) -> None:
    batch = lay_pairs([x for x, _ in pairs], [y for _, y in pairs])
    lengths = [[len(pair[side]) + 1 for pair in pairs] for side in (0, 1)]
    assert batch.room == Room(*map(sum, lengths), *(max(side, default=0) for side in lengths))
    assert (batch.source_tokens, batch.tokens) == (batch.room.source, batch.room.target)
    fixed = lay_pairs([x for x, _ in pairs], [y for _, y in pairs], Room(64, 64))
    for name in ("source", "source_range", "source_readers"):
        assert getattr(batch, name).equal(getattr(fixed, name)[..., : batch.source_tokens]), name
    for name in ("target_in", "target_out", "target_range", "target_reads"):
        assert getattr(batch, name).equal(getattr(fixed, name)[..., : batch.tokens]), name


@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=6), spares, st.integers(1, 7))
def test_a_batch_in_parts_has_every_sentence_once_and_in_order(
    pairs: Pairs, spare: tuple[int, int], count: int
) -> None:
    parts = laid(pairs, spare).cut(count)
    assert 1 <= len(parts) <= min(count, len(pairs))
    begin = 0
    for part in parts:
        own = pairs[begin : begin + part.sentences]
        alone = lay_pairs([x for x, _ in own], [y for _, y in own])
        assert part.sentences > 0
        assert part.room == alone.room
        assert part.numbers.equal(alone.numbers)
        begin += part.sentences
    assert begin == len(pairs)


def test_parts_have_about_as_many_tokens() -> None:
    draw = np.random.default_rng(0)
    sides = [[draw.integers(4, 99, draw.integers(0, 30)).tolist() for _ in range(120)] for _ in "st"]
    batch = lay_pairs(*sides)
    for count in (1, 2, 3, 5):
        sizes = [part.tokens + part.source_tokens for part in batch.cut(count)]
        assert len(sizes) == count
        assert sum(sizes) == batch.tokens + batch.source_tokens
        assert max(sizes) - min(sizes) <= 2 * 62


def test_a_batch_with_nothing_to_learn_has_the_same_sentences() -> None:
    batch = lay_pairs([[5, 6], [7]], [[8], [9]])
    blank = batch.unlearned()
    assert (batch.learned, blank.learned) == (True, False)
    assert (blank.target_out == PAD).all()
    assert batch.target_out.tolist() == [8, EOS, 9, EOS]
    assert blank.target_in.equal(batch.target_in)
    assert blank.source.equal(batch.source)
    assert not any(part.learned for part in blank.cut(2))


def pictures(*counts: int) -> list[NDArray[np.uint8]]:
    draw = np.random.default_rng(3)
    return [draw.integers(0, 256, (count, 6), dtype=np.uint8) for count in counts]


def test_pictures_are_sentences_of_patches_without_an_end() -> None:
    sources = pictures(3, 2)
    batch = lay_pairs(sources, [[5], [6, 7]], Room(8, 8))
    assert batch.source.shape == (8, 6)
    assert batch.source.dtype == torch.uint8
    assert np.array_equal(batch.source[:5], np.concatenate(sources))
    assert not batch.source[5:].any()
    assert batch.source_lengths.tolist() == [3, 2]
    assert batch.source_range.tolist() == [[0, 0, 0, 3, 3, 5, 6, 7], [3, 3, 3, 5, 5, 6, 7, 8]]
    assert batch.target_in.tolist() == [BOS, 5, BOS, 6, 7, PAD, PAD, PAD]
    exact = lay_pairs(sources, [[5], [6, 7]])
    assert exact.room == Room(5, 5, 3, 3)
    assert np.array_equal(exact.source, np.concatenate(sources))
    one, two = batch.cut(2)
    assert np.array_equal(one.source, sources[0])
    assert np.array_equal(two.source, sources[1])


@given(st.lists(st.tuples(ids, ids), max_size=6), spares)
def test_tokens_of_a_pair_see_each_other_and_ranges_never_go_back(
    pairs: Pairs, spare: tuple[int, int]
) -> None:
    batch = laid(pairs, spare)
    N, M = batch.room.source, batch.room.target
    pair_of_source = np.full(N, -1)
    pair_of_source[: batch.source_tokens] = np.repeat(np.arange(len(pairs)), batch.source_lengths)
    pair_of_target = np.full(M, -1)
    pair_of_target[: batch.tokens] = np.repeat(np.arange(len(pairs)), batch.target_lengths)

    def seen(ranges: torch.Tensor, count: int) -> NDArray[np.bool_]:
        begin, end = ranges.numpy()[:, :, None]
        places: NDArray[np.bool_] = (begin <= np.arange(count)) & (np.arange(count) < end)
        return places

    for ranges, own, other in (
        (batch.source_range, pair_of_source, pair_of_source),
        (batch.source_readers, pair_of_source, pair_of_target),
        (batch.target_range, pair_of_target, pair_of_target),
        (batch.target_reads, pair_of_target, pair_of_source),
    ):
        assert (ranges.diff() >= 0).all()
        real = own >= 0
        assert (seen(ranges, len(other))[real] == (own[real, None] == other)).all()
    assert (
        seen(batch.source_range, N)[pair_of_source < 0] == np.eye(N, dtype=bool)[pair_of_source < 0]
    ).all()
    assert (
        seen(batch.target_range, M)[pair_of_target < 0] == np.eye(M, dtype=bool)[pair_of_target < 0]
    ).all()
    assert not seen(batch.source_readers, M)[pair_of_source < 0].any()


def store_of(pairs: Pairs) -> Store:
    sides: dict[str, Any] = {}
    for name, sentences in (("source", [x for x, _ in pairs]), ("target", [y for _, y in pairs])):
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)
        sides[f"{name}_ids"] = np.array(sum(sentences, []), dtype=np.uint16)
        sides[f"{name}_offsets"] = np.append(0, lengths.cumsum(dtype=np.int64))
        sides[f"{name}_lengths"] = lengths
    return Store(folder=Path(), **sides, left_out={}, tokenizers="", fingerprint="")


@given(st.lists(st.tuples(some, some), min_size=1, max_size=6), st.data(), spares)
def test_rows_of_a_store_are_laid_as_their_pairs(
    pairs: Pairs, data: st.DataObject, spare: tuple[int, int]
) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=6)), dtype=np.int64)
    twin = laid([pairs[row] for row in rows], spare)
    batch = lay_rows(store_of(pairs), rows, twin.room)
    assert batch.numbers.equal(twin.numbers)
    assert batch.source_lengths.tolist() == twin.source_lengths.tolist()
    assert batch.target_lengths.tolist() == twin.target_lengths.tolist()
    assert batch.source_lengths.dtype == batch.target_lengths.dtype == np.int64


@pytest.mark.parametrize("room", [Room(3, 9), Room(9, 3)])
def test_pairs_that_do_not_fit_are_refused(room: Room) -> None:
    message = f"^4 source and 4 target tokens do not fit into a room of {room.source} and {room.target}$"
    with pytest.raises(ValueError, match=message):
        lay_pairs([[5], [6]], [[7], [8]], room)
    with pytest.raises(ValueError, match=message):
        lay_rows(store_of([([5], [7]), ([6], [8])]), np.array([0, 1]), room)


def test_a_sentence_longer_than_the_room_is_for_is_refused() -> None:
    sources, targets = [[5, 6], [7]], [[8], [9]]
    lay_pairs(sources, targets, Room(16, 16, 3, 2))
    for room, message in (
        (Room(16, 16, longest_source=2), "^a source of 3 tokens does not fit into a room for 2 in one$"),
        (Room(16, 16, longest_target=1), "^a target of 2 tokens does not fit into a room for 1 in one$"),
    ):
        with pytest.raises(ValueError, match=message):
            lay_pairs(sources, targets, room)
        with pytest.raises(ValueError, match=message):
            lay_rows(store_of(list(zip(sources, targets, strict=True))), np.array([0, 1]), room)


def test_a_batch_moves_whole() -> None:
    batch = laid([([5, 6], [7])])
    for moved in (batch.to("cpu"), batch.pin()):
        assert moved.numbers.equal(batch.numbers)
        assert moved.room == batch.room
        assert moved.source_lengths is batch.source_lengths
    assert batch.to("meta").source_range.shape == (2, 3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_pinned_batch_is_pinned() -> None:
    batch = laid([([5, 6], [7])]).pin()
    assert batch.numbers.is_pinned()
    assert batch.to("cuda").numbers.cpu().equal(batch.numbers)


lengths = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=20)


@given(lengths, st.integers(0, 5_000))
def test_a_room_has_the_budget_split_as_the_corpus_is(sides: list[tuple[int, int]], budget: int) -> None:
    source, target = np.array(sides, dtype=np.int32).T
    room = room_for(source, target, budget)
    share = (source + 1).sum() / (source + target + 2).sum()
    for places, part, longest in (
        (room.source, share, source.max() + 1),
        (room.target, 1 - share, target.max() + 1),
    ):
        assert places % 64 == 0
        assert places >= longest
        assert -1e-6 <= places - max(budget * part, longest) < 64 + 1


def test_a_room_by_hand() -> None:
    assert room_for(np.full(9, 19), np.full(9, 29), 5_000) == Room(2_048, 3_008, 20, 30)
    assert room_for(np.array([5, 99]), np.array([5, 6]), 64) == Room(128, 64, 100, 7)
