"""The interface of an export format: check that it is possible, write, and answer with the result.

A format is a module of this folder with the names of `Format`. `make.py` does everything else: the temporary
folder, the comparison and the certificate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from jumok.answers import Answer
from jumok.checkpoint.model import LoadedModel
from jumok.config import RunConfig
from jumok.errors import ConfigError, nearest
from jumok.progress import Progress, silent

FORMATS = ("native", "ctranslate2", "huggingface", "onnx", "argos")


@dataclass(frozen=True)
class WriteOptions:
    """How a model is written."""

    type: str = "float32"
    """Of the weights: float32 or int8."""
    languages: tuple[str, str] = ("", "")
    """Source and target as `CODE` or `CODE=Name`, for formats that need them; "" takes the model's."""
    progress: Progress = silent


class Answerer(Protocol):
    """A model that was written, opened by the program that it was written for."""

    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        """The best answer to each source, in order, with the other program's own log-probabilities.

        It is called with a few dozen sources at a time: ids without their end, which it adds. An answer to
        source i has at most `limits[i]` tokens, its end included. A beam of 1 is greedy search. Never answer
        with what `USUAL` of decoding/batched.py leaves out, as far as the program can be told.
        """
        ...


class Format(Protocol):
    """The names that a format's module has."""

    TYPES: tuple[str, ...]
    """Types of weights that it can hold, of float32 and int8; the usual one first."""
    NEEDS: tuple[str, ...]
    """Packages by pip's names that it imports when it writes or answers; nothing is imported before."""
    EXTRA: str
    """What to install to have them: pip install 'jumok[EXTRA]'."""
    FILE: bool
    """It is one file, made from the folder by `to_file(folder, file)`; else a folder."""

    def check(self, config: RunConfig) -> list[str]:
        """Why a model with these settings cannot be written; one short sentence for each reason."""
        ...

    def write(self, loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
        """Write all files but the certificate into an empty folder. The model is on the CPU, in float32."""
        ...

    def open(self, folder: Path) -> Answerer:
        """The model in a folder that `write` has filled."""
        ...


def find_format(name: str) -> Format:
    """The module of a format; nothing that it needs is imported yet."""
    if name not in FORMATS:
        raise ConfigError(f"there is no format {name!r}", hint=nearest(name, FORMATS))
    return cast(Format, import_module(f"jumok.export.{name}"))
