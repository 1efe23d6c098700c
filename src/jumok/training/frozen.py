"""Which weights of a model learn: all, or all but the parts that a run freezes.

A part is told by the names of its parameters, which are alike in all architectures.
"""

import re

from torch import nn

from jumok.config import FREEZABLE
from jumok.errors import ConfigError

NAMES = {
    "embeddings": r"(source|target)_(embedding|positions|norm)\.",
    "encoder": r"encoder(_norm|_bias)?\.",
    "decoder": r"decoder(_norm|_bias)?\.",
    "attention": r"(.+\.)?(attention|cross)\.|(encoder|decoder)_bias\.",
    "feedforward": r".+\.feedforward\.",
    "norms": r"(.+[._])?norm\.",
    "output": r"output\.|logits_bias|copying\.",
    "biases": r".+\.bias(_\w+)?$|logits_bias",
}
assert tuple(NAMES) == FREEZABLE


def is_frozen(name: str, parts: tuple[str, ...]) -> bool:
    """Whether a weight of this name belongs to one of the parts."""
    return any(re.match(NAMES[part.strip()], name) for part in parts)


def freeze(model: nn.Module, parts: tuple[str, ...]) -> None:
    """Take the weights of these parts out of learning; refuses parts that are not there, and all of it."""
    names = [name for name, _ in model.named_parameters()]
    for part in parts:
        if not any(is_frozen(name, (part,)) for name in names):
            there = ", ".join(one for one in NAMES if any(is_frozen(name, (one,)) for name in names))
            raise ConfigError(
                f"training.freeze={part}: this model has no such weights",
                hint=f"it has {there}; tied output weights belong to the embeddings",
                code="nothing_to_freeze",
            )
    for name, parameter in model.named_parameters():
        if is_frozen(name, parts):
            parameter.requires_grad = False
    if parts and not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigError(
            f"training.freeze={','.join(parts)} leaves nothing that could learn",
            hint="leave a part out: --freeze encoder,embeddings",
            code="nothing_learns",
        )
