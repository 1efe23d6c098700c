"""Every sort of value has one form, and everything else is refused."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from jumok.explain import op_fields as fields


@pytest.mark.parametrize(
    ("field", "given", "kept"),
    [
        (fields.Whole, 0, 0),
        (fields.Numbers, 3, (3,)),
        (fields.Numbers, [3, 1, 3], (1, 3)),
        (fields.Numbers, range(2), (0, 1)),
        (fields.IndexField, "*", "*"),
        (fields.IndexField, 2, 2),
        (fields.IndexField, [2, 0], (0, 2)),
        (fields.IndexField, range(2), (0, 1)),
        (fields.Shift, -3, -3),
        (fields.Real, 2, 2.0),
        (fields.Weights, {"2": 1, 0: 0.5}, {0: 0.5, 2: 1.0}),
        (fields.Weights, [(1, 3.0)], {1: 3.0}),
        (fields.Text, "a", "a"),
        (fields.Texts, "a", ("a",)),
        (fields.Texts, ["a", "b"], ("a", "b")),
        (fields.Ids, [5, 4, 5], (5, 4, 5)),
        (fields.SideField, "encoder", "source"),
        (fields.SideField, "target", "target"),
        (fields.KindField, "cross", "cross"),
    ],
)
def test_values_have_one_form(field: Any, given: object, kept: object) -> None:
    found = TypeAdapter(field).validate_python(given)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        (fields.Whole, -1),
        (fields.Whole, True),
        (fields.Whole, 1.0),
        (fields.Whole, 2**31),
        (fields.Numbers, []),
        (fields.Numbers, list(range(129))),
        (fields.Numbers, [1, "2"]),
        (fields.IndexField, "all"),
        (fields.IndexField, True),
        (fields.Shift, 10_001),
        (fields.Real, float("nan")),
        (fields.Real, 1e999),
        (fields.Real, True),
        (fields.Real, "2"),
        (fields.Weights, {}),
        (fields.Weights, [1]),
        (fields.Weights, [([], 1)]),
        (fields.Weights, "1:2"),
        (fields.Weights, {"x": 1}),
        (fields.Weights, {"1_0": 1}),
        (fields.Weights, {0: 0}),
        (fields.Weights, {0: "1"}),
        (fields.Weights, {0: True}),
        (fields.Weights, {0: 2, 1: -1}),
        (fields.Weights, {i: 1 for i in range(129)}),
        (fields.Text, "a" * 10_001),
        (fields.Text, None),
        (fields.Text, b"a"),
        (fields.Shift, True),
        (fields.Shift, 1.0),
        (fields.Whole, "1"),
        (fields.Texts, []),
        (fields.Texts, [" "]),
        (fields.Ids, "12"),
        (fields.Ids, [0] * 129),
        (fields.SideField, "left"),
        (fields.SideField, ["source"]),
        (fields.KindField, "crosss"),
    ],
)
def test_everything_else_is_refused(field: Any, given: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(field).validate_python(given)


@pytest.mark.parametrize("count", [127, 128])
def test_lists_may_have_128_entries(count: int) -> None:
    assert len(TypeAdapter(fields.Numbers).validate_python(list(range(count)))) == count


@pytest.mark.parametrize(
    ("field", "most", "more"),
    [
        (fields.Whole, 2**31 - 1, 2**31),
        (fields.IndexField, list(range(128)), list(range(129))),
        (fields.Shift, 10_000, 10_001),
        (fields.Shift, -10_000, -10_001),
        (fields.Real, 1000.0, 1000.001),
        (fields.Real, -1000.0, -1000.001),
        (fields.Weights, {0: 1000.0}, {0: 1000.001}),
        (fields.Weights, {0: 0.0, 1: 1.0}, {0: -0.001, 1: 1.0}),
        (fields.Weights, {0: 1e-6}, {0: 9e-7}),
        (fields.Weights, {i: 1.0 for i in range(128)}, {i: 1.0 for i in range(129)}),
        (fields.Weights, {"0000000007": 1.0}, {"00000000007": 1.0}),
        (fields.Text, "a" * 10_000, "a" * 10_001),
        (fields.Text, "", None),
        (fields.Texts, ["a"] * 128, ["a"] * 129),
        (fields.Texts, "a", ""),
        (fields.Ids, [5] * 128, [5] * 129),
        (fields.Ids, [], [-1]),
    ],
)
def test_the_most_that_a_field_takes(field: Any, most: object, more: object) -> None:
    assert TypeAdapter(field).validate_python(most) is not None
    with pytest.raises(ValidationError):
        TypeAdapter(field).validate_python(more)
