"""What every entry of an experiment may spend: seconds, updates or FLOPs of training."""

from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Literal

import numpy as np

from jumok.checkpoint.model import patches_of
from jumok.config import RunConfig
from jumok.data.store import Store
from jumok.errors import ConfigError
from jumok.models.cost import forward_cost
from jumok.settings import Flat
from jumok.text.tokenizer import Tokenizers

SECONDS = 600.0  # for each entry, when nobody says
NO_END = 1_000_000  # updates that no budget of time reaches
PASSES = 3  # an update costs as much as three forward passes: one forward, two backward
LOOKED_AT = 1000  # pairs whose cost stands for all


@dataclass(frozen=True, slots=True)
class Budget:
    """Of each entry, not of all together."""

    kind: Literal["time", "steps", "flops"] = "time"
    value: float = SECONDS

    def __post_init__(self) -> None:
        if not 0 < self.value < inf:
            raise ConfigError(
                f"a budget of {self.value:g} {self.kind} cannot work", hint="choose a number above 0"
            )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def settings(self, steps: int = NO_END) -> Flat:
        """What a run is told; `steps` are those that the FLOPs are worth."""
        steps = {"time": NO_END, "steps": int(self.value), "flops": steps}[self.kind]
        limit = self.value if self.kind == "time" else 0.0
        return {"training.max_steps": steps, "training.time_limit": limit, "training.patience": 0}


def steps_for(flops: float, config: RunConfig, store: Store, tokenizers: Tokenizers) -> int:
    """Updates that cost so many FLOPs, by the formulas of `models/cost.py` over the training pairs.

    steps = flops / (3 · forward FLOPs of an average pair · pairs in an update), padding not counted.
    """
    rows = np.linspace(0, len(store) - 1, min(len(store), LOOKED_AT)).round().astype(np.int64)
    patches = patches_of(tokenizers)
    ends = 0 if patches else 1  # a picture has no end token
    sources, targets = store.source_lengths[rows] + ends, store.target_lengths[rows] + 1
    costs = [
        forward_cost(config.model, int(S), int(T), tokenizers.target.size, patches=patches).flops
        for S, T in zip(sources, targets, strict=True)
    ]
    pairs = config.training.batch_tokens / float((sources + targets).mean())
    passes = PASSES * (2 if config.training.rdrop else 1)
    steps = int(flops / (passes * float(np.mean(costs)) * pairs))
    if steps < 1:
        raise ConfigError(
            f"{flops:.3g} FLOPs are less than one update of {config.model.arch}",
            hint=f"one takes about {passes * float(np.mean(costs)) * pairs:.2g}",
        )
    return steps
