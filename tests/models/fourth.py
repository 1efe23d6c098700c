"""Convolutional encoder-decoder (Gehring et al. 2017), written only from what CONTRIBUTING says.

    conv(x)_t = GLU([x_t-k+1; …; x_t] W + b)      decoder: a window that ends at t; encoder: t in its middle
    x <- (conv(x) + x) · sqrt(1/2)                an encoder layer; Z after the last
    d_t = conv(x)_t W_d + b_d + y_t               the query of a decoder layer
    a_t = softmax(d_t Z^T),  c_t = a_t (Z + X)    attention to the states Z and embeddings X of the source
    x_t <- ((conv(x)_t + c_t W_c + b_c) · sqrt(1/2) + x_t) · sqrt(1/2)

Axis letters: L tokens, N source, M target tokens, R rows, S source, D width, k window, n layers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from tests.models.fourth_config import CnnConfig
from torch import Tensor, nn
from torch.nn import functional as F

from jumok.models.interface import HeadPrediction, Memory, Seq2Seq, join_padded, longest
from jumok.models.sentences import Sentences
from jumok.nn.layers import Embedding


@dataclass(frozen=True)
class CnnState:
    keys: Tensor  # (R, S, D)
    values: Tensor  # (R, S, D)
    mask: Tensor  # (R, S)
    past: Tensor  # (R, n, k-1, D), the last inputs of each layer
    position: Tensor  # (R,)

    def select(self, rows: Tensor) -> "CnnState":
        return CnnState(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def join(self, other: "CnnState") -> "CnnState":
        S = max(longest(self.mask), longest(other.mask))
        pairs = [(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__]
        return CnnState(*(join_padded(*pair, S, dim=1) for pair in pairs[:3]), *map(torch.cat, pairs[3:]))


def windows(x: Tensor, sentences: Sentences, first: int, k: int) -> Tensor:
    """The k tokens from t + first on of each token t (L, D), zeros outside its sentence -> (L, k·D)."""
    place = torch.arange(len(x), device=x.device)[:, None] + torch.arange(first, first + k, device=x.device)
    seen = (sentences.range[0][:, None] <= place) & (place < sentences.range[1][:, None])  # (L, k)
    return (x[place.clamp(0, len(x) - 1)] * seen[:, :, None]).flatten(1)


class CnnSeq2Seq(Seq2Seq):
    def __init__(self, config: CnnConfig, source_vocab: int, target_vocab: int, *, shared: bool) -> None:
        super().__init__()
        D, self.k, self.share, n = config.width, config.window, config.dropout, config.decoder_layers
        self.target_embedding = Embedding(target_vocab, D)
        self.source_embedding = self.target_embedding if shared else Embedding(source_vocab, D)
        self.encoder = nn.ModuleList(nn.Linear(self.k * D, 2 * D) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(nn.Linear(self.k * D, 2 * D) for _ in range(n))
        self.query, self.out = (nn.ModuleList(nn.Linear(D, D) for _ in range(n)) for _ in range(2))
        self.output = None if config.tied else nn.Linear(D, target_vocab, bias=False)

    def encode(self, source: Sentences) -> Memory:
        x = self.drop(self.read_source(source))  # (N, D)
        for layer in self.encoder:
            x = (F.glu(layer(windows(self.drop(x), source, -(self.k // 2), self.k))) + x) * 0.5**0.5
        return Memory(x, source)

    def decode(self, target_in: Sentences, memory: Memory) -> HeadPrediction:
        y = x = self.drop(self.read_target(target_in.tokens, self.ops.positions("target", target_in, None)))
        spans, keys = target_in.spans_over(memory.source), memory.states
        values, dot = keys + self.read_source(memory.source), lambda q, k: q @ k.mT
        for n in range(len(self.decoder)):
            window = windows(self.drop(x), target_in, 1 - self.k, self.k)  # (M, k·D)
            attend = lambda q, where: self.ops.attend_by(dot, q, keys, values, spans, where=where)  # noqa: E731
            x = self.layer(n, window, x, y, attend)
        return self.predict(self.drop(x))

    def start(self, memory: Memory) -> CnnState:
        source, Z = memory.source, memory.states
        keys, values = source.grid(Z), source.grid(Z + self.read_source(source))  # (B, S, D)
        past = Z.new_zeros(len(source), len(self.decoder), self.k - 1, Z.shape[1])
        return CnnState(
            keys, values, source.mask, past, torch.zeros_like(source.mask[:, 0], dtype=torch.long)
        )

    def step(self, token: Tensor, state: CnnState) -> tuple[Tensor, CnnState]:
        y = x = self.read_target(token, self.ops.next_positions(state.position, None))  # (R, D)
        past, (keys, values), at = [], (state.keys, state.values), state.position

        def attend(q: Tensor, where: tuple[Literal["cross"], int]) -> Tensor:
            pair, mask = ((q[:, None] @ keys.mT),) * 2, state.mask[:, None]  # (R, 1, S)
            return self.ops.weigh_grid(q[:, None], keys, values, pair, mask, where=where, first=at)[1][:, 0]

        for n in range(len(self.decoder)):
            window = torch.cat((state.past[:, n], x[:, None]), dim=1)  # (R, k, D)
            past.append(window[:, 1:])
            x = self.layer(n, window.flatten(1), x, y, attend)
        return self.predict(x).logits(), CnnState(keys, values, state.mask, torch.stack(past, 1), at + 1)

    def layer(self, n: int, window: Tensor, x: Tensor, y: Tensor, attend: Callable[..., Tensor]) -> Tensor:
        h, where = F.glu(self.decoder[n](window)), ("cross", n)
        c = self.ops.output(where, self.out[n](attend(self.query[n](h) + y, where)))
        return ((h + c) * 0.5**0.5 + x) * 0.5**0.5

    def read_source(self, source: Sentences) -> Tensor:
        x = self.ops.embed(source.tokens, self.source_embedding.weight)
        return self.located(x, self.ops.positions("source", source, None))

    def read_target(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        return self.located(self.ops.embed(tokens, self.target_embedding.weight), positions)

    def located(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x if positions is None else x + self.ops.sinusoids(positions, None, x.shape[1], x.dtype)

    def drop(self, x: Tensor) -> Tensor:
        return self.ops.drop(x, self.share, training=self.training)

    def predict(self, x: Tensor) -> HeadPrediction:
        head = self.target_embedding.weight if self.output is None else self.output.weight
        return HeadPrediction(x, head, self.ops)
