"""What a run must remember to go on as if it had never stopped: weights, optimiser, place in the loop."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from jumok.data.sampler import Cursor
from jumok.models.interface import Seq2Seq
from jumok.training.optimizer import Optimizers


@dataclass(frozen=True)
class LoopState:
    """Where the loop stands after a step. Values only, so a checkpoint stores it as JSON."""

    step: int = 0
    epoch: int = 0
    position: int = 0  # batches of this epoch already used
    elapsed: float = 0.0  # seconds of training so far, over all sittings
    best_score: float | None = None
    best_loss: float | None = None  # of the same look
    best_step: int = 0
    since_best: int = 0  # validations without a better score
    skipped: tuple[int, ...] = ()  # recent steps that were skipped for a number that was not finite
    parts: int = 1  # micro-batches an update is cut into

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.epoch, self.position)

    @property
    def is_best(self) -> bool:
        """Whether the last validation was at this step and is the best so far."""
        return self.best_score is not None and self.best_step == self.step

    def at(self, cursor: Cursor) -> "LoopState":
        return replace(self, epoch=cursor.epoch, position=cursor.position)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> "LoopState":
        return LoopState(**{**data, "skipped": tuple(data["skipped"])})


class Average:
    """Exponential moving average of the weights; averages better than the last weights, at no search cost.

    a_t = a_{t-1} + (1 - d_t)(w_t - a_{t-1}),   d_t = min(decay, (1 + t) / (10 + t))
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.decay = decay
        self.live = dict(model.named_parameters())
        self.shadow = {name: parameter.detach().clone() for name, parameter in self.live.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.shadow.values()), list(self.live.values()), 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model carries the averaged weights inside the block, and its own again afterwards."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        # By value: cuDNN wants a recurrent layer's weights to stay in their one block of memory.
        for name, parameter in self.live.items():
            kept = parameter.clone()
            parameter.copy_(self.shadow[name])
            self.shadow[name].copy_(kept)


WEIGHTS = "weights"  # where the live weights go when the saved model is their average


@dataclass(frozen=True)
class Learner:
    """The model and what trains it."""

    model: Seq2Seq
    optimizers: Optimizers
    average: Average | None = None

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The weights to validate and to use: the moving average where there is one."""
        if self.average is None:
            yield
        else:
            with self.average.applied():
                yield

    def model_tensors(self) -> dict[str, Tensor]:
        """The weights that people will use."""
        live = {name: parameter.detach() for name, parameter in self.model.named_parameters()}
        return live if self.average is None else dict(self.average.shadow)

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """What only going on needs: the optimiser's memory, and the live weights beside an average."""
        tensors = self.optimizers.tensors()
        if self.average is not None:
            for name, parameter in self.model.named_parameters():
                tensors[f"{WEIGHTS}/{name}"] = parameter.detach()
        return tensors

    @torch.no_grad()
    def load(self, model: dict[str, Tensor], optimizer: dict[str, Tensor]) -> None:
        """Take back what the two methods above gave, bit for bit."""
        memory = {key: value for key, value in optimizer.items() if not key.startswith(f"{WEIGHTS}/")}
        for name, parameter in self.model.named_parameters():
            parameter.copy_(optimizer.get(f"{WEIGHTS}/{name}", model[name]))
            if self.average is not None:
                self.average.shadow[name].copy_(model[name])
        self.optimizers.load(memory)
