"""An `.argosmodel`: a zip of one folder with a model of CTranslate2, a tokenizer and metadata."""

import json
import shutil
import zipfile
import zlib
from dataclasses import replace
from hashlib import file_digest
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from jumok.errors import ModelError
from jumok.importing.brought import BroughtFolder
from jumok.importing.ct2_folder import read_ct2
from jumok.importing.incoming import Incoming

MOST = 16 << 30  # bytes that are unpacked
METADATA = "metadata.json"
WANTED = ("model", "sentencepiece.model", METADATA, "bpe.model")


def is_package(path: Path) -> bool:
    """Whether a file is a zip with the metadata of Argos Translate."""
    if path.suffix == ".argosmodel":
        return True
    if path.suffix == ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as package:
        return any(name.endswith(f"/{METADATA}") for name in package.namelist())


def read_package(path: Path, work: Path) -> Incoming:
    """The model of a package, which is unpacked into an empty folder."""
    try:
        root = unpack(path, work)
    except (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError) as error:
        raise ModelError(
            f"{path.name} is no package of Argos Translate: {str(error)[:100]}",
            where=str(path),
            hint="fetch it again",
            code="damaged",
        ) from None
    except OSError as error:  # two files of one name, a name that is too long, a full disk
        raise ModelError(
            f"{path.name} cannot be unpacked: {error.strerror or error}",
            where=str(path),
            hint="fetch it again, and make room for it",
            code="damaged",
        ) from None
    try:
        about = json.loads((root / METADATA).read_text(encoding="utf-8"))
        languages = str(about["from_code"]), str(about["to_code"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelError(f"{METADATA} of the package names no languages", where=str(path)) from None
    found = read_ct2(BroughtFolder(root / "model"), BroughtFolder(root), languages)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return replace(found, program="Argos Translate", files={path.name: digest})


def unpack(path: Path, work: Path) -> Path:
    """The package's folder, with what is needed of it: plain names below one folder, and not too large."""
    with zipfile.ZipFile(path) as package:
        entries = [entry for entry in package.infolist() if not entry.is_dir()]
        if (size := sum(entry.file_size for entry in entries)) > MOST:
            raise ModelError(f"the package has {size:,} bytes inside", where=str(path), code="too_large")
        for entry in entries:
            parts = PurePosixPath(entry.filename).parts
            if entry.filename.startswith("/") or ".." in parts or "\\" in entry.filename:
                raise ModelError(
                    f"the package has a file {entry.filename[:80]!r}, which lies outside of its folder",
                    where=str(path),
                    hint="do not use it: such a file is made to write where it should not",
                    code="link_outside",
                )
            if len(parts) < 2 or parts[1] not in WANTED:
                continue
            place = work.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            with package.open(entry) as inside, place.open("xb") as outside:
                shutil.copyfileobj(inside, outside, 1 << 20)
    roots = [folder for folder in work.iterdir() if (folder / "model" / "model.bin").exists()]
    if len(roots) != 1:
        raise ModelError(
            "the package has no model/model.bin",
            where=str(path),
            hint="packages of Argos Translate that translate have one",
            code="missing_file",
        )
    return roots[0]
