import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file

from jumok.checkpoint.contents import WEIGHTS
from jumok.checkpoint.manifest import MANIFEST, verify_folder
from jumok.errors import ModelError, RunError
from jumok.importing.stored import Made, ready, zeros
from jumok.importing.write import checked, write_model, write_weights
from jumok.progress import silent


def test_the_file_is_what_the_library_reads(tmp_path: Path) -> None:
    given = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.float32([7])}
    size, digest = write_weights(
        tmp_path / "w", {name: ready(array) for name, array in given.items()}, silent
    )
    found = load_file(tmp_path / "w")
    assert all(np.array_equal(found[name], array) for name, array in given.items())
    data = (tmp_path / "w").read_bytes()
    assert (size, digest) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_folder_is_whole_by_its_manifest(tmp_path: Path) -> None:
    write_model(tmp_path, {"README.md": b"text"}, {"a": zeros(3)}, silent)
    assert verify_folder(tmp_path) == []


def test_everything_is_on_the_disk_and_the_names_come_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_model(tmp_path, {"README.md": b"text"}, {"a": zeros(3)}, silent)
    assert synced == ["README.md", WEIGHTS, MANIFEST, tmp_path.name]


def test_only_one_tensor_is_made_at_a_time(tmp_path: Path) -> None:
    made: list[str] = []
    size: list[int] = []

    def make(name: str) -> Made:
        def numbers() -> np.ndarray:  # type: ignore[type-arg]
            made.append(name)
            size.append((tmp_path / "w").stat().st_size)
            return np.zeros(100_000, dtype=np.float32)

        return Made((100_000,), numbers)

    write_weights(tmp_path / "w", {name: make(name) for name in "abc"}, silent)
    assert made == ["a", "b", "c"]
    assert size[2] >= 400_000  # the first is in the file before the last is made


def test_wrong_shapes_and_numbers_are_refused() -> None:
    with pytest.raises(RunError, match=r"w has the shape \(3,\), not \(2,\)"):
        checked("w", Made((2,), lambda: np.zeros(3, dtype=np.float32)))
    with pytest.raises(ModelError, match="1 of 2 numbers of w are not finite"):
        checked("w", ready(np.array([1, np.inf])))


def test_a_file_byte_by_byte(tmp_path: Path) -> None:
    """Eight bytes of length, a header up to a multiple of 64, and the numbers end to end."""
    seen: list[tuple[str, int, int | None]] = []
    size, _ = write_weights(
        tmp_path / "w", {"a": ready(np.array([[1.0], [2.0]])), "b": zeros(1)}, lambda *one: seen.append(one)
    )
    data = (tmp_path / "w").read_bytes()
    header = (
        b'{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},'
        b'"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}'
    )
    length = int.from_bytes(data[:8], "little")
    assert data[8 : 8 + length].rstrip(b" ") == header
    assert (8 + length) % 64 == 0
    assert length - len(header) < 64
    assert data[8 + length :] == bytes.fromhex("0000803f 00000040 00000000")
    assert size == len(data)
    assert seen == [("writing the weights", n, 2) for n in range(3)]


def test_a_tenth_more_room_than_it_needs_must_be_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and four bytes for each number: 4 + 4 · 24 = 100 bytes."""
    files, tensors = {"a": b"1234"}, {"w": zeros(2, 3, 4)}
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=109))
    with pytest.raises(RunError, match="the disk is full: 100 bytes are needed and 109 are free"):
        write_model(tmp_path, files, tensors, silent)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=111))
    write_model(tmp_path, files, tensors, silent)
    assert verify_folder(tmp_path) == []
