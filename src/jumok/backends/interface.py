"""The ops that models are made of. A back end computes them; a model cannot tell which one it has.

Tokens lie end to end (`jumok.models.sentences`), so most tensors are (L, D): L tokens of all sentences.
Axis letters: L tokens, T queries, S keys, D width, H heads, K width of one head, V vocabulary, B rows of a
rectangle, W beams.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from torch import Tensor, device, dtype, nn

from jumok.nn.spans import Lengths, Spans

Kind = Literal["enc_self", "dec_self", "cross", "copy"]
"""`copy` is where a model that copies points: one layer, one head, and its `out` is the share copied."""
Where = tuple[Kind, int]
"""An attention: its kind and its layer."""
Side = Literal["source", "target"]
Pair = tuple[Tensor, Tensor]
"""Keys and values."""
Score = Callable[[Tensor, Tensor], Tensor]
"""Queries (B, T, D) and keys (B, S, D) to scores (B, T, S)."""


class Projected(NamedTuple):
    """A product, and the bias that is in it already but whose gradient the op that reads it still owes."""

    values: Tensor  # (L, ·)
    bias: Tensor | None = None


class Tokens(Protocol):
    """What an op may ask of `jumok.models.sentences.Sentences`."""

    @property
    def positions(self) -> Tensor: ...
    @property
    def known_lengths(self) -> Lengths: ...
    @property
    def time(self) -> Any: ...
    def grid(self, x: Tensor, /) -> Tensor: ...
    def __len__(self) -> int: ...


class Backend(Protocol):
    """One way to compute. `jumok.backends.torch.TorchBackend` is the obvious one, the twin of all others."""

    # From tokens to vectors

    def positions(self, side: Side, sentences: Tokens, rows: int | None) -> Tensor | None:
        """The position of each token (L,); None: it has none. A learned table has so many `rows`."""
        ...

    def next_positions(self, positions: Tensor, rows: int | None) -> Tensor | None:
        """The same for single steps of a target, given the place of each row (R,)."""
        ...

    def embed(self, ids: Tensor, table: Tensor, scale: float = 1.0) -> Tensor:
        """Rows of a table (V, D) by ids (L,), times a scale -> (L, D)."""
        ...

    def sinusoids(self, positions: Tensor, end: int | None, width: int, kind: dtype) -> Tensor:
        """PE of positions (L,), all before `end` if that is known -> (L, width)."""
        ...

    # Inside a layer

    def uniform(self, count: int, where: device) -> Tensor:
        """Random numbers (count,) from 0 to 1."""
        ...

    def seeds(self, count: int, where: device) -> Sequence[Tensor | None]:
        """Where the dropout of so many `add_norm`s comes from: on a GPU one launch draws all of them."""
        ...

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        """Dropout."""
        ...

    def branch(
        self,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        *,
        relu: bool = False,
        owed: bool = False,
        own: bool = True,
    ) -> tuple[Projected, Tensor]:
        """y = x W^T + b, or relu of it, beside which x goes on along the residual stream: y and that x.

        `owed` lets the attention that reads y sum the bias's gradient. `own`: the gradient that comes back
        along the stream was made for this alone, and may be added to in place.
        """
        ...

    def attend(
        self, inputs: tuple[Projected, ...], heads: int, spans: Spans, *, scale: bool, where: Where
    ) -> Tensor:
        """softmax(Q K^T / sqrt(d_k)) V in each head, of (qkv,) or (q, kv) laid side by side -> (T, D)."""
        ...

    def attend_grid(
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
    ) -> Tensor:
        """The same in a rectangle: query (B, H, T, K), keys and values (B, H, S, K) -> (B, H, T, K).

        The mask broadcasts to (B, H, T, S); None: every key is seen. `first` is the position of the first
        query and `begin` the place of position 0 among the keys, (B,) where rows differ.
        """
        ...

    def attend_by(
        self, score: Score, query: Tensor, keys: Tensor, values: Tensor, spans: Spans, *, where: Where
    ) -> Tensor:
        """softmax(score(query, keys)) values: query (T, D), keys and values (S, D) -> (T, D)."""
        ...

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
    ) -> tuple[Tensor, Tensor]:
        """From scores of one head, before and after scaling (B, T, S), to weights and context (B, T, D)."""
        ...

    def copy(
        self, copying: Any, x: Tensor, logits: Tensor, memory: Pair, spans: Spans, longest: int
    ) -> Tensor:
        """log p (M, V) of a model that copies; memory is the encoder's states (N, D) and the tokens (N,)."""
        ...

    def output(self, where: Where, out: Tensor) -> Tensor:
        """What an attention makes of its context in the end, handed on."""
        ...

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
        """s = x + dropout(states W^T + b), and its norm: (L, D) both. Without `add` s is the change."""
        ...

    def run_cell(
        self, cell: nn.RNNBase, x: Tensor, sentences: Tokens | None, hidden: Tensor | None, side: Side
    ) -> tuple[Tensor, Tensor]:
        """All states, and the last ones (C, N, B, D), of a recurrent cell over tokens (L, D) laid end to end.

        Without sentences x is a rectangle (B, T, D).
        """
        ...

    def bridge(self, final: Tensor) -> Tensor:
        """The encoder's last states (B, N, C, D) on their way to the decoder."""
        ...

    # From vectors to a loss

    def head_loss(self, states: Tensor, head: Tensor, target: Tensor, smoothing: float) -> Pair:
        """Smoothed cross-entropy and nll of softmax(states head^T), summed; a target of 0 weighs nothing."""
        ...

    def rdrop_loss(
        self, states: Tensor, head: Tensor, target: Tensor, smoothing: float, alpha: float
    ) -> Pair:
        """The same for two passes (2M, D) that must agree (R-Drop)."""
        ...

    # A search in fixed buffers

    def attend_past(
        self,
        query: Tensor,
        new: Pair,
        past: Pair,
        ancestors: Tensor,
        place: Tensor,
        places: int,
        *,
        scale: bool,
    ) -> Tensor:
        """query and new (B, H, W, K) at one `place`, past (B, H, T·W, K) -> (B, W, H·K)."""
        ...

    def attend_source(self, query: Tensor, source: Pair, lengths: Tensor, *, scale: bool) -> Tensor:
        """query (B, H, W, K), source (B, H, S, K) of `lengths` (B,) real tokens -> (B, W, H·K)."""
        ...

    def row_peaks(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What `jumok.backends.best` needs of logits (R, V)."""
        ...

    def bounded(self, width: int) -> bool:
        """Whether `attend_past` reads no further than its place by itself, for heads of this width."""
        ...
