"""What one training step did, number by number: from the logits of one token to one weight after it.

`by_hand.py` takes the step. Axis letters: T target tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from jumok.explain.capture import Array, read_only

OptimizerName = Literal["sgd", "adam", "adamw"]
W_OUT = "W_out"
MOST_STEPS, MOST_RATES, LARGEST_RATE = 100, 16, 1000.0
DECAY = 0.01  # of AdamW, where nobody has chosen another: without any it would be Adam
SHOWN = 8  # tokens whose logits a document has: those with the largest gradients


@dataclass(frozen=True)
class BackwardTensor:
    """One tensor at the token looked at: its numbers, and the gradient of the loss at each of them."""

    stage: str
    operation: str
    axes: str
    values: Array
    gradient: Array


@dataclass(frozen=True)
class ParameterGradient:
    """How much of the gradient reaches one parameter."""

    name: str
    shape: tuple[int, ...]
    norm: float


@dataclass(frozen=True)
class UpdateRule:
    """The optimiser of a step and its settings."""

    name: OptimizerName
    lr: float
    number: int
    """Of this update, from 1: Adam's bias corrections are 1 - beta ** number."""
    betas: tuple[float, float]
    """Decay of m, which is the momentum of SGD, and of v."""
    eps: float
    weight_decay: float


@dataclass(frozen=True)
class WeightUpdate:
    """One number of one parameter, and what the optimiser did to it.

    SGD remembers m alone: m = momentum · m_before + gradient. Adam and AdamW also remember v.
    """

    name: str
    index: tuple[int, ...]
    before: float
    gradient: float
    by_token: tuple[float, ...]
    """Of W_out: what each target token adds to the gradient, (p - y) h / N. The rest of the gradient comes
    from where the same numbers serve as an embedding. Empty for another parameter."""
    m_before: float
    v_before: float | None
    m: float
    v: float | None
    after: float


@dataclass(frozen=True)
class TrainingStep:
    """One update by one pair of texts, seen at one target token and at one weight."""

    source: str
    source_tokens: tuple[str, ...]
    """As the encoder reads them, with their end; of a picture, its patches."""
    target: str
    tokens: tuple[str, ...]
    """Of the target, with its end."""
    ids: tuple[int, ...]
    token: int
    """The place of the target token that `tensors` are of."""
    rule: UpdateRule
    losses: Array  # (T,), -log p of each target token before the update
    losses_after: Array  # (T,)
    tensors: tuple[BackwardTensor, ...]
    gradients: tuple[ParameterGradient, ...]
    weight: WeightUpdate
    rates: Mapping[float, float | None]
    """The loss after the same update at other rates; None where it is not finite."""

    @property
    def loss(self) -> float:
        """What the update is to make smaller: the mean of `losses`."""
        return float(self.losses.mean())

    @property
    def loss_after(self) -> float:
        return float(self.losses_after.mean())

    @property
    def p(self) -> Array:
        """softmax(logits) of the token looked at; the gradient at its logits is (p - y) / N, N tokens."""
        z = self["output", "logits"].values
        shares = np.exp(z - z.max())
        return read_only(shares / shares.sum())

    def __getitem__(self, name: tuple[str, str]) -> BackwardTensor:
        """One tensor by stage and operation, with the names of `forward_pass`."""
        for one in self.tensors:
            if (one.stage, one.operation) == name:
                return one
        raise KeyError(f"no tensor {name}; there are {[(one.stage, one.operation) for one in self.tensors]}")

    def shown(self) -> list[int]:
        """The tokens with the largest gradients at the logits, the right one and the weight's among them."""
        gradient = np.abs(self["output", "logits"].gradient)
        rows = [self.weight.index[0]] if self.weight.by_token else []
        ids = dict.fromkeys([self.ids[self.token], *rows, *np.argsort(-gradient, kind="stable").tolist()])
        return sorted(list(ids)[:SHOWN], key=lambda id: -gradient[id])

    def to_dict(self, spell: Callable[[int], str] = str) -> dict[str, Any]:
        """Plain values, ready for JSON: of the vocabulary only the tokens of `shown`, written by `spell`."""
        logits, p = self["output", "logits"], self.p
        right = self.ids[self.token]
        candidates = [
            {
                "id": id,
                "text": spell(id),
                "logit": float(logits.values[id]),
                "p": float(p[id]),
                "y": int(id == right),
                "gradient": float(logits.gradient[id]),
            }
            for id in self.shown()
        ]
        return {
            "source": self.source,
            "source_tokens": list(self.source_tokens),
            "target": self.target,
            "token": self.token,
            "rule": asdict(self.rule),
            "tokens": [{"text": text, "id": id} for text, id in zip(self.tokens, self.ids, strict=True)],
            "loss": self.loss,
            "loss_after": self.loss_after,
            "losses": self.losses.tolist(),
            "losses_after": self.losses_after.tolist(),
            "vocabulary": len(p),
            "candidates": candidates,
            "tensors": [
                asdict(one) | {"values": one.values.tolist(), "gradient": one.gradient.tolist()}
                for one in self.tensors
                if "V" not in one.axes
            ],
            "gradients": [asdict(one) for one in self.gradients],
            "weight": asdict(self.weight),
            "rates": [{"lr": lr, "loss": loss} for lr, loss in self.rates.items()],
        }
