"""The file beside a model: whole, of this model, or refused."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.calibration import (
    SCHEMAS,
    calibration_faults,
    is_calibrated,
    read_alignment,
    read_calibration,
    read_learned,
    weights_of,
    write_calibration,
)
from jumok.checkpoint.folder import write_folder
from jumok.checkpoint.manifest import (
    ALIGNMENT,
    CALIBRATION,
    NOVELTY,
    content_fingerprint,
    verify,
    verify_folder,
)
from jumok.errors import ConfigError, ModelError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundled()["rnn"], tmp_path / "rnn"))


def test_what_is_written_is_read(folder: Path) -> None:
    before = content_fingerprint(folder)
    assert write_calibration(folder, {"words": [1.5, 2]}) == folder / CALIBRATION
    assert read_calibration(folder) == {
        "schema": SCHEMAS[CALIBRATION],
        "weights": weights_of(folder),
        "words": [1.5, 2],
    }
    assert content_fingerprint(folder) == before  # it is no part of the model
    assert verify(folder) == {folder: []}


def test_none_is_no_fault_but_cannot_be_read(folder: Path) -> None:
    (folder / CALIBRATION).unlink()
    assert not is_calibrated(folder)
    assert calibration_faults(folder) == []
    with pytest.raises(ConfigError, match=r"(?s)has not been calibrated.*jumok calibrate -m") as caught:
        read_calibration(folder)
    assert caught.value.code == "not_calibrated"


def test_of_another_model(folder: Path) -> None:
    shutil.copy(bundled()["luong"] / CALIBRATION, folder)
    with pytest.raises(ModelError, match=r"made for the weights \w{12}…, and these are \w{12}…") as caught:
        read_calibration(folder)
    assert caught.value.code == "bad_calibration"
    assert "jumok calibrate" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fields: fields["words"].update(bias=0.25), "its content has changed since it was written"),
        (lambda fields: fields.pop("seal"), "reads jumok-confidence/1 with a seal"),
        (lambda fields: fields.update(schema="jumok-confidence/9"), "its schema is 'jumok-confidence/9'"),
    ],
)
def test_changed_since_it_was_written(folder: Path, change: object, message: str) -> None:
    fields = json.loads((folder / CALIBRATION).read_bytes())
    change(fields)  # type: ignore[operator]
    (folder / CALIBRATION).write_text(json.dumps(fields))
    with pytest.raises(ModelError, match=message):
        read_calibration(folder)
    [[fault]] = verify(folder).values()
    assert message in fault
    assert verify_folder(folder) == []  # the model itself is whole


def test_not_json(folder: Path) -> None:
    (folder / CALIBRATION).write_bytes(b"{\xff")
    with pytest.raises(ModelError, match="confidence.json is damaged"):
        read_calibration(folder)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (CALIBRATION, "make it again: jumok calibrate -m MODEL -s SOURCE -t TARGET"),
        (
            ALIGNMENT,
            "remove it, and make it again: jumok calibrate -m MODEL -s SOURCE -t TARGET --align",
        ),
        (NOVELTY, "remove it: the model then says nothing about how new a text is to it"),
    ],
)
def test_every_file_says_what_to_do_about_it(folder: Path, name: str, hint: str) -> None:
    assert write_calibration(folder, {"x": 1}, name) == folder / name
    assert read_learned(folder, name)["x"] == 1
    (folder / name).write_text(json.dumps({"schema": "y" * 100, "seal": "z"}))
    with pytest.raises(ModelError) as caught:
        read_learned(folder, name)
    assert str(caught.value) == (
        f"{name} cannot be used: its schema is {'y' * 80!r}, "
        f"and this jumok reads {SCHEMAS[name]} with a seal\n"
        f"  {folder / name}\n  {hint}"
    )
    assert calibration_faults(folder) == [caught.value.message]


def test_a_head_that_nobody_has_looked_for_is_none(folder: Path) -> None:
    assert read_alignment(folder) is None
    write_calibration(folder, {"align_head": [1, 2]}, ALIGNMENT)
    found = read_alignment(folder)
    assert found is not None
    assert found["align_head"] == [1, 2]


def test_a_folder_without_weights_has_no_mark(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", {"config.json": b"{}"})
    assert weights_of(tmp_path / "m") == ""
    for name in ("model.safetensors", "native.safetensors"):  # packed ones come first
        write_folder(tmp_path / name, {"model.safetensors": b"a", name: b"b"})
        assert weights_of(tmp_path / name) == hashlib.sha256(b"b").hexdigest()
