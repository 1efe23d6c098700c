"""Which head of a model says where its answers come from. No torch."""

from collections.abc import Mapping
from typing import Any

from jumok.config import AlignHead, RunConfig, taught_head
from jumok.errors import ConfigError

KEY = "align_head"
"""Of the info of a model folder: what agrees best with the IBM models, {"layer", "head"} from 0; a head of
None is the mean of the layer's."""


def head_of(config: RunConfig, info: Mapping[str, Any]) -> AlignHead | None:
    """The head that was taught to align, else the best that was found, else the mean of the last layer's.

    None for a model without attention to its source, and for one that reads pictures.
    """
    layers, heads = config.model.attention.get("cross", (0, 0))
    if not layers or config.data.images:
        return None
    if config.training.align:
        return taught_head(layers)
    match info.get(KEY):
        case {"layer": int(layer), "head": int(head)} if 0 <= layer < layers and 0 <= head < heads:
            return AlignHead(layer, head)
        case {"layer": int(layer), "head": None} if 0 <= layer < layers:
            return AlignHead(layer)
    return config.model.mean_head


def no_head(config: RunConfig) -> ConfigError:
    """The error for a model that cannot say where its answers come from."""
    blind = f"a model of the architecture {config.model.arch} has no attention to its source"
    return ConfigError(
        f"this model cannot align: {'it reads pictures' if config.model.attention else blind}",
        hint='leave out align; model.translate(text, attention=True).align("influence") asks what each word '
        "depended on",
        code="no_alignment",
    )
