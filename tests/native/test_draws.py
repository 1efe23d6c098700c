"""c/draws.c: answers drawn at random are those of decoding/greedy.py, its twin, from the same random numbers.

A draw may be another one only where the numbers of the two are as good as equal: where the random number lies
at the border between two tokens, or their log-probabilities are the same up to rounding.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.making import CONFIGS, VOCABULARY, make
from tests.native.test_ensemble import both
from tests.native.test_phrases import PHRASES, PIECES
from tests.native.test_search import SHAPE as WORDS_SHAPE
from tests.native.test_search import SIZES, Cut, twins

from jumok.answers import Answer, Lead, ranked
from jumok.config import AlignHead, DecodingConfig
from jumok.decoding.batched import encode, make_search
from jumok.decoding.engines import draws_of, native_phrase
from jumok.decoding.filters import LiveRows, ban
from jumok.decoding.greedy import GreedySearch, keep_top_k
from jumok.decoding.jobs import SOFT, Job
from jumok.decoding.search import run_search, search_steps
from jumok.edits import AttentionEdit, Edits
from jumok.models.interface import Seq2Seq
from jumok.native.draws import CDraws, DrawArrays, Draws
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.phrases import PhraseOptions, Pieces
from jumok.native.record import Probe, TreeArrays
from jumok.native.watch import Watch
from jumok.native.weights import pack_weights
from jumok.text.tokenizer import EOS

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

BORDER = 2e-6
"""Numbers this near to a border between tokens, and tokens this much alike, may be taken either way."""
SPELLED = [*PIECES[:VOCABULARY], *[b"x"] * (VOCABULARY - len(PIECES))]
Drawn = list[tuple[Answer, float]]
"""The draws of a sentence, in order, and how near each came to being another one."""


def how_near(allowed: torch.Tensor, uniform: torch.Tensor, config: DecodingConfig) -> torch.Tensor:
    """For each row how far the random number, the cut of top_p and the tokens beside are from changing it."""
    ordered = (allowed.double() / config.temperature).sort(dim=1, descending=True, stable=True).values
    probs = keep_top_k(ordered.softmax(dim=1), config.top_k)
    whole = probs.cumsum(dim=1) / probs.sum(dim=1, keepdim=True)
    near = torch.full_like(uniform, inf)
    if config.top_p < 1:
        near = (whole - config.top_p).abs().amin(dim=1)
        kept = ((whole - probs / probs.sum(dim=1, keepdim=True)) < config.top_p).sum(dim=1).clamp(min=1)
        whole = whole / whole.gather(1, kept[:, None] - 1)
    near = near.minimum((whole - uniform[:, None]).abs().amin(dim=1))
    place = (whole <= uniform[:, None]).sum(dim=1).clamp(max=whole.shape[1] - 1)
    for beside in (place - 1, place + 1):
        there = (beside >= 0) & (beside < whole.shape[1])
        other = ordered.gather(1, beside.clamp(0, whole.shape[1] - 1)[:, None])
        gap = (ordered.gather(1, place[:, None]) - other).abs().squeeze(1)
        near = torch.where(there & gap.isfinite(), near.minimum(gap), near)
    return near * min(config.temperature, 1)


def by_torch(
    model: Seq2Seq, jobs: Sequence[Job], config: DecodingConfig, pieces: Sequence[bytes], banned: Any = ()
) -> list[Drawn]:
    filters = [ban(banned, pieces)] if banned else []
    search = make_search(jobs, config, pieces, filters)
    assert isinstance(search, GreedySearch)
    near, pick, draws = dict[int, float](), search.pick, config.draws
    limits = [job.limit(config) for job in jobs]
    numbers = np.concatenate(draws_of(jobs, limits, config).uniforms, axis=None)
    begins = np.cumsum([0, *(limit for limit in limits for _ in range(draws))])

    def noted(allowed: torch.Tensor, rows: LiveRows) -> torch.Tensor:
        t, which = rows.tokens.shape[1], rows.sentence.tolist()
        uniform = torch.from_numpy(numbers[begins[which] + t])
        for row, one in zip(which, how_near(allowed, uniform, config).tolist(), strict=True):
            near[row] = min(near.get(row, inf), one)
        return pick(allowed, rows)

    search.pick = noted
    with torch.inference_mode():
        run_search(model, encode(model, jobs, [draws] * len(jobs)), search)
    rows = [(search._found[row], near[row]) for row in range(draws * len(jobs))]
    return [rows[n : n + draws] for n in range(0, len(rows), draws)]


def by_native(
    model: NativeModel,
    jobs: Sequence[Job],
    config: DecodingConfig,
    pieces: Sequence[bytes] = (),
    banned: Sequence[str] = (),
    **more: Any,
) -> list[list[Answer]]:
    limits = [job.limit(config) for job in jobs]
    phrases = None
    if banned or any(job.phrases for job in jobs):
        wanted = [list(map(native_phrase, job.phrases)) for job in jobs]
        spelled = [text.encode() for text in banned]
        widths = [config.draws] * len(jobs)
        phrases = PhraseOptions(wanted, widths, spelled, config.draws, SOFT, Pieces(pieces))
    return model.search(
        [job.source for job in jobs],
        limits,
        more.pop("options", SearchOptions.of(config)),
        prefixes=[job.prefix for job in jobs],
        phrases=phrases,
        draws=draws_of(jobs, limits, config),
        **more,
    )


def agree(
    found: list[list[Answer]], wanted: list[Drawn], config: DecodingConfig, border: float = BORDER
) -> None:
    """The same answers, best first, but for those that nearly were others."""
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours == ranked(ours, config.length_penalty)
        rest = list(ours)
        for answer, _ in (one for one in theirs if one[1] > border):
            same = [one for one in rest if (one.ids, one.finished) == (answer.ids, answer.finished)]
            assert same
            rest.remove(same[0])
            np.testing.assert_allclose(same[0].log_probs, answer.log_probs, rtol=1e-5, atol=3e-5)
        assert len(rest) == sum(near <= border for _, near in theirs)


@lru_cache(maxsize=16)
def pair(name: str) -> tuple[Seq2Seq, NativeModel]:
    model, arrays = make(CONFIGS[name], seed=3)
    return model, NativeModel(CONFIGS[name], pack_weights(CONFIGS[name], arrays, shared=True))


CONFIG = st.builds(
    DecodingConfig,
    sample=st.just(True),  # noqa: FBT003  a strategy
    n_best=st.integers(1, 5),
    temperature=st.sampled_from([0.05, 0.5, 1.0, 1.7, 30.0]),
    top_k=st.sampled_from([0, 0, 1, 3, 500]),
    top_p=st.sampled_from([1.0, 1.0, 0.9, 0.3, 1e-9]),
    min_len=st.sampled_from([0, 0, 3]),
    max_len=st.sampled_from([7, 15]),
    length_penalty=st.sampled_from([0.0, 1.0, 2.0]),
    seed=st.integers(0, 999),
)
SOURCE = st.lists(st.integers(260, 276), max_size=8).map(tuple)
PREFIX = st.lists(st.integers(260, 276), max_size=2).map(tuple)
JOBS = st.lists(st.builds(Job, SOURCE, PREFIX), min_size=1, max_size=4)


@settings(max_examples=min(120, settings().max_examples))
@given(st.sampled_from(sorted(CONFIGS)), JOBS, CONFIG)
def test_draws_are_those_of_torch(name: str, jobs: list[Job], config: DecodingConfig) -> None:
    model, native = pair(name)
    agree(by_native(native, jobs, config), by_torch(model, jobs, config, SPELLED), config)


@settings(max_examples=min(30, settings().max_examples))
@given(st.sampled_from(["words", "bytes"]), JOBS, CONFIG)
def test_a_few_stripes_of_a_vocabulary_are_one(kind: str, jobs: list[Job], config: DecodingConfig) -> None:
    jobs = [replace(job, source=tuple(i % SIZES[kind] for i in job.source), prefix=()) for job in jobs]
    wanted = by_torch(twins(kind).torch, jobs, config, PIECES)
    agree(by_native(twins(kind).native, jobs, config), wanted, config)


@settings(max_examples=20)
@given(CONFIG.filter(lambda config: config.temperature <= 1))
def test_of_equal_pieces_the_lower_id_comes_first(config: DecodingConfig) -> None:
    """Borders between so many equal pieces are where the numbers of both engines put them."""
    jobs = [Job((5, 6)), Job((7,))]
    wanted = by_torch(twins("equal").torch, jobs, config, PIECES)
    found = by_native(twins("equal").native, jobs, config)
    for ours, theirs in zip(found, wanted, strict=True):
        expected = ranked((answer for answer, _ in theirs), config.length_penalty)
        assert [one.ids for one in ours] == [one.ids for one in expected]


@pytest.mark.parametrize("names", [("transformer", "split"), ("lstm", "concat", "transformer")], ids="+".join)
@pytest.mark.parametrize("mean", ["probabilities", "logs"])
def test_ensembles_draw_too(names: tuple[str, ...], mean: str) -> None:
    model, native = both(names, mean, [1.0 + n for n in range(len(names))])
    jobs = [Job((260, 261, 262)), Job((264,), (270,))]
    for seed in range(5):
        config = DecodingConfig(sample=True, n_best=4, seed=seed, temperature=1.5, max_len=12)
        agree(by_native(native, jobs, config), by_torch(model, jobs, config, SPELLED), config)


@settings(max_examples=min(30, settings().max_examples), deadline=None)
@given(
    st.lists(st.lists(PHRASES, max_size=3).map(tuple), min_size=1, max_size=3),
    st.lists(st.sampled_from(["a", "bb", "é", "가가", "ab"]), max_size=2),
    st.integers(0, 99),
    st.sampled_from([0.3, 1.0]),
    st.integers(0, 1),
)
def test_phrases_are_kept_as_torch_keeps_them(
    phrases: list[tuple[Any, ...]], banned: list[str], seed: int, temperature: float, forced: int
) -> None:
    prefix = (700, 701) if forced else ()
    jobs = [Job((300 + n, 301), prefix, one) for n, one in enumerate(phrases)]
    config = DecodingConfig(sample=True, n_best=3, seed=seed, temperature=temperature, max_len=40)
    found = by_native(twins("words").native, jobs, config, PIECES, banned)
    agree(found, by_torch(twins("words").torch, jobs, config, PIECES, banned), config)


@settings(max_examples=min(25, settings().max_examples))
@given(
    JOBS.filter(lambda jobs: len(jobs) > 1), CONFIG, st.integers(0, 1), st.integers(0, 9), st.integers(1, 3)
)
def test_neighbours_and_threads_change_no_bit(
    jobs: list[Job], config: DecodingConfig, int8: int, rows: int, threads: int
) -> None:
    native = twins("words").int8 if int8 else twins("words").native
    options = replace(SearchOptions.of(config), rows=rows)
    together = by_native(native, jobs, config, threads=threads, options=options)
    for job, answers in zip(jobs, together, strict=True):
        assert by_native(native, [job], config, threads=1) == [answers]


@pytest.mark.parametrize("more", [{"temperature": 1e-6}, {"top_k": 1, "temperature": 5.0}, {"top_p": 1e-12}])
def test_draws_with_no_choice_are_greedy_search(more: dict[str, Any]) -> None:
    config = DecodingConfig(sample=True, n_best=3, max_len=20, **more)
    jobs = [Job((260 + n, 261)) for n in range(5)]
    for name in sorted(CONFIGS):
        native = pair(name)[1]
        limits = [job.limit(config) for job in jobs]
        usual = native.search([job.source for job in jobs], limits, SearchOptions(beam=1))
        assert [[one.ids for one in own] for own in by_native(native, jobs, config)] == [
            [best.ids] * 3 for [best] in usual
        ]


def test_a_shortlist_is_the_whole_vocabulary_of_its_sentence() -> None:
    both_of = twins("words")
    lists = [[EOS, *range(40, 60), *range(500, 1090)], [EOS, *range(40, 1040, 7)], [EOS, 300, 1099], [9, 77]]
    jobs = [Job((260 + n, 261)) for n in range(4)]
    for seed in range(6):
        config = DecodingConfig(sample=True, n_best=4, seed=seed, temperature=1.3, max_len=9)
        found = by_native(both_of.native, jobs, config, shortlists=lists)
        for job, own, answers in zip(jobs, lists, found, strict=True):
            cut = Cut(WORDS_SHAPE, 1100, 1100, shared=True).eval()
            cut.load_state_dict(both_of.torch.state_dict())
            cut.forbidden = torch.ones(1100, dtype=torch.bool)
            cut.forbidden[own] = False
            agree([answers], by_torch(cut, [job], config, PIECES), config)


def test_they_are_aligned_and_edited_as_every_answer_is() -> None:
    model, job = twins("words").native, Job((260, 261, 270))
    config = DecodingConfig(sample=True, n_best=3, max_len=9, seed=4)
    options = replace(SearchOptions.of(config), align=AlignHead(0))
    plain, [drawn] = by_native(model, [job], config), by_native(model, [job], config, options=options)
    assert [[one.ids for one in drawn]] == [[one.ids for one in own] for own in plain]
    assert all(len(one.alignment) == len(one.ids) for one in drawn)
    edits = Edits({("cross", 0): AttentionEdit(uniform=frozenset({0, 1}))})
    assert by_native(model, [job], config, looker=Probe(edits)) != plain


def leads_of(kind: str, config: DecodingConfig, job: Job) -> tuple[list[Lead], list[Lead]]:
    """How far the draws for one sentence have come after each step, in C and in torch."""
    ours: list[Lead] = []
    watch = Watch(ours.append, chosen=bool(config.mbr))
    by_native(twins(kind).native, [job], config, looker=Probe(watch=watch))
    choose = (lambda draws: list(draws)) if config.mbr else None
    search, model = make_search([job], config, PIECES, choose=choose), twins(kind).torch
    with torch.inference_mode():
        memory = encode(model, [job], [config.draws])
    return ours, [search.lead() for _ in search_steps(model, memory, search)]


@settings(max_examples=min(40, settings().max_examples))
@given(st.integers(0, 400), st.integers(2, 6), st.integers(0, 1), st.sampled_from([0.0, 1.0]))
def test_leads_are_those_of_torch(seed: int, draws: int, chosen: int, alpha: float) -> None:
    config = DecodingConfig(seed=seed, max_len=12, temperature=0.6, length_penalty=alpha)
    config = replace(config, mbr=draws) if chosen else replace(config, sample=True, n_best=draws)
    job = Job((100, 61, 180))
    if min(near for _, near in by_torch(twins("words").torch, [job], config, PIECES)[0]) <= BORDER:
        return
    ours, theirs = leads_of("words", config, job)
    theirs = theirs[:-1] if chosen else theirs  # who chooses tells the last one
    assert [(one.ids, one.stable) for one in ours] == [(one.ids, one.stable) for one in theirs]
    assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-3)


def test_what_cannot_be_drawn_is_refused() -> None:
    model, options = twins("words").native, SearchOptions(beam=2)
    table = np.full((2, 3), 0.5)

    def refused(table: Any = table, **more: Any) -> None:
        with pytest.raises(ValueError, match="cannot search"):
            model.search([[5]], [3], options, draws=Draws([table], **more))

    assert model.search([[5]], [3], options, draws=Draws([table]))
    for temperature in (0.0, -1.0, nan, inf):
        refused(temperature=temperature)
    for top_p in (0.0, -0.5, 1.1, nan):
        refused(top_p=top_p)
    refused(top_k=-1)
    for number in (-1e-9, 1.0, nan):
        refused(np.full((2, 3), number))
    for looker in (
        Probe(recording=model.recording([[5]], [3])),
        Probe(tree=TreeArrays(99)),
    ):
        with pytest.raises(ValueError, match="cannot search"):
            model.search([[5]], [3], options, draws=Draws([table]), looker=looker)
    with pytest.raises(ValueError, match=r"random numbers of the shapes \[\(2, 3\)\] are not"):
        model.search([[5]], [4], options, draws=Draws([table]))


@pytest.mark.parametrize("name", ["uniforms", "places"])
def test_nothing_in_the_place_of_numbers_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = DrawArrays.__init__

    def without(self: DrawArrays, *given: Any) -> None:
        made(self, *given)
        setattr(self.c, name, None)

    monkeypatch.setattr(DrawArrays, "__init__", without)
    assert ctypes.sizeof(CDraws) == 40
    with pytest.raises(ValueError, match="cannot search"):
        twins("words").native.search([[5]], [3], SearchOptions(1), draws=Draws([np.zeros((1, 3))]))
