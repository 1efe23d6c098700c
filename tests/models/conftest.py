"""Small models of every kind, and batches to feed them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.edits import Edits, Kind, PositionEdit
from jumok.models.build import build_model
from jumok.models.interface import Memory, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.nn.edit import AttentionEdit
from jumok.text.tokenizer import BOS, EOS, PAD

VOCAB = 13
SMALL = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 2, "decoder_layers": 2}
# Without residuals all states become alike, doubly exponentially with depth (Dong et al. 2021).
FLAT = SMALL | {"encoder_layers": 1, "decoder_layers": 1, "residual": False}

RECURRENT = {
    "rnn-tanh": RnnConfig(width=8, cell="rnn", dropout=0),
    "rnn-gru-two-layers": RnnConfig(width=8, layers=2, dropout=0, tied=False),
    "rnn-lstm-both-ways": RnnConfig(width=8, cell="lstm", bidirectional=True, dropout=0),
    "luong-dot": LuongConfig(width=8, score="dot", dropout=0),
    "luong-general-tanh": LuongConfig(width=8, cell="rnn", bidirectional=False, dropout=0),
    "luong-concat-lstm": LuongConfig(width=8, score="concat", cell="lstm", layers=2, dropout=0, tied=False),
    "luong-input-feeding": LuongConfig(width=8, input_feeding=True, dropout=0),
}
TRANSFORMERS = {
    "transformer": TransformerConfig(**SMALL, dropout=0),
    "transformer-pre-norm": TransformerConfig(**SMALL, dropout=0, norm="pre", tied=False),
    "transformer-learned": TransformerConfig(**SMALL, dropout=0, positions="learned", max_positions=64),
    "transformer-rotary": TransformerConfig(**SMALL, dropout=0, positions="rotary", projection="split"),
    "transformer-none": TransformerConfig(**SMALL, dropout=0, positions="none"),
    "transformer-unscaled": TransformerConfig(**SMALL, dropout=0, scaled=False),
    "transformer-no-norm": TransformerConfig(**SMALL, dropout=0, norm="none"),
    "transformer-no-residual": TransformerConfig(**FLAT, dropout=0),
    "transformer-no-residual-pre-norm": TransformerConfig(**FLAT, dropout=0, norm="pre"),
    "transformer-bare": TransformerConfig(**FLAT, dropout=0, norm="none", scaled=False),
    "transformer-t5": TransformerConfig(
        **SMALL,
        dropout=0,
        positions="relative",
        buckets=4,
        max_distance=5,
        norm="pre",
        rms_norm=True,
        norm_epsilon=1e-6,
        gated=True,
        activation="gelu_tanh",
        head_width=3,
        scaled=False,
    ),
    "transformer-bart": TransformerConfig(
        **SMALL,
        dropout=0,
        positions="learned",
        max_positions=64,
        activation="gelu",
        embedding_norm=True,
        embedding_scaled=False,
        logits_bias=True,
    ),
    "transformer-relative-post": TransformerConfig(
        **SMALL,
        dropout=0,
        positions="relative",
        buckets=6,
        max_distance=4,
        activation="silu",
        projection="split",
        head_width=6,
        norm_epsilon=1e-3,
        rms_norm=True,
        logits_bias=True,
    ),
    "transformer-gated": TransformerConfig(
        **SMALL, dropout=0, gated=True, embedding_norm=True, norm_epsilon=1e-2, tied=False
    ),
    "transformer-copy": TransformerConfig(**SMALL, dropout=0, positions="rotary", norm="pre", copy=True),
}
CONFIGS: dict[str, ModelConfig] = RECURRENT | TRANSFORMERS

cells = st.sampled_from(["rnn", "gru", "lstm"])
even = st.integers(1, 5).map(lambda half: 2 * half)
recurrent = {"cell": cells, "width": even, "layers": st.integers(1, 2), "bidirectional": st.booleans()}
tied = st.booleans()


@st.composite
def transformers(draw: st.DrawFn) -> TransformerConfig:
    heads = draw(st.integers(1, 3))
    return TransformerConfig(
        heads=heads,
        width=heads * draw(even),
        head_width=draw(st.sampled_from([0, 0, 2, 4])),
        buckets=draw(st.sampled_from([4, 6, 32])),
        max_distance=draw(st.sampled_from([17, 128])),
        activation=draw(st.sampled_from(["relu", "gelu", "gelu_tanh", "silu"])),
        gated=draw(st.booleans()),
        rms_norm=draw(st.booleans()),
        norm_epsilon=draw(st.sampled_from([1e-6, 1e-5, 1e-3])),
        embedding_norm=draw(st.booleans()),
        embedding_scaled=draw(st.booleans()),
        logits_bias=draw(st.booleans()),
        feedforward=draw(st.integers(1, 9)),
        encoder_layers=draw(st.integers(1, 2)),
        decoder_layers=draw(st.integers(1, 2)),
        norm=draw(st.sampled_from(["post", "pre", "none"])),
        residual=draw(st.booleans()),
        scaled=draw(st.booleans()),
        positions=draw(st.sampled_from(["sinusoidal", "learned", "rotary", "relative", "none"])),
        projection=draw(st.sampled_from(["merged", "split"])),
        max_positions=64,
        tied=draw(tied),
    )


any_config = st.one_of(
    st.builds(RnnConfig, **recurrent, tied=tied),
    st.builds(
        LuongConfig,
        **recurrent,
        tied=tied,
        score=st.sampled_from(["dot", "general", "concat"]),
        input_feeding=st.booleans(),
    ),
    transformers(),
)


heads, steps, keys = st.integers(0, 2), st.integers(0, 9), st.integers(0, 6)
weights = st.sampled_from([0.25, 1.0, 3.0])
attention_edits = st.builds(
    AttentionEdit,
    scaled=st.booleans(),
    factors=st.lists(st.tuples(heads, st.sampled_from([0.0, 0.5, -1.0])), max_size=2).map(tuple),
    cut=st.lists(st.tuples(heads, steps, st.integers(1, 6)), max_size=4).map(tuple),  # key 0 stays
    rows=st.lists(
        st.tuples(
            heads,
            steps,
            st.lists(st.tuples(keys, weights), max_size=3, unique_by=lambda one: one[0]).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    uniform=st.lists(heads, max_size=2).map(tuple),
)
position_edits = st.none() | st.builds(
    PositionEdit, st.sampled_from(["none", "shuffle", "shift"]), st.integers(0, 9), st.integers(-3, 9)
)


@st.composite
def edits(draw: st.DrawFn, config: ModelConfig) -> Edits:
    """Anything that can be changed in a model of this kind."""
    kinds = st.sampled_from(["enc_self", "dec_self", "cross"])
    layers: dict[tuple[Kind, int], AttentionEdit] = draw(
        st.dictionaries(st.tuples(kinds, st.integers(0, 1)), attention_edits, min_size=1, max_size=3)
    )
    if isinstance(config, TransformerConfig):
        return Edits(layers, draw(position_edits), draw(position_edits))
    shape = (config.layers, 2 if config.cell == "lstm" else 1, config.width)
    return Edits(layers, bridge=draw(st.sampled_from([None, np.full(shape, 0.3, np.float32)])))


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs to feed to a model."""

    source: Sentences
    target_in: Sentences
    target_out: Tensor  # (M,)

    def alone(self, row: int) -> "Pairs":
        """One of them."""
        target_in, places = self.target_in.select([row])
        return Pairs(self.source.select([row])[0], target_in, self.target_out[places])


