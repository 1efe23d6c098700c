"""A model of ours that is still to be written: its settings, and each tensor as what it is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from jumok.architectures import TransformerConfig
from jumok.importing.stored import Made, Rows, stack, zeros

READS = (
    "project.linear.weight",
    "project_query.linear.weight",
    "project_memory.linear.weight",
    "inner.weight",
    "gate.weight",
    "embedding.weight",
    "positions.table",
)
"""Their columns are the model's width."""
WRITES = (
    "output.linear.weight",
    "output.linear.bias",
    "outer.weight",
    "outer.bias",
    "norm.weight",
    "norm.bias",
)
"""Their rows are."""


@dataclass(frozen=True)
class Blueprint:
    """Settings and tensors under our names."""

    config: TransformerConfig
    tensors: Mapping[str, Made]

    def parameters(self) -> int:
        return sum(int(np.prod(made.shape)) for made in self.tensors.values())


def linear(name: str, weight: Made, bias: Made | None) -> dict[str, Made]:
    """A matrix and its bias, which is zero where there is none."""
    return {f"{name}.weight": weight, f"{name}.bias": zeros(weight.shape[0]) if bias is None else bias}


def norm(name: str, weight: Made, bias: Made | None) -> dict[str, Made]:
    """A norm; one by the root mean square has no bias."""
    return {f"{name}.weight": weight} | ({} if bias is None else {f"{name}.bias": bias})


Letter = str
Give = Callable[[Letter], tuple[Made, Made | None]]
"""Matrix and bias of q, k, v or o."""


def self_attention(name: str, give: Give) -> dict[str, Made]:
    """Self-attention from its four matrices."""
    return _joined(f"{name}.attention.project.linear", give, "qkv") | linear(
        f"{name}.attention.output.linear", *give("o")
    )


def cross_attention(name: str, give: Give) -> dict[str, Made]:
    """Attention to the source from its four matrices."""
    return (
        _joined(f"{name}.cross.project_query.linear", give, "q")
        | _joined(f"{name}.cross.project_memory.linear", give, "kv")
        | linear(f"{name}.cross.output.linear", *give("o"))
    )


def _joined(name: str, give: Give, letters: str) -> dict[str, Made]:
    pairs = [give(letter) for letter in letters]
    biases = [zeros(weight.shape[0]) if bias is None else bias for weight, bias in pairs]
    return linear(name, stack([weight for weight, _ in pairs]), stack(biases))


def alternating(width: int) -> Rows:
    """From all sines, then all cosines, to one of each in turn: ours i is order[i] of theirs."""
    order = np.empty(width, dtype=np.int64)
    order[0::2], order[1::2] = np.arange(width // 2), np.arange(width // 2, width)
    return order


def reordered(tensors: Mapping[str, Made], order: Rows) -> dict[str, Made]:
    """The same model with the places of its width in another order: they have none of their own."""
    moved = {}
    for name, made in tensors.items():
        if name.endswith(WRITES) or (name.endswith((".weight", ".bias")) and "norm" in name.split(".")[-2]):
            moved[name] = made.rows(order)
        elif name.endswith(READS) or name == "output.weight":
            moved[name] = made.columns(order)
        else:
            moved[name] = made
    return moved
