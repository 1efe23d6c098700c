"""The file beside a model: whole, of this model, or refused."""

import json
import shutil
from pathlib import Path

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.calibration import (
    SCHEMAS,
    calibration_faults,
    is_calibrated,
    read_calibration,
    weights_of,
    write_calibration,
)
from jumok.checkpoint.manifest import CALIBRATION, content_fingerprint, verify, verify_folder
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
