"""Which heads does a sentence need? Every head is masked alone, and its answer is scored again.

delta[layer, head] = log p(y | x, head masked) - log p(y | x), below 0 where the answer needs the head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.backends.edits import Edits
from jumok.backends.recording import RecordingBackend
from jumok.backends.values import Kind
from jumok.decoding.jobs import Source
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, nearest
from jumok.explain.edits import attention_sizes
from jumok.explain.forced import encode, explained, forced
from jumok.explain.influence import source_ids, target_ids
from jumok.models.interface import edits_of
from jumok.nn.edit import AttentionEdit


@dataclass(frozen=True)
class SweepRow:
    """What masking each head of one layer does to the log-probability of the answer."""

    kind: Kind
    layer: int
    values: NDArray[np.float32]  # (H,)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"kind": self.kind, "layer": self.layer, "values": self.values.tolist()}


def sweep(
    translator: Translator,
    source: str | Source,
    target: str | Sequence[int],
    kinds: Sequence[Kind] | None = None,
) -> Iterator[SweepRow]:
    """One row for each layer of each kind of attention, as soon as it is done; of some kinds, if named.

    Both sides are texts or ids, as in `influence`. A model without attention gives no rows. The interventions
    of an edited translator stay in force.
    """
    sizes = attention_sizes(translator.config.model)
    for kind in kinds or ():
        if kind not in sizes:
            raise ConfigError(
                f"this model ({translator.config.model.arch}) has no {kind!r} attention",
                hint=nearest(str(kind), sizes) if sizes else "",
                code="bad_parameter",
            )
    read, _ = source_ids(translator.tokenizers, source)
    written = target_ids(translator.tokenizers.target, target)
    return rows(translator, read, written, {kind: sizes[kind] for kind in kinds or sizes})


def rows(
    translator: Translator,
    source: Source,
    target: Sequence[int],
    sizes: dict[Kind, tuple[int, int]],
) -> Iterator[SweepRow]:
    model = translator.model
    edits = edits_of(model) or Edits()
    if not sizes or not target:
        return
    with explained():
        whole = model.using(RecordingBackend(edits))
        memory = encode(whole, [source])
        baseline = forced(whole, memory, target).double().sum()
    for kind, (layers, heads) in sizes.items():
        for layer in range(layers):
            scores = []
            for head in range(heads):
                masked = model.using(RecordingBackend(with_mask(edits, kind, layer, head)))
                with explained():
                    seen = encode(masked, [source]) if kind == "enc_self" else memory
                    scores.append(forced(masked, seen, target).double().sum())
            delta = torch.stack(scores) - baseline
            yield SweepRow(kind, layer, delta.float().cpu().numpy())


def with_mask(edits: Edits, kind: Kind, layer: int, head: int) -> Edits:
    """The edits with one more head masked."""
    before = edits.attention.get((kind, layer), AttentionEdit())
    after = replace(before, factors=(*before.factors, (head, 0.0)))
    return replace(edits, attention={**edits.attention, (kind, layer): after})
