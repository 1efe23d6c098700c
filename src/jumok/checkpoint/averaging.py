"""The mean of several models' weights as a model: of checkpoints of one run, or of siblings of one start.

    W = (W_1 + W_2 + …) / n        tensor by tensor, summed in float64

One model is read at a time, so memory does not grow with their number. No torch. Models that were trained
from different beginnings have nothing to do with each other, weight by weight, and their mean is no model:
how alike they are, as the cosine of their weights, is told with the result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from jumok.checkpoint.card import model_files
from jumok.checkpoint.contents import WEIGHTS, Contents, read_arrays, read_contents
from jumok.checkpoint.folder import write_folder
from jumok.checkpoint.manifest import first_whole
from jumok.errors import ConfigError, ModelError, RunError
from jumok.native.tensors import Array
from jumok.native.weights import differences
from jumok.progress import Progress, silent

ALIKE = 0.5
"""Weights with a smaller cosine were hardly trained from one start; of independent ones it is near 0."""
OF_ONE = {"step", "score", "best", "fingerprint", "parameters", "averaged", "mean_of"}
"""What is known of a single model, and of no mean."""


@dataclass(frozen=True)
class AverageReport:
    """What was averaged, and how alike the models are."""

    folder: Path
    members: tuple[str, ...]
    tensors: int
    numbers: int
    likeness: float
    """The smallest cosine between the first model's weights and another's."""

    @property
    def alike(self) -> bool:
        """Whether the models seem to come from one start."""
        return self.likeness >= ALIKE

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder), "alike": self.alike}


def average_models(
    models: Sequence[str | Path], out: str | Path, *, overwrite: bool = False, progress: Progress = silent
) -> AverageReport:
    """Write the mean of these models' weights to a new model folder `out`.

    Each is a run folder (its best checkpoint), a checkpoint or a model folder; one that is named twice counts
    twice. They have the same vocabulary, and tensors of the same names and shapes: else a ModelError.
    """
    if len(models) < 2:
        raise ConfigError("there is nothing to average", hint="name two or more model folders")
    refuse_existing(Path(out), models, overwrite=overwrite)
    first, sums = first_whole(models[0], read_sums)
    members, likeness = [first], 1.0
    progress("averaging", 1, len(models))
    for number, model in enumerate(models[1:], start=2):
        contents, arrays = first_whole(model, read_plain)
        check_same(str(models[0]), first, str(model), contents)
        check_tensors(str(models[0]), sums, str(model), arrays)
        means = {name: total / len(members) for name, total in sums.items()}
        likeness = min(likeness, cosine(means, arrays))
        for name, total in sums.items():
            total += arrays[name]
        members.append(contents)
        progress("averaging", number, len(models))
    weights = {name: rounded(name, total / len(members)) for name, total in sums.items()}
    names = [Path(model).resolve().name for model in models]
    config, tokenizers, about = first.config, first.tokenizers, info_of(names, members)
    data = save(weights, metadata={"format": "pt"})
    write_folder(Path(out), {**model_files(config, tokenizers, about), WEIGHTS: data})
    numbers = sum(one.size for one in weights.values())
    return AverageReport(Path(out), tuple(names), len(weights), numbers, likeness)


def refuse_existing(out: Path, models: Iterable[str | Path], *, overwrite: bool) -> None:
    """Nothing is written over unless someone says so, and never one of the models themselves."""
    if any(out.resolve() == Path(model).resolve() for model in models):
        raise ConfigError(f"{out} is one of the models", hint="choose another folder for their mean")
    if out.exists() and not overwrite and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} exists", hint="choose another folder, or add --overwrite", code="exists")


def read_plain(folder: Path) -> tuple[Contents, dict[str, Array]]:
    """A folder with its weights as numbers; an int8 one has only codes."""
    contents = read_contents(folder)
    if contents.quantised:
        raise ModelError(
            f"{folder.name} is an int8 folder: its weights are rounded, and their mean would be of no use",
            where=str(folder),
            hint="average the models that such folders were exported from, then export the mean",
            code="quantised",
        )
    return contents, read_arrays(contents)


def read_sums(folder: Path) -> tuple[Contents, dict[str, NDArray[np.float64]]]:
    """The first model, ready to be added to."""
    contents, arrays = read_plain(folder)
    return contents, {name: array.astype(np.float64) for name, array in arrays.items()}


def check_same(name: str, one: Contents, other_name: str, other: Contents) -> None:
    """Refuse models whose settings or vocabularies differ; dropout is no part of a model's shape."""
    mine, its = (asdict(contents.config.model) for contents in (one, other))
    for key in sorted(mine.keys() | its.keys(), key=lambda key: (key != "arch", key)):
        if key != "dropout" and mine.get(key) != its.get(key):
            values = f"model.{key} is {mine.get(key)} in one and {its.get(key)} in the other"
            raise not_one(name, other_name, values)
    if one.tokenizers.fingerprint != other.tokenizers.fingerprint:
        sizes = [f"{contents.tokenizers.target.size:,} target tokens" for contents in (one, other)]
        marks = [contents.tokenizers.fingerprint[:12] for contents in (one, other)]
        pairs = [f"{size} with SHA-256 {mark}…" for size, mark in zip(sizes, marks, strict=True)]
        reason = f"their vocabularies differ: {' and '.join(pairs)}"
        raise not_one(name, other_name, reason, together=False)


def check_tensors(
    name: str, sums: dict[str, NDArray[np.float64]], other_name: str, arrays: dict[str, Array]
) -> None:
    """Refuse tensors of other names or shapes."""
    kinds = [{key: ("float", array.shape) for key, array in some.items()} for some in (sums, arrays)]
    if faults := differences(*kinds):
        raise not_one(name, other_name, f"in the second {faults[0]}")


def not_one(name: str, other_name: str, reason: str, *, together: bool = True) -> ModelError:
    """The error for models that have no mean; `together`: an ensemble of them may be possible."""
    ensemble = f"; others can be an ensemble: -m {name}+{other_name}" if together else ""
    return ModelError(
        f"{name} and {other_name} cannot be averaged: {reason}",
        hint=f"average checkpoints of one run or models fine-tuned from one{ensemble}",
        code="different_models",
    )


def cosine(one: dict[str, NDArray[np.float64]], other: dict[str, Array]) -> float:
    """How alike the matrices of two models are: 1 for the same, about 0 where nothing connects them."""
    product = mine = its = 0.0
    for name, array in one.items():
        if array.ndim > 1:
            a, b = array.ravel(), other[name].astype(np.float64).ravel()
            product, mine, its = product + float(a @ b), mine + float(a @ a), its + float(b @ b)
    return product / sqrt(mine * its) if mine and its else 1.0


def rounded(name: str, mean: NDArray[np.float64]) -> NDArray[np.float32]:
    """A mean as it is saved."""
    if not np.isfinite(mean).all():
        raise RunError(f"{name} has numbers that are not finite", hint="nothing was saved", code="non_finite")
    return mean.astype(np.float32)


def info_of(names: Sequence[str], members: Sequence[Contents]) -> dict[str, Any]:
    """What the card says: what all models say alike, and which models these are."""
    first = members[0].info
    alike = {
        key: value
        for key, value in first.items()
        if key not in OF_ONE and all(member.info.get(key) == value for member in members)
    }
    prints = [str(member.info.get("fingerprint", "")) for member in members]
    marks = list(zip(names, prints, strict=True))
    return {
        **alike,
        "averaged": [{"name": name, "fingerprint": mark} for name, mark in marks],
        "mean_of": ", ".join(f"{name} ({mark[:12]})" for name, mark in marks),
    }
