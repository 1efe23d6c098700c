"""c/recurrent.c: the RNN and Luong models of the C engine are those of PyTorch, whatever their settings."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import beam_search, greedy

from jumok.answers import Answer, NotFiniteError
from jumok.config import LuongConfig, RnnConfig
from jumok.decoding.batched import USUAL
from jumok.models.build import build_model
from jumok.models.interface import Memory, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.weights import pack_weights, unpack_weights
from jumok.text.tokenizer import BOS, EOS

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

Config = RnnConfig | LuongConfig
SOURCE, TARGET = 41, 300
"""Pieces of each side; the filter of the search wants all 256 bytes in the target."""
ids = st.integers(4, SOURCE - 1)


@st.composite
def some_config(draw: st.DrawFn) -> Config:
    """All settings of the two models, with widths that leave vectors and blocks unfilled."""
    settings: dict[str, Any] = {
        "cell": draw(st.sampled_from(["rnn", "gru", "lstm"])),
        "layers": draw(st.integers(1, 3)),
        "tied": draw(st.booleans()),
        "bidirectional": draw(st.booleans()),
        "width": 2 * draw(st.integers(1, 20)),
    }
    if draw(st.booleans()):
        return RnnConfig(**settings)
    score = draw(st.sampled_from(["dot", "general", "concat"]))
    return LuongConfig(**settings, score=score, input_feeding=draw(st.booleans()))


@st.composite
def sentences(draw: st.DrawFn, most: int = 5) -> list[list[int]]:
    return draw(st.lists(st.lists(ids, max_size=12), min_size=1, max_size=most))


@dataclass(frozen=True)
class Twins:
    torch: Seq2Seq
    native: NativeModel

    def read(self, sources: list[list[int]]) -> Memory:
        whole = [[*source, EOS] for source in sources]
        return self.torch.encode(Sentences.lay(whole, torch.device("cpu")))


def twins(config: Config, *, shared: bool = False, type: str = "float32") -> Twins:  # noqa: A002
    """The same weights in both, larger than fresh ones, so that answers differ from piece to piece."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = build_model(config, TARGET if shared else SOURCE, TARGET, shared=shared).eval()
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(2)
            model.head.mul_(2)
    tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return Twins(model, NativeModel(config, pack_weights(config, tensors, shared=shared, type=type)))  # type: ignore[arg-type]


@settings(max_examples=min(60, settings().max_examples))
@given(some_config(), sentences(), st.data())
def test_scores_are_those_of_pytorch(config: Config, sources: list[list[int]], data: st.DataObject) -> None:
    both = twins(config, shared=data.draw(st.booleans()))
    target = st.lists(st.integers(0, TARGET - 1), max_size=9)
    targets = data.draw(st.lists(target, min_size=len(sources), max_size=len(sources)))
    found = both.native.score(sources, targets)
    for source, right, scores in zip(sources, targets, found, strict=True):
        with torch.inference_mode():
            target_in = Sentences.lay([[BOS, *right]], torch.device("cpu"))
            logits = both.torch.decode(target_in, both.read([source])).logits()  # (T, V)
        expected = logits.log_softmax(dim=-1)[torch.arange(len(right) + 1), [*right, EOS]]
        np.testing.assert_allclose(scores, expected.numpy(), rtol=0, atol=2e-5)


# Whether two hypotheses are equal up to rounding is a matter of luck: these examples are always the same.
@settings(max_examples=min(30, settings().max_examples), derandomize=True)
@given(some_config(), sentences(3), st.integers(1, 5), st.integers(1, 3), st.integers(1, 12))
def test_answers_are_those_of_pytorch(
    config: Config, sources: list[list[int]], beam: int, n_best: int, limit: int
) -> None:
    both = twins(config)
    limits = [limit + len(source) for source in sources]
    with torch.inference_mode():
        memory = both.read(sources)
        expected = beam_search(
            both.torch, memory, limits, (USUAL,), beam=beam, n_best=n_best, length_penalty=0.6
        )
        single = greedy(both.torch, memory, limits, (USUAL,))
    options = SearchOptions(beam=beam, n_best=n_best, length_penalty=0.6)
    found = both.native.search(sources, limits, options)
    assert list(map(texts, found)) == list(map(texts, expected))
    for mine, right in zip(found, expected, strict=True):
        for one, other in zip(mine, right, strict=True):
            np.testing.assert_allclose(one.log_probs, other.log_probs, rtol=0, atol=2e-5)
    best = both.native.search(sources, limits, SearchOptions(beam=1))
    assert [texts(one) for one in best] == [texts([one]) for one in single]


