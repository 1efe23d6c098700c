"""Every sort of value has one form, and everything else is refused in words."""

from collections.abc import Callable

import pytest

from jumok.explain.op_fields import (
    OneOf,
    read_ids,
    read_index,
    read_number,
    read_numbers,
    read_real,
    read_shift,
    read_side,
    read_text,
    read_texts,
    read_weights,
)


@pytest.mark.parametrize(
    ("read", "given", "kept"),
    [
        (read_number, 0, 0),
        (read_numbers, 3, (3,)),
        (read_numbers, [3, 1, 3], (1, 3)),
        (read_numbers, range(2), (0, 1)),
        (read_index, "*", "*"),
        (read_index, 2, 2),
        (read_index, [2, 0], (0, 2)),
        (read_shift, -3, -3),
        (read_real, 2, 2.0),
        (read_weights, {"2": 1, 0: 0.5}, ((0, 0.5), (2, 1.0))),
        (read_weights, [(1, 3.0)], ((1, 3.0),)),
        (read_text, "a", "a"),
        (read_texts, "a", ("a",)),
        (read_texts, ["a", "b"], ("a", "b")),
        (read_ids, [5, 4, 5], (5, 4, 5)),
        (read_side, "encoder", "source"),
        (read_side, "target", "target"),
        (OneOf(("a", "b")), "b", "b"),
    ],
)
def test_values_have_one_form(read: Callable[[object], object], given: object, kept: object) -> None:
    found = read(given)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (read_number, -1, "must be a whole number from 0 up"),
        (read_number, True, "must be a whole number from 0 up"),
        (read_number, 1.0, "must be a whole number from 0 up"),
        (read_number, 2**31, "must be a whole number from 0 up"),
        (read_numbers, [], "must have 1 to 128 entries"),
        (read_numbers, list(range(129)), "must have 1 to 128 entries"),
        (read_numbers, [1, "2"], "must be a whole number from 0 up, or a list of them"),
        (read_index, "all", 'must be a whole number from 0 up, a list of them or "*"'),
        (read_shift, 10_001, "must be a whole number between -10000 and 10000"),
        (read_real, float("nan"), "must be a number between -1000 and 1000"),
        (read_real, 1e999, "must be a number between -1000 and 1000"),
        (read_real, True, "must be a number between -1000 and 1000"),
        (read_weights, {}, "must give weights to 1 to 128 positions, such as {2: 1.0}"),
        (read_weights, [1], "must give a weight to each position, such as {2: 1.0}"),
        (read_weights, {"x": 1}, "must be a whole number from 0 up"),
        (read_weights, {0: 0}, "must have no weight below 0, and some above"),
        (read_weights, {0: 2, 1: -1}, "must have no weight below 0, and some above"),
        (read_text, "a" * 10_001, "must be a text of at most 10,000 characters"),
        (read_text, None, "must be a text of at most 10,000 characters"),
        (read_texts, [], "must be a list of 1 to 128 texts"),
        (read_texts, [" "], "must have no blank text"),
        (read_ids, "12", "must be a list of at most 128 ids"),
        (read_side, "left", "must be source or target (encoder or decoder)"),
        (OneOf(("a", "b")), ["a"], "must be one of a, b"),
    ],
)
def test_everything_else_is_refused(read: Callable[[object], object], given: object, message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        read(given)
    assert str(caught.value) == message


@pytest.mark.parametrize("count", [127, 128])
def test_lists_may_have_128_entries(count: int) -> None:
    assert len(read_numbers(list(range(count)))) == count
