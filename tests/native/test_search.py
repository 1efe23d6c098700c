"""c/search.c and its neighbours: the rules of decoding/beam.py, sub-batches, threads, shortlists."""

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.decoding.searches import beam_search

from jumok.answers import Answer
from jumok.config import TransformerConfig
from jumok.decoding.batched import USUAL, lay_sources
from jumok.decoding.filters import at_least, force_prefix
from jumok.models.transformer import TransformerSeq2Seq
from jumok.native.library import BAD_ARGUMENT, OK, CAnswers, CBatch, COptions, available, why_not
from jumok.native.model import NativeModel, SearchOptions, c_options
from jumok.native.structs import address
from jumok.native.weights import Type, pack_weights
from jumok.text.tokenizer import EOS, FIRST_BYTE

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

SHAPE = TransformerConfig(width=32, heads=4, feedforward=48, encoder_layers=1, decoder_layers=2)
SIZES = {"words": 1100, "bytes": FIRST_BYTE + 256, "equal": 300}
"""Vocabularies: some stripes of it, nothing but bytes, and a model to which all pieces are equal."""


@dataclass(frozen=True)
class Twins:
    torch: TransformerSeq2Seq
    native: NativeModel
    int8: NativeModel


@lru_cache(maxsize=8)
def twins(kind: str) -> Twins:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = TransformerSeq2Seq(SHAPE, SIZES[kind], SIZES[kind], shared=True).eval()
        with torch.no_grad():
            model.target_embedding.weight.mul_(0 if kind == "equal" else 1.7)
            model.target_embedding.weight[EOS] *= 1.2  # so that answers end
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    made = (
        NativeModel(SHAPE, pack_weights(SHAPE, state, shared=True, type=type_))
        for type_ in ("float32", "int8")
    )
    return Twins(model, *made)


def by_pytorch(
    kind: str,
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    options: SearchOptions,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Answer]]:
    model = twins(kind).torch
    filters = [USUAL]
    filters += [force_prefix(prefixes)] if prefixes else []  # type: ignore[list-item]
    filters += [at_least(options.min_len)] if options.min_len else []  # type: ignore[list-item]
    with torch.inference_mode():
        memory = model.encode(lay_sources(sources, torch.device("cpu")))
        found = beam_search(
            model,
            memory,
            limits,
            filters,
            beam=options.beam,
            n_best=options.n_best,
            length_penalty=options.length_penalty,
        )
    return [answers[: options.kept] for answers in found]


def agree(found: list[list[Answer]], expected: list[list[Answer]]) -> None:
    for mine, right in zip(found, expected, strict=True):
        assert [(one.ids, one.finished) for one in mine] == [(one.ids, one.finished) for one in right]
        for one, other in zip(mine, right, strict=True):
            np.testing.assert_allclose(one.log_probs, other.log_probs, rtol=0, atol=1e-5)


some_options = st.builds(
    SearchOptions,
    beam=st.integers(1, 6),
    n_best=st.integers(1, 4),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    min_len=st.sampled_from([0, 0, 3, 50]),
    keep=st.integers(0, 3),
)
pieces = st.lists(st.integers(FIRST_BYTE, 259), max_size=9)


# Whether two hypotheses are equal up to rounding is a matter of luck: these examples are always the same.
@settings(max_examples=min(60, settings().max_examples), derandomize=True)
@given(st.sampled_from(sorted(SIZES)), some_options, st.lists(pieces, min_size=1, max_size=4), st.data())
def test_answers_are_those_of_pytorch(
    kind: str, options: SearchOptions, sources: list[list[int]], data: st.DataObject
) -> None:
    """Every option, forced beginnings that are no text or longer than the limit, limits of one."""
    n = len(sources)
    limits = data.draw(st.lists(st.integers(1, 14), min_size=n, max_size=n))
    prefix = st.lists(st.integers(0, SIZES[kind] - 1), max_size=4)
    prefixes = data.draw(st.none() | st.lists(prefix, min_size=n, max_size=n))
    found = twins(kind).native.search(sources, limits, options, prefixes=prefixes)
    agree(found, by_pytorch(kind, sources, limits, options, prefixes))


@pytest.mark.parametrize("kind", ["bytes", "equal"])
def test_a_beam_wider_than_the_vocabulary(kind: str) -> None:
    options = SearchOptions(beam=600, n_best=600, keep=40)
    agree(
        twins(kind).native.search([[5, 6], [7]], [3, 2], options),
        by_pytorch(kind, [[5, 6], [7]], [3, 2], options),
    )


