"""`confidence.json` beside a model: what turns its scores into probabilities. Bytes and JSON only, no torch.

It may be added to a model folder at any time, so no manifest has it: a seal says whether it is as it was
written, and the SHA-256 of the weights whether it belongs to them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumok.checkpoint.folder import dump_json, replace_file
from jumok.checkpoint.manifest import CALIBRATION, parse_json, read_manifest, read_small
from jumok.errors import ConfigError, ModelError
from jumok.seals import SEAL, sealed, unsealed

WEIGHTS = (
    "native.safetensors",
    "model.safetensors",
)  # a folder has one; `jumok verify` loads no numpy for it
SCHEMA = "jumok-confidence/1"
AGAIN = "make it again: jumok calibrate -m MODEL -s SOURCE -t TARGET"


def is_calibrated(folder: Path) -> bool:
    """Whether there is a calibration, be it damaged."""
    return (folder / CALIBRATION).exists()


def write_calibration(folder: Path, fields: Mapping[str, Any]) -> Path:
    """Keep a calibration beside the model it was made for."""
    document = {"schema": SCHEMA, "weights": weights_of(folder), **fields}
    replace_file(folder / CALIBRATION, dump_json(sealed(document)))
    return folder / CALIBRATION


def read_calibration(folder: Path) -> dict[str, Any]:
    """The calibration of a model; an error if it has none, or one that is damaged or of other weights."""
    where = folder / CALIBRATION
    if not is_calibrated(folder):
        raise ConfigError(
            "the model has not been calibrated: what its scores say about errors is not known",
            hint="do that once, with sentences and their translations: "
            f"jumok calibrate -m {folder} -s SOURCE -t TARGET",
            code="not_calibrated",
        )
    fields = parse_json(read_small(where), where)
    if fields.get("schema") != SCHEMA or SEAL not in fields:
        said = str(fields.get("schema"))[:80]
        raise bad_calibration(where, f"its schema is {said!r}, and this jumok reads {SCHEMA} with a seal")
    try:
        document: dict[str, Any] = unsealed(fields)
    except ValueError as error:
        raise bad_calibration(where, str(error)) from None
    if (theirs := str(document.get("weights"))) != (ours := weights_of(folder)):
        raise bad_calibration(
            where, f"it was made for the weights {theirs[:12]}…, and these are {ours[:12]}…"
        )
    return document


def weights_of(folder: Path) -> str:
    """SHA-256 of the weights of a model folder, as its manifest has it."""
    files = read_manifest(folder)
    return next((files[name].sha256 for name in WEIGHTS if name in files), "")


def bad_calibration(where: Path, reason: str) -> ModelError:
    """The error for a calibration that cannot be used."""
    message = f"{where.name} cannot be used: {reason}"
    return ModelError(message, where=str(where), hint=AGAIN, code="bad_calibration")


def calibration_faults(folder: Path) -> list[str]:
    """Why the calibration of a folder cannot be used; none is no fault."""
    if not is_calibrated(folder):
        return []
    try:
        read_calibration(folder)
    except ModelError as error:
        return [error.message]
    return []
