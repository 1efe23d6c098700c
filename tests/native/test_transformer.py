"""c/transformer.c: the Transformer of the C engine is that of PyTorch, whatever its settings."""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import beam_search

from jumok.answers import NotFiniteError
from jumok.architectures import Activation, Placing
from jumok.config import TransformerConfig
from jumok.decoding.batched import USUAL, lay_sources, score_targets
from jumok.errors import ModelError
from jumok.models.interface import Seq2Seq
from jumok.models.transformer import TransformerSeq2Seq
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.weights import Type, pack_weights, unpack_weights

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

SOURCE, TARGET = 41, 300
"""Pieces of each side; the filter of the search wants all 256 bytes in the target."""
SMALL = TransformerConfig(width=24, heads=3, feedforward=40, encoder_layers=2, decoder_layers=2)


@st.composite
def some_config(draw: st.DrawFn) -> TransformerConfig:
    """All settings, with widths that leave vectors and blocks unfilled."""
    heads = draw(st.integers(1, 4))
    positions: Placing = draw(st.sampled_from(["sinusoidal", "learned", "rotary", "relative", "none"]))
    return TransformerConfig(
        heads=heads,
        width=heads * 2 * draw(st.integers(1, 12)),
        head_width=draw(st.just(0) | st.integers(1, 20).map(lambda k: k + k % 2 * (positions == "rotary"))),
        feedforward=draw(st.integers(1, 70)),
        encoder_layers=draw(st.integers(1, 2)),
        decoder_layers=draw(st.integers(1, 2)),
        norm=draw(st.sampled_from(["post", "pre", "none"])),
        residual=draw(st.booleans()),
        scaled=draw(st.booleans()),
        positions=positions,
        max_positions=32,
        buckets=draw(st.sampled_from([4, 8, 32])),
        max_distance=draw(st.integers(17, 40)),
        activation=draw(st.sampled_from(get_args(Activation))),
        gated=draw(st.booleans()),
        rms_norm=draw(st.booleans()),
        norm_epsilon=draw(st.sampled_from([1e-5, 1e-6, 1e-2])),
        embedding_norm=draw(st.booleans()),
        embedding_scaled=draw(st.booleans()),
        logits_bias=draw(st.booleans()),
        projection=draw(st.sampled_from(["merged", "split"])),
        tied=draw(st.booleans()),
    )


@dataclass(frozen=True)
class Twins:
    torch: Seq2Seq
    native: NativeModel


