"""The checkpoints of a run: saved whole or not at all, verified before use, pruned only behind a good one.

A checkpoint is a model folder with `optimizer.safetensors` and `state.json` beside the model's files. There
is no state of a random generator to keep: randomness in training is keyed by (seed, step).
"""

import logging
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.checkpoint.folder import discard, dump_json, replace_file, run_lock, settle, write_folder
from jumok.checkpoint.manifest import (
    CHECKPOINTS,
    checkpoint_folders,
    damaged,
    first_whole,
    read_file,
    read_json,
    verify_folder,
    was_best,
)
from jumok.checkpoint.model import LoadedModel, pack, read_model, unpack
from jumok.errors import Error, ModelError, RunError

log = logging.getLogger("jumok")


@dataclass(frozen=True)
class Checkpoint:
    """One saved step. What is read from it is checked against its manifest at that moment."""

    folder: Path
    step: int

    def tensors(self, name: str = "model") -> dict[str, Tensor]:
        """The tensors of `<name>.safetensors`, on the CPU."""
        file = f"{name}.safetensors"
        return unpack(read_file(self.folder, file), self.folder / file)

    def optimizer(self) -> dict[str, Tensor]:
        """The optimizer's tensors, on the CPU."""
        return self.tensors("optimizer")

    @property
    def state(self) -> dict[str, Any]:
        """The training state as it was given to `save`, as JSON keeps it: tuples are lists."""
        match read_json(self.folder, "state.json"):
            case {"training": dict(state)}:
                return state
        raise damaged(self.folder / "state.json", "state.json is damaged: it holds no training state")


class Checkpoints:
    """All checkpoints of one run folder, `checkpoints/step-00001200` and so on.

    Whether a checkpoint was the best is written inside it, so that a crash cannot part the two; `best.json`
    and `latest.json` are hints for people and other programs.
    """

    def __init__(self, run: Path, *, keep: int = 2) -> None:
        self.run, self.folder = Path(run), Path(run) / CHECKPOINTS
        self.keep = max(keep, 2)  # one may turn out damaged
        self._locked = False
        self._damaged: set[int] = set()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep every other trainer out; RunError `locked` if there is one, ConfigError `unwritable`."""
        with run_lock(self.run):
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    def save(
        self,
        step: int,
        *,
        model: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        state: Mapping[str, Any],
        files: Mapping[str, bytes],
        best: bool,
        score: float | None = None,
        protect: Collection[int] = (),
    ) -> Path:
        """Save one step and delete the steps that are no longer needed.

        RunError `non_finite`, `disk_full` or `io_error` if it could not be saved: nothing is left of it then,
        and every older checkpoint is as it was. The newest `keep`, the best and those in `protect` stay.
        """
        record = {"step": step, "best": best, "score": score, "training": dict(state)}
        contents = {
            **files,
            "model.safetensors": pack(model, "model.safetensors"),
            "optimizer.safetensors": pack(optimizer, "optimizer.safetensors"),
            "state.json": dump_json(record),
        }
        folder = self.folder / f"step-{step:08d}"
        if folder.exists() and verify_folder(folder, extras=False):
            with suppress(OSError):  # then writing fails too, and says why
                discard(folder)  # a damaged checkpoint in the way is no loss
        write_folder(folder, contents)
        self._damaged.discard(step)
        self._point({"step": step, "score": score}, ["latest", *(["best"] if best else [])])
        self._prune({step, *protect})
        return folder

    def newest(self) -> Checkpoint | None:
        """The newest whole checkpoint, or None before the first; leftovers of a crash are cleared away.

        Damaged ones are passed over with a warning. If all are damaged that is a ModelError: starting over
        in silence would hide the loss.
        """
        self._tidy()
        whole = next(self._whole(), None)
        if whole is None and self._damaged:
            raise ModelError(
                f"none of the run's {len(self._damaged)} checkpoints is whole",
                where=str(self.folder),
                hint="copy the run folder again from where it was whole, or start over with --fresh",
                code="damaged",
            )
        return whole

    def recent(self, n: int) -> list[Checkpoint]:
        """The newest `n` whole checkpoints, newest first."""
        return [checkpoint for checkpoint, _ in zip(self._whole(), range(n), strict=False)]

    def clear(self) -> None:
        """Delete every checkpoint, all at once: the run starts over."""
        if self.folder.exists():
            discard(self.folder)
        self._damaged.clear()

    def _whole(self) -> Iterator[Checkpoint]:
        """The checkpoints that verify, newest first; a warning for each of the others."""
        for step, folder in checkpoint_folders(self.run).items():
            if faults := verify_folder(folder, extras=False):
                log.warning("%s is damaged (%s); an older checkpoint is used", folder, "; ".join(faults))
                self._damaged.add(step)
            else:
                self._damaged.discard(step)  # someone may have repaired it
                yield Checkpoint(folder, step)

    def _tidy(self) -> None:
        """Clear leftovers, unless another trainer holds the run: then they may be its work in progress."""
        if not self.run.is_dir():
            return
        try:
            with nullcontext() if self._locked else self.lock():
                if self.folder.is_dir():
                    settle(self.folder)
                for trash in self.run.glob(f"trash-{CHECKPOINTS}-*"):  # `clear` was broken off
                    shutil.rmtree(trash, ignore_errors=True)
                for name in ("run.json", "config.toml"):  # `RunFolder.write` was
                    for part in self.run.glob(f"{name}.tmp-*"):
                        part.unlink()
        except (Error, OSError) as error:
            log.info("leftovers stay in %s: %s", self.folder, error)

    def _point(self, content: Mapping[str, Any], names: Iterable[str]) -> None:
        try:
            for name in names:
                replace_file(self.folder / f"{name}.json", dump_json(content))
        except RunError as error:
            log.warning("the checkpoint is saved, but not the hint to it: %s", error)

    def _prune(self, protect: Collection[int]) -> None:
        folders = checkpoint_folders(self.run)
        good = [step for step in folders if step not in self._damaged]
        best = next((step for step in good if was_best(folders[step])), None)
        keep = {*good[: self.keep], *protect, best}
        for step, folder in folders.items():
            if step not in keep:
                try:
                    discard(folder)
                except OSError as error:
                    log.warning("cannot delete the old checkpoint %s: %s", folder, error.strerror)


def average(checkpoints: Iterable[Checkpoint]) -> dict[str, Tensor]:
    """The element-wise mean of the models' weights, summed in float64, in each tensor's own dtype.

    Tensors of whole numbers are taken from the first checkpoint.
    """
    first, *others = [checkpoint.tensors for checkpoint in checkpoints]
    newest = first()
    sums = {name: tensor.double() for name, tensor in newest.items() if tensor.is_floating_point()}
    for read in others:
        tensors = read()
        if {name: t.shape for name, t in tensors.items()} != {name: t.shape for name, t in newest.items()}:
            raise ModelError(
                "checkpoints of different models cannot be averaged",
                hint="average checkpoints of one run only",
                code="different_models",
            )
        for name, total in sums.items():
            total += tensors[name]
    means = {name: (total / (1 + len(others))).to(newest[name].dtype) for name, total in sums.items()}
    return newest | means


def load_model(path: str | Path, device: str | torch.device = "cpu") -> LoadedModel:
    """The model of a run folder (its best checkpoint, else its newest), a checkpoint or a model folder.

    In a run, a damaged checkpoint is passed over with a warning. A ModelError if no model can be read.
    """
    return first_whole(path, lambda folder: read_model(folder, device))
