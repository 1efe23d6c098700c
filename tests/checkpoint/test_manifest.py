"""A folder is whole or every fault is named; nothing outside of it is ever read."""

import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.checkpoint.folder import write_folder
from jumok.checkpoint.manifest import (
    JSON_LIMIT,
    MANIFEST,
    candidates,
    checkpoint_folders,
    content_fingerprint,
    first_whole,
    model_folders,
    parse_json,
    read_buffer,
    read_file,
    read_json,
    read_manifest,
    verify_folder,
    was_best,
)
from jumok.errors import ModelError

FILES = {"config.json": b'{"a": 1}', "model.safetensors": bytes(range(256)), "README.md": b"# card\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "m", FILES)
    return tmp_path / "m"


def rewrite_manifest(folder: Path, files: object, version: object = 1) -> None:
    (folder / MANIFEST).write_text(json.dumps({"format_version": version, "files": files}))


def test_whole_folder_has_no_faults(folder: Path) -> None:
    assert verify_folder(folder) == []
    assert {name: read_file(folder, name) for name in FILES} == FILES
    assert read_json(folder, "config.json") == {"a": 1}


def test_each_kind_of_damage_is_named(folder: Path) -> None:
    (folder / "config.json").write_bytes(b'{"a": 2}')
    (folder / "model.safetensors").write_bytes(bytes(100))
    (folder / "README.md").unlink()
    (folder / "notes.txt").write_text("mine")
    changed, short, missing, extra = verify_folder(folder)
    saved, found = (hashlib.sha256(data).hexdigest()[:12] for data in (b'{"a": 1}', b'{"a": 2}'))
    assert changed == f"config.json was changed: SHA-256 {found}…, saved as {saved}…"
    assert short == "model.safetensors was cut short: 100 of 256 bytes"
    assert missing == "README.md is missing"
    assert extra == "notes.txt does not belong to this folder"
    assert verify_folder(folder, skip=set(FILES), extras=False) == []


def test_longer_file_is_named(folder: Path) -> None:
    (folder / "README.md").write_bytes(b"# card\n\n")
    assert verify_folder(folder) == ["README.md is longer than the 7 bytes that were saved"]


def test_reading_a_damaged_file_says_what_to_do(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(bytes(100))
    with pytest.raises(ModelError) as caught:
        read_file(folder, "model.safetensors")
    assert str(caught.value) == (
        "model.safetensors was cut short: 100 of 256 bytes\n"
        f"  {folder / 'model.safetensors'}\n"
        "  copy the folder again from where it was whole, or use an older checkpoint"
    )
    assert caught.value.code == "damaged"
    with pytest.raises(ModelError, match="optimizer.safetensors is missing"):
        read_file(folder, "optimizer.safetensors")


def test_a_disk_that_fails_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("jumok.checkpoint.manifest.check_memory", fail)
    with pytest.raises(ModelError, match=r"README\.md cannot be read: Input/output error") as caught:
        read_file(folder, "README.md")
    assert caught.value.code == "damaged"


def test_links_pipes_and_folders_are_not_read(folder: Path) -> None:
    outside = folder.parent / "secret"
    outside.write_bytes(FILES["README.md"])
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(outside)
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")  # reading it would wait for ever
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    assert verify_folder(folder) == [
        "config.json is not a plain file",
        "model.safetensors is not a plain file",
        "README.md is a link, not a file",
    ]


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "a\0b", MANIFEST, "\ud800", "n" * 200]
)
def test_names_stay_inside_the_folder(folder: Path, name: str) -> None:
    rewrite_manifest(folder, {name: {"size": 1, "sha256": "0" * 64}})
    with pytest.raises(ModelError, match="MANIFEST.json is damaged: its entry .* cannot be right"):
        read_manifest(folder)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        7,
        [],
        {},
        {"size": "1", "sha256": "0" * 64},
        {"size": -1, "sha256": "0" * 64},
        {"size": 1.5, "sha256": "0" * 64},
        {"size": 1},
        {"size": 1, "sha256": "zz"},
        {"size": 1, "sha256": None},
    ],
)
def test_wrong_types_in_the_manifest_are_damage(folder: Path, entry: object) -> None:
    rewrite_manifest(folder, {"config.json": entry})
    assert verify_folder(folder) == ["MANIFEST.json is damaged: its entry 'config.json' cannot be right"]


