"""Sentences as rectangles, and laid end to end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jumok.data.batch import Packed, Padded, Room, pack_pairs, pack_rows, pad_pairs, pad_sources, room_for
from jumok.data.store import Store
from jumok.models.interface import PackedBatch
from jumok.text.tokenizer import BOS, EOS, PAD

ids = st.lists(st.integers(4, 99), max_size=7)
some = st.lists(st.integers(4, 99), min_size=1, max_size=7)  # a store has no blank sentences
Pairs = list[tuple[list[int], list[int]]]


def test_a_batch_by_hand() -> None:
    batch = pad_pairs([[7, 8], np.array([9], dtype=np.uint16)], [[5], [6, 4, 5]])
    assert batch.source.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[BOS, 5, PAD, PAD], [BOS, 6, 4, 5]]
    assert batch.target_out.tolist() == [[5, EOS, PAD, PAD], [6, 4, 5, EOS]]
    assert batch.target_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.tokens == 6
    assert batch.source.dtype == batch.target_in.dtype == torch.int64


def test_an_empty_sentence_is_its_end_alone() -> None:
    source, mask = pad_sources([[]])
    assert source.tolist() == [[EOS]]
    assert mask.tolist() == [[True]]


def test_to_keeps_the_numbers() -> None:
    batch = pad_pairs([[7]], [[8]])
    moved = batch.to("cpu")
    assert moved.source.equal(batch.source)
    assert moved.target_mask.equal(batch.target_mask)


@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=6))
def test_what_is_real_comes_back(pairs: Pairs) -> None:
    batch = pad_pairs([source for source, _ in pairs], [target for _, target in pairs])
    for row, (source, target) in enumerate(pairs):
        assert batch.source[row][batch.source_mask[row]].tolist() == [*source, EOS]
        assert batch.target_in[row][batch.target_mask[row]].tolist() == [BOS, *target]
        assert batch.target_out[row][batch.target_mask[row]].tolist() == [*target, EOS]
    assert (batch.source[~batch.source_mask] == PAD).all()
    assert (batch.target_in[~batch.target_mask] == PAD).all()
    assert (batch.target_out[~batch.target_mask] == PAD).all()


def test_a_rectangle_of_nothing() -> None:
    batch = pad_pairs([], [])
    assert batch.source.shape == batch.target_in.shape == (0, 1)
    assert batch.tokens == 0


def test_a_packed_batch_by_hand() -> None:
    batch = pack_pairs([[7, 8], np.array([9], dtype=np.uint16)], [[5], [6, 4]], Room(7, 6))
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


def test_it_is_what_models_take() -> None:
    batch: PackedBatch = Packed.empty(Room(4, 4))  # mypy's word; here that the names are there
    assert all(hasattr(batch, name) for name in dir(PackedBatch) if not name.startswith("_"))


def test_an_empty_room_is_fillers() -> None:
    batch = Packed.empty(Room(3, 2))
    assert batch.source.tolist() == [PAD] * 3
    assert batch.source_range.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert batch.source_readers.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert batch.target_in.tolist() == batch.target_out.tolist() == [PAD] * 2
    assert batch.target_range.tolist() == [[0, 1], [1, 2]]
    assert batch.target_reads.tolist() == [[0, 0], [1, 1]]
    assert (batch.sentences, batch.source_tokens, batch.tokens) == (0, 0, 0)


def padded_of(packed: Packed) -> Padded:
    """The same pairs as a rectangle."""
    source, target = packed.source.cpu().numpy(), packed.target_out.cpu().numpy()
    sources = np.split(source[: packed.source_tokens], packed.source_lengths.cumsum())[:-1]
    targets = np.split(target[: packed.tokens], packed.target_lengths.cumsum())[:-1]
    return pad_pairs([x[:-1] for x in sources], [y[:-1] for y in targets])


def packed(pairs: Pairs, spare: tuple[int, int] = (0, 0)) -> Packed:
    """The pairs in a room with so many places to spare, and never none."""
    source, target = (sum(len(pair[side]) + 1 for pair in pairs) + spare[side] for side in (0, 1))
    room = Room(max(source, 1), max(target, 1))
    return pack_pairs([source for source, _ in pairs], [target for _, target in pairs], room)


spares = st.tuples(st.integers(0, 5), st.integers(0, 5))


@given(st.lists(st.tuples(ids, ids), max_size=6), spares)
def test_packed_and_padded_hold_the_same_pairs(pairs: Pairs, spare: tuple[int, int]) -> None:
    batch = packed(pairs, spare)
    there, padded = padded_of(batch), pad_pairs([x for x, _ in pairs], [y for _, y in pairs])
    for name in ("source", "source_mask", "target_in", "target_out", "target_mask"):
        assert getattr(there, name).equal(getattr(padded, name))
    assert batch.target_in[: batch.tokens].tolist() == padded.target_in[padded.target_mask].tolist()
    assert batch.tokens == padded.tokens == (batch.target_out != PAD).sum()


@given(st.lists(st.tuples(ids, ids), max_size=6), spares)
def test_tokens_of_a_pair_see_each_other_and_ranges_never_go_back(
    pairs: Pairs, spare: tuple[int, int]
) -> None:
    batch = packed(pairs, spare)
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
def test_rows_of_a_store_are_packed_as_their_pairs(
    pairs: Pairs, data: st.DataObject, spare: tuple[int, int]
) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=6)), dtype=np.int64)
    twin = packed([pairs[row] for row in rows], spare)
    batch = pack_rows(store_of(pairs), rows, twin.room)
    assert batch.numbers.equal(twin.numbers)
    assert batch.source_lengths.tolist() == twin.source_lengths.tolist()
    assert batch.target_lengths.tolist() == twin.target_lengths.tolist()
    assert batch.source_lengths.dtype == batch.target_lengths.dtype == np.int64


@pytest.mark.parametrize("room", [Room(3, 9), Room(9, 3)])
def test_pairs_that_do_not_fit_are_refused(room: Room) -> None:
    message = f"^4 source and 4 target tokens do not fit into a room of {room.source} and {room.target}$"
    with pytest.raises(ValueError, match=message):
        pack_pairs([[5], [6]], [[7], [8]], room)
    with pytest.raises(ValueError, match=message):
        pack_rows(store_of([([5], [7]), ([6], [8])]), np.array([0, 1]), room)


def test_a_source_longer_than_the_room_is_for_is_refused() -> None:
    room = Room(16, 16, longest=3)
    assert pack_pairs([[5, 6], [7]], [[8], [9]], room).longest == 3
    assert Packed.empty(room).longest == 3
    assert Packed.empty(Room(16, 16)).longest == 16
    message = "^a source of 4 tokens does not fit into a room for 3 in one$"
    with pytest.raises(ValueError, match=message):
        pack_pairs([[5, 6, 7], [7]], [[8], [9]], room)
    with pytest.raises(ValueError, match=message):
        pack_rows(store_of([([5, 6, 7], [8])]), np.array([0]), room)


def test_a_packed_batch_moves_whole() -> None:
    batch = packed([([5, 6], [7])])
    for moved in (batch.to("cpu"), batch.pin()):
        assert moved.numbers.equal(batch.numbers)
        assert moved.room == batch.room
        assert moved.source_lengths is batch.source_lengths
    assert batch.to("meta").source_range.shape == (2, 3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_pinned_batch_is_pinned() -> None:
    batch = packed([([5, 6], [7])]).pin()
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
    assert room_for(np.full(9, 19), np.full(9, 29), 5_000) == Room(2_048, 3_008, 20)
    assert room_for(np.array([5, 99]), np.array([5, 6]), 64) == Room(128, 64, 100)