def test_bytes_come_together_as_characters() -> None:
    sources = [[5 + i] * (i % 5) for i in range(60)]
    limits = [1 + i % 12 for i in range(60)]
    found = twins("bytes").native.search(sources, limits, SearchOptions(beam=3))
    texts = [bytes(i - FIRST_BYTE for i in answer.ids) for answers in found for answer in answers]
    assert any(byte >= 0x80 for text in texts for byte in text)
    for text in texts:
        assert not any(byte < 32 or byte == 127 for byte in text.decode().encode())


@settings(max_examples=min(25, settings().max_examples))
@given(
    st.sampled_from(["float32", "int8"]),
    st.lists(pieces, min_size=1, max_size=15),
    st.integers(1, 4),
    st.integers(0, 9),
    st.integers(1, 3),
    st.integers(0, 1),
)
def test_neighbours_and_threads_change_no_bit(
    type_: Type, sources: list[list[int]], beam: int, rows: int, threads: int, short: int
) -> None:
    both = twins("words")
    native = both.native if type_ == "float32" else both.int8
    limits = [3 + (5 * i) % 11 for i, _ in enumerate(sources)]
    lists = [sorted({EOS, *range(20 + i, 1100, 3 + i)}) for i, _ in enumerate(sources)] if short else None
    options = SearchOptions(beam=beam, rows=rows)
    together = native.search(sources, limits, options, threads=threads, shortlists=lists)
    for i, source in enumerate(sources):
        own = None if lists is None else [lists[i]]
        alone = native.search([source], [limits[i]], replace(options, rows=0), threads=1, shortlists=own)
        assert alone == [together[i]]


@pytest.mark.parametrize("type_", ["float32", "int8"])
def test_many_sentences_on_many_threads(type_: Type) -> None:
    """Sub-batches of all threads and of several callers at once."""
    native = twins("words").native if type_ == "float32" else twins("words").int8
    sources = [[5 + (i * j) % 200 for j in range(i % 17)] for i in range(150)]
    limits = [4 + len(source) for source in sources]
    expected = native.search(sources, limits, SearchOptions(beam=2), threads=1)
    with ThreadPoolExecutor(3) as pool:
        jobs = [
            pool.submit(native.search, sources, limits, SearchOptions(beam=2, rows=rows), threads=threads)
            for rows, threads in ((0, 2), (8, 3), (0, 4))
        ]
        assert all(job.result() == expected for job in jobs)
    targets = [list(answers[0].ids) for answers in expected]
    assert native.score(sources, targets, threads=2) == native.score(sources, targets, threads=1)


def test_a_few_rows_share_matrices() -> None:
    """With one sentence threads work on blocks of a matrix; a wide model has matrices worth sharing."""
    config = replace(SHAPE, width=256, heads=4, feedforward=512, decoder_layers=1)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = TransformerSeq2Seq(config, 2000, 2000, shared=True)
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    types: tuple[Type, ...] = ("float32", "int8")
    for type_ in types:
        native = NativeModel(config, pack_weights(config, state, shared=True, type=type_))
        for beam in (1, 3):
            one = native.search([[5, 6, 7]], [30], SearchOptions(beam=beam, min_len=29), threads=1)
            assert native.search([[5, 6, 7]], [30], SearchOptions(beam=beam, min_len=29), threads=3) == one


