"""RNN encoder-decoder with global attention (Luong et al. 2015).

    H, h_final = RNN(X)                      the encoder keeps every state
    s_t = Cell(y_{t-1}, s_{t-1})             the decoder's state is the query
    E_t = (s_t W_a) H^T                      scores ("general"; also "dot" and "concat")
    alpha_t = softmax(E_t)                   weights
    c_t = alpha_t H                          context
    s~_t = tanh([c_t; s_t] W_c)              attentional state
    logits_t = s~_t W_out

Without input feeding s_t does not depend on the attention of earlier steps, so in training the decoder's
states come from one call over the whole target and attention for all steps from one matrix product. With
input feeding (section 3.3) s~_{t-1} joins y_{t-1} as the cell's input and training loops over time.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumok.config import LuongConfig
from jumok.models.interface import (
    Edits,
    Memory,
    PackedBatch,
    Probe,
    Seq2Seq,
    as_probe,
    edits_of,
    probe_at,
    same_edits,
)
from jumok.models.recurrent import (
    RecurrentEncoder,
    make_cell,
    memory_of,
    run_cell,
    run_packed,
    show_states,
)
from jumok.models.steps import Tables, Trip, sides_of, spread, tables_of, trip_of
from jumok.nn.attention import LuongAttention
from jumok.nn.functional import Stages, length_mask, luong_dot, masked_softmax
from jumok.nn.layers import Dropout, Embedding
from jumok.nn.patches import Patches, read_source


@dataclass(frozen=True)
class LuongState:
    """What a step needs: the memory to look at, the last states, the last attentional state, and edits."""

    memory: Memory
    hidden: Tensor  # (B, N, C, D)
    attentional: Tensor  # (B, D), read only with input feeding
    position: Tensor  # (B,), where the next token stands
    edits: Edits | None = None

    def select(self, rows: Tensor) -> "LuongState":
        memory = self.memory.select(rows)
        return LuongState(memory, self.hidden[rows], self.attentional[rows], self.position[rows], self.edits)

    def join(self, other: "LuongState") -> "LuongState":
        return LuongState(
            self.memory.join(other.memory),
            torch.cat((self.hidden, other.hidden)),
            torch.cat((self.attentional, other.attentional)),
            torch.cat((self.position, other.position)),
            same_edits(self.edits, other.edits),
        )


class LuongSeq2Seq(Seq2Seq):
    """The decoder looks back at every encoder state, at every step."""

    def __init__(
        self,
        config: LuongConfig,
        source_vocab: int,
        target_vocab: int,
        *,
        shared: bool,
        patches: Patches | None = None,
    ) -> None:
        super().__init__()
        D = config.width
        self.input_feeding = config.input_feeding
        self.target_embedding = Embedding(target_vocab, D)
        self.source_embedding = self.target_embedding if shared else read_source(source_vocab, D, patches)
        self.encoder = RecurrentEncoder(
            config.cell, D, config.layers, config.dropout, both=config.bidirectional
        )
        width_in = 2 * D if config.input_feeding else D
        self.decoder = make_cell(config.cell, width_in, D, config.layers, config.dropout)
        self.attention = LuongAttention(D, config.score)
        self.output = None if config.tied else nn.Linear(D, target_vocab, bias=False)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Tensor, source_mask: Tensor, probe: Probe | None = None) -> Memory:
        X = self.source_embedding(source)  # (B, S, D)
        H, h_final = self.encoder(X, source_mask)  # (B, S, D), (B, N, C, D)
        return memory_of(H, source_mask, h_final, probe)

    def decode(self, target_in: Tensor, memory: Memory, probe: Probe | None = None) -> Tensor:
        if self.input_feeding:
            return self.decode_step_by_step(target_in, memory, probe)
        attentional, _ = self.run(target_in, self.start(memory), probe)
        return self.logits(attentional)  # (B, T, V)

    def start(self, memory: Memory, probe: Probe | None = None) -> LuongState:
        assert memory.final is not None
        nothing = torch.zeros_like(memory.states[:, 0])  # (B, D)
        zero = torch.zeros(len(nothing), dtype=torch.long, device=nothing.device)
        return LuongState(memory, memory.final, nothing, zero, edits_of(probe))

    def step(self, token: Tensor, state: LuongState) -> tuple[Tensor, LuongState]:
        attentional, state = self.run(token[:, None], state, as_probe(state.edits))
        return self.logits(attentional[:, 0]), state  # (B, V)

    def run(
        self, target_in: Tensor, state: LuongState, probe: Probe | None = None
    ) -> tuple[Tensor, LuongState]:
        """Attentional states (B, T, D) of the given tokens; with input feeding T must be 1."""
        y = self.dropout(self.target_embedding(target_in))  # (B, T, D)
        if self.input_feeding:
            y = torch.cat((y, state.attentional[:, None]), dim=-1)  # (B, 1, 2D)
        s, hidden = run_cell(self.decoder, y, state.hidden)  # (B, T, D)
        show_states(probe, "decoder", s)
        memory, first = state.memory, state.position
        # The one attention of this model is cross-attention, layer 0.
        attentional = self.attention(s, memory.states, memory.mask, probe_at(probe, "cross", 0), first)
        after = LuongState(memory, hidden, attentional[:, -1], first + target_in.shape[1], state.edits)
        return attentional, after  # (B, T, D)

    def decode_step_by_step(self, target_in: Tensor, memory: Memory, probe: Probe | None) -> Tensor:
        state, steps = self.start(memory), []
        stages: list[Stages] = []
        states: list[Tensor] = []
        each = (
            None
            if probe is None
            else Probe(
                lambda _kind, _layer, one: stages.append(one),
                lambda _side, one: states.append(one),
                probe.edits,
            )
        )
        for token in target_in.unbind(dim=1):  # T tensors of (B,)
            attentional, state = self.run(token[:, None], state, each)
            steps.append(attentional)
        if probe is not None:
            show_states(probe, "decoder", torch.cat(states, dim=1))
            if probe.record is not None:
                probe.record("cross", 0, join_steps(stages))
        return self.logits(torch.cat(steps, dim=1))  # (B, T, V)

    def logits(self, attentional: Tensor) -> Tensor:
        attentional = self.dropout(attentional)
        return self.target_embedding.logits(attentional) if self.output is None else self.output(attentional)

    def features(self, batch: PackedBatch) -> Tensor:
        """(M, D): both sides in order of time; only the two products of attention see rectangles."""
        sides = sides_of(batch)
        trip, tables = trip_of(sides), tables_of(sides, one=self.input_feeding)
        X = self.source_embedding(batch.source[trip.source])  # (n_s, D)
        H, h_final = self.encoder.read(X, trip.source_sizes)  # (n_s, D), (B, N, C, D)
        y = self.dropout(self.target_embedding(batch.target_in[trip.target]))  # (n_t, D)
        hidden = h_final.index_select(0, trip.bridge)  # (B, N, C, D), longest target first
        if self.input_feeding:
            attentional = self.feed(y, H, hidden, trip, tables)
        else:
            s, _ = run_packed(self.decoder, y, trip.target_sizes, hidden)  # (n_t, D)
            context = self.contexts(s, H, tables)
            attentional = self.attention.attentional(context, s)  # (n_t, D)
        return spread(self.dropout(attentional), trip.target, len(batch.target_in))

    @property
    def head(self) -> Tensor:
        return self.target_embedding.weight if self.output is None else self.output.weight

    def contexts(self, s: Tensor, H: Tensor, tables: Tables) -> Tensor:
        """c_t of every target token: s (n_t, D), H (n_s, D), both in order of time -> (n_t, D)."""
        asks = tables.target(self.asks(s))  # G tables of (B_g, T_g, D)
        memory = tables.source(H)  # G tables of (B_g, S_g, D)
        keys = tables.source(H @ self.attention.w_memory) if self.attention.score == "concat" else memory
        contexts = [
            masked_softmax(self.compare(q, k), length_mask(lengths, k.shape[1])[:, None]) @ values
            for q, k, values, lengths in zip(asks, keys, memory, tables.lengths, strict=True)
        ]
        flat = torch.cat([context.flatten(0, 1) for context in contexts])  # every cell of every table
        return flat.index_select(0, tables.target_cells)

    def feed(self, y: Tensor, H: Tensor, hidden: Tensor, trip: Trip, tables: Tables) -> Tensor:
        """Attentional states (n_t, D) with input feeding: a loop over time, in which ended rows drop out."""
        (memory,), (lengths,) = tables.source(H), tables.lengths  # (B, S, D), (B,)
        keys = memory @ self.attention.w_memory if self.attention.score == "concat" else memory
        mask = length_mask(lengths, memory.shape[1])[:, None]  # (B, 1, S)
        last, steps = torch.zeros_like(memory[:, 0]), []  # (B, D)
        for y_t in torch.split(y, trip.target_sizes.tolist()):  # T tensors of (R, D), R falling
            R = len(y_t)
            x = torch.cat((y_t, last[:R]), dim=-1)  # (R, 2D)
            s, hidden = run_packed(self.decoder, x, torch.tensor([R]), hidden[:R])  # (R, D)
            weights = masked_softmax(self.compare(self.asks(s)[:, None], keys[:R]), mask[:R])  # (R, 1, S)
            last = self.attention.attentional((weights @ memory[:R])[:, 0], s)  # (R, D)
            steps.append(last)
        return torch.cat(steps)

    def asks(self, s: Tensor) -> Tensor:
        """What meets the memory: s W_a, s W_query, or s itself."""
        match self.attention.score:
            case "dot":
                return s
            case "general":
                return s @ self.attention.w_a
            case "concat":
                return s @ self.attention.w_query

    def compare(self, asks: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S) of asks (B, T, D) and keys (B, S, D), which are H W_memory for "concat"."""
        if self.attention.score != "concat":
            return luong_dot(asks, keys)
        return (asks[:, :, None] + keys[:, None]).tanh() @ self.attention.v_a


def join_steps(steps: list[Stages]) -> Stages:
    """Stages of T single steps as those of one pass over T steps."""
    joined = {
        name: torch.cat([getattr(one, name) for one in steps], dim=2)
        for name in ("query", "scores", "scaled", "mask", "weights", "context")
    }
    out = torch.cat([one.out for one in steps if one.out is not None], dim=1)
    return Stages(key=steps[0].key, value=steps[0].value, **joined, out=out)
