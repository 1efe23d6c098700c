"""What was learned about a model later, beside it: `confidence.json` turns its scores into probabilities,
`alignment.json` says which head aligns, `novelty.json` which tokens its training had side by side. Bytes
and JSON only, no torch.

They may be added to a model folder at any time, so no manifest has them: a seal says whether one is as it was
written, and the SHA-256 of the weights whether it belongs to them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumok.checkpoint.folder import dump_json, replace_file
from jumok.checkpoint.manifest import ALIGNMENT, CALIBRATION, NOVELTY, parse_json, read_manifest, read_small
from jumok.errors import ConfigError, ModelError
from jumok.seals import SEAL, sealed, unsealed

WEIGHTS = (
    "native.safetensors",
    "model.safetensors",
)  # a folder has one; `jumok verify` loads no numpy for it
SCHEMAS = {
    CALIBRATION: "jumok-confidence/1",
    ALIGNMENT: "jumok-alignment/1",
    NOVELTY: "jumok-novelty/1",
}
AGAIN = "make it again: jumok calibrate -m MODEL -s SOURCE -t TARGET"
HINTS = {
    CALIBRATION: AGAIN,
    ALIGNMENT: f"remove it, and {AGAIN} --align",
    NOVELTY: "remove it: the model then says nothing about how new a text is to it",
}


def is_calibrated(folder: Path) -> bool:
    """Whether there is a calibration, be it damaged."""
    return (folder / CALIBRATION).exists()


def write_calibration(folder: Path, fields: Mapping[str, Any], name: str = CALIBRATION) -> Path:
    """Keep what was learned about a model beside it."""
    document = {"schema": SCHEMAS[name], "weights": weights_of(folder), **fields}
    replace_file(folder / name, dump_json(sealed(document)))
    return folder / name


def read_calibration(folder: Path) -> dict[str, Any]:
    """The calibration of a model; an error if it has none, or one that is damaged or of other weights."""
    if not is_calibrated(folder):
        raise ConfigError(
            "the model has not been calibrated: what its scores say about errors is not known",
            hint="do that once, with sentences and their translations: "
            f"jumok calibrate -m {folder} -s SOURCE -t TARGET",
            code="not_calibrated",
        )
    return read_learned(folder, CALIBRATION)


def read_alignment(folder: Path) -> dict[str, Any] | None:
    """The head that aligns best, as it was found later; None if nobody has looked for it."""
    return read_learned(folder, ALIGNMENT) if (folder / ALIGNMENT).exists() else None


def read_learned(folder: Path, name: str) -> dict[str, Any]:
    """One of these files; an error if it is damaged or of other weights."""
    where = folder / name
    fields = parse_json(read_small(where), where)
    if fields.get("schema") != SCHEMAS[name] or SEAL not in fields:
        said = str(fields.get("schema"))[:80]
        reason = f"its schema is {said!r}, and this jumok reads {SCHEMAS[name]} with a seal"
        raise bad_calibration(where, reason)
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
    return ModelError(message, where=str(where), hint=HINTS[where.name], code="bad_calibration")


def calibration_faults(folder: Path) -> list[str]:
    """Why what was learned about a model cannot be used; none of it is no fault."""
    faults = []
    for name in SCHEMAS:
        try:
            if (folder / name).exists():
                read_learned(folder, name)
        except ModelError as error:
            faults.append(error.message)
    return faults
