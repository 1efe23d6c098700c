"""The files of a model that someone brings: plain files of one folder, read and never executed."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from jumok.checkpoint.manifest import JSON_LIMIT
from jumok.errors import ModelError

MOST_TEXT = 256 << 20  # bytes of a vocabulary or a tokenizer


class BroughtFolder:
    """A folder with a model of another program. Links that lead out of it are refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used: dict[str, str] = {}  # SHA-256 of what was read, for the card
        self.inside = [path.resolve()]
        # The cache of the Hugging Face Hub keeps a snapshot's files beside it, and links to them.
        if path.resolve().parent.name == "snapshots":
            self.inside.append(path.resolve().parent.parent / "blobs")

    def has(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def first(self, *names: str) -> str | None:
        """The first of these names that the folder has."""
        return next((name for name in names if self.has(name)), None)

    def file(self, name: str) -> Path:
        """Where a plain file of the folder lies; a ModelError where there is none."""
        path = self.path / name
        if not os.path.lexists(path):
            raise missing(path, f"{name} is missing")
        real = path.resolve()
        if not any(real.is_relative_to(folder) for folder in self.inside):
            raise ModelError(
                f"{name} is a link out of the folder, to {real}",
                where=str(path),
                hint="copy the folder with its files in it first (cp -rL), if you trust what it links to",
                code="link_outside",
            )
        if not real.exists() or not stat.S_ISREG(real.stat().st_mode):
            raise missing(path, f"{name} is not a plain file")
        return real

    def bytes(self, name: str, most: int = MOST_TEXT) -> bytes:
        """The content of a small file."""
        path = self.file(name)
        if (size := path.stat().st_size) > most:
            raise ModelError(f"{name} has {size:,} bytes, and {most:,} may be", where=str(self.path / name))
        data = path.read_bytes()
        self.used[name] = hashlib.sha256(data).hexdigest()
        return data

    def text(self, name: str, most: int = MOST_TEXT) -> str:
        """A file of text."""
        try:
            return self.bytes(name, most).decode("utf-8")
        except UnicodeDecodeError as error:
            raise ModelError(
                f"{name} is no text in UTF-8: {error}", where=str(self.path / name), hint=COPY
            ) from None

    def json(self, name: str, most: int = JSON_LIMIT) -> Any:
        """A file of JSON."""
        try:
            return json.loads(self.bytes(name, most).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"{name} is no JSON: {str(error)[:200]}", where=str(self.path / name), hint=COPY
            ) from None

    def object(self, name: str, most: int = JSON_LIMIT) -> dict[str, Any]:
        """A file with a JSON object."""
        found = self.json(name, most)
        if not isinstance(found, dict):
            raise ModelError(f"{name} is no JSON object", where=str(self.path / name), hint=COPY)
        return found

    def digest(self, name: str) -> str:
        """SHA-256 of a file of any size, read piece by piece."""
        if name not in self.used:
            with self.file(name).open("rb") as file:
                self.used[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return self.used[name]


COPY = "copy the folder again from where it was whole"


def missing(path: Path, message: str) -> ModelError:
    return ModelError(message, where=str(path), hint=COPY, code="missing_file")
