"""Tensors survive bit for bit; hostile files do not get in."""

import json
import struct
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.checkpoint.tensors import pack, unpack
from jumok.errors import ModelError, RunError

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]
WHERE = Path("model.safetensors")


def random_tensor(shape: list[int], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 2, shape, generator=generator).to(dtype)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), max_size=4),
            st.sampled_from(DTYPES),
            st.integers(0, 2**30),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_round_trip_is_bit_for_bit(plan: list[tuple[list[int], torch.dtype, int, bool]]) -> None:
    tensors = {}
    for i, (shape, dtype, seed, turned) in enumerate(plan):
        tensor = random_tensor(shape, dtype, seed)
        tensors[f"layer.{i}"] = tensor.mT if turned and tensor.dim() >= 2 else tensor
    back = unpack(pack(tensors, "x"), WHERE)
    assert back.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert back[name].dtype == tensor.dtype
        assert back[name].shape == tensor.shape
        assert torch.equal(
            back[name].contiguous().view(-1).view(torch.uint8) if tensor.numel() else back[name],
            tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor,
        )


def test_the_same_tensors_give_the_same_bytes() -> None:
    tensors = {"b": torch.ones(3), "a": torch.zeros(2, 2)}
    assert pack(tensors, "x") == pack(dict(reversed(tensors.items())), "x")


def test_tied_weights_and_views_are_each_written() -> None:
    weight = torch.nn.Parameter(torch.randn(4, 3))
    tensors = {"a": weight, "b": weight, "part": weight[1:3], "turned": weight.T}
    back = unpack(pack(tensors, "x"), WHERE)
    assert all(torch.equal(back[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_no_file_holds_a_number_that_is_not_finite(bad: float, dtype: torch.dtype) -> None:
    with pytest.raises(RunError) as caught:
        pack({"good": torch.ones(2), "decoder.weight": torch.tensor([1.0, bad, bad]).to(dtype)}, "model")
    assert str(caught.value) == (
        "2 of 3 numbers are not finite\n  model: decoder.weight\n"
        "  nothing was saved; the checkpoint before this one is still good"
    )
    assert caught.value.code == "non_finite"


def with_header(header: object, data: bytes = b"", claimed: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if claimed is None else claimed) + text + data


def entry(dtype: object = "F32", shape: object = (1,), offsets: object = (0, 4)) -> dict[str, object]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


HOSTILE = {
    "nothing": b"",
    "half a length": b"\0" * 7,
    "empty header": b"\0" * 8,
    "huge header": struct.pack("<Q", 2**63) + b"{}",
    "header of 200 MB": struct.pack("<Q", 200 * 2**20) + b"{}",
    "header past the end": with_header({}, claimed=100),
    "no JSON": with_header(b"garbage!"),
    "no UTF-8": with_header(b"\xff\xfe{}"),
    "a list": with_header([1, 2]),
    "deep": with_header(b'{"a":' * 50_000),
    "offsets past the end": with_header(entry(offsets=(0, 400)), b"1234"),
    "offsets backwards": with_header(entry(offsets=(4, 0)), b"1234"),
    "negative offsets": with_header(entry(offsets=(-4, 0)), b"1234"),
    "huge offsets": with_header(entry(offsets=(0, 2**64 - 1)), b"1234"),
    "shape larger than data": with_header(entry(shape=(1000,)), b"1234"),
    "shape that overflows": with_header(entry(shape=(2**63, 2**63, 4)), b"1234"),
    "negative shape": with_header(entry(shape=(-1,)), b"1234"),
    "unknown dtype": with_header(entry(dtype="PICKLE"), b"1234"),
    "odd dtype": with_header(entry(dtype="C64", shape=(1,)), b"1234"),
    "tiny dtype": with_header(entry(dtype="F4", shape=(8,)), b"1234"),
    "dtype no string": with_header(entry(dtype=7), b"1234"),
    "missing keys": with_header({"w": {}}, b"1234"),
    "overlap": with_header(
        {
            "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        },
        b"1234",
    ),
    "hole": with_header(entry(offsets=(4, 8)), b"12345678"),
    "bytes left over": with_header(entry(), b"12345678"),
    "pickle": b"\x80\x04\x95" + b"cposix\nsystem\n" * 10,
    "zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_files_are_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match="model.safetensors holds no readable tensors: ") as caught:
        unpack(data, WHERE)
    assert caught.value.code == "damaged"
    assert "copy the folder again" in caught.value.hint


@settings(deadline=None)
@given(st.data())
def test_damaged_bytes_are_tensors_or_an_error(data: st.DataObject) -> None:
    good = bytearray(pack({"a": torch.ones(2, 3), "b": torch.arange(5)}, "x"))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(good[: data.draw(st.integers(0, len(good)))])
    try:
        result: object = unpack(cut, WHERE)
    except ModelError as error:
        result = error.code
    assert isinstance(result, dict) or result == "damaged"
