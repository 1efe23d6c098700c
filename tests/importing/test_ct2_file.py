import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.importing.conftest import Make
from tests.importing.ct2 import converted

from jumok.errors import ModelError
from jumok.importing.ct2_file import dequantised, read_variables


@pytest.fixture(scope="module")
def file(brought: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted(brought("marian"), tmp_path_factory.mktemp("ct2") / "out", "int8") / "model.bin"


def test_codes_and_scales_give_numbers_near_the_original(file: Path, brought: Make) -> None:
    from safetensors.numpy import load_file

    name, found = read_variables(file)
    assert name == "TransformerSpec"
    wanted = load_file(brought("marian") / "model.safetensors")["model.encoder.layers.0.fc1.weight"]
    weight = "encoder/layer_0/ffn/linear_0/weight"
    numbers = dequantised(found[weight], found[f"{weight}_scale"]).make()
    assert np.abs(numbers - wanted).max() <= np.abs(wanted).max(axis=1).max() / 127
    assert found["encoder/embeddings_0/weight"] == found["decoder/embeddings/weight"]  # an alias
    assert found["encoder/embeddings_0/weight_scale"] == found["decoder/embeddings/weight_scale"]


@given(st.data())
def test_a_file_that_was_cut_short_is_refused(
    file: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = file.read_bytes()
    kept = data.draw(st.integers(0, len(whole) - 1))
    path = tmp_path_factory.mktemp("cut") / "model.bin"
    path.write_bytes(whole[:kept])
    with pytest.raises(ModelError, match="model.bin holds no readable tensors"):
        read_variables(path)


def test_other_versions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes((99).to_bytes(4, "little") + bytes(100))
    with pytest.raises(ModelError, match="it has binary version 99, and 4 to 6 are read"):
        read_variables(tmp_path / "model.bin")


def test_numbers_of_another_type_are_refused(tmp_path: Path) -> None:
    name = struct.pack("<H2s", 2, b"w\0")
    head = (
        struct.pack("<I", 6) + name + struct.pack("<II", 1, 1)
    )  # version, specification, revision, one variable
    for kind, said in (
        (6, "the variable w has numbers of type 6, which are not read"),
        (5, "it ends too early"),
    ):
        (tmp_path / "model.bin").write_bytes(head + name + struct.pack("<BIBI", 1, 2, kind, 4) + bytes(4))
        with pytest.raises(ModelError, match=said):
            read_variables(tmp_path / "model.bin")
