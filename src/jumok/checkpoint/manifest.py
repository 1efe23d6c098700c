"""Is a folder whole and unchanged, and which one holds the wanted model? Never writes, and needs no torch.

`MANIFEST.json` holds the name, size and SHA-256 of every other file. Bytes are used only after they were
checked against it, and the bytes that were checked are the ones that are used.
"""

import errno
import hashlib
import json
import logging
import mmap
import os
import re
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, BinaryIO, TypeVar

from jumok.checkpoint.bundled import bundled_names, named_folder
from jumok.errors import ModelError, nearest
from jumok.systems import memory_size, open_flags

MANIFEST = "MANIFEST.json"
AVERAGED = "averaged"  # a run's folder for the mean of its last checkpoints
CHECKPOINTS = "checkpoints"
CALIBRATION = (
    "confidence.json"  # may be added to a folder later, as the next three; each has a seal of its own
)
ALIGNMENT = "alignment.json"
NOVELTY = "novelty.json"
NEIGHBOURS = "neighbours.safetensors"
LATER = (CALIBRATION, ALIGNMENT, NOVELTY, NEIGHBOURS)
FORMAT_VERSION = 1
JSON_LIMIT = 16 * 2**20
COPY_AGAIN = "copy the folder again from where it was whole, or use an older checkpoint"

B = TypeVar("B", bytes, mmap.mmap)
T = TypeVar("T")

log = logging.getLogger("jumok")

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_STEP = re.compile(r"step-([0-9]{8,18})")
_CHUNK = 2**20
_OF_A_MODEL = (MANIFEST, "config.json", "model.safetensors")  # a folder with any of them is one


@dataclass(frozen=True)
class FileEntry:
    """One file as it was saved."""

    size: int
    sha256: str


def verify_folder(path: Path, *, skip: Collection[str] = (), extras: bool = True) -> list[str]:
    """What is wrong with a folder, one sentence per file; an empty list means whole and unchanged.

    Files in `skip` are not read; without `extras`, files that do not belong there are not mentioned.
    """
    try:
        manifest = read_manifest(path)
        wanted = {name: entry for name, entry in manifest.items() if name not in skip}
        faults = [fault for name, entry in wanted.items() if (fault := _fault(path / name, entry))]
        if extras:
            strange = {entry.name for entry in path.iterdir()} - {*manifest, MANIFEST, *LATER}
            faults += [f"{name} does not belong to this folder" for name in sorted(strange)]
        return faults
    except ModelError as error:
        return [error.message]


def verify(folder: str | Path) -> dict[Path, list[str]]:
    """What is wrong with each model of a model folder, a checkpoint or a run; no faults, no change."""
    return {path: verify_folder(path) or unusable(path) for path in model_folders(Path(folder))}


def unusable(folder: Path) -> list[str]:
    """Why settings, calibration or index of a whole folder cannot be used; a folder may have none."""
    from jumok.checkpoint.calibration import calibration_faults
    from jumok.checkpoint.neighbours import neighbours_faults

    faults = calibration_faults(folder) + neighbours_faults(folder)
    if faults or not (folder / "config.json").exists():
        return faults
    from jumok.checkpoint.contents import settings_faults  # takes longer to load than all of this

    return settings_faults(folder)


def read_manifest(path: Path) -> dict[str, FileEntry]:
    """The files of a folder as they were saved; a ModelError where that is missing, damaged or too new."""
    where = path / MANIFEST
    fields = parse_json(read_small(where), where)
    check_version(fields.get("format_version"), where)
    match fields.get("files"):
        case dict(entries):
            return {name: _entry(where, name, entry) for name, entry in entries.items()}
    raise damaged(where, f"{MANIFEST} is damaged: it lists no files")


def check_version(version: object, where: Path) -> None:
    """Refuse a file that a later version of jumok wrote, or none."""
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelError(
            f"{where.name} has format {version}; this jumok reads formats up to {FORMAT_VERSION}",
            where=str(where),
            hint="upgrade jumok",
            code="newer_format",
        )
    if version != FORMAT_VERSION:
        raise damaged(where, f"{where.name} is damaged: it has no format_version")


def read_file(path: Path, name: str) -> bytes:
    """The bytes of one file of a folder, after they were checked against the manifest."""
    return _read_checked(path, name, lambda file, size: file.read(size))


def read_buffer(path: Path, name: str) -> mmap.mmap:
    """`read_file` into memory of its own that begins at a page, for numbers that are used where they lie."""
    return _read_checked(path, name, into_pages)


