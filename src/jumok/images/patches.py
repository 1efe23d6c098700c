"""A picture as a sequence: patches in rows from the top left, as words are in a sentence.

An id of a patch is its bytes: patch · patch · 3 numbers, row after row. A picture has no end token; it has
(size / patch)² patches, always.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from jumok.config import ImageConfig
from jumok.errors import ConfigError, TokenizerFileError
from jumok.images.read import Picture, bad, is_data_url, read_picture, to_data_url

FORMAT = "jumok-patches/1"
MOST_FILE = 1 << 16

Patches = NDArray[np.uint8]  # (places, numbers)


class PatchReader:
    """Pictures to patches and back; it stands where a text model has its source tokenizer.

    Without `paths` it takes data URLs alone, so that who sends a text cannot have a file opened.
    """

    size = 0  # tokens of a vocabulary: patches have none

    def __init__(self, size: int, patch: int, *, paths: bool = True) -> None:
        ImageConfig(size=size, patch=patch)  # refuses sizes that cannot work
        self.side, self.patch, self.paths = size, patch, paths
        self.columns = size // patch
        self.places = self.columns**2
        self.numbers = patch * patch * 3
        self.fingerprint = hashlib.sha256(self.to_bytes()).hexdigest()

    def cut(self, pictures: Picture) -> Patches:
        """(…, size, size, 3) -> (…, places, numbers)."""
        *some, _, _, _ = pictures.shape
        grid = pictures.reshape(*some, self.columns, self.patch, self.columns, self.patch, 3)
        patches: Patches = grid.swapaxes(-4, -3).reshape(*some, self.places, self.numbers)
        return patches

    def join(self, patches: Patches) -> Picture:
        """(…, places, numbers) -> (…, size, size, 3)."""
        *some, _, _ = patches.shape
        grid = patches.reshape(*some, self.columns, self.columns, self.patch, self.patch, 3)
        picture: Picture = grid.swapaxes(-4, -3).reshape(*some, self.side, self.side, 3)
        return picture

    def picture(self, name: str) -> Picture:
        """The picture that a text names, scaled: (size, size, 3)."""
        if not self.paths and not is_data_url(name):
            hint = 'send the picture itself: "data:image/png;base64,…"'
            raise bad("this model reads pictures, and the text is none", name, hint)
        return read_picture(name, self.side)

    def encode(self, text: str) -> tuple[bytes, ...]:
        """The patches of the picture that `text` names: a path, or a data URL. None for a blank text."""
        name = text.strip()
        return tuple(row.tobytes() for row in self.cut(self.picture(name))) if name else ()

    def encode_many(self, texts: Iterable[str]) -> list[tuple[bytes, ...]]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[bytes]) -> str:
        """The picture of these patches as a data URL; patches that are missing are white."""
        patches = list(ids)[: self.places]
        if not patches:
            return ""
        patches += [b"\xff" * self.numbers] * (self.places - len(patches))
        rows = np.frombuffer(b"".join(patches), dtype=np.uint8).reshape(self.places, self.numbers)
        return to_data_url(self.join(rows))

    def decode_many(self, many: Iterable[Iterable[bytes]]) -> list[str]:
        """`decode` of each picture."""
        return [self.decode(ids) for ids in many]

    def pieces(self, ids: Sequence[object]) -> list[str]:
        """Row and column of each patch, from 1, to show to people: "1,1", "1,2", …"""
        return [f"{place // self.columns + 1},{place % self.columns + 1}" for place in range(len(ids))]

    def without_paths(self) -> "PatchReader":
        """The same reader for texts of people who may not have files opened."""
        return PatchReader(self.side, self.patch, paths=False)

    def to_bytes(self) -> bytes:
        """The reader as a file; `parse_patches` reads it."""
        return json.dumps({"format": FORMAT, "size": self.side, "patch": self.patch}).encode()


def parse_patches(data: bytes, name: str) -> PatchReader:
    """The reader that `PatchReader.to_bytes` wrote; anything else is refused. `name` is for the message."""
    try:
        fields = json.loads(data[:MOST_FILE])
        if not isinstance(fields, dict) or fields.keys() != {"format", "size", "patch"}:
            raise ValueError("other fields than format, size and patch")
        if fields["format"] != FORMAT:
            raise ValueError(f"format {str(fields['format'])[:40]!r} instead of {FORMAT!r}")
        if not all(type(fields[key]) is int for key in ("size", "patch")):
            raise ValueError("a size is not a number")
        return PatchReader(fields["size"], fields["patch"])
    except (ValueError, RecursionError, ConfigError) as error:
        reason = error.message if isinstance(error, ConfigError) else str(error) or type(error).__name__
        raise TokenizerFileError(
            f"not a patch reader of jumok: {reason}",
            where=name,
            hint="the file is damaged or was made by another program: copy the model folder again",
        ) from None
