import re
import zipfile
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from jumok.errors import ModelError
from jumok.importing.npz_file import read_npz

YML = np.frombuffer(b"type: transformer\0", dtype=np.int8)


def test_arrays_are_those_that_numpy_loads(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(4, dtype=np.float64)}
    np.savez(tmp_path / "m.npz", **arrays, **{"special:model.yml": YML})
    found, settings = read_npz(tmp_path / "m.npz")
    assert settings == b"type: transformer"
    assert all(np.array_equal(found[name].read(), array) for name, array in arrays.items())


@pytest.mark.parametrize(("shape", "read"), [((4,), True), ((1, 4), True), ((4, 1), True), ((2, 2), False)])
def test_columns_come_first_only_where_that_is_the_same(
    shape: tuple[int, ...], tmp_path: Path, *, read: bool
) -> None:
    lying = BytesIO()
    npy.write_array_header_1_0(lying, {"descr": "<f4", "fortran_order": True, "shape": shape})
    lying.write(np.arange(4, dtype=np.float32).tobytes())
    np.savez(tmp_path / "m.npz", **{"special:model.yml": YML})
    with zipfile.ZipFile(tmp_path / "m.npz", "a") as file:
        file.writestr("a.npy", lying.getvalue())
    with nullcontext() if read else pytest.raises(ModelError, match="m.npz holds no readable tensors"):
        found, _ = read_npz(tmp_path / "m.npz")
        assert np.array_equal(found["a"].read(), np.arange(4).reshape(shape))


def test_objects_are_pickles_and_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ModelError, match="a.npy is a pickle, which could run code"):
        read_npz(tmp_path / "m.npz")


def test_what_is_compressed_cut_short_or_not_marians_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    np.savez_compressed(path, a=np.ones(3))
    with pytest.raises(ModelError, match="a.npy is compressed in the file"):
        read_npz(path)
    np.savez(path, a=np.ones(3, dtype=np.float32))
    with pytest.raises(ModelError, match="m.npz has no special:model.yml, so it is no Marian model"):
        read_npz(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ModelError, match="m.npz holds no readable tensors"):
        read_npz(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", b"no array")
    with pytest.raises(ModelError, match="m.npz holds no readable tensors"):
        read_npz(path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"(", "a header cannot be read (TokenError)"),
        (b"  x\n y\n", "a header cannot be read (IndentationError)"),
        (b"{[]: 1}", "a header cannot be read (TypeError)"),
        (b"-" * 9000 + b"1", "a header cannot be read (MemoryError)"),
        (b"1+" * 4000 + b"1", "a header cannot be read (RecursionError)"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "a.npy has the shape (-1,)"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "a.npy was cut short"),
        (b"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "a.npy has numbers of type complex64"),
    ],
)
def test_headers_that_numpy_did_not_write_are_refused(header: bytes, said: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as file:
        body = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
        file.writestr("a.npy", body + np.float32(7).tobytes())
    with pytest.raises(ModelError, match=re.escape(said)):
        read_npz(tmp_path / "m.npz")


def test_numbers_lie_behind_names_and_headers_of_any_length(tmp_path: Path) -> None:
    """With the second version of headers, and with what programs write between the name and the array."""
    name = zipfile.ZipInfo("encoder_l1_self_Wq.npy")
    name.extra = b"\xff\xff\4\0more"
    lying = BytesIO()
    npy.write_array(lying, np.arange(4, dtype="<f2").reshape(4, 1), version=(2, 0))
    np.savez(tmp_path / "m.npz", **{"special:model.yml": YML})
    with zipfile.ZipFile(tmp_path / "m.npz", "a") as file:
        file.writestr(name, lying.getvalue())
        file.writestr("notes.txt", "no array")
    found, settings = read_npz(tmp_path / "m.npz")
    assert found.keys() == {"encoder_l1_self_Wq"}
    assert found["encoder_l1_self_Wq"].read().tolist() == [[0], [1], [2], [3]]
    assert settings == b"type: transformer"


@pytest.mark.parametrize("more", [0, 1])
def test_settings_beyond_a_mebibyte_are_no_settings(more: int, tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **{"special:model.yml": np.full((1 << 20) + more, 97, np.int8)})
    with nullcontext() if not more else pytest.raises(ModelError, match="m.npz has no special:model.yml"):
        assert len(read_npz(tmp_path / "m.npz")[1]) == 1 << 20