def into_pages(file: BinaryIO, size: int) -> mmap.mmap:
    """A file in memory of its own; in huge pages where there are any, which are found much quicker."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    else:
        pages = mmap.mmap(-1, max(size, 1))
    with memoryview(pages)[:size] as view:
        file.readinto(view)  # type: ignore[attr-defined]
    return pages


def _read_checked(path: Path, name: str, read: Callable[[BinaryIO, int], B]) -> B:
    """What `read` makes of an open file and its size, after that was checked against the manifest."""
    manifest = read_manifest(path)
    if name not in manifest:
        raise damaged(path / name, f"{name} is missing")
    try:
        with _open_plain(path / name) as file:
            size = os.fstat(file.fileno()).st_size
            check_memory(path / name, size)
            data = read(file, size if size == manifest[name].size else 0)  # another size says it all
    except MemoryError:
        raise too_large(path / name, size) from None
    except OSError as error:
        raise damaged(path / name, f"{name} cannot be read: {error.strerror}") from None
    if fault := _difference(name, manifest[name], size, hashlib.sha256(data).hexdigest()):
        raise damaged(path / name, fault)
    return data


def check_memory(path: Path, size: int) -> None:
    """Refuse a file that cannot lie in this machine's memory, before any is asked for."""
    if size > memory_size():
        raise too_large(path, size)


def too_large(path: Path, size: int) -> ModelError:
    return ModelError(
        f"{path.name} has {size:,} bytes, more than the memory of this machine",
        where=str(path),
        hint="use a machine with more memory; jumok verify says whether it is what was saved",
        code="too_large",
    )


def read_json(path: Path, name: str) -> dict[str, Any]:
    """One JSON file of a folder, checked against the manifest."""
    if (entry := read_manifest(path).get(name)) and entry.size > JSON_LIMIT:
        raise damaged(path / name, f"{name} is larger than {JSON_LIMIT:,} bytes")
    return parse_json(read_file(path, name), path / name)


