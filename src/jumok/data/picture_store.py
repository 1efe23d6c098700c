"""Pictures and the ids of their captions as memory-mapped arrays.

A store of text with another source side: every picture once, as it is after scaling (`pictures.u8`), and
which one each pair has (`pictures.of`), for a picture may have several captions. Whole pictures are kept, so
that training can move them before they are cut into patches.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.data.corpus import nothing_left
from jumok.data.forms import Pair
from jumok.data.store import SideWriter, Store, mapped, open_store, unreadable, write_header, writing
from jumok.images.patches import Patches, PatchReader
from jumok.images.read import Picture
from jumok.progress import Progress, silent
from jumok.text.tokenizer import Tokenizers

FORMAT = "jumok-pictures/1"
PICTURES, OF = "pictures.u8", "pictures.of"
CHUNK = 256  # pictures in memory at a time
THREADS = 4


@dataclass(frozen=True)
class PictureShift:
    """Pictures move by up to `by` pixels each way; how far follows from seed, step and row alone."""

    by: int
    seed: int
    step: int

    def move(self, picture: Picture, row: int) -> Picture:
        """The picture (size, size, 3) moved; its border fills the place that becomes free."""
        raw = np.random.PCG64(np.random.SeedSequence((self.seed, self.step, row))).random_raw(2)
        down, right = (int(number % np.uint64(2 * self.by + 1)) - self.by for number in raw)
        size = len(picture)
        rows = np.clip(np.arange(size) - down, 0, size - 1)
        columns = np.clip(np.arange(size) - right, 0, size - 1)
        moved: Picture = picture[rows][:, columns]
        return moved


@dataclass(frozen=True, eq=False, kw_only=True)
class PictureStore(Store):
    """`source_ids` are the pictures (pictures, size, size, 3), `source_offsets` which one each pair has."""

    reader: PatchReader
    shift: PictureShift | None = None

    def source(self, index: int) -> Patches:
        """The patches (S, P) of one pair's picture."""
        picture: Any = self.source_ids[self.source_offsets[index]]
        return self.reader.cut(picture if self.shift is None else self.shift.move(picture, int(index)))

    def moved(self, by: int, seed: int, step: int) -> "PictureStore":
        """The store as this step of a training run reads it."""
        return replace(self, shift=PictureShift(by, seed, step)) if by else self


def open_any_store(folder: Path) -> Store:
    """The store in this folder, of text or of pictures."""
    return open_picture_store(folder) if (folder / PICTURES).exists() else open_store(folder)


def open_picture_store(folder: Path) -> PictureStore:
    """The store in this folder; its files must have the sizes that its header states."""
    with unreadable(folder):
        header = json.loads((folder / "header.json").read_bytes())
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']!r} instead of {FORMAT!r}")
        size, pairs = header["size"], header["pairs"]
        reader = PatchReader(size, header["patch"])
        pictures = mapped(folder / PICTURES, "u1", header["pictures"] * size * size * 3)
        offsets = mapped(folder / "target.offsets", "<i8", pairs + 1)
        return PictureStore(
            folder=folder,
            source_ids=pictures.reshape(header["pictures"], size, size, 3),
            source_offsets=mapped(folder / OF, "<i8", pairs),
            source_lengths=np.full(pairs, reader.places, dtype=np.int32),
            target_ids=mapped(folder / "target.ids", header["dtype"], header["target_ids"]),
            target_offsets=offsets,
            target_lengths=np.diff(offsets).astype(np.int32),
            reader=reader,
            **{key: header[key] for key in ("left_out", "tokenizers", "fingerprint")},
        )


def build_picture_store(
    pairs: Iterable[Pair],
    tokenizers: Tokenizers,
    folder: Path,
    *,
    max_length: int,
    progress: Progress = silent,
    total: int | None = None,
) -> PictureStore:
    """Read all pictures and encode their tidied captions into `folder`.

    Pairs without a caption, or with one of more than `max_length` tokens, are left out and counted.
    """
    reader = tokenizers.pictures
    assert reader is not None
    names, of, ids, left_out, read = _captions(pairs, tokenizers, max_length)
    if not ids:
        raise nothing_left(read, left_out, max_length)
    dtype = np.dtype("<u2" if tokenizers.target.size <= 1 << 16 else "<u4")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with ExitStack() as files:
            pictures = files.enter_context((folder / PICTURES).open("wb"))
            for done, picture in enumerate(_pictures(names, reader), start=1):
                data = picture.tobytes()
                pictures.write(data)
                digest.update(data)
                progress("reading pictures", done, len(names))
            target = SideWriter(folder, "target", files)
            target.add(
                np.array([i for one in ids for i in one], dtype=dtype), np.array([len(one) for one in ids])
            )
        which = np.array(of, dtype="<i8").tobytes()
        (folder / OF).write_bytes(which)
        digest.update(which)
        header = {
            "format": FORMAT,
            "pairs": len(of),
            "pictures": len(names),
            "size": reader.side,
            "patch": reader.patch,
            "dtype": dtype.str,
            "target_ids": target.count,
            "left_out": dict(left_out),
            "max_length": max_length,
        }
        contents = [digest.hexdigest(), target.fingerprint()]
        write_header(folder, header, contents, tokenizers.fingerprint)
    return open_picture_store(folder)


def _captions(
    pairs: Iterable[Pair], tokenizers: Tokenizers, max_length: int
) -> tuple[list[str], list[int], list[list[int]], Counter[str], int]:
    """Pictures, each once; of each pair its picture and its caption's ids; what was left out; pairs read."""
    read = list(pairs)
    written = [pair for pair in read if pair[1]]
    encoded = tokenizers.target.encode_tidied(caption for _, caption in written)
    kept = [(name, one) for (name, _), one in zip(written, encoded, strict=True) if len(one) <= max_length]
    names = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in kept))}
    left_out = Counter(blank=len(read) - len(written), too_long=len(written) - len(kept))
    return list(names), [names[name] for name, _ in kept], [one for _, one in kept], left_out, len(read)


def _pictures(names: Sequence[str], reader: PatchReader) -> Iterator[NDArray[np.uint8]]:
    """The pictures in order, read by a few threads at once."""
    with ThreadPoolExecutor(THREADS) as pool:
        for begin in range(0, len(names), CHUNK):
            yield from pool.map(reader.picture, names[begin : begin + CHUNK])