def twins(config: TransformerConfig, *, shared: bool = False, type: Type = "float32") -> Twins:  # noqa: A002
    """The same weights in both; biases and norms are random too, or nobody would miss them."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = TransformerSeq2Seq(config, TARGET if shared else SOURCE, TARGET, shared=shared).eval()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() == 1:
                    weight.add_(0.3 * torch.randn_like(weight))
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return Twins(model, NativeModel(config, pack_weights(config, tensors, shared=shared, type=type)))


def sentences(most: int = 5, length: int = 12) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(st.lists(st.integers(4, SOURCE - 1), max_size=length), min_size=1, max_size=most)


@settings(max_examples=min(60, settings().max_examples))
@given(some_config(), sentences(), st.data(), st.integers(0, 1))
def test_scores_are_those_of_pytorch(
    config: TransformerConfig, sources: list[list[int]], data: st.DataObject, shared: int
) -> None:
    both = twins(config, shared=bool(shared))
    target = st.lists(st.integers(0, TARGET - 1), max_size=9)
    targets = data.draw(st.lists(target, min_size=len(sources), max_size=len(sources)))
    for mine, right in zip(
        both.native.score(sources, targets), score_targets(both.torch, sources, targets), strict=True
    ):
        np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-5)


@settings(max_examples=min(40, settings().max_examples))
@given(some_config(), sentences(3), st.integers(1, 5), st.integers(1, 12))
def test_answers_are_those_of_pytorch(
    config: TransformerConfig, sources: list[list[int]], beam: int, limit: int
) -> None:
    """The same text, or one that PyTorch finds equally good: models without sums have many such."""
    both = twins(config)
    limits = [limit + len(source) for source in sources]
    with torch.inference_mode():
        memory = both.torch.encode(lay_sources(sources, torch.device("cpu")))
        expected = beam_search(both.torch, memory, limits, (USUAL,), beam=beam, length_penalty=0.6)
    found = both.native.search(sources, limits, SearchOptions(beam=beam, length_penalty=0.6))
    for source, mine, right in zip(sources, found, expected, strict=True):
        for one, other in zip(mine, right, strict=True):
            np.testing.assert_allclose(one.score, other.score, rtol=0, atol=1e-4)
            if one != other:
                [score] = score_targets(both.torch, [source], [one.ids])
                assert abs(sum(score[: len(one.log_probs)]) - other.score) < 1e-4


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
def test_long_texts_outgrow_the_tables(positions: Any) -> None:
    """Positions past the table of sines, and caches that have to grow."""
    both = twins(replace(SMALL, width=8, heads=2, positions=positions))
    sources, targets = [[5 + i % 30 for i in range(150)], [7]], [[i % 300 for i in range(140)], [9] * 70]
    for mine, right in zip(
        both.native.score(sources, targets), score_targets(both.torch, sources, targets), strict=True
    ):
        np.testing.assert_allclose(mine, right, rtol=0, atol=3e-5)


def test_a_learned_table_has_an_end() -> None:
    native = twins(replace(SMALL, positions="learned", max_positions=6)).native
    [[answer]] = native.search([[5] * 5], [6], SearchOptions(beam=1))  # six tokens with the end
    assert len(answer.log_probs) <= 6
    with pytest.raises(LookupError, match="table ends at 6"):
        native.search([[5], [5] * 6], [3, 3], SearchOptions(beam=2))
    with pytest.raises(LookupError, match="table ends at 6"):
        native.score([[5]], [[9] * 6])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_int8_is_near(norm: Any) -> None:
    """Codes of the inputs are all that differs from PyTorch with the weights that the codes stand for."""
    config = replace(SMALL, width=64, heads=4, feedforward=128, norm=norm)
    both = twins(config)
    state = {name: tensor.numpy() for name, tensor in both.torch.state_dict().items()}
    parts = pack_weights(config, state, type="int8")
    native = NativeModel(config, parts)
    plain = unpack_weights(config, parts, shared=False)
    both.torch.load_state_dict({name: torch.from_numpy(array) for name, array in plain.items()})
    sources, targets = [[5, 9, 30, 12], [8]], [[270, 31, 90, 140]] * 2
    mine = np.concatenate(native.score(sources, targets))
    apart = np.abs(mine - np.concatenate(score_targets(both.torch, sources, targets))).max()
    assert 0 < apart < 0.1  # 0: it would be float32 by mistake


@pytest.mark.parametrize("name", ["encoder.0.norm1.weight", "decoder.1.norm3.bias"])
@pytest.mark.parametrize("type_", ["float32", "int8"])
def test_numbers_that_are_not_finite_are_told(name: str, type_: Type) -> None:
    both = twins(SMALL)
    state = {key: tensor.numpy() for key, tensor in both.torch.state_dict().items()}
    parts = pack_weights(SMALL, state, type=type_)
    broken = np.array(parts[name].data)
    broken.reshape(-1)[3] = np.nan
    native = NativeModel(SMALL, {**parts, name: replace(parts[name], data=broken)})
    with pytest.raises(NotFiniteError, match="sentence 0 of the batch"):
        native.search([[5, 6], [5, 6]], [4, 4], SearchOptions(beam=2))
    with pytest.raises(NotFiniteError, match="sentence 0 of the batch"):
        native.score([[5, 6]], [[9]])


def test_parts_that_do_not_fit_are_refused() -> None:
    both = twins(SMALL)
    parts = both.native.parts
    turned = replace(parts["encoder.0.inner"], rows=24, columns=40)
    with pytest.raises(ModelError, match=r"encoder\.0\.inner is 24 x 40, and 40 x 24 was expected"):
        NativeModel(SMALL, {**parts, "encoder.0.inner": turned})
    bare = replace(parts["decoder.1.cross_q"], bias=None)
    with pytest.raises(ModelError, match=r"decoder\.1\.cross_q has no bias"):
        NativeModel(SMALL, {**parts, "decoder.1.cross_q": bare})


def test_an_int8_matrix_may_not_overflow_its_sums() -> None:
    wide = replace(SMALL, encoder_layers=1, decoder_layers=1, heads=1, width=2, feedforward=140_000)
    with pytest.raises(
        ModelError, match=r"encoder\.0\.outer is int8 with 140000 columns, and 132104 is the most"
    ):
        twins(wide, type="int8")