def parse_json(data: bytes, where: Path) -> dict[str, Any]:
    """A JSON object of finite numbers and unique keys; anything else is a ModelError."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise damaged(where, f"{where.name} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise damaged(where, f"{where.name} is damaged: it is not a JSON object")
    return value


def content_fingerprint(path: Path) -> str:
    """SHA-256 of the manifest, and so of everything in the folder."""
    return hashlib.sha256(read_small(path / MANIFEST)).hexdigest()


def checkpoint_folders(run: Path) -> dict[int, Path]:
    """The checkpoints of a run folder by step, newest first, whole or not."""
    steps: dict[int, Path] = {}
    with suppress(FileNotFoundError, NotADirectoryError, ValueError):  # the last for a name with a NUL
        for entry in (run / CHECKPOINTS).iterdir():
            if match := _STEP.fullmatch(entry.name):
                steps[int(match[1])] = entry
    return dict(sorted(steps.items(), reverse=True))


def model_folders(path: Path) -> list[Path]:
    """The folder itself if it holds a model, or those of a run: newest first, its average last.

    `demo/transformer` and its like are the bundled models, unless there is such a folder.
    """
    try:
        path = named_folder(path)
        if any((path / name).exists() for name in _OF_A_MODEL):
            return [path]
        if folders := checkpoint_folders(path):
            averaged = [path / AVERAGED] if (path / AVERAGED).is_dir() else []
            return [*folders.values(), *averaged]
        raise _no_model(path)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}", code="unreadable") from None


def damaged(where: Path, message: str) -> ModelError:
    """The error for a file that is not what was saved."""
    return ModelError(message, where=str(where), hint=COPY_AGAIN, code="damaged")


def _guess(path: Path) -> str:
    """What a name that is no folder may have meant: a model or a run beside it, or a bundled model."""
    beside = list[str]()
    with suppress(OSError, ValueError):
        places = (*_OF_A_MODEL, CHECKPOINTS, "config.toml")
        found = (one for one in path.parent.iterdir() if any((one / name).exists() for name in places))
        beside = sorted(one.name for one in found)
    known = shorten(f"known: {', '.join([*beside, *bundled_names()])}", 300, placeholder=" …")
    meant = f"demo/{path.name}" if f"demo/{path.name}" in bundled_names() else path.as_posix()
    return nearest(path.name, beside, nearest(meant, bundled_names(), known))


def _no_model(path: Path) -> ModelError:
    if not path.exists():
        return ModelError(f"there is no model folder {path}", hint=_guess(path), code="not_found")
    if not path.is_dir():
        hint = "give the folder that holds it"
        return ModelError(f"{path} is a file, not a model folder", hint=hint, code="not_a_model")
    if (path / CHECKPOINTS).is_dir() or (path / "config.toml").exists():
        return ModelError(
            f"the run {path} has no checkpoint yet",
            hint="wait until training saves its first one, or run jumok train again",
            code="no_checkpoint",
        )
    hint = f"a model folder has a {MANIFEST}, a run folder has {CHECKPOINTS}/"
    return ModelError(f"there is no model in {path}", hint=hint, code="not_a_model")


def _entry(where: Path, name: str, value: object) -> FileEntry:
    match value:
        case {"size": int(size), "sha256": str(digest)} if (
            _PLAIN_NAME.fullmatch(name) and name != MANIFEST and size >= 0 and _SHA256.fullmatch(digest)
        ):
            return FileEntry(size, digest)
    raise damaged(where, f"{MANIFEST} is damaged: its entry {ascii(name[:80])} cannot be right")


def _fault(path: Path, saved: FileEntry) -> str:
    """What is wrong with one file, or nothing. Large files are read piece by piece."""
    digest = hashlib.sha256()
    try:
        with _open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            while size == saved.size and (chunk := file.read(_CHUNK)):
                digest.update(chunk)
    except ModelError as error:
        return error.message
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"
    return _difference(path.name, saved, size, digest.hexdigest())


def _difference(name: str, saved: FileEntry, size: int, sha256: str) -> str:
    if size < saved.size:
        return f"{name} was cut short: {size:,} of {saved.size:,} bytes"
    if size > saved.size:
        return f"{name} is longer than the {saved.size:,} bytes that were saved"
    if sha256 != saved.sha256:
        end = len(os.path.commonprefix([sha256, saved.sha256])) + 12
        return f"{name} was changed: SHA-256 {sha256[:end]}…, saved as {saved.sha256[:end]}…"
    return ""


def read_small(path: Path) -> bytes:
    """The bytes of a plain file of at most `JSON_LIMIT`."""
    with _open_plain(path) as file:
        data = file.read(JSON_LIMIT + 1)
    if len(data) > JSON_LIMIT:
        raise damaged(path, f"{path.name} is larger than {JSON_LIMIT:,} bytes")
    return data


def _open_plain(path: Path) -> BinaryIO:
    """Open a plain file. A link, a pipe or a device in its place is damage; none of them is waited for."""
    try:
        if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise OSError(errno.ELOOP, "a link")
        descriptor = os.open(path, open_flags("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK"))
    except OSError as error:
        reason = {
            errno.ENOENT: "is missing",
            errno.ENOTDIR: "is missing",
            errno.ELOOP: "is a link, not a file",
        }.get(error.errno or 0, f"cannot be read: {error.strerror}")
        raise damaged(path, f"{path.name} {reason}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise damaged(path, f"{path.name} is not a plain file")
    return os.fdopen(descriptor, "rb")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key occurs twice")
    return fields


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")


def first_whole(path: str | Path, read: Callable[[Path], T]) -> T:
    """What `read` makes of the best folder of a run that it can read, or of the one model folder.

    In a run, a damaged checkpoint is passed over with a warning. A ModelError if none can be read.
    """
    path = Path(path)
    while True:
        folders = candidates(path)
        errors: list[ModelError] = []
        for folder in folders:
            try:
                result = read(folder)
            except ModelError as error:
                errors.append(error)
                continue
            for passed_over in errors:
                log.warning("%s\n  %s is used instead", passed_over, folder)
            return result
        if candidates(path) == folders:  # else a trainer at work saved and pruned meanwhile: look again
            raise errors[0]


def candidates(path: Path) -> list[Path]:
    """The folders that may hold the wanted model: the best, then from new to old.

    An average of checkpoints stands first if it scored better than the best of them.
    """
    folders = model_folders(path)
    best = next((folder for folder in folders if was_best(folder)), None)
    if folders[-1].name == AVERAGED and _score(folders[-1]) > _score(best):
        best = folders[-1]
    return sorted(folders, key=lambda folder: folder != best)


def was_best(folder: Path) -> bool:
    """Whether a checkpoint was the best when it was saved."""
    try:
        return read_json(folder, "state.json").get("best") is True
    except ModelError:
        return False


def _score(folder: Path | None) -> float:
    """The validation score that a model folder was saved with."""
    try:
        info = read_json(folder, "config.json").get("info") if folder else None
    except ModelError:
        info = None
    score = info.get("score") if isinstance(info, dict) else None
    return float(score) if isinstance(score, int | float) else float("-inf")
