"""One picture as numbers: from a file, a zip or a data URL to a square of RGB bytes.

A picture is named by a text: `cat.png`, `pictures.zip/cat.png` (an entry of a zip file), or
`data:image/png;base64,…`, which holds the picture itself.
"""

import base64
import binascii
import os
import re
import warnings
import zipfile
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ConfigError, DataError, nearest

if TYPE_CHECKING:  # Pillow is imported where it runs: models of text begin without it
    from PIL.Image import Image as PillowImage

Picture = NDArray[np.uint8]  # (size, size, 3)

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
MOST_PIXELS = 50_000_000
MOST_BYTES = 32 << 20  # of one picture as a file
MOST_URL = 8 << 20  # characters of a data URL
WHITE = (255, 255, 255, 255)
DATA_URL = re.compile(r"data:image/[\w.+-]{1,40};base64,")
SHOWN = 80  # characters of a text in a message
LONGEST_PATH = 400  # characters of a name that are shown: where a file lies is said to its end

warnings.filterwarnings("ignore", module=r"PIL\.")  # what matters is an error here


def read_picture(name: str, size: int) -> Picture:
    """The picture of this name as a square of `size` pixels a side: (size, size, 3)."""
    if is_data_url(name):
        return decode_picture(data_of_url(name), size, "a data URL")
    return decode_picture(data_of_file(name), size, name)


def is_data_url(name: str) -> bool:
    """Whether a name holds the picture itself."""
    return name[:5].lower() == "data:"


def data_of_url(url: str) -> bytes:
    """The bytes inside `data:image/…;base64,…`."""
    head = DATA_URL.match(url)
    if head is None:
        raise bad("not a picture as a data URL", url, "it begins with data:image/png;base64,")
    if len(url) > MOST_URL:
        raise bad(f"the data URL has more than {MOST_URL >> 20} MiB", url, "make the picture smaller first")
    try:
        return base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise bad("the data URL is not sound base64", url, "copy it again, to its end") from None


def data_of_file(path: str) -> bytes:
    """The bytes of a file, or of an entry of a zip file: `pictures.zip/cat.png`."""
    archive, entry = split_archive(path)
    if entry:
        return open_archive(archive).read(entry)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise DataError("no such picture", where=_short(path), hint=_near(path), code="no_file") from None
    except IsADirectoryError:
        hint = "name a picture in it"
        raise DataError("a folder, not a picture", where=_short(path), hint=hint, code="is_folder") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "check the path and who may read it"
        raise DataError(
            f"cannot read the picture: {reason.lower()}", where=_short(path), hint=hint, code="unreadable"
        ) from None
    if len(data) > MOST_BYTES:
        raise bad(f"the file has more than {MOST_BYTES >> 20} MiB", path, "make the picture smaller first")
    return data


