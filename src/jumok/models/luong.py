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

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from jumok.config import LuongConfig
from jumok.edits import Where
from jumok.models.interface import HeadPrediction, Memory, Seq2Seq, join_padded, longest
from jumok.models.recurrent import RecurrentEncoder, embed, make_cell, run_cell
from jumok.models.sentences import Sentences
from jumok.nn.attention import LuongAttention
from jumok.nn.layers import Dropout, Embedding
from jumok.nn.patches import Patches, read_source

CROSS: Where = ("cross", 0)  # the one attention of this model


@dataclass(frozen=True)
class LuongState:
    """What a step needs: the memory to look at, the last states, the last attentional state."""

    memory: Tensor  # (R, S, D), H of each row
    keys: Tensor  # (R, S, D), what scores compare with
    mask: Tensor  # (R, S), True at real tokens
    hidden: Tensor  # (R, N, C, D)
    attentional: Tensor  # (R, D), read only with input feeding
    position: Tensor  # (R,), where the next token stands

    def select(self, rows: Tensor) -> "LuongState":
        return LuongState(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def join(self, other: "LuongState") -> "LuongState":
        S = max(longest(self.mask), longest(other.mask))
        both = [(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__]
        wide = [join_padded(one, two, S, dim=1) for one, two in both[:3]]
        return LuongState(*wide, *(torch.cat(pair) for pair in both[3:]))


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

    def encode(self, source: Sentences) -> Memory:
        X = embed(self.ops, source.tokens, self.source_embedding, source.positions)  # (N, D)
        H, h_final = self.encoder(X, source, self.ops)  # (N, D), (B, N, C, D)
        return Memory(H, source, h_final)

    def decode(self, target_in: Sentences, memory: Memory) -> HeadPrediction:
        y = self.read(target_in.tokens)  # (M, D)
        if self.input_feeding:
            return self.predict(self.feed(y, target_in, memory))
        assert memory.final is not None
        s, _ = run_cell(self.ops, self.decoder, y, target_in, memory.final)  # (M, D)
        attention, H = self.attention, memory.states
        context = self.ops.attend_by(
            attention.compare,
            attention.queries(s),
            attention.keys(H),
            H,
            target_in.spans_over(memory.source),
            where=CROSS,
        )
        return self.predict(self.ops.output(CROSS, attention.attentional(context, s)))

    def feed(self, y: Tensor, target_in: Sentences, memory: Memory) -> Tensor:
        """Attentional states (M, D) with input feeding: a loop over time."""
        state, steps = self.start(memory), []
        for y_t in target_in.grid(y).unbind(1):  # T tensors of (B, D)
            state = self.advance(y_t, state)
            steps.append(state.attentional)
        return target_in.flat(torch.stack(steps, dim=1))

    def start(self, memory: Memory) -> LuongState:
        assert memory.final is not None
        source, H = memory.source, memory.source.grid(memory.states)  # (B, S, D)
        nothing = torch.zeros_like(H[:, 0])  # (B, D)
        zero = torch.zeros(len(H), dtype=torch.long, device=H.device)
        return LuongState(H, self.attention.keys(H), source.mask, memory.final, nothing, zero)

    def step(self, token: Tensor, state: LuongState) -> tuple[Tensor, LuongState]:
        state = self.advance(self.read(token), state)
        return self.predict(state.attentional).logits(), state  # (R, V)

    def advance(self, y: Tensor, state: LuongState) -> LuongState:
        """The state after one step with the embedded tokens y (R, D)."""
        x = torch.cat((y, state.attentional), dim=-1) if self.input_feeding else y
        s, hidden = run_cell(self.ops, self.decoder, x[:, None], None, state.hidden)  # (R, 1, D)
        queries = self.attention.queries(s)
        scores = self.attention.compare(queries, state.keys)  # (R, 1, S)
        _, context = self.ops.weigh_grid(
            queries,
            state.keys,
            state.memory,
            (scores, scores),
            state.mask[:, None],
            where=CROSS,
            first=state.position,
        )
        attentional = self.ops.output(CROSS, self.attention.attentional(context, s))[:, 0]  # (R, D)
        return replace(state, hidden=hidden, attentional=attentional, position=state.position + 1)

    def read(self, tokens: Tensor) -> Tensor:
        """y of the last tokens (L,) -> (L, D)."""
        y = self.ops.embed(tokens, self.target_embedding.weight)
        return self.ops.drop(y, self.dropout.share, training=self.training)

    def predict(self, attentional: Tensor) -> HeadPrediction:
        """s~ W_out of attentional states (L, D)."""
        states = self.ops.drop(attentional, self.dropout.share, training=self.training)
        return HeadPrediction(states, self.head, self.ops)

    @property
    def head(self) -> Tensor:
        """W_out (V, D)."""
        return self.target_embedding.weight if self.output is None else self.output.weight
