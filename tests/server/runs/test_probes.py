"""Probes of a run, read back; a damaged file is no probe and no error."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from jumok.server.runs.probes import probe_files, read_probe

MAPS = np.arange(2 * 3 * 2 * 4, dtype=np.uint8).reshape(2, 3, 2, 4)
SENTENCE: dict[str, Any] = {"source": ["a", "b", "c", "</s>"], "target": ["x", "</s>"], "text": "x"}


def write(run: Path, step: int, maps: Any = MAPS, sentences: Any = (SENTENCE,)) -> Path:
    file = run / "probes" / f"step-{step:07d}.safetensors"
    file.parent.mkdir(exist_ok=True)
    about = {"step": step, "sentences": sentences}
    file.write_bytes(save({"0": maps}, {"format": "probes/1", "probe": json.dumps(about)}))
    return file


def test_a_probe_comes_back_with_its_bytes(tmp_path: Path) -> None:
    write(tmp_path, 2000)
    found = read_probe(tmp_path, 2000)
    assert found is not None
    (sentence,) = found["sentences"]
    assert (found["step"], sentence["shape"]) == (2000, [2, 3, 2, 4])
    assert {name: sentence[name] for name in SENTENCE} == SENTENCE
    assert np.array_equal(np.frombuffer(b64decode(sentence["atlas"]), np.uint8).reshape(MAPS.shape), MAPS)


def test_steps_rise_and_other_files_do_not_count(tmp_path: Path) -> None:
    assert list(probe_files(tmp_path)) == []
    for step in (12_345_678, 20, 3):
        write(tmp_path, step)
    for name in ("step-0000004.safetensors.tmp-1a2b", "step-4.safetensors", "notes.txt"):
        (tmp_path / "probes" / name).touch()
    assert list(probe_files(tmp_path)) == [3, 20, 12_345_678]
    assert read_probe(tmp_path, 4) is None


@pytest.mark.parametrize("keep", [0, 4, 8, 40, 150, -1])
def test_a_file_cut_short_is_no_probe(tmp_path: Path, keep: int) -> None:
    file = write(tmp_path, 5)
    file.write_bytes(file.read_bytes()[:keep])
    assert read_probe(tmp_path, 5) is None


@pytest.mark.parametrize(
    ("maps", "sentences"),
    [
        (MAPS.astype(np.float32), [SENTENCE]),
        (MAPS[0], [SENTENCE]),
        (MAPS[:, :, :, :3], [SENTENCE]),
        (MAPS, [SENTENCE, SENTENCE]),
        (MAPS, [{**SENTENCE, "source": 3}]),
        (MAPS, [{"text": "x"}]),
        (MAPS, 7),
        (MAPS, [["x"]]),
    ],
    ids=str,
)
def test_tensors_and_labels_that_do_not_agree_are_no_probe(tmp_path: Path, maps: Any, sentences: Any) -> None:
    write(tmp_path, 5, maps, sentences)
    assert read_probe(tmp_path, 5) is None


@pytest.mark.parametrize(
    "data", [b"\xff" * 100, b"\x02" + b"\x00" * 7 + b"[]", b"\x02" + b"\x00" * 7 + b"{}"]
)
def test_garbage_is_no_probe(tmp_path: Path, data: bytes) -> None:
    file = write(tmp_path, 5)
    file.write_bytes(data)
    assert probe_files(tmp_path) == {5: file}
    assert read_probe(tmp_path, 5) is None
