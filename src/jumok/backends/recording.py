"""Looking inside: a back end that computes attention stage by stage, hands the stages out, and applies edits.

A model cannot tell it from the others. One object serves one pass, or one search with edits; so no request
ever sees another one's numbers.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from jumok.backends.torch import TorchBackend
from jumok.backends.values import Pair, Projected, Score, Side, Tokens
from jumok.edits import Edits, PositionEdit, Where
from jumok.nn.edit import scale_heads
from jumok.nn.functional import Stages, attention_stages, weigh
from jumok.nn.relative import Relative
from jumok.nn.spans import Spans, Tables


class RecordingBackend(TorchBackend):
    """Explicit attention with the changes of `edits`; with `record`, every stage of every layer is kept.

    `stages[kind, layer]` are those of one attention, as a rectangle (B, H, T, S), and `states["encoder"]`,
    `states["decoder"]` (B, T, D) those of recurrent cells. A pass that goes step by step adds to them.
    """

    def __init__(self, edits: Edits | None = None, *, record: bool = False) -> None:
        self.edits, self.record = edits or Edits(), record
        self.stages: dict[Where, Stages] = {}
        self.states: dict[str, Tensor] = {}
        self.pending: tuple[Where, Stages] | None = None  # an attention whose output is still to come,
        self.laid_out: Spans | None = None  # which lies end to end if that attention went over spans

    def positions(self, side: Side, sentences: Tokens, rows: int | None) -> Tensor | None:
        edit = self.edits.source_positions if side == "source" else self.edits.target_positions
        if edit is None:
            return sentences.positions
        if side == "target":
            return moved(edit, sentences.positions, rows)
        places = sentences.positions
        found = edit.of_source(places.cpu().numpy(), sentences.known_lengths)
        return None if found is None else torch.from_numpy(found).to(places.device)

    def next_positions(self, positions: Tensor, rows: int | None) -> Tensor | None:
        edit = self.edits.target_positions
        return positions if edit is None else moved(edit, positions, rows)

    def sinusoids(self, positions: Tensor, end: int | None, width: int, kind: torch.dtype) -> Tensor:
        return super().sinusoids(positions, None, width, kind)

    def tables(self, spans: Spans) -> Tables:
        return spans.table

    def masks(self, tables: Tables, *, causal: bool) -> list[Tensor]:
        """Empty queries see all keys, so that no edit can leave one without a key."""
        (mask,), (lengths,), ((_, T),) = (
            tables.masks(causal=causal),
            tables.query_lengths,
            tables.query_shapes,
        )
        empty = torch.arange(T, device=lengths.device) >= lengths[:, None]  # (B, T)
        return [mask | empty[:, None, :, None]]

    def attend_grid(  # noqa: PLR0913
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        *,
        scale: bool,
        where: Where,
        first: int | Tensor = 0,
        begin: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        seen = mask if mask is not None else torch.ones(1, 1, 1, 1, dtype=torch.bool, device=query.device)
        edit = self.edits.attention.get(where)
        stages = attention_stages(
            query, keys, values, seen, scale=scale, edit=edit, first=first, begin=begin, bias=bias
        )
        self.pending = (where, stages)
        return stages.context

    def weigh_grid(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        scores: tuple[Tensor, Tensor],
        mask: Tensor,
        *,
        where: Where,
        first: int | Tensor = 0,
    ) -> Pair:
        edit = self.edits.attention.get(where)
        before, after = scores
        if edit is not None and not edit.scaled:
            after = before.to(after.dtype)
        if edit is not None and where[0] == "copy":
            edit = replace(edit, factors=())  # they act on the share copied: `output`
        q, k, v, e, scaled = (x[:, None] for x in (query, keys, values, before, after))  # one head
        stages = Stages(
            q, k, v, e, scaled, *weigh(scaled, v.to(scaled.dtype), mask[:, None], edit, first=first)
        )
        self.pending = (where, stages)
        return stages.weights[:, 0], stages.context[:, 0]

    def copy(
        self, copying: Any, x: Tensor, logits: Tensor, memory: Pair, spans: Spans, longest: int
    ) -> Tensor:
        tables = self.tables(spans)
        (of_x,), (of_logits,) = tables.queries(x), tables.queries(logits)
        (states,), (tokens,) = tables.keys(memory[0]), tables.keys(memory[1])
        (mask,) = self.masks(tables, causal=False)
        found: Tensor = copying(of_x, of_logits, copying.pointed(states, tokens), mask[:, 0], self)
        return tables.laid([found], len(x))

    def output(self, where: Where, out: Tensor) -> Tensor:
        edit = self.edits.attention.get(where)
        if edit is not None and where[0] == "copy" and edit.factors:
            out = scale_heads(out[:, None], edit)[:, 0].clamp(0, 1)
        self.close(out)
        return out

    def add_norm(
        self,
        x: Tensor,
        states: Tensor,
        linear: nn.Linear,
        norm: nn.Module | None,
        share: float,
        *,
        training: bool,
        seed: Tensor | None,
        add: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        if self.pending is not None:
            self.close(linear(states) if self.record else states)  # only a record has use for the product
        return super().add_norm(x, states, linear, norm, share, training=training, seed=seed, add=add)

    def attend(
        self,
        inputs: tuple[Projected, ...],
        heads: int,
        spans: Spans,
        *,
        scale: bool,
        where: Where,
        relative: Relative | None = None,
    ) -> Tensor:
        context = super().attend(inputs, heads, spans, scale=scale, where=where, relative=relative)
        self.laid_out = spans
        return context

    def attend_by(
        self, score: Score, query: Tensor, keys: Tensor, values: Tensor, spans: Spans, *, where: Where
    ) -> Tensor:
        context = super().attend_by(score, query, keys, values, spans, where=where)
        self.laid_out = spans
        return context

    def run_cell(
        self, cell: nn.RNNBase, x: Tensor, sentences: Tokens | None, hidden: Tensor | None, side: Side
    ) -> tuple[Tensor, Tensor]:
        states, last = super().run_cell(cell, x, sentences, hidden, side)
        if self.record:
            name = "encoder" if side == "source" else "decoder"
            grid = states if sentences is None else sentences.grid(states)  # (B, T, D)
            known = self.states.get(name)
            self.states[name] = grid if known is None else torch.cat((known, grid), dim=1)
        return states, last

    def bridge(self, final: Tensor) -> Tensor:
        bridge = self.edits.bridge  # (N, C, D)
        if bridge is None:
            return final
        return torch.from_numpy(bridge).to(final).expand(len(final), *bridge.shape)

    def close(self, out: Tensor) -> None:
        """Keep the stages of the attention that gave this output, laid end to end or as a rectangle."""
        if self.record and self.pending is not None:
            where, stages = self.pending
            if self.laid_out is not None:
                (out,) = self.tables(self.laid_out).queries(out)  # (B, T, D)
            elif out.dim() == 2:
                out = out[:, None]  # (B, 1, D), a single step
            stages, known = replace(stages, out=out), self.stages.get(where)
            self.stages[where] = stages if known is None else joined(known, stages)
        self.pending = self.laid_out = None


def moved(edit: PositionEdit, positions: Tensor, rows: int | None) -> Tensor | None:
    """What stands in for positions (L,) of a target."""
    found = edit.of_target(positions.cpu().numpy(), rows)
    return None if found is None else torch.from_numpy(found).to(positions.device)


def joined(before: Stages, after: Stages) -> Stages:
    """The stages of steps that follow each other, over the same keys, as those of one pass."""
    grown = {
        name: torch.cat((getattr(before, name), getattr(after, name)), dim=2)
        for name in ("query", "scores", "scaled", "bias", "mask", "weights", "context")
        if getattr(before, name) is not None
    }
    assert before.out is not None
    assert after.out is not None
    return Stages(key=before.key, value=before.value, **grown, out=torch.cat((before.out, after.out), dim=1))