class Cut(TransformerSeq2Seq):
    """A model that knows nothing but a shortlist."""

    forbidden: torch.Tensor  # (V,)

    def step(self, token: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        logits, after = super().step(token, state)
        return logits.masked_fill(self.forbidden, -torch.inf), after


def test_a_shortlist_is_the_whole_vocabulary_of_its_sentence() -> None:
    both = twins("words")
    sources, limits = [[5, 6, 7], [8, 9], [10]], [9, 8, 7]
    options = SearchOptions(beam=3)
    every = both.native.search(sources, limits, options, shortlists=[range(1100)] * 3)
    agree(every, both.native.search(sources, limits, options))

    lists = [[EOS, *range(40, 60), *range(500, 1090)], [EOS, *range(40, 1040, 7)], [EOS, 300, 1099]]
    found = both.native.search(sources, limits, options, shortlists=lists)
    for source, limit, own, mine in zip(sources, limits, lists, found, strict=True):
        outside = torch.ones(1100, dtype=torch.bool)
        outside[own] = False
        cut = Cut(SHAPE, 1100, 1100, shared=True).eval()
        cut.load_state_dict(both.torch.state_dict())
        cut.forbidden = outside
        with torch.inference_mode():
            memory = cut.encode(lay_sources([source], torch.device("cpu")))
            right = beam_search(cut, memory, [limit], (USUAL,), beam=3)
        agree([mine], right)


def test_a_child_of_fork_has_threads_of_its_own() -> None:
    """In a process of its own: forking is not for a process that runs tests."""
    script = """if True:
        import os, sys, warnings
        import numpy as np
        from jumok.architectures import TransformerConfig
        from jumok.native.model import NativeModel, SearchOptions
        from jumok.native.weights import layout, pack_weights
        warnings.simplefilter("ignore")
        config = TransformerConfig(width=256, heads=4, feedforward=256, encoder_layers=1, decoder_layers=1)
        draw = np.random.default_rng(0)
        state = {}
        for part in layout(config, 600, 600):
            state[part.weight] = draw.standard_normal(part.shape, dtype=np.float32)
            if part.bias:
                state[part.bias] = np.zeros(part.bias_shape, np.float32)
        model = NativeModel(config, pack_weights(config, state, shared=True))
        def both():
            many = model.search([[5, 6]] * 40, [5] * 40, SearchOptions(beam=2), threads=3)
            return [*many, *model.search([[5, 6]], [20], SearchOptions(beam=2, min_len=19), threads=3)]
        before = both()
        child = os.fork()
        same = both() == before
        if child == 0:
            os._exit(0 if same else 1)
        assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@dataclass
class Call:
    """What jm_search is given, as arrays that a test may spoil."""

    ids: list[int]
    offsets: list[int]
    limits: list[int]
    options: COptions
    shortlist: list[int] | None = None

    def run(self, native: NativeModel) -> tuple[int, int]:
        """The code, and the sentence that it is about."""
        arrays: list[NDArray[Any]] = [
            np.array(self.ids, np.int32),
            np.array(self.offsets, np.int64),
            np.array(self.limits, np.int32),
        ]
        count = len(self.offsets) - 1
        batch = CBatch(
            count=count, ids=address(arrays[0]), offsets=address(arrays[1]), limits=address(arrays[2])
        )
        if self.shortlist is not None:
            arrays += [np.array(self.shortlist, np.int32), np.array([0, len(self.shortlist)], np.int64)]
            batch.shortlist, batch.shortlist_offsets = address(arrays[3]), address(arrays[4])
        room: list[NDArray[Any]] = [
            np.zeros(1000, np.int32),
            np.zeros(1000, np.float32),
            np.zeros(100, np.int32),
            np.zeros(100, np.int32),
        ]
        answers, bad = CAnswers(*map(address, room)), ctypes.c_int32(-7)
        parts = map(ctypes.byref, (batch, self.options, answers, bad))
        return native.library.c.jm_search(native._handle, *parts), bad.value


def test_arguments_are_checked() -> None:
    native = twins("words").native
    usual = c_options(SearchOptions(beam=2), threads=1)
    good = Call([5, EOS, 6, 7, EOS], [0, 2, 5], [4, 4], usual)
    assert good.run(native) == (OK, -1)
    for call, sentence in (
        (replace(good, ids=[5, EOS, 6, 1100, EOS]), 1),
        (replace(good, ids=[-1, EOS, 6, 7, EOS]), 0),
        (replace(good, offsets=[0, 0, 5]), 0),
        (replace(good, offsets=[0, 5, 2]), 1),
        (replace(good, limits=[4, 0]), 1),
        (Call([5, EOS], [0, 2], [4], usual, shortlist=[EOS, 9, 9]), 0),
        (Call([5, EOS], [0, 2], [4], usual, shortlist=[EOS, 1100]), 0),
        (Call([5, EOS], [0, 2], [4], usual, shortlist=[]), 0),
    ):
        assert call.run(native) == (BAD_ARGUMENT, sentence)
    for name, value in (("beam", 0), ("n_best", 0), ("keep", 3), ("threads", 0), ("min_len", -1)):
        options = c_options(SearchOptions(beam=2), threads=1)
        setattr(options, name, value)
        assert replace(good, options=options).run(native) == (BAD_ARGUMENT, -1)
    options = c_options(replace(SearchOptions(beam=2), length_penalty=float("nan")), threads=1)
    assert replace(good, options=options).run(native) == (BAD_ARGUMENT, -1)
