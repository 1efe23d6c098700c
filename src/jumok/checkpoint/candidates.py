"""Which folder holds the wanted model: of a run its best checkpoint that is whole. No torch."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from jumok.checkpoint.manifest import AVERAGED, model_folders, read_json
from jumok.errors import ModelError

T = TypeVar("T")

log = logging.getLogger("jumok")


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
