"""The index beside a model: whole, of this model, or refused; `jumok verify` says so."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.manifest import NEIGHBOURS, content_fingerprint, verify, verify_folder
from jumok.checkpoint.neighbours import has_neighbours, neighbours_faults, read_neighbours, write_neighbours
from jumok.errors import ConfigError, ModelError

TENSORS = {"codes": np.arange(-3, 3, dtype=np.int8).reshape(2, 3), "pairs": np.array([0, 1], np.int32)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundled()["rnn"], tmp_path / "rnn"))


def test_what_is_written_is_read(folder: Path) -> None:
    before = content_fingerprint(folder)
    assert write_neighbours(folder, TENSORS, {"pairs": [["가", "a"]]}) == folder / NEIGHBOURS
    data, about = read_neighbours(folder)
    assert about == {"pairs": [["가", "a"]]}
    assert data == (folder / NEIGHBOURS).read_bytes()
    assert content_fingerprint(folder) == before  # it is no part of the model
    assert verify(folder) == {folder: []}


def test_none_is_no_fault_but_cannot_be_read(folder: Path) -> None:
    assert not has_neighbours(folder)
    assert neighbours_faults(folder) == []
    with pytest.raises(ConfigError, match="the model has no index of training states") as own:
        read_neighbours(folder)
    assert f"jumok neighbours -m {folder} --data" in str(own.value)


def test_nothing_is_to_be_written_into_a_model_of_the_package() -> None:
    with pytest.raises(ConfigError, match="come with jumok demo/transformer has one") as refused:
        read_neighbours(bundled()["luong"])
    assert f"copy {bundled()['luong']} first" in str(refused.value)
    assert "neighbours -m COPY --data" in str(refused.value)


def test_of_another_model(folder: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(bundled()["luong"], tmp_path / "luong"))
    write_neighbours(other, TENSORS, {})
    shutil.copy(other / NEIGHBOURS, folder)
    with pytest.raises(ModelError, match=r"made for the weights \w{12}…, and these are \w{12}…") as caught:
        read_neighbours(folder)
    assert caught.value.code == "bad_neighbours"
    assert "jumok neighbours" in caught.value.hint


def test_every_change_is_seen(folder: Path) -> None:
    write_neighbours(folder, TENSORS, {"pairs": [["a", "b"]]})
    whole, draw = (folder / NEIGHBOURS).read_bytes(), random.Random(1)
    for _ in range(200):
        data, place = bytearray(whole), draw.randrange(len(whole))
        data[place] ^= 1 << draw.randrange(8)
        (folder / NEIGHBOURS).write_bytes(data)
        [faults] = verify(folder).values()
        if faults:
            with pytest.raises(ModelError, match="neighbours.safetensors cannot be used") as caught:
                read_neighbours(folder)
            assert faults == [caught.value.message]
        else:  # spaces behind the header do not count
            assert read_neighbours(folder)[1] == {"pairs": [["a", "b"]]}
            assert chr(whole[place]).isspace()
    assert verify_folder(folder) == []  # the model itself is whole


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"\x02\0\0\0\0\0\0\0{}", b"\x02\0\0\0\0\0\0\0[]"])
def test_no_header(folder: Path, data: bytes) -> None:
    (folder / NEIGHBOURS).write_bytes(data)
    with pytest.raises(ModelError, match="it has no readable header"):
        read_neighbours(folder)


def test_of_a_later_format(folder: Path) -> None:
    write_neighbours(folder, TENSORS, {})
    data = (folder / NEIGHBOURS).read_bytes().replace(b"jumok-neighbours/1", b"jumok-neighbours/9")
    (folder / NEIGHBOURS).write_bytes(data)
    with pytest.raises(ModelError, match="its format is 'jumok-neighbours/9', and this jumok reads"):
        read_neighbours(folder)
