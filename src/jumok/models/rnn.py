"""RNN encoder-decoder joined by one fixed vector (Cho et al. 2014; Sutskever et al. 2014).

H, h_final = RNN(X)              the encoder reads the source in order
s_0 = h_final                    the fixed vector: all that the decoder ever gets
s_t = Cell(y_{t-1}, s_{t-1})     the decoder needs its previous state and the previous token
logits_t = s_t W_out
"""

from torch import Tensor, nn

from jumok.config import RnnConfig
from jumok.models.interface import HeadPrediction, Memory, Seq2Seq
from jumok.models.recurrent import RecurrentEncoder, RecurrentState, embed, make_cell, run_cell
from jumok.models.sentences import Sentences
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

    def encode(self, source: Sentences) -> Memory:
        X = embed(self.ops, source.tokens, self.source_embedding, source.positions)  # (N, D)
        H, h_final = self.encoder(X, source, self.ops)  # (N, D), (B, N, C, D)
        return Memory(H, source, h_final)

    def decode(self, target_in: Sentences, memory: Memory) -> HeadPrediction:
        y = self.read(target_in.tokens)  # (M, D)
        s, _ = run_cell(self.ops, self.decoder, y, target_in, self.start(memory).hidden)  # (M, D)
        return self.predict(s)

    def start(self, memory: Memory) -> RecurrentState:
        assert memory.final is not None
        return RecurrentState(memory.final)

    def step(self, token: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        s, hidden = run_cell(self.ops, self.decoder, self.read(token)[:, None], None, state.hidden)
        return self.predict(s[:, 0]).logits(), RecurrentState(hidden)  # (R, V)

    def read(self, tokens: Tensor) -> Tensor:
        """y of the last tokens (L,) -> (L, D)."""
        y = self.ops.embed(tokens, self.target_embedding.weight)
        return self.ops.drop(y, self.dropout.share, training=self.training)

    def predict(self, s: Tensor) -> HeadPrediction:
        """s W_out of states (L, D)."""
        states = self.ops.drop(s, self.dropout.share, training=self.training)
        return HeadPrediction(states, self.head, self.ops)

    @property
    def head(self) -> Tensor:
        """W_out (V, D)."""
        return self.target_embedding.weight if self.output is None else self.output.weight
