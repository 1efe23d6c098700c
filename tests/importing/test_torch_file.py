import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.importing.conftest import Make

from jumok.errors import ModelError
from jumok.importing.model import import_model
from jumok.importing.torch_file import read_torch


def test_tensors_are_those_that_torch_loads(tmp_path: Path) -> None:
    shared = torch.randn(6, 4)
    given = {
        "a": torch.randn(3, 5),
        "b": shared[2:5],
        "c": torch.nn.Parameter(torch.randn(2).half()),
        "d": torch.tensor(3.0, dtype=torch.bfloat16),
    }
    torch.save(given, tmp_path / "m.bin")
    found = read_torch(tmp_path / "m.bin")
    for name, tensor in torch.load(tmp_path / "m.bin", weights_only=True).items():
        assert np.array_equal(found[name].read(), tensor.detach().float().numpy())


def test_a_folder_with_torchs_file_gives_the_same_model(copied: Make, brought: Make, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    folder = copied("bart")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    import_model(folder, tmp_path / "one")
    import_model(brought("bart"), tmp_path / "other")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "other")]
    assert weights[0] == weights[1]


class Attack:
    def __reduce__(self) -> Any:
        return print, ("it ran",)


def test_a_pickle_that_would_run_code_is_refused_and_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "m.bin", "w") as file:
        file.writestr("m/data.pkl", pickle.dumps({"w": Attack()}, protocol=2))
    with pytest.raises(ModelError, match="is a pickle with the name '__builtin__.print'.*could run code"):
        read_torch(tmp_path / "m.bin")
    assert capsys.readouterr().out == ""


def test_other_forms_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(pickle.dumps({}))
    with pytest.raises(ModelError, match="is no zip: torch's format of before 2020 is a bare pickle"):
        read_torch(path)
    torch.save({"w": torch.randn(4, 4).t()}, path)
    with pytest.raises(ModelError, match="the numbers of w do not lie in order"):
        read_torch(path)
    torch.save([1, 2], path)
    with pytest.raises(ModelError, match="it is no table of tensors"):
        read_torch(path)
    torch.save({"w": torch.ones(3)}, path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ModelError, match="m.bin is no zip"):
        read_torch(path)


PLACE = b"(\x8c\x07storagectorch\nFloatStorage\n\x8c\x010\x8c\x03cpuK\x06tQ"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n(" + PLACE + b"K\x01K\x02K\x02\x86K\x02K\x01\x86\x89}tR"
"""The words of a tensor (2, 2) that begins at the second of six numbers."""
W, V = b"\x8c\x01w", b"\x8c\x01v"


def written(path: Path, words: bytes, compression: int = 0, **more: bytes) -> Path:
    """A file as torch makes it, with a pickle of these words and six numbers."""
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("m/data.pkl", b"\x80\x02" + words)
        file.writestr("m/data/0", np.arange(6, dtype="<f4").tobytes())
        for name, content in more.items():
            file.writestr(f"m/{name}", content)
    return path


@pytest.mark.parametrize(
    "words",
    [
        b"}X\x01\0\0\0w" + TENSOR + b"s.",
        b"}(" + V + b"N" + W + TENSOR + b"u.",
        b"}(K\x07\x89J\1\0\0\0\x88M\1\1]\x8d\x01" + bytes(7) + b"w" + TENSOR + b"u.",
        b"\x8c\x0bcollections\x8c\x0bOrderedDict\x93)R\x94" + W + TENSOR + b"sNh\0.",
        b"ccollections\nOrderedDict\n)Rr\0\1\0\0" + W + TENSOR + b"sNj\0\1\0\0.",
        b"}(" + V + b"](K\1G" + bytes(8) + b"e" + W + TENSOR + b"u.",
        b"}(" + V + b"\x8a\1\5)\x85\x86" + W + TENSOR + b"u.",
        b"}\x8c\nstate_dict}" + W + TENSOR + b"ss.",
        b"}}" + V + b"K\1sb" + W + b"ctorch._utils\n_rebuild_parameter\n(" + TENSOR + b"\x88}tRs.",
    ],
)
def test_every_word_that_weights_are_written_with_is_followed(words: bytes, tmp_path: Path) -> None:
    found = read_torch(written(tmp_path / "m.bin", words, byteorder=b"little"))
    assert found.keys() == {"w"}
    assert np.array_equal(found["w"].read(), [[1, 2], [3, 4]])


def test_texts_numbers_and_tuples_are_no_tensors(tmp_path: Path) -> None:
    words = pickle.dumps({"a": (1, 2, 3, 4), "b": [1.5, -2], "c": {"d": None}, 5: True}, protocol=4)
    assert read_torch(written(tmp_path / "m.bin", words)) == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (b"}", "its pickle cannot be read .pickle exhausted before seeing STOP"),
        (b"N.", "it is no table of tensors"),
        (b"}h\1.", r"its pickle cannot be read \(1\)"),
        (b"})" + b"\x85" * 1000 + b"Ns.", r"its pickle cannot be read \(a key that is no name\)"),
        (b"}()" + b"\x85" * 1000 + b"Nu.", r"its pickle cannot be read \(a key that is no name\)"),
        (b"}" + W + TENSOR.replace(b"storage", b"strange") + b"s.", "a storage of another kind"),
        (
            b"}" + W + TENSOR.replace(b"K\x01K\x02K\x02\x86", b"J\xff\xff\xff\xffK\x02K\x02\x86") + b"s.",
            "without a place",
        ),
        (b"}" + W + TENSOR.replace(b"K\x01K\x02", b"K\x03K\x02") + b"s.", "w is cut short"),
        (b"}" + W + TENSOR.replace(b"\x010", b"\x011") + b"s.", "the numbers of w are not in it"),
        (
            b"}" + W + TENSOR.replace(b"FloatStorage", b"ComplexFloatStorage") + b"s.",
            "the tensor w has numbers of type ComplexFloat, which are not read",
        ),
        (b"cos\nsystem\n.", "is a pickle with the name 'os.system', which weights do not need"),
        (b"cos\nFloatStorage\n.", "is a pickle with the name 'os.FloatStorage'"),
        (b"ctorch\nload\n.", "is a pickle with the name 'torch.load'"),
        (b"\x8c\2os\x8c\6system\x93.", "is a pickle with the name 'os.system'"),
        (b"}(i", "its pickle cannot be read"),
        (b"](K\1K\2\x90.", "is a pickle with the word ADDITEMS"),
    ],
)
def test_what_no_weights_are_is_refused(words: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=said):
        read_torch(written(tmp_path / "m.bin", words))


def test_zips_that_torch_does_not_write_are_refused(tmp_path: Path) -> None:
    path, whole = tmp_path / "m.bin", b"}" + W + TENSOR + b"s."
    with pytest.raises(ModelError, match="its numbers are of a machine with the other byte order"):
        read_torch(written(path, whole, byteorder=b"big"))
    with pytest.raises(ModelError, match="its data.pkl is compressed, and torch stores it as it is"):
        read_torch(written(path, whole, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("m/data/0", bytes(24))
    with pytest.raises(ModelError, match="it has no data.pkl"):
        read_torch(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("m/data.pkl", b"\x80\x02" + whole)
        file.writestr("m/data/0", bytes(24), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelError, match="the numbers of w are not in it"):
        read_torch(path)
    data = bytearray(written(path, whole).read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    data[6] |= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match="holds no readable tensors: File 'm/data.pkl' is encrypted"):
        read_torch(path)