def test_manifest_that_is_missing_newer_or_empty(folder: Path) -> None:
    rewrite_manifest(folder, {}, version=2)
    with pytest.raises(ModelError, match="has format 2; this jumok reads formats up to 1") as caught:
        read_manifest(folder)
    assert (caught.value.code, caught.value.hint) == ("newer_format", "upgrade jumok")
    rewrite_manifest(folder, {}, version="1")
    assert verify_folder(folder) == ["MANIFEST.json is damaged: it has no format_version"]
    rewrite_manifest(folder, [])
    assert verify_folder(folder) == ["MANIFEST.json is damaged: it lists no files"]
    (folder / MANIFEST).unlink()
    assert verify_folder(folder) == ["MANIFEST.json is missing"]
    assert verify_folder(folder / "nowhere") == ["MANIFEST.json is missing"]
    assert verify_folder(folder / "config.json") == ["MANIFEST.json is missing"]


def test_a_claimed_size_takes_no_memory(folder: Path) -> None:
    rewrite_manifest(folder, {"config.json": {"size": 10**17, "sha256": "0" * 64}})
    with pytest.raises(ModelError, match="cut short: 8 of 100,000,000,000,000,000 bytes"):
        read_file(folder, "config.json")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Expecting value"),
        (b"\xff\xfe", "can't decode"),
        (b"[1]", "it is not a JSON object"),
        (b'{"a": NaN}', "NaN is not a finite number"),
        (b'{"a": -Infinity}', "-Infinity is not a finite number"),
        (b'{"a": 1, "a": 2}', "a key occurs twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
        (b'{"a": ' + b"[" * 100_000, "recursion"),
        (b'{"a": 1', "delimiter"),
    ],
)
def test_odd_json_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        parse_json(data, Path("state.json"))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    try:
        result: object = parse_json(data, Path("x.json"))
    except ModelError as error:
        result = error.message
    assert isinstance(result, dict) or str(result).startswith("x.json is damaged: ")


