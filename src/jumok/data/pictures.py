"""Pictures with captions: a TSV or JSONL file names a picture on each line, a folder or a zip holds them."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from jumok.data.columns import Texts
from jumok.data.corpus import Corpus, CorpusRow
from jumok.data.forms import Pair
from jumok.errors import ConfigError, DataError
from jumok.images.read import data_of_file, locate, open_archive

SHOWN = 3  # missing pictures named in a message
BREAKS = "\t\n\r"


@dataclass(frozen=True)
class PictureCorpus(Corpus):
    """A corpus whose sources are pictures; made by `with_pictures`. A pair is a full name and a text."""

    images: str = ""

    def pairs_of(self, texts: Texts) -> Sequence[Pair]:
        """A pair for each caption of the picture, where `columns` names several of them."""
        return [(texts[0], caption) for caption in texts[1:]]

    def rows(self, *, strict: bool = True) -> Iterator[CorpusRow]:
        """Full names and captions in file order. Pictures that are not there are an error that names a few;
        unless `strict`, names are left as the file has them."""
        missing = []
        for row in super().rows(strict=strict):
            if not strict:
                yield row
                continue
            path = self._path(row.texts[0].strip(), row.number)
            if not path:
                missing.append((row.number, row.texts[0]))
            elif not missing:
                yield row._replace(texts=(path, *row.texts[1:]))
        if missing:
            raise self._missing(missing)

    def _path(self, name: str, number: int) -> str:
        """Where a picture lies; "" if it is not there, or has a name that no line of a file can hold."""
        if not name or any(mark in name for mark in BREAKS):
            return ""
        try:
            return locate(self.images, name)
        except DataError as error:
            error.where = f"{self.shown[0]}:{number}"
            raise

    def fingerprint(self) -> str:
        """SHA-256 over the captions and the pictures they name."""
        digest = hashlib.sha256(super().fingerprint().encode())
        for path in dict.fromkeys(path for path, _ in self.pairs()):
            digest.update(path.removeprefix(self.images).encode() + b"\0")
            digest.update(hashlib.sha256(data_of_file(path)).digest())
        return digest.hexdigest()

    def _missing(self, missing: list[tuple[int, str]]) -> DataError:
        file = self.shown[0]
        first = "; ".join(f"{file}:{number}: {name or 'no name'}" for number, name in missing[:SHOWN])
        more = f"; and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        lines = "line names" if len(missing) == 1 else "lines name"
        return DataError(
            f"{len(missing):,} {lines} a picture that {self.images} does not have",
            where=first + more,
            hint=f"it has {_some(self.images)}; names are compared with their endings, capitals count",
            code="missing_images",
        )


def with_pictures(corpus: Corpus, images: str) -> PictureCorpus:
    """The corpus with its sources as names of pictures in a folder or a zip file."""
    if not os.path.isdir(images):
        if not os.path.exists(images):
            raise DataError(
                "no such folder or zip file of pictures", where=images, hint="check --images", code="no_file"
            )
        open_archive(images)  # what is wrong with it is told now
        if not images.lower().endswith(".zip"):
            raise ConfigError(f"{images} is not called .zip", hint="rename the file, or give a folder")
    if any(mark in images for mark in BREAKS):
        raise ConfigError(
            "the path of the pictures has a tab or a line break in it", hint="rename the folder"
        )
    return PictureCorpus(
        **{field.name: getattr(corpus, field.name) for field in fields(corpus)}, images=images
    )


def _some(images: str) -> str:
    """A few names of a folder or zip, to compare with."""
    names = os.listdir(images) if os.path.isdir(images) else open_archive(images).entries
    some = sorted(names)[:3]
    return f"{', '.join(some)}, …" if some else "nothing"
