"""JSON in pieces is what the standard library reads at once; broken files are named with their line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.formats import json_items as module
from jumok.formats.json_items import read_json

VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def read(text: str, block: int = 10_000) -> list[tuple[int, Any]]:
    data = text.encode()
    blocks = [data[place : place + block] for place in range(0, len(data), block)]
    return [(unit.number, unit.fault or unit.texts) for unit in read_json(blocks, "f")]


@given(
    items=st.lists(st.dictionaries(st.text(max_size=3), VALUE, max_size=3), max_size=5),
    block=st.integers(3, 40),
    indent=st.sampled_from([None, 1]),
)
def test_an_array_in_pieces_is_the_array(items: list[dict[str, Any]], block: int, indent: int | None) -> None:
    text = json.dumps(items, ensure_ascii=False, indent=indent)
    assert read(text, block) == list(enumerate(json.loads(text), start=1))


def test_a_byte_order_mark_is_none_inside_a_file() -> None:
    """Also where a block begins with it."""
    text = '\ufeff[{"a": "x\ufeffy"}]'
    for block in range(3, 25):
        assert read(text, block) == [(1, {"a": "x\ufeffy"})]


def test_two_catalogues_are_pairs_by_key() -> None:
    text = json.dumps(
        {
            "en": {"menu": {"open": "Open", "close": "Close"}, "days": ["Mo", "Tu"], "n": 3},
            "de": {"menu": {"close": "Schließen", "open": "Öffnen"}, "days": ["Mo"], "more": "x"},
        }
    )
    assert read(text) == [
        (1, {"en": "Open", "de": "Öffnen"}),
        (2, {"en": "Close", "de": "Schließen"}),
        (3, {"en": "Mo", "de": "Mo"}),
        (4, {"en": "Tu", "de": ""}),
    ]


def test_an_array_inside_an_object() -> None:
    assert read('{"version": 1, "data": [{"a": "b"}, {"a": "c"}]}') == [(1, {"a": "b"}), (2, {"a": "c"})]


def test_what_is_no_object_is_named_and_the_others_are_read() -> None:
    found = read('[{"a": "b"}, "text", [1], null, true, 3, {"a": "c"}]')
    assert [number for number, value in found if isinstance(value, dict)] == [1, 7]
    faults = {number: value for number, value in found if isinstance(value, DataError)}
    words = ["a text", "an array", "null", "true or false", "a number"]
    assert [fault.message for fault in faults.values()] == [f"not an object but {word}" for word in words]
    assert faults[2].where == "f, object 2"


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ('[{"a": "b"},\n{"a": "b"', "not JSON: expecting ',' delimiter", "f:2"),
        ('[{"a": "b"}\n{"a": "b"}]', "no comma between two objects", "f:2"),
        ('[{"a": "b"}', "the array does not end", "f:1"),
        ('[{"a": "b"}] []', "something follows the array", "f:1"),
        ('{"a": "b"}\n{"a": "b"}', "something follows the object", "f:2"),
        ('{"a": "b"}', "an object that holds neither an array of objects nor two catalogues", "f:1"),
        ('"text"', "neither an array nor an object", "f:1"),
        ("[" + '{"a":' * 100_000, "nested too deeply", "f:1"),
    ],
)
def test_files_that_cannot_be_read(text: str, message: str, where: str) -> None:
    with pytest.raises(DataError) as caught:
        read(text)
    assert message in caught.value.message
    assert caught.value.where == where
    assert caught.value.hint


def test_bytes_that_are_no_utf8_and_values_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="byte 0xFF is not UTF-8"):
        list(read_json([b'[{"a": "\xff"}]'], "f"))
    with pytest.raises(DataError, match="the file is UTF-16, not UTF-8"):
        list(read_json(['[{"a": "b"}]'.encode("utf-16")], "f"))
    monkeypatch.setattr(module, "MOST_OBJECT", 1_000)
    with pytest.raises(DataError, match="a value of more than 1,000 characters"):
        read('[{"a": "' + "b" * 5_000, block=100)


def test_an_empty_file_has_no_objects() -> None:
    assert read(" \n") == read("[]") == []


def test_the_place_of_a_fault_is_the_same_however_the_file_comes() -> None:
    for text, line in (
        ('\n\n[{"a": "b"},\n\n{"a" "b"}\n]', 5),
        ('\n[{"a": "b"}\n\n{"a": "b"}]', 4),
        ('\n[\n{"a": "b"}\n]\n\n[]', 6),
        ('\n{"en": {},\n\n "de" {}}', 4),
    ):
        for block in range(1, len(text) + 1):
            with pytest.raises(DataError) as caught:
                read(text, block)
            assert caught.value.where == f"f:{line}"


def test_only_a_value_is_long_not_what_stands_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OBJECT", 1_000)
    items = [{"a": "b" * 900}] * 20
    for block in (300, 950, 2_500, 10_000):
        assert [texts for _, texts in read(json.dumps(items), block)] == items
