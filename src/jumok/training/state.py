"""What a run must remember to go on as if it had never stopped: weights, optimiser, place in the loop."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from jumok.data.sampler import Cursor
from jumok.errors import RunError
from jumok.models.interface import Seq2Seq
from jumok.training.optimizer import Optimizers
from jumok.training.shard import fill, shared_as, whole


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
    parts: int = 1  # micro-batches that each process cuts its share of an update into
    world: int = 1  # processes that share an update
    judged_on: str = ""  # which validation text the scores are of; earlier versions did not say
    start_score: float | None = None  # of a model that the run started from, untouched

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.epoch, self.position)

    @property
    def is_best(self) -> bool:
        """Whether the last validation was at this step and is the best so far."""
        return self.best_score is not None and self.best_step == self.step

    def at(self, cursor: Cursor) -> "LoopState":
        return replace(self, epoch=cursor.epoch, position=cursor.position)

    def judged(self, on: str, *, other: bool = False) -> tuple["LoopState", bool]:
        """The state for scores on this validation text, and whether it is another one than before.

        Then the best so far no longer compares: there is none. `other` says so where the state does not.
        """
        changed = bool(self.step) and (self.judged_on != on if self.judged_on else other)
        if not changed:
            return replace(self, judged_on=on), False
        forgotten = replace(self, best_score=None, best_loss=None, best_step=0, since_best=0)
        return replace(forgotten, judged_on=on), True

    def within(self, world: int, *, allow_change: bool = False) -> "LoopState":
        """The state for so many processes; another number than before is refused unless it is allowed.

        Each process then runs as many pieces as keep the pieces of an update at least as many as they were.
        """
        if self.world == world:
            return self
        if not allow_change:
            before, now = (f"{n} {'process' if n == 1 else 'processes'}" for n in (self.world, world))
            way = f"torchrun --nproc-per-node {self.world} -m jumok" if self.world > 1 else "jumok"
            raise RunError(
                f"the run was trained by {before} up to step {self.step}, and is now given to {now}",
                hint=f"go on with `{way} train …` for the same numbers, or pass --allow-world-change: "
                "the same sentences, rounded otherwise",
                code="world_changed",
            )
        return replace(self, world=world, parts=-(-self.world * self.parts // world))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> "LoopState":
        return LoopState(**{**data, "skipped": tuple(data["skipped"])})


class Average:
    """Exponential moving average of the weights; averages better than the last weights, at no search cost.

    a_t = a_{t-1} + (1 - d_t)(w_t - a_{t-1}),   d_t = min(decay, (1 + t) / (10 + t))

    A step that was skipped counts too: its weights are those of the step before. So nobody need ask the GPU.
    """

    def __init__(self, model: Seq2Seq, decay: float) -> None:
        self.decay = decay
        self.live = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
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

    @property
    def weights(self) -> dict[str, Tensor]:
        """The weights that learn, as this process has them: all of them, or its share."""
        return {name: parameter.detach() for name, parameter in self.model.named_parameters()}

    def model_tensors(self) -> dict[str, Tensor]:
        """The weights that people will use; shared-out ones for the first process, and all must ask."""
        chosen = self.weights | (self.average.shadow if self.average else {})
        return {name: whole(tensor) for name, tensor in chosen.items()}

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """What only going on needs: the optimiser's memory, the live weights beside an average, adapters."""
        tensors = self.optimizers.tensors()
        tensors |= {f"{WEIGHTS}/{name}": tensor for name, tensor in self.apart().items()}
        return {name: whole(tensor) for name, tensor in tensors.items()}

    def apart(self) -> dict[str, Tensor]:
        """What learns and is not in the saved model as it is, by name."""
        learning = {name: one.detach() for one, name in self.optimizers.names.items()}
        if self.average is not None:
            return learning
        return {name: one for name, one in learning.items() if name not in self.weights}

    @torch.no_grad()
    def load(self, model: dict[str, Tensor], optimizer: dict[str, Tensor]) -> None:
        """Take back what the two methods above gave, bit for bit. Adapters go on beside the model's weights
        as they are now, which must be those that the run began with."""
        learning = {name: one for one, name in self.optimizers.names.items()}
        for name, tensor in (self.weights | learning).items():
            kept = optimizer.get(f"{WEIGHTS}/{name}")
            fill(tensor.detach(), model[name] if kept is None else kept)
        for name, tensor in (self.average.shadow if self.average else {}).items():
            fill(tensor, model[name])
        if self.optimizers.adapters:
            self.optimizers.adapters.merge()
        memory = {key: value for key, value in optimizer.items() if not key.startswith(f"{WEIGHTS}/")}
        self.optimizers.load(
            {key: shared_as(learning[key.partition("/")[2]], value) for key, value in memory.items()}
        )

    def zero_grad(self) -> None:
        """Forget every gradient."""
        self.model.zero_grad(set_to_none=True)
        for weight in self.optimizers.weights:
            weight.grad = None
