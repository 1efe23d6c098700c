"""Runs one export: check that it is possible, write, compare, certify, move into place.

Everything is written beside its place. What misses a threshold stays as `OUT.failed`, with its certificate.
"""

import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from jumok import __version__
from jumok.checkpoint.folder import discard, dump_json, dump_manifest, put_in_place
from jumok.checkpoint.manifest import MANIFEST
from jumok.checkpoint.model import LoadedModel
from jumok.config import RunConfig
from jumok.data.builtin import reads_pictures
from jumok.data.corpus import Corpus
from jumok.errors import ConfigError, RunError, ThresholdError
from jumok.export.directions import begin_alike, check_tags, compared_in
from jumok.export.format import Format, WriteOptions, find_format
from jumok.export.parity import USUAL, Sample, Thresholds, certificate, compare, shown
from jumok.export.shortlist import certify_shortlist, write_shortlist
from jumok.native.folder import CERTIFICATE
from jumok.progress import Progress, silent


@dataclass(frozen=True)
class ExportOrder:
    """What is wanted."""

    format: str
    out: Path
    type: str = "float32"
    thresholds: Thresholds = Thresholds()  # noqa: RUF009
    overwrite: bool = False
    languages: tuple[str, str] = ("", "")
    """As in `WriteOptions`."""
    shortlist: Corpus | None = None
    """Of native: what a shortlist is learned from."""
    listed: Thresholds = USUAL["shortlist"]
    """What the model has to reach with the shortlist."""


def check_order(order: ExportOrder, config: RunConfig, *, quantised: bool = False) -> Format:
    """The format, if it can hold such a model, its packages are there, and so is room for the result."""
    chosen = find_format(order.format)
    if quantised:
        raise ConfigError(
            "this model has int8 weights already, and would be compared with itself",
            hint="export the model that it was made from",
            code="unsupported",
        )
    if order.type not in chosen.TYPES:
        raise ConfigError(
            f"{order.format} cannot be written as {order.type}",
            hint=f"choose --type {' or '.join(chosen.TYPES)}",
        )
    if order.shortlist is not None and order.format != "native":
        raise ConfigError(
            f"{order.format} has no shortlist", hint="leave out --shortlist, or export to native"
        )
    pictures = ["it reads pictures, and other programs get models that read text"]
    if reasons := [*(pictures if reads_pictures(config.data) else ()), *chosen.check(config)]:
        raise ConfigError(
            f"this model cannot be exported to {order.format}: {'; '.join(reasons)}",
            hint="jumok runs the folder as it is; docs/export.md lists what each format can hold",
            code="unsupported",
        )
    if missing := [name for name in chosen.NEEDS if not is_installed(name)]:
        raise ConfigError(
            f"exporting to {order.format} needs {' and '.join(missing)}",
            hint=f"pip install 'jumok[{chosen.EXTRA}]'",
            code="not_installed",
        )
    check_place(order)
    return chosen


def is_installed(package: str) -> bool:
    """Whether there is a package of this name, as pip has it."""
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def check_place(order: ExportOrder) -> None:
    """Refuse to put the result where something else is."""
    out = order.out
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent}", hint="make it first, or choose another place")
    if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
        return
    if not is_export(out):
        hint = "choose another place: nothing that export did not write is overwritten"
        raise ConfigError(f"{out} exists and is not an export", hint=hint, code="exists")
    if not order.overwrite:
        raise ConfigError(f"{out} exists", hint="add --overwrite to replace it", code="exists")


def is_export(path: Path) -> bool:
    """Whether there is a certificate in this folder or package."""
    if path.is_dir():
        return (path / CERTIFICATE).is_file()
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as package:
        return any(name.split("/")[-1] == CERTIFICATE for name in package.namelist())


def export_model(
    loaded: LoadedModel, order: ExportOrder, sample: Sample, progress: Progress = silent
) -> dict[str, Any]:
    """Write the model, compare it with ours, and put it in its place; the certificate.

    A ThresholdError if it does not agree well enough.
    """
    chosen = check_order(order, loaded.config, quantised=loaded.info.get("weights") == "int8")
    check_tags(order.format, loaded.tokenizers.frame)
    loaded.model.float().eval()
    work = order.out.with_name(f"{order.out.name}.tmp-{secrets.token_hex(4)}")
    try:
        work.mkdir()
        chosen.write(loaded, work, WriteOptions(order.type, order.languages, progress))
        if order.shortlist is not None:
            write_shortlist(loaded, work, order.shortlist, progress)
        result = certify(loaded, chosen, work, order, sample, progress)
        (work / CERTIFICATE).write_bytes(dump_json(result))
        if chosen.FILE:
            done = pack(chosen, work)
        else:
            done = work
            (work / MANIFEST).write_bytes(manifest(work))
        if not result["passed"]:
            raise failed(result, keep(done, order.out))
        put_in_place(done, order.out)
        return result
    except OSError as error:
        raise RunError(
            f"cannot write {order.out}: {error.strerror or error}", hint="make room, or choose another place"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        packed(work).unlink(missing_ok=True)


def certify(
    loaded: LoadedModel, chosen: Format, folder: Path, order: ExportOrder, sample: Sample, progress: Progress
) -> dict[str, Any]:
    """The certificate of what lies in the folder."""
    loaded = compared_in(loaded, order.languages)
    comparison = compare(loaded, begin_alike(chosen.open(folder), loaded), sample, progress)
    packages = ("torch", "numpy", *chosen.NEEDS)
    about = {
        "format": order.format,
        "type": order.type,
        "made_with": {"jumok": __version__, **{name: version(name) for name in packages}},
    }
    result = certificate(loaded, comparison, sample, order.thresholds, about)
    if order.shortlist is not None:
        part = certify_shortlist(loaded, folder, sample, order.listed, comparison, progress)
        faults = [*result["failures"], *(f"with its shortlist {fault}" for fault in part["failures"])]
        result = {**result, "passed": not faults, "failures": faults, "shortlist": part}
    more: Callable[..., dict[str, Any]] | None = getattr(chosen, "more", None)
    return result if more is None else {**result, **more(loaded, folder, sample)}


def manifest(folder: Path) -> bytes:
    """Size and SHA-256 of every file of a folder, so that `jumok verify` knows it."""
    entries = {}
    for path in sorted({*folder.iterdir()} - {folder / MANIFEST}):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        entries[path.name] = (path.stat().st_size, digest)
    return dump_manifest(entries)


def packed(work: Path) -> Path:
    """Where the one file of a format lies until it is put in its place."""
    return work.with_name(f"{work.name}.file")


def pack(chosen: Format, work: Path) -> Path:
    """The folder as the one file that the format wants."""
    to_file: Callable[[Path, Path], None] = chosen.to_file  # type: ignore[attr-defined]
    to_file(work, packed(work))
    return packed(work)


def keep(done: Path, out: Path) -> Path:
    """Keep what failed beside its place; an earlier failure goes."""
    place = out.with_name(f"{out.name}.failed")
    if os.path.lexists(place):
        discard(place)
    os.rename(done, place)
    return place


def failed(result: dict[str, Any], place: Path) -> ThresholdError:
    """The error for a model that does not agree well enough."""
    listed = result.get("shortlist", {}).get("differences", ())
    examples = [shown(difference) for difference in (*result["differences"], *listed)[:3]]
    return ThresholdError(
        f"the exported model does not agree with the original: {'; '.join(result['failures'])}",
        where="\n  ".join([f"kept as {place}, with its certificate", *examples]),
        hint="other limits: --threshold NAME=VALUE",
    )
