"""A thread ahead of its reader changes nothing but the time."""

import threading
import traceback
from collections.abc import Iterator
from itertools import count, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.prefetch import ahead

SOON = 20.0  # seconds that no test waits for unless it fails


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "jumok-ahead"]


@settings(deadline=None, max_examples=30)
@given(items=st.lists(st.integers(), max_size=20), depth=st.integers(1, 5))
def test_it_is_map(items: list[int], depth: int) -> None:
    assert list(ahead(iter(items), str, depth)) == [str(item) for item in items]
    assert threads() == []


@settings(deadline=None, max_examples=30)
@given(read=st.integers(0, 8), depth=st.integers(1, 5))
def test_a_reader_may_stop_early(read: int, depth: int) -> None:
    results = ahead(count(), str, depth)
    assert list(islice(results, read)) == [str(item) for item in range(read)]
    results.close()
    assert threads() == []
    assert list(results) == []


def test_a_reader_that_is_forgotten_ends_the_thread() -> None:
    results = ahead(count(), str)
    assert next(results) == "0"
    assert len(threads()) == 1
    del results
    assert threads() == []


def test_nothing_starts_before_the_first_is_asked_for() -> None:
    results = ahead(count(), str)
    assert threads() == []
    results.close()


def test_results_are_made_before_they_are_asked_for_and_no_further_than_depth() -> None:
    made, third = [], threading.Event()

    def make(item: int) -> int:
        made.append(item)
        if len(made) == 4:
            third.set()
        return item

    results = ahead(count(), make, depth=3)
    assert next(results) == 0
    assert third.wait(SOON)  # 1, 2 and 3 are made while nobody asks
    threads()[0].join(0.05)  # time for a fault to show
    assert made == [0, 1, 2, 3]
    assert next(results) == 1
    results.close()
    assert threads() == []


def test_a_full_thread_that_waits_is_ended() -> None:
    asked = threading.Event()

    def items() -> Iterator[int]:
        yield from (0, 1)
        asked.set()
        yield 2

    results = ahead(items(), str, depth=1)
    assert next(results) == "0"
    assert asked.wait(SOON)
    results.close()
    assert threads() == []


def broken(item: int) -> int:
    return 6 // (3 - item)


def test_a_fault_of_make_comes_after_the_results_before_it_with_its_traceback() -> None:
    results = ahead(count(), broken)
    assert list(islice(results, 3)) == [2, 3, 6]
    with pytest.raises(ZeroDivisionError) as caught:
        next(results)
    assert "broken" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert threads() == []
    assert list(results) == []


def test_a_fault_of_the_items_arrives_too() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("lost")

    results = ahead(items(), str)
    assert next(results) == "1"
    with pytest.raises(KeyError, match="lost"):
        next(results)
    assert threads() == []


def test_a_fault_of_the_reader_ends_the_thread() -> None:
    results = ahead(count(), str)
    assert next(results) == "0"
    with pytest.raises(KeyError, match="reader"):
        results.throw(KeyError("reader"))
    assert threads() == []
