"""Make the built-in data set `emoji-captions`: small pictures of emoji and their English names.

    python scripts/make_emoji.py FOLDER src/jumok/data/sets/emoji-captions

FOLDER holds images.zip, and train.tsv.gz, val.tsv.gz and test.tsv.gz with a file name, a category and an
English name on each line (further columns are other languages). Pictures are scaled to 32 pixels a side and
written as WebP; the same input gives the same bytes.
"""

import gzip
import io
import sys
import zipfile
from pathlib import Path

from PIL import Image

from jumok.images.read import data_of_file, decode_picture

SPLITS = {"train": "train", "val": "valid", "test": "test"}
SIZE, QUALITY = 32, 72
NAME, ENGLISH = 0, 2  # columns
LONG_AGO = (1980, 1, 1, 0, 0, 0)


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """File name and English name of every line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(row[NAME], row[ENGLISH]) for row in rows]


def small(data: bytes, where: str) -> bytes:
    """A picture at 32 pixels a side, as WebP."""
    file = io.BytesIO()
    Image.fromarray(decode_picture(data, SIZE, where)).save(file, "WEBP", quality=QUALITY, method=6)
    return file.getvalue()


def compressed(lines: list[str]) -> bytes:
    """Gzip without a time or a name inside, so that equal lines are equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    for split, ours in SPLITS.items():
        pairs = read_pairs(source / f"{split}.tsv.gz")
        (folder / f"{ours}.tsv.gz").write_bytes(compressed([f"{name}\t{text}" for name, text in pairs]))
        names += [name for name, _ in pairs]
        print(f"{ours}: {len(pairs):,} pictures")
    with zipfile.ZipFile(folder / "images.zip", "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(set(names)):
            path = f"{source / 'images.zip'}/{name}"
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), small(data_of_file(path), path))
    print(f"images.zip: {(folder / 'images.zip').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