def decode_picture(data: bytes, size: int, where: str) -> Picture:
    """A file's bytes as a square: turned as its camera says, over white, cut at the centre, and scaled.

    Of an animated picture the first frame. Its size is checked before it is unpacked.
    """
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError:
        raise ConfigError(
            "pictures are read with Pillow, which is not installed",
            hint="pip install 'jumok[train]'",
            code="extra_missing",
        ) from None
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise _too_many(where)
            return np.array(_square(_flat(ImageOps.exif_transpose(image)), size))
    except UnidentifiedImageError:
        names = ", ".join(FORMATS)
        raise bad("not a picture", where, f"files of these kinds can be read: {names}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_many(where) from None
    except DataError:
        raise
    except Exception as error:  # a damaged file may fail anywhere inside the library
        reason = str(error).split("\n")[0][:SHOWN] or type(error).__name__
        raise bad(f"the picture is damaged or cut short: {reason}", where, "copy it again") from None


def _flat(image: "PillowImage") -> "PillowImage":
    """Any kind of picture as RGB, with white behind what is transparent."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits a pixel: the upper 8 of them
        numbers = np.asarray(image).astype(np.int64) >> 8
        return Image.fromarray(numbers.clip(0, 255).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    above = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", above.size, WHITE), above).convert("RGB")


def _square(image: "PillowImage", size: int) -> "PillowImage":
    """The largest square at the centre, scaled; a picture of that size already stays as it is."""
    from PIL.Image import Resampling

    width, height = image.size
    side = min(width, height)
    if (width, height) == (size, size):
        return image
    left, top = (width - side) // 2, (height - side) // 2
    box = (left, top, left + side, top + side)
    return image.resize((size, size), Resampling.BICUBIC, box=box)


def to_data_url(picture: Picture) -> str:
    """The picture as a PNG in a data URL; `read_picture` gives back the same numbers."""
    from PIL import Image

    file = BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


class Archive:
    """A zip file of pictures whose entries have been looked at: none leads outside, none is twice there."""

    def __init__(self, path: str) -> None:
        try:
            self.file = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise DataError("no such file", where=path, hint=_near(path), code="no_file") from None
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise bad(f"not a sound zip file: {error}", path, "copy it again") from None
        self.path, self.entries = path, dict[str, zipfile.ZipInfo]()
        for entry in self.file.infolist():
            if not entry.is_dir():
                self._check(entry)
                self.entries[entry.filename] = entry

    def _check(self, entry: zipfile.ZipInfo) -> None:
        name, where = entry.filename, f"{self.path}/{entry.filename}"
        if not is_inside(name):
            raise bad("the zip has an entry that leads outside", where, "make the zip again")
        if name in self.entries:
            raise bad("the zip has two entries of one name", where, "make the zip again")
        if entry.flag_bits & 1:
            raise bad("the zip has an encrypted entry", where, "make the zip again without a password")
        if entry.file_size > MOST_BYTES:
            raise bad(f"the entry has more than {MOST_BYTES >> 20} MiB", where, "leave it out")

    def read(self, name: str) -> bytes:
        """The bytes of one entry."""
        where = f"{self.path}/{name}"
        if name not in self.entries:
            hint = nearest(name, self.entries, f"it has {len(self.entries):,} entries")
            raise DataError("no such picture in the zip", where=_short(where), hint=hint, code="no_file")
        try:
            with self.file.open(self.entries[name]) as file:
                data = file.read(MOST_BYTES + 1)
        except Exception as error:  # whatever a damaged zip does
            raise bad(f"the zip is damaged: {error}", where, "copy it again") from None
        if len(data) > MOST_BYTES:
            raise bad(f"the entry has more than {MOST_BYTES >> 20} MiB", where, "leave it out")
        return data


def open_archive(path: str) -> Archive:
    """The zip file at a path; kept open, and opened again when it has changed."""
    try:
        about = os.stat(path)
    except OSError:
        return Archive(path)  # which says what is wrong
    return _opened(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=4)
def _opened(path: str, _time: int, _size: int) -> Archive:
    return Archive(path)


def split_archive(path: str) -> tuple[str, str]:
    """`pictures.zip/cat.png` as the zip file and its entry; the entry is "" for a plain path."""
    for match in re.finditer(r"\.zip(?=/)", path, re.IGNORECASE):
        if os.path.isfile(path[: match.end()]):
            return path[: match.end()], path[match.end() + 1 :]
    return path, ""


def locate(images: str, name: str) -> str:
    """The full name of a picture of a folder or a zip file; "" if it has none of that name.

    A name that leads outside the folder is refused.
    """
    if not is_inside(name):
        raise outside(images, name)
    if not os.path.isdir(images):
        return f"{images}/{name}" if name in open_archive(images).entries else ""
    path = Path(images, name)
    if not path.is_file():
        return ""
    if not path.resolve().is_relative_to(Path(images).resolve()):
        raise outside(images, name)
    return str(path)


def is_inside(name: str) -> bool:
    """Whether a name of a picture stays within what it is a name in."""
    path = PurePosixPath(name)
    return (
        bool(name)
        and "\\" not in name
        and "\0" not in name
        and not (path.is_absolute() or ".." in path.parts)
    )


def outside(images: str, name: str) -> DataError:
    hint = "give names relative to the folder or zip of the pictures"
    return DataError(f"{name[:SHOWN]!r} leads outside {images}", hint=hint, code="outside")


def bad(message: str, where: str, hint: str) -> DataError:
    """A picture that cannot be used."""
    return DataError(message, where=_short(where), hint=hint, code="bad_image")


def _too_many(where: str) -> DataError:
    most = MOST_PIXELS // 1_000_000
    return bad(f"the picture has more than {most} million pixels", where, "make it smaller first")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_PATH and not is_data_url(name) else f"{name[:40]}…"


def _near(path: str) -> str:
    try:
        names = os.listdir(Path(path).parent)
    except (OSError, ValueError):
        return "check the path"
    return nearest(Path(path).name, names, "check the path")
