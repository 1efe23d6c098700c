"""`jumok.import_model`: what `jumok import` does, as one function."""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jumok import __version__
from jumok.checkpoint.card import model_files
from jumok.checkpoint.folder import dump_json, dump_manifest, put_in_place, replace_file
from jumok.checkpoint.manifest import MANIFEST, read_manifest
from jumok.checkpoint.model import read_model
from jumok.errors import ConfigError, ModelError, RunError, ThresholdError
from jumok.export.make import is_installed, keep
from jumok.export.sample import SENTENCES, find_sample
from jumok.importing.brought import BroughtFolder
from jumok.importing.certify import SCHEMA, ImportThresholds, certify, read_import_thresholds
from jumok.importing.incoming import Incoming
from jumok.importing.write import write_model
from jumok.native.folder import CERTIFICATE
from jumok.progress import Progress, silent
from jumok.text.frame import Direction

CHECKED = 100
"""Sentences of a certificate, where nobody says how many."""


def import_model(  # noqa: PLR0913  most have a default
    path: str | Path,
    out: str | Path,
    *,
    source: str | Path = "",
    sentences: int = CHECKED,
    thresholds: Mapping[str, float | str] | None = None,
    languages: tuple[str, str] = ("", ""),
    tokenizer: str | Path = "",
    overwrite: bool = False,
    progress: Progress = silent,
    told: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Make a model folder of another program's model, and give the certificate of how well the two agree.

    `source` is a file of sentences to compare on; without it, or without the original's own program, nothing
    is compared, and the certificate says so. Raises a ThresholdError if they do not agree well enough. `told`
    hears what was found.
    """
    place, limits = Path(out), read_import_thresholds(thresholds or {})
    check_out(place, overwrite=overwrite)
    with opened(Path(path), Path(tokenizer) if tokenizer else None, languages) as incoming:
        told(describe(incoming))
        work = place.with_name(f"{place.name}.tmp-{secrets.token_hex(4)}")
        try:
            work.mkdir()
            info = info_of(incoming, Path(path).name)
            files = model_files(incoming.run_config(), incoming.tokenizers, info)
            write_model(work, files, incoming.blueprint.tensors, progress)
            result = compare(work, incoming, str(source), sentences, limits, progress)
            told(result["checked"] or f"compared on {result['sentences']:,} sentences")
            add_certificate(work, result)
            if not result["passed"]:
                raise failed(result, keep(work, place))
            put_in_place(work, place)
            return result
        except OSError as error:
            raise RunError(
                f"cannot write {place}: {error.strerror or error}", hint="make room, or choose another place"
            ) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)


def check_out(place: Path, *, overwrite: bool) -> None:
    """Refuse to put the result where something else is."""
    if not place.parent.is_dir():
        raise ConfigError(f"there is no folder {place.parent}", hint="make it first, or choose another place")
    if not os.path.lexists(place) or (place.is_dir() and not any(place.iterdir())):
        return
    if not (place / MANIFEST).is_file():
        hint = "choose another place: nothing that jumok did not write is overwritten"
        raise ConfigError(f"{place} exists and is not a model folder", hint=hint, code="exists")
    if not overwrite:
        raise ConfigError(f"{place} exists", hint="add --overwrite to replace it", code="exists")


@contextmanager
def opened(path: Path, tokenizer: Path | None, languages: tuple[str, str]) -> Iterator[Incoming]:
    """What was brought, whichever program it is of; a package is unpacked as long as it is read."""
    from jumok.importing.argos_package import is_package, read_package
    from jumok.importing.ct2_folder import read_ct2
    from jumok.importing.marian_npz import read_marian
    from jumok.importing.transformers_folder import read_transformers

    beside = BroughtFolder(tokenizer) if tokenizer else None
    if path.is_file() and is_package(path):
        with tempfile.TemporaryDirectory() as folder:
            yield read_package(path, Path(folder))
    elif path.is_file() and path.suffix == ".npz":
        yield read_marian(BroughtFolder(path.parent), path.name, beside, languages)
    elif not path.is_dir():
        raise not_a_model(path)
    elif (path / "model.bin").exists():
        yield read_ct2(BroughtFolder(path), beside, languages)
    elif (path / "config.json").exists():
        yield read_transformers(BroughtFolder(path), languages)
    elif names := sorted(one.name for one in path.glob("*.npz")):
        yield read_marian(BroughtFolder(path), names[0], beside, languages)
    else:
        raise not_a_model(path)


def not_a_model(path: Path) -> ModelError:
    if not os.path.lexists(path):
        return ModelError(f"there is no file or folder {path}", hint="check the path", code="not_found")
    return ModelError(
        f"{path} is no model that is known",
        hint="give a folder of transformers (config.json) or CTranslate2 (model.bin), "
        "an .argosmodel, or Marian's .npz",
        code="not_a_model",
    )


def describe(incoming: Incoming) -> str:
    """One line about what was found."""
    both, count = incoming.tokenizers, incoming.blueprint.parameters()
    tokens = (
        f"{both.target.size:,} tokens"
        if both.shared
        else f"{both.source.size:,} and {both.target.size:,} tokens"
    )
    languages = f", {len(both.frame.languages)} languages" if both.frame.languages else ""
    return f"{incoming.family} of {incoming.program}: {count:,} weights, {tokens}{languages}"


def info_of(incoming: Incoming, name: str) -> dict[str, Any]:
    """What the model card says about where the model came from."""
    return {
        "imported": f"{name}, {incoming.family} of {incoming.program}",
        "parameters": incoming.blueprint.parameters(),
        "origin": {
            "name": name,
            "family": incoming.family,
            "program": incoming.program,
            "files": dict(incoming.files),
        },
    }


def compare(
    work: Path, incoming: Incoming, source: str, sentences: int, limits: ImportThresholds, progress: Progress
) -> dict[str, Any]:
    """The certificate of what lies in the folder, or why there is nothing to compare with."""
    origin = {"family": incoming.family, "program": incoming.program, "files": dict(incoming.files)}
    about = {"schema": SCHEMA, "origin": origin, "made_with": {"jumok": __version__}, "checked": ""}
    reason = ""
    absent = [name for name in incoming.needs if not is_installed(name)]
    if incoming.open is None:
        reason = f"not compared: {incoming.program} has no library to compare with"
    elif absent:
        reason = f"not compared: {' and '.join(absent)} is not installed (pip install {' '.join(absent)})"
    elif not source:
        reason = "not compared: no sentences were given (-s FILE)"
    if reason or incoming.open is None:
        return {**about, "checked": reason, "passed": True, "failures": []}
    loaded = read_model(work)
    sample = find_sample(loaded.config.data, source, "", min(sentences, SENTENCES))
    frame = loaded.tokenizers.frame
    direction = frame.directions[0] if frame.directions else Direction()
    original = incoming.open()
    made = {"jumok": __version__, **{name: version(name) for name in ("torch", "numpy", *incoming.needs)}}
    result = certify(loaded, incoming, original, sample, direction, limits, progress)
    return {**about, "made_with": made, "compared_with": original.name, **result}


def add_certificate(work: Path, result: Mapping[str, Any]) -> None:
    """Put the certificate into the folder and into its manifest."""
    data = dump_json(result)
    (work / CERTIFICATE).write_bytes(data)
    entries = {name: (entry.size, entry.sha256) for name, entry in read_manifest(work).items()}
    entries[CERTIFICATE] = len(data), hashlib.sha256(data).hexdigest()
    replace_file(work / MANIFEST, dump_manifest(entries))


def failed(result: Mapping[str, Any], place: Path) -> ThresholdError:
    """The error for a model that does not agree well enough."""
    return ThresholdError(
        f"the imported model does not agree with the original: {'; '.join(result['failures'])}",
        where=f"kept as {place}, with its certificate",
        hint="other limits: --threshold NAME=VALUE",
    )
