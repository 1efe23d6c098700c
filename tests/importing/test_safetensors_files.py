import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from jumok.errors import ModelError
from jumok.importing.brought import BroughtFolder
from jumok.importing.safetensors_files import INDEX, ONE, read_safetensors, tensors_of


def test_numbers_of_every_kind_are_those_of_the_library(tmp_path: Path) -> None:
    kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8)
    given = {str(kind): torch.arange(-6, 6).reshape(3, 4).to(kind) / 1 for kind in kinds[:4]}
    given["i8"] = torch.arange(-6, 6, dtype=torch.int8).reshape(3, 4)
    save_file(given, tmp_path / ONE)
    found = read_safetensors(BroughtFolder(tmp_path))
    assert found.keys() == given.keys()
    for name, tensor in given.items():
        assert np.array_equal(found[name].read(), tensor.float().numpy())
        assert found[name].read().dtype == np.float32


def test_shards_are_read_by_their_index_and_none_may_be_missing(tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "one.safetensors")
    save_file({"b": torch.zeros(3)}, tmp_path / "two.safetensors")
    places = {"a": "one.safetensors", "b": "two.safetensors"}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": places}))
    folder = BroughtFolder(tmp_path)
    assert {name: one.shape for name, one in read_safetensors(folder).items()} == {"a": (2,), "b": (3,)}
    assert folder.used.keys() == {INDEX, "one.safetensors", "two.safetensors"}
    (tmp_path / "two.safetensors").unlink()
    with pytest.raises(ModelError, match="1 of 2 shards are missing: two.safetensors"):
        read_safetensors(folder)
    (tmp_path / INDEX).write_text(
        json.dumps({"weight_map": {"a": "one.safetensors", "c": "one.safetensors"}})
    )
    with pytest.raises(ModelError, match="no shard has the tensor c"):
        read_safetensors(folder)
    (tmp_path / INDEX).write_text("{}")
    with pytest.raises(ModelError, match="has no weight_map"):
        read_safetensors(folder)


def test_fp8_is_refused_by_its_name(tmp_path: Path) -> None:
    save_file({"w": torch.ones(4).to(torch.float8_e4m3fn)}, tmp_path / ONE)
    with pytest.raises(ModelError, match=r"the tensor w has numbers of 8-bit floating point \(F8_E4M3\)"):
        tensors_of(tmp_path / ONE)


@given(st.integers(0, 200))
def test_a_file_that_was_cut_short_is_refused(tmp_path_factory: pytest.TempPathFactory, kept: int) -> None:
    path = tmp_path_factory.mktemp("cut") / ONE
    save_file({"w": torch.ones(40)}, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: min(kept, len(whole) - 1)])
    with pytest.raises(ModelError, match="holds no readable tensors"):
        tensors_of(path)