def texts(answers: list[Answer]) -> list[tuple[tuple[int, ...], bool]]:
    return [(one.ids, one.finished) for one in answers]


@pytest.mark.parametrize("type_", ["float32", "int8"])
@settings(max_examples=min(25, settings().max_examples))
@given(some_config(), sentences(6), st.integers(1, 4), st.integers(0, 7), st.integers(1, 2))
def test_neighbours_and_threads_change_no_bit(
    type_: str, config: Config, sources: list[list[int]], beam: int, rows: int, threads: int
) -> None:
    native = twins(config, type=type_).native
    options = SearchOptions(beam=beam, rows=rows)
    limits = [9 + i for i, _ in enumerate(sources)]
    together = native.search(sources, limits, options, threads=threads)
    for i, source in enumerate(sources):
        assert native.search([source], [limits[i]], SearchOptions(beam=beam), threads=1) == [together[i]]
    targets = [list(answers[0].ids) for answers in together]
    scores = native.score(sources, targets, threads=threads)
    alone = [native.score([s], [t], threads=1)[0] for s, t in zip(sources, targets, strict=True)]
    assert scores == alone
    for [best, *_], score in zip(together, scores, strict=True):  # searching and scoring are one computation
        assert best.log_probs == tuple(score[: len(best.log_probs)])


@pytest.mark.parametrize("arch", ["rnn", "luong"])
@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_int8_is_near(arch: str, cell: str) -> None:
    """Codes of the inputs are all that differs from PyTorch with the weights that the codes stand for."""
    shape: dict[str, Any] = {"cell": cell, "width": 64, "layers": 2}
    config = RnnConfig(**shape) if arch == "rnn" else LuongConfig(**shape, score="concat", input_feeding=True)
    both = twins(config)
    state = {name: tensor.numpy() / 2 for name, tensor in both.torch.state_dict().items()}
    parts = pack_weights(config, state, type="int8")
    native = NativeModel(config, parts)
    assert native.type == "int8"
    plain = unpack_weights(config, parts, shared=False)
    both.torch.load_state_dict({name: torch.from_numpy(array) for name, array in plain.items()})
    sources, target = [[5, 9, 30, 12], [8]], [270, 31, 90, 140]
    scores = native.score(sources, [target, target])
    for source, mine in zip(sources, scores, strict=True):
        with torch.inference_mode():
            target_in = Sentences.lay([[BOS, *target]], torch.device("cpu"))
            logits = both.torch.decode(target_in, both.read([source])).logits()
        right = logits.log_softmax(dim=-1)[torch.arange(5), [*target, EOS]].numpy()
        assert np.abs(np.array(mine) - right).max() < 0.05
        assert np.abs(np.array(mine) - right).max() > 0  # it is not float32 by mistake


@pytest.mark.parametrize("name", ["encoder.0.1.input", "decoder.1.hidden"])
@pytest.mark.parametrize("type_", ["float32", "int8"])
def test_numbers_that_are_not_finite_are_told(name: str, type_: str) -> None:
    config = LuongConfig(width=16, layers=2)
    both = twins(config)
    state = {key: tensor.numpy() for key, tensor in both.torch.state_dict().items()}
    parts = pack_weights(config, state, type=type_)  # type: ignore[arg-type]
    bias = np.array(parts[name].bias)
    bias[3] = np.nan
    native = NativeModel(config, {**parts, name: replace(parts[name], bias=bias)})
    with pytest.raises(NotFiniteError, match="sentence 0 of the batch"):
        native.search([[5, 6], [7]], [4, 4], SearchOptions(beam=2))
    with pytest.raises(NotFiniteError, match="sentence 0 of the batch"):
        native.score([[5, 6]], [[9]])


def test_many_rows_that_come_and_go() -> None:
    """Beams wider than the vocabulary; sentences end at different times and rows are moved."""
    both = twins(LuongConfig(width=12, cell="lstm", layers=2, score="general", input_feeding=True))
    sources, limits = [[4 + i] * i for i in range(7)], [1, 5, 2, 4, 3, 1, 5]
    wide = both.native.search(sources, limits, SearchOptions(beam=400, n_best=400, keep=3))
    with torch.inference_mode():
        expected = beam_search(both.torch, both.read(sources), limits, (USUAL,), beam=400, n_best=400)
    assert [texts(one) for one in wide] == [texts(one[:3]) for one in expected]
