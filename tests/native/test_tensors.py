import json
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import deserialize
from safetensors.numpy import save

from jumok.errors import ModelError
from jumok.native.tensors import ALIGNED, check_format, dump_tensors, parse_tensors

ARRAYS = st.dictionaries(
    st.text("abc.", min_size=1, max_size=6).filter(lambda name: not name.endswith(".gap")),
    st.one_of(
        hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(-1, 1, width=32)),
        hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=5)),
    ),
    max_size=5,
)


@given(ARRAYS, st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=3))
def test_arrays_come_back(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    found, about = parse_tensors(dump_tensors(arrays, metadata), "here")
    assert about == metadata
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@given(ARRAYS)
def test_other_programs_read_the_file_and_arrays_are_aligned(arrays: dict[str, np.ndarray]) -> None:
    data = dump_tensors(arrays, {"format": "x"})
    theirs = dict(deserialize(data))
    for name, array in arrays.items():
        assert bytes(theirs[name]["data"]) == array.tobytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    for name in arrays:
        assert (8 + size + header[name]["data_offsets"][0]) % ALIGNED == 0


def test_files_of_the_library_are_read() -> None:
    arrays = {"a": np.arange(6, dtype=np.float16).reshape(2, 3), "b": np.array([1, 2], dtype=np.int64)}
    found, _ = parse_tensors(save(arrays), "here")
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_bfloat16_becomes_float32() -> None:
    header = json.dumps({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    data = struct.pack("<Q", len(header)) + header + struct.pack("<HH", 0x3F80, 0xC000)
    found, _ = parse_tensors(data, "here")
    assert found["a"].tolist() == [1.0, -2.0]


def entry(**changes: object) -> bytes:
    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    header = json.dumps({"a": one}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "its header is cut short"),
        (b"12345678", "its header is cut short"),
        (struct.pack("<Q", 3) + b"{}", "its header is cut short"),
        (struct.pack("<Q", 4) + b"abcd", "Expecting value"),
        (struct.pack("<Q", 2) + b"[]", "no readable tensors"),
        (entry(dtype="F4"), "'F4'"),
        (entry(shape=[3]), "a has 8 bytes, and its shape is (3,)"),
        (entry(shape=[-2]), "the place of a is no number"),
        (entry(data_offsets=[0, 16]), "a has 16 bytes"),
        (entry(data_offsets=[4, 12]), "a has 8 bytes"),
        (entry() + b"more", "do not fill the file"),
    ],
)
def test_anything_else_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_tensors(data, "model.safetensors")
    assert message in str(caught.value)
    assert caught.value.where == "model.safetensors"


@given(st.binary(max_size=200))
def test_no_bytes_lead_to_another_error(data: bytes) -> None:
    arrays = {}
    with suppress(ModelError):
        arrays, _ = parse_tensors(data, "here")
    assert sum(array.nbytes for array in arrays.values()) <= len(data)


def test_a_file_to_the_byte() -> None:
    """A header that ends at 128, three bytes, what fills up to 64, and eight more."""
    arrays = {"a": np.array([1, 2, 3], np.uint8), "b": np.array([[1], [-1]], np.int32)}
    data = dump_tensors(arrays, {"k": "é"})
    header = (
        '{"__metadata__": {"k": "é"}, "a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}, '
        '"b.gap": {"dtype": "U8", "shape": [61], "data_offsets": [3, 64]}, '
        '"b": {"dtype": "I32", "shape": [2, 1], "data_offsets": [64, 72]}}'
    ).encode()
    room = -(-(8 + len(header)) // 64) * 64 - 8
    numbers = b"\1\2\3" + bytes(61) + b"\1\0\0\0\xff\xff\xff\xff"
    assert data == room.to_bytes(8, "little") + header.ljust(room) + numbers
    assert not parse_tensors(bytearray(data), "x")[0]["b"].flags.owndata  # a view


def test_numbers_that_begin_at_an_odd_place_are_read_too() -> None:
    header = json.dumps(
        {
            "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            "b": {"dtype": "F64", "shape": [], "data_offsets": [1, 9]},
        }
    ).encode()
    found, about = parse_tensors(struct.pack("<Q", len(header)) + header + struct.pack("<Bd", 7, 0.5), "x")
    assert ({name: array.tolist() for name, array in found.items()}, about) == ({"a": [7], "b": 0.5}, {})


@pytest.mark.parametrize(
    ("said", "told", "hint"),
    [
        ("ours/2", "ours/2", "upgrade jumok"),
        ("other/1", "other/1", "do that"),
        (None, "None", "do that"),
        ("x" * 90, "x" * 80, "do that"),
    ],
)
def test_another_format_is_named(said: str | None, told: str, hint: str) -> None:
    check_format({"format": "ours/1"}, "ours/1", "the file", "here", "do that")
    metadata = {} if said is None else {"format": said}
    with pytest.raises(ModelError) as caught:
        check_format(metadata, "ours/1", "the file", "here", "do that")
    message = f"the file has the format {told!r}; this jumok reads ours/1\n  here\n  {hint}"
    assert (str(caught.value), caught.value.code) == (message, "newer_format")
