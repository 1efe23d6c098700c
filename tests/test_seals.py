"""A sealed document reads back as it was, and a change of its content is noticed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.seals import SEAL, sealed, unsealed

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
documents = st.dictionaries(st.text().filter(lambda key: key != SEAL), values, max_size=5)


@given(documents, st.sampled_from([None, 1, 4]), st.booleans())
def test_what_was_sealed_comes_back_however_it_is_laid_out(
    document: dict[str, Any],
    indent: int | None,
    sort: bool,  # noqa: FBT001
) -> None:
    text = json.dumps(sealed(document), indent=indent, sort_keys=sort)
    assert unsealed(json.loads(text)) == document


@given(documents, st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_is_noticed_or_changes_nothing(document: dict[str, Any], place: int, bit: int) -> None:
    data = bytearray(json.dumps(sealed(document)).encode())
    data[place % len(data)] ^= 1 << bit
    try:
        found = unsealed(json.loads(data))
    except ValueError:
        return
    # What is left of the seal itself may be an unknown key more, which readers ignore.
    assert isinstance(found, dict)
    assert {key: value for key, value in found.items() if key in document} == document


def test_keys_that_are_numbers_are_sealed_as_json_keeps_them() -> None:
    assert unsealed(json.loads(json.dumps(sealed({"by": {9: 1, 10: 2}})))) == {"by": {"9": 1, "10": 2}}


def test_a_change_is_a_value_error_and_no_seal_is_none() -> None:
    with pytest.raises(ValueError, match="its content has changed since it was written"):
        unsealed(sealed({"bleu": 37.2}) | {"bleu": 87.2})
    assert unsealed({"bleu": 37.2}) == {"bleu": 37.2}
    assert unsealed([1]) == [1]