def test_json_has_a_largest_size(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", {"config.json": b" " * (JSON_LIMIT + 1)})
    with pytest.raises(ModelError, match="config.json is larger than 16,777,216 bytes"):
        read_json(tmp_path / "m", "config.json")
    with (tmp_path / "m" / MANIFEST).open("wb") as file:
        file.truncate(JSON_LIMIT + 1)
    with pytest.raises(ModelError, match="MANIFEST.json is larger than 16,777,216 bytes"):
        read_manifest(tmp_path / "m")


def test_fingerprint_follows_the_content(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", FILES)
    write_folder(tmp_path / "b", FILES)
    write_folder(tmp_path / "c", {**FILES, "README.md": b"# other\n"})
    assert content_fingerprint(tmp_path / "a") == content_fingerprint(tmp_path / "b")
    assert content_fingerprint(tmp_path / "a") != content_fingerprint(tmp_path / "c")


def test_checkpoints_are_listed_newest_first(tmp_path: Path) -> None:
    assert checkpoint_folders(tmp_path) == {}
    for name in ("step-00000009", "step-100000000", "step-00000010", "step-1", "step-00000011.tmp-ab"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert list(checkpoint_folders(tmp_path)) == [100_000_000, 10, 9]
    assert [path.name for path in model_folders(tmp_path)][0] == "step-100000000"


def test_a_path_without_a_model_says_what_is_there(tmp_path: Path, folder: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(ModelError) as caught:
            model_folders(path)
        return str(caught.value).replace(str(tmp_path), "…")

    (tmp_path / "runs" / "en-de" / "checkpoints").mkdir(parents=True)
    (tmp_path / "runs" / "notebooks").mkdir()
    typo = message(tmp_path / "runs" / "en-dee")
    assert typo == "there is no model folder …/runs/en-dee\n  did you mean 'en-de'?"
    far = message(tmp_path / "runs" / "far")  # the notebooks are no model
    assert far.startswith("there is no model folder …/runs/far\n  known: en-de, demo/rnn, demo/luong, demo/")
    known = message(tmp_path / "no" / "way")
    assert known.startswith("there is no model folder …/no/way\n  known: demo/rnn, demo/luong, demo/")
    assert message(Path("de-en")).endswith("\n  did you mean 'demo/de-en'?")
    assert message(Path("transfomer")).endswith("\n  did you mean 'demo/transformer'?")
    assert message(Path("a\0b")).startswith("there is no model folder a\0b")
    assert "is a file, not a model folder\n  give the folder that holds it" in message(folder / "README.md")
    assert message(tmp_path / "runs" / "notebooks") == (
        "there is no model in …/runs/notebooks\n"
        "  a model folder has a MANIFEST.json, a run folder has checkpoints/"
    )
    (tmp_path / "runs" / "en-de" / "config.toml").touch()
    assert message(tmp_path / "runs" / "en-de") == (
        "the run …/runs/en-de has no checkpoint yet\n"
        "  wait until training saves its first one, or run jumok train again"
    )
    assert model_folders(folder) == [folder]


def test_a_buffer_holds_the_bytes_of_a_file_and_begins_at_a_page(tmp_path: Path) -> None:
    import numpy as np

    from jumok.checkpoint.folder import write_folder
    from jumok.checkpoint.manifest import read_buffer

    write_folder(tmp_path / "a", {"one": b"x" * 5000, "none": b""})
    buffer = read_buffer(tmp_path / "a", "one")
    assert bytes(buffer) == b"x" * 5000
    assert np.frombuffer(buffer, np.uint8).ctypes.data % 4096 == 0
    (tmp_path / "a" / "one").write_bytes(b"y" * 5000)
    with pytest.raises(ModelError, match="one was changed: SHA-256"):
        read_buffer(tmp_path / "a", "one")


def step(run: Path, number: int, *, best: bool = False, score: float | None = None) -> Path:
    folder = run / "checkpoints" / f"step-{number:08d}" if number else run / "averaged"
    state, config = {"best": best}, {"info": {"score": score}}
    files = {"state.json": state, "config.json": config} if number else {"config.json": config}
    write_folder(folder, {name: json.dumps(value).encode() for name, value in files.items()})
    return folder


def test_the_best_comes_first_then_the_newest(tmp_path: Path) -> None:
    one, two, three = step(tmp_path, 1), step(tmp_path, 2, best=True, score=5.0), step(tmp_path, 3)
    assert candidates(tmp_path) == [two, three, one]
    assert [was_best(folder) for folder in (one, two, three)] == [False, True, False]
    worse = step(tmp_path, 0, score=4.0)
    assert candidates(tmp_path) == [two, three, one, worse]


def test_an_average_that_is_better_comes_before_all(tmp_path: Path) -> None:
    one, two = step(tmp_path, 1), step(tmp_path, 2, best=True, score=5.0)
    better = step(tmp_path, 0, score=6.0)
    assert candidates(tmp_path) == [better, two, one]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two = step(tmp_path, 1), step(tmp_path, 2, best=True)

    def read(folder: Path) -> str:
        if folder == two:
            raise ModelError("it is damaged")
        return folder.name

    assert first_whole(tmp_path, read) == one.name
    assert f"it is damaged\n  {one} is used instead" in caplog.text


def test_the_first_error_is_told_if_there_is_nothing_else(tmp_path: Path) -> None:
    step(tmp_path, 1)
    step(tmp_path, 2, best=True)

    def read(folder: Path) -> str:
        raise ModelError(f"no {folder.name}")

    with pytest.raises(ModelError, match="no step-00000002"):
        first_whole(tmp_path, read)


@pytest.mark.parametrize("read", [read_file, read_buffer])
def test_a_file_that_no_memory_holds_is_refused_before_it_is_read(folder: Path, read: Any) -> None:
    size = 1 << 50  # a hole: it takes no room on the disk
    try:
        os.truncate(folder / "model.safetensors", size)
    except OSError:
        size = 1 << 43  # the most that ext4 allows is 16 TiB
        os.truncate(folder / "model.safetensors", size)
    files = json.loads((folder / MANIFEST).read_text())["files"]
    rewrite_manifest(folder, files | {"model.safetensors": files["model.safetensors"] | {"size": size}})
    with pytest.raises(ModelError, match="more than the memory of this machine") as found:
        read(folder, "model.safetensors")
    assert found.value.message.startswith(f"model.safetensors has {size:,} bytes")
    assert (found.value.code, found.value.where) == ("too_large", str(folder / "model.safetensors"))


def test_a_file_as_large_as_the_memory_is_not_refused(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("jumok.checkpoint.manifest.memory_size", lambda: 256)
    assert len(read_file(folder, "model.safetensors")) == 256
    monkeypatch.setattr("jumok.checkpoint.manifest.memory_size", lambda: 255)
    with pytest.raises(ModelError, match="model.safetensors has 256 bytes, more than the memory"):
        read_file(folder, "model.safetensors")


def test_memory_that_is_taken_is_no_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("jumok.checkpoint.manifest.into_pages", none_left)
    with pytest.raises(ModelError, match="model.safetensors has 256 bytes, more than the memory"):
        read_buffer(folder, "model.safetensors")