@dataclass(frozen=True)
class Bench:
    """What the tests of the models share."""

    any_config: st.SearchStrategy[ModelConfig] = any_config
    vocab: int = VOCAB
    build: Callable[..., Seq2Seq] = build_model

    def edits(self, config: ModelConfig) -> st.SearchStrategy[Edits]:
        return edits(config)

    def model(self, config: ModelConfig, seed: int = 0, *, shared: bool = False) -> Seq2Seq:
        """A model in eval mode whose source and target vocabularies differ unless shared."""
        torch.manual_seed(seed)
        model = self.build(config, VOCAB if shared else VOCAB + 2, VOCAB, shared=shared).eval()
        if isinstance(bias := getattr(model, "logits_bias", None), Tensor):
            bias.data.normal_()  # it starts at 0, and a test would not see it
        return model

    def exact(self, config: ModelConfig, seed: int = 0) -> Seq2Seq:
        """The model in float64: norms of small embeddings magnify the rounding of float32."""
        return self.model(config, seed).double()

    def batch(self, lengths: list[int], target: int | list[int], seed: int = 0) -> Pairs:
        """Sources of these lengths, their end included, and targets of one length or of their own."""
        generator = torch.Generator().manual_seed(seed)
        targets = [target] * len(lengths) if isinstance(target, int) else target

        def rows(sizes: list[int]) -> list[list[int]]:
            return [torch.randint(4, VOCAB, (n - 1,), generator=generator).tolist() for n in sizes]

        sources, answers = rows(lengths), rows(targets)
        return Pairs(
            self.lay([[*row, EOS] for row in sources]),
            self.lay([[BOS, *row] for row in answers]),
            self.lay([[*row, EOS] for row in answers]).tokens,
        )

    def lay(self, rows: list[list[int]]) -> Sentences:
        return Sentences.lay(rows, torch.device("cpu"))

    def fill(self, sentences: Sentences, count: int) -> Sentences:
        """The same sentences with fillers behind them, as a fixed room has them."""
        L = len(sentences.tokens)
        places = torch.arange(L, L + count, dtype=torch.int32)
        return replace(
            sentences,
            tokens=torch.cat((sentences.tokens, torch.full((count,), PAD))),
            range=torch.cat((sentences.range, torch.stack((places, places + 1))), dim=1),
        )

    def on_gpu(self, batch: Pairs) -> Pairs:
        def there(one: Sentences) -> Sentences:
            return Sentences.of(one.tokens.cuda(), one.known_lengths)

        return Pairs(there(batch.source), there(batch.target_in), batch.target_out.cuda())

    def logits(self, model: Seq2Seq, batch: Pairs) -> Tensor:
        """(M, V) of the teacher-forced pass."""
        return model(batch.source, batch.target_in).logits()  # type: ignore[no-any-return]

    def step_by_step(self, model: Seq2Seq, target_in: Sentences, memory: Memory) -> Tensor:
        """Logits (M, V) from single steps."""
        state, steps = model.start(memory), []
        for token in target_in.grid(target_in.tokens).unbind(dim=1):
            logits, state = model.step(token, state)
            steps.append(logits)
        return target_in.flat(torch.stack(steps, dim=1))


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()


@pytest.fixture(params=CONFIGS)
def config(request: pytest.FixtureRequest) -> ModelConfig:
    """One of every architecture and option, without dropout."""
    return CONFIGS[request.param]


@pytest.fixture(params=TRANSFORMERS)
def transformer_config(request: pytest.FixtureRequest) -> TransformerConfig:
    return TRANSFORMERS[request.param]
