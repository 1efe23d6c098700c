"""A model with a what-if inside: it is encoded, decoded and searched as any other model."""

from dataclasses import replace
from typing import Any

from torch import Tensor

from jumok.models.interface import Edits, Memory, Probe, Seq2Seq


class Edited(Seq2Seq):
    """`model` with `edits` in every pass. The weights are shared; the model itself is not changed."""

    def __init__(self, model: Seq2Seq, edits: Edits) -> None:
        super().__init__()
        self.model, self.edits = model, edits
        self.training = model.training

    def encode(self, source: Tensor, source_mask: Tensor, probe: Probe | None = None) -> Memory:
        return self.model.encode(source, source_mask, self.with_edits(probe))

    def decode(self, target_in: Tensor, memory: Memory, probe: Probe | None = None) -> Tensor:
        return self.model.decode(target_in, memory, self.with_edits(probe))

    def start(self, memory: Memory, probe: Probe | None = None) -> Any:
        return self.model.start(memory, self.with_edits(probe))

    def step(self, token: Tensor, state: Any) -> tuple[Tensor, Any]:
        return self.model.step(token, state)  # the state carries the edits

    def position_rows(self, count: int) -> Tensor | None:
        return self.model.position_rows(count)

    def with_edits(self, probe: Probe | None) -> Probe:
        if probe is None:
            return Probe(edits=self.edits)
        if probe.edits not in (Edits(), self.edits):
            raise ValueError("an edited model takes no other edits: give them all to one Edited")
        return replace(probe, edits=self.edits)
