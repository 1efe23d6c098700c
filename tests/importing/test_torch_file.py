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
