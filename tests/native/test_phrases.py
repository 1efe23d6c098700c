"""c/phrases.c: the rules of decoding/constraints.py, its twin."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import beam_search
from tests.native.test_search import twins

from jumok.decoding.batched import USUAL, lay_sources
from jumok.decoding.constraints import Constraint
from jumok.decoding.engines import native_phrase
from jumok.decoding.filters import ban, force_prefix
from jumok.decoding.jobs import SOFT, Phrase, Spelling
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.phrases import PhraseArrays, PhraseOptions, Pieces, end_to_end, offsets_of
from jumok.text.tokenizer import FIRST_BYTE

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

WORDS = ["a", " a", "b", " b", "ab", " ba", "é", " é", "가", "“"]
PIECES = [b""] * FIRST_BYTE + [bytes([byte]) for byte in range(256)]
PIECES += [WORDS[i % len(WORDS)].encode() for i in range(1100 - len(PIECES))]
IDS = st.lists(st.integers(FIRST_BYTE + 0x61, len(PIECES) - 1), min_size=1, max_size=3).filter(
    lambda ids: not any(FIRST_BYTE + 0x7E < i < FIRST_BYTE + 256 for i in ids)
)


def spelling(ids: list[int]) -> Spelling:
    return Spelling(b"".join(PIECES[i] for i in ids).decode().strip(), tuple(ids))


def with_space(phrase: Phrase) -> Phrase:
    """A phrase that can begin behind any word, as all have it that `make_phrase` makes."""
    last = phrase.spellings[-1]
    spaced = Spelling(last.text, (FIRST_BYTE + 0x20, *last.ids))
    return replace(phrase, spellings=(*phrase.spellings, spaced))


SPELLINGS = st.lists(IDS.map(spelling), min_size=1, max_size=2).map(tuple)
PHRASES = st.builds(Phrase, SPELLINGS, st.booleans(), st.booleans(), st.booleans())
SENTENCE = st.lists(PHRASES, max_size=3).map(tuple)
SOURCES = [[300, 301], [302], [303, 304, 305]]


def native_answers(
    model: NativeModel, phrases, banned, beam: int, n_best: int = 1, prefixes=None, shortlists=None
):
    widths = [min(32, beam + sum(phrase.size for phrase in one)) for one in phrases]
    options = PhraseOptions(
        phrases=[list(map(native_phrase, one)) for one in phrases],
        widths=widths,
        banned=[text.encode() for text in banned],
        enough=beam,
        soft=SOFT,
        pieces=Pieces(PIECES),
    )
    search = SearchOptions(max(widths), n_best, 1.0, keep=beam)
    sources, limits = SOURCES[: len(phrases)], [24] * len(phrases)
    return model.search(
        sources, limits, search, prefixes=prefixes, shortlists=shortlists, phrases=options, threads=1
    )


def torch_answers(model, phrases, banned, beam: int, n_best: int = 1, prefixes=None):
    constraints = [
        Constraint(one, PIECES, min(32, beam + sum(phrase.size for phrase in one))) if one else None
        for one in phrases
    ]
    filters = [USUAL, *([force_prefix(prefixes)] if prefixes else []), ban(banned, PIECES)]
    with torch.inference_mode():
        memory = model.encode(lay_sources(SOURCES[: len(phrases)], torch.device("cpu")))
    return beam_search(
        model,
        memory,
        [24] * len(phrases),
        filters,
        beam=beam,
        n_best=n_best,
        constraints=constraints,
    )


@settings(max_examples=25, deadline=None)
@given(
    phrases=st.lists(SENTENCE, min_size=1, max_size=3),
    banned=st.lists(st.sampled_from(["a", "bb", "é", "가가", "ab"]), max_size=2),
    beam=st.sampled_from([1, 2, 4]),
    forced=st.booleans(),
)
def test_answers_with_phrases_are_those_of_torch(phrases, banned, beam, forced) -> None:
    both = twins("words")
    prefixes = [[700, 701]] * len(phrases) if forced else None
    ours = native_answers(both.native, phrases, banned, beam, prefixes=prefixes)
    theirs = torch_answers(both.torch, phrases, banned, beam, prefixes=prefixes)
    for mine, other in zip(ours, theirs, strict=True):
        assert [answer.ids for answer in mine] == [answer.ids for answer in other[:beam]]
        for one, two in zip(mine, other, strict=False):
            assert one.finished == two.finished
            assert one.log_probs == pytest.approx(two.log_probs, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(phrases=st.lists(SENTENCE, min_size=2, max_size=3), beam=st.integers(1, 3), int8=st.booleans())
def test_an_answer_does_not_depend_on_its_neighbours(phrases, beam, int8) -> None:
    model = twins("words").int8 if int8 else twins("words").native
    together = native_answers(model, phrases, (), beam)
    alone = native_answers(model, phrases[:1], (), beam)
    assert together[0] == alone[0]


@settings(max_examples=25, deadline=None)
@given(phrases=SENTENCE.filter(bool), beam=st.integers(1, 4))
def test_what_is_required_is_there(phrases, beam) -> None:
    strict = tuple(replace(with_space(phrase), once=False, soft=False) for phrase in phrases)
    [answers] = native_answers(twins("words").native, [strict], (), beam)
    for answer in answers:
        constraint = Constraint(strict, PIECES)
        assert constraint.may_end(constraint.replay(answer.ids))


def test_a_phrase_comes_only_once() -> None:
    model, phrase = twins("words").native, Phrase((Spelling("ab", (FIRST_BYTE + 0x61, 265)),), once=True)
    for beam in (1, 3):
        [answers] = native_answers(model, [(phrase,)], (), beam)
        for answer in answers:
            assert b"".join(PIECES[i] for i in answer.ids).count(b"ab") <= 1


def test_a_shortlist_with_the_tokens_of_a_phrase_has_it() -> None:
    wanted = Phrase((spelling([700, 705]),))
    ids = sorted({2, *range(FIRST_BYTE, 320), 700, 705})
    [answers] = native_answers(twins("words").native, [(wanted,)], ["g"], 3, shortlists=[ids])
    written = b"".join(PIECES[i] for i in answers[0].ids)
    assert b"g" not in written
    assert spelling([700, 705]).text.encode() in written
    assert set(answers[0].ids) <= set(ids)


def test_the_arrays_say_where_each_part_begins() -> None:
    phrase = native_phrase(Phrase((Spelling("ab", (260,)), Spelling("c", (261, 262))), soft=True))
    arrays = PhraseArrays(PhraseOptions([[], [phrase]], [1, 4], [b"c", b"c"], 3, 2.0, Pieces([b"x", b"yz"])))
    assert arrays.arrays["first"].tolist() == [0, 0, 1]
    assert arrays.arrays["text_of"].tolist() == [1, 0]  # a banned text comes first
    assert (arrays.c.bans, arrays.c.text_count, arrays.c.soft) == (1, 2, 2.0)
    assert offsets_of([[1], [], [2, 3]]).tolist() == [0, 1, 1, 3]
    assert end_to_end([b"ab", b"", b"c"])[0].tobytes() == b"abc\0"


@pytest.mark.parametrize(
    ("name", "value"),
    [("widths", [99]), ("ids", [5000]), ("text_of", [7]), ("first", [0, 2]), ("id_offsets", [0, -1])],
)
def test_wrong_phrases_are_refused(name, value, monkeypatch) -> None:
    model = twins("words").native
    made = PhraseArrays.__init__

    def damaged(self, options) -> None:
        made(self, options)
        self.arrays[name] = np.array(value, self.arrays[name].dtype)
        setattr(self.c, name, self.arrays[name].ctypes.data_as(ctypes.c_void_p))

    monkeypatch.setattr(PhraseArrays, "__init__", damaged)
    with pytest.raises(ValueError, match="the native engine cannot search sentence -1"):
        native_answers(model, [(Phrase((spelling([700]),)),)], (), 2)
