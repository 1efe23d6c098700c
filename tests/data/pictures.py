"""A little set of pictures: squares of one colour, with the colour's name for a caption."""

import zipfile
from pathlib import Path

from PIL import Image

COLORS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220), "black": (0, 0, 0)}


def write_pictures(folder: Path, count: int = 40, *, zipped: bool = False) -> tuple[str, str]:
    """Paths of the pictures (a folder, or a zip) and of the captions: captions.tsv."""
    images = folder / "images"
    images.mkdir(parents=True)
    lines = []
    for n in range(count):
        color = list(COLORS)[n % len(COLORS)]
        picture = Image.new("RGB", (8, 8), (255, 255, 255))
        place = n // len(COLORS) % 4
        picture.paste(COLORS[color], (place, place, place + 4, place + 4))
        picture.save(images / f"{n}.png")
        lines.append(f"{n}.png\ta {color} square {n // len(COLORS)}\n")
    captions = folder / "captions.tsv"
    captions.write_text("".join(lines), encoding="utf-8")
    if not zipped:
        return str(images), str(captions)
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for file in sorted(images.iterdir()):
            archive.write(file, file.name)
    return str(folder / "images.zip"), str(captions)
