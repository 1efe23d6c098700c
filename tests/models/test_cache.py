"""The cache behaves as a value, whatever shares its buffer."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jumok.models.cache import ROOM, Buffers, KeyValues, earliest_at_zero


def fresh(batch: int = 2) -> KeyValues:
    return KeyValues.empty(batch, 1, 1, torch.zeros(()))


def entry(number: float, batch: int = 2) -> tuple[Tensor, Tensor]:
    """Keys of this number and values of its negative."""
    keys = torch.full((batch, 1, 1, 1), number)
    return keys, -keys


def append(cache: KeyValues, *numbers: float) -> KeyValues:
    for number in numbers:
        cache = cache.append(*entry(number, cache.keys.shape[0]))
    return cache


def held(cache: KeyValues, row: int = 0) -> list[float]:
    keys = cache.keys[row].flatten().tolist()
    assert cache.values[row].flatten().tolist() == [-key for key in keys]
    assert len(keys) == cache.length
    return keys


def test_an_empty_cache_holds_nothing() -> None:
    assert held(fresh()) == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_tree_of_caches_equals_a_tree_of_lists(data: st.DataObject) -> None:
    """Any cache may be extended or selected at any time; no other one notices."""
    caches: list[KeyValues] = [fresh()]
    lists: list[list[list[float]]] = [[[], []]]  # cache -> row -> numbers
    for number in range(1, data.draw(st.integers(1, 40)) + 1):
        # Mostly the newest, as in decoding; sometimes any other.
        newest = data.draw(st.booleans())
        parent = len(caches) - 1 if newest else data.draw(st.integers(0, len(caches) - 1))
        if data.draw(st.integers(0, 5)) == 0:
            rows = data.draw(st.lists(st.integers(0, 1), min_size=2, max_size=2))
            caches.append(caches[parent].select(torch.tensor(rows)))
            lists.append([list(lists[parent][row]) for row in rows])
        else:
            caches.append(append(caches[parent], number))
            lists.append([[*row, number] for row in lists[parent]])
    for cache, expected in zip(caches, lists, strict=True):
        assert [held(cache, row) for row in range(2)] == expected


def test_the_buffer_doubles_when_it_is_full_and_keeps_everything() -> None:
    cache, rooms = fresh(), []
    for number in range(5 * ROOM):
        cache = append(cache, number)
        rooms.append(cache.buffer.keys.shape[2])
    assert held(cache) == list(range(5 * ROOM))
    assert sorted(set(rooms)) == [ROOM, 2 * ROOM, 4 * ROOM, 8 * ROOM]


def test_one_line_of_descent_writes_into_one_buffer() -> None:
    first = append(fresh(), 1)
    second = append(first, 2)
    assert second.buffer is first.buffer


def test_a_second_line_of_descent_moves_to_a_buffer_of_its_own() -> None:
    parent = append(fresh(), 1)
    one, other = append(parent, 2), append(parent, 3)
    assert one.buffer is parent.buffer
    assert other.buffer is not parent.buffer
    assert (held(parent), held(one), held(other)) == ([1], [1, 2], [1, 3])


def test_a_full_cache_can_be_selected_and_extended() -> None:
    full = append(fresh(), *range(ROOM))
    picked = append(full.select(torch.tensor([1])), 99)
    assert held(picked) == [*range(ROOM), 99]
    assert held(full) == list(range(ROOM))


def test_selecting_copies_rows_in_order() -> None:
    cache = KeyValues.empty(3, 1, 1, torch.zeros(()))
    keys = torch.arange(3.0).reshape(3, 1, 1, 1)
    picked = cache.append(keys, -keys).select(torch.tensor([2, 0]))
    assert picked.keys.flatten().tolist() == [2, 0]
    assert picked.buffer is not cache.buffer


def test_joining_aligns_the_ends_and_puts_zeros_before_the_shorter_past() -> None:
    long, short = append(fresh(1), *range(1, 20)), append(fresh(2), 5, 6)
    for joined, rows in ((long.join(short), (0, 1, 2)), (short.join(long), (2, 0, 1))):
        assert held(joined, rows[0]) == list(range(1, 20))
        assert held(joined, rows[1]) == held(joined, rows[2]) == [0] * 17 + [5, 6]
        assert held(append(joined, 7), rows[1])[-3:] == [5, 6, 7]
    assert (held(long), held(short)) == (list(range(1, 20)), [5, 6])


def test_selecting_may_leave_out_the_first_tokens() -> None:
    cache = append(fresh(), *range(ROOM))
    picked = cache.select(torch.tensor([1, 0, 1]), skip=ROOM - 2)
    assert held(picked, 2) == [ROOM - 2, ROOM - 1]
    assert held(append(picked, 99)) == [ROOM - 2, ROOM - 1, 99]


def test_room_goes_with_the_rows_that_needed_it() -> None:
    long, short = append(fresh(1), *range(100)), append(fresh(1), 7.0, 8.0)
    both = long.join(short)
    assert held(both.select(torch.tensor([1]), skip=98)) == [7.0, 8.0]
    assert both.select(torch.tensor([1]), skip=98).buffer.keys.shape[2] == ROOM


@pytest.mark.parametrize(
    ("begin", "moved", "taken"),
    [
        (None, None, 0),
        ([], None, 0),
        ([0, 0], None, 0),
        ([3, 3], None, 3),
        ([5, 2, 3], [3, 0, 1], 2),
        ([0, 4], [0, 4], 0),
    ],
)
def test_the_earliest_row_begins_at_zero(
    begin: list[int] | None, moved: list[int] | None, taken: int
) -> None:
    found, low = earliest_at_zero(None if begin is None else torch.tensor(begin))
    assert (None if found is None else found.tolist(), low) == (moved, taken)


def test_beams_that_change_their_order_change_their_past() -> None:
    """Of one sentence with three beams, which write at place 1 what came of beams 2, 0 and 0."""
    ancestors = torch.tensor([[[0, -1, -1], [1, -1, -1], [2, -1, -1]]], dtype=torch.int8)
    nothing = torch.zeros(1, 1, 1, 9, 1)
    buffers = Buffers(nothing, nothing.clone(), nothing, nothing, torch.ones(1), ancestors)
    buffers.reorder(torch.tensor([[2, 0, 0]]), torch.tensor([1]))
    assert ancestors.tolist() == [[[2, 2, -1], [0, 0, -1], [0, 0, -1]]]
    buffers.reorder(torch.tensor([[1, 1, 0]]), torch.tensor([2]))
    assert ancestors.tolist() == [[[0, 0, 1], [0, 0, 1], [2, 2, 0]]]


def test_sentences_that_are_kept_move_to_the_front_as_far_as_they_were_written() -> None:
    keys = torch.arange(12.0).reshape(3, 1, 1, 4, 1)  # two places of two beams
    rows = torch.arange(3.0)
    buffers = Buffers(
        keys,
        -keys,
        rows.reshape(3, 1, 1, 1, 1).clone(),
        -rows.reshape(3, 1, 1, 1, 1),
        rows.clone(),
        torch.arange(12).reshape(3, 2, 2),
    )
    buffers.keep(torch.tensor([2, 1]), places=1)
    first = buffers.first(2)
    assert first.keys.flatten().tolist() == [8, 9, 2, 3, 4, 5, 6, 7]
    assert first.values[:, 0, 0, :2, 0].tolist() == [[-8, -9], [-4, -5]]
    assert first.source_lengths.tolist() == first.source_keys.flatten().tolist() == [2, 1]
    assert first.source_values.flatten().tolist() == [-2, -1]
    assert first.ancestors.flatten().tolist() == [8, 9, 10, 11, 4, 5, 6, 7]
    assert first.keys.data_ptr() == keys.data_ptr()
