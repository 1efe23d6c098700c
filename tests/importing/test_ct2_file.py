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


def texts(*names: str) -> bytes:
    return b"".join(struct.pack("<H", len(name) + 1) + name.encode() + b"\0" for name in names)


def test_a_file_word_by_word(tmp_path: Path) -> None:
    """Two variables, a matrix of codes and its scale of each row, and another name of both."""
    path, codes = tmp_path / "model.bin", np.array([[4, -8, 2], [6, 3, 0]], np.int8)
    for version in (4, 5, 6):
        path.write_bytes(
            struct.pack("<I", version) + texts("TransformerSpec") + struct.pack("<II", 7, 2)
            + texts("w") + struct.pack("<BIIBI", 2, 2, 3, 1, 6) + codes.tobytes()
            + texts("w_scale") + struct.pack("<BIBI", 1, 2, 0, 8) + np.array([2, 3], "<f4").tobytes()
            + struct.pack("<I", 1) + texts("alias", "w")
        )  # fmt: skip
        name, found = read_variables(path)
        assert name == "TransformerSpec"
        assert found.keys() == {"w", "w_scale", "alias", "alias_scale"}
        assert found["alias"] == found["w"]
        made = dequantised(found["w"], found["alias_scale"])
        assert made.shape == (2, 3)
        assert made.make().tolist() == [[2, -4, 1], [2, 1, 0]]
        assert dequantised(found["w"], None).make().tolist() == codes.tolist()


def test_what_a_file_cannot_have_is_refused(tmp_path: Path) -> None:
    path, head = tmp_path / "model.bin", struct.pack("<I", 6) + texts("Spec") + struct.pack("<I", 1)
    whole = texts("w") + struct.pack("<BIBI", 1, 2, 0, 8) + bytes(8)
    for body, said in (
        (struct.pack("<I", 100_001), "it speaks of 100,001 variables"),
        (struct.pack("<I", 1) + whole + struct.pack("<I", 100_001), "it speaks of 100,001 variables"),
        (struct.pack("<I", 100_000), "it ends too early or is no CTranslate2 model"),
        (struct.pack("<I", 1) + whole[:-1], "w has 7 of 8 bytes"),
        (struct.pack("<I", 1) + whole[:-12] + struct.pack("<I", 4) + bytes(8), "w has 4 of 8 bytes"),
        (
            struct.pack("<I", 1) + whole + struct.pack("<I", 1) + texts("a", "gone"),
            "CTranslate2 model .'gone'",
        ),
        (struct.pack("<IH", 1, 2) + b"ww", "model .a name has no end"),
    ):
        path.write_bytes(head + body)
        with pytest.raises(ModelError, match=said):
            read_variables(path)
    for version in (3, 7):
        path.write_bytes(struct.pack("<I", version) + bytes(50))
        with pytest.raises(ModelError, match=f"it has binary version {version}, and 4 to 6 are read"):
            read_variables(path)
