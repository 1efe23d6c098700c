"""RNN encoder-decoder joined by one fixed vector (Cho et al. 2014; Sutskever et al. 2014).

H, h_final = RNN(X)              the encoder reads the source in order
s_0 = h_final                    the fixed vector: all that the decoder ever gets
s_t = Cell(y_{t-1}, s_{t-1})     the decoder needs its previous state and the previous token
logits_t = s_t W_out
"""

from torch import Tensor, nn

from jumok.config import RnnConfig
from jumok.models.interface import Memory, PackedBatch, Probe, Seq2Seq
from jumok.models.recurrent import (
    RecurrentEncoder,
    RecurrentState,
    make_cell,
    memory_of,
    run_cell,
    run_packed,
    show_states,
)
from jumok.models.steps import sides_of, spread, trip_of
from jumok.nn.layers import Dropout, Embedding
from jumok.nn.patches import Patches, read_source


class RnnSeq2Seq(Seq2Seq):
    """Encoder and decoder that share nothing but the encoder's last state."""

    def __init__(
        self,
        config: RnnConfig,
        source_vocab: int,
        target_vocab: int,
        *,
        shared: bool,
        patches: Patches | None = None,
    ) -> None:
        super().__init__()
        D = config.width
        self.target_embedding = Embedding(target_vocab, D)
        self.source_embedding = self.target_embedding if shared else read_source(source_vocab, D, patches)
        self.encoder = RecurrentEncoder(
            config.cell, D, config.layers, config.dropout, both=config.bidirectional
        )
        self.decoder = make_cell(config.cell, D, D, config.layers, config.dropout)
        self.output = None if config.tied else nn.Linear(D, target_vocab, bias=False)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Tensor, source_mask: Tensor, probe: Probe | None = None) -> Memory:
        X = self.source_embedding(source)  # (B, S, D)
        H, h_final = self.encoder(X, source_mask)  # (B, S, D), (B, N, C, D)
        return memory_of(H, source_mask, h_final, probe)

    def decode(self, target_in: Tensor, memory: Memory, probe: Probe | None = None) -> Tensor:
        states, _ = self.run(target_in, self.start(memory))
        show_states(probe, "decoder", states)
        return self.logits(states)  # (B, T, V)

    def start(self, memory: Memory, probe: Probe | None = None) -> RecurrentState:
        assert memory.final is not None
        return RecurrentState(memory.final)

    def step(self, token: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        states, state = self.run(token[:, None], state)
        return self.logits(states[:, 0]), state  # (B, V)

    def run(self, target_in: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Decoder states (B, T, D) after each token, and the last of them as a state."""
        y = self.dropout(self.target_embedding(target_in))  # (B, T, D)
        states, hidden = run_cell(self.decoder, y, state.hidden)
        return states, RecurrentState(hidden)

    def logits(self, states: Tensor) -> Tensor:
        states = self.dropout(states)
        return self.target_embedding.logits(states) if self.output is None else self.output(states)

    def features(self, batch: PackedBatch) -> Tensor:
        """(M, D): both sides in order of time, and back to the places of the target at the end."""
        trip = trip_of(sides_of(batch))
        X = self.source_embedding(batch.source[trip.source])  # (n_s, D)
        _, h_final = self.encoder.read(X, trip.source_sizes)  # (B, N, C, D)
        y = self.dropout(self.target_embedding(batch.target_in[trip.target]))  # (n_t, D)
        hidden = h_final.index_select(0, trip.bridge)  # (B, N, C, D), longest target first
        states, _ = run_packed(self.decoder, y, trip.target_sizes, hidden)  # (n_t, D)
        return spread(self.dropout(states), trip.target, len(batch.target_in))

    @property
    def head(self) -> Tensor:
        return self.target_embedding.weight if self.output is None else self.output.weight
