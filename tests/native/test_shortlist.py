"""Shortlists: what is in a list, that searches with them keep their laws, the file, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.config import TextConfig
from jumok.data.builtin import builtin_corpus
from jumok.errors import ModelError
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions, joined
from jumok.native.shortlist import (
    FIRST_BYTE,
    NO_TEXT,
    Shortlist,
    build_shortlist,
    check_listed,
    dump_shortlist,
    parse_shortlist,
)
from jumok.native.tensors import dump_tensors, parse_tensors
from jumok.native.weights import pack_weights
from jumok.text.tokenizer import BOS, EOS, FIRST, PAD, UNK, Tokenizers, train_tokenizer

needs_library = pytest.mark.skipif(not available(), reason=why_not())
TEXT = ["ein hund läuft", "eine katze schläft", "ein mann und ein hund", "drei katzen"] * 5
RIGHT = ["a dog runs", "a cat sleeps", "a man and a dog", "three cats"] * 5
COVERED = 0.95
USABLE = set(range(FIRST_BYTE, FIRST)) - {FIRST_BYTE + byte for byte in NO_TEXT}


@pytest.fixture(scope="module")
def shared() -> Tokenizers:
    both = train_tokenizer([*TEXT, *RIGHT], TextConfig(vocabulary=330))
    return Tokenizers(both, both)


@pytest.fixture(scope="module")
def apart() -> Tokenizers:
    config = TextConfig(vocabulary=320)
    return Tokenizers(train_tokenizer(TEXT, config), train_tokenizer(RIGHT, config))


def encode(tokenizers: Tokenizers, left=TEXT, right=RIGHT) -> list[tuple[list[int], list[int]]]:
    pairs = zip(tokenizers.text_source.encode_many(left), tokenizers.target.encode_many(right), strict=True)
    return list(pairs)


def build(tokenizers: Tokenizers, **options: int) -> Shortlist:
    return build_shortlist(encode(tokenizers), tokenizers, **options)


@pytest.mark.parametrize("name", ["shared", "apart"])
def test_a_list_holds_what_is_promised(name: str, request: pytest.FixtureRequest) -> None:
    tokenizers = request.getfixturevalue(name)
    shortlist = build(tokenizers, each=4, frequent=5)
    for source, target in encode(tokenizers):
        ids = shortlist.ids(source)
        assert ids.dtype == np.int32
        assert ids.tolist() == sorted({*ids.tolist()})
        assert {EOS, *shortlist.always.tolist()} <= {*ids.tolist()}
        assert not {BOS, PAD, UNK} & {*ids.tolist()}
        names = {*tokenizers.target.pieces(ids)}
        known = {*tokenizers.target.pieces(range(tokenizers.target.size))}
        assert {*tokenizers.text_source.pieces(source)} & known <= names
        assert len(ids) < tokenizers.target.size
        assert {*target} <= {*build(tokenizers).ids(source).tolist()}  # with room for all


def test_bytes_come_all_or_none(shared: Tokenizers) -> None:
    shortlist = build(shared)
    [plain, strange] = shared.source.encode_many(["ein hund", "ein 漢"])
    assert not {*shortlist.ids(plain).tolist()} & USABLE
    assert {*shortlist.ids(strange).tolist()} & {*range(FIRST_BYTE, FIRST)} == USABLE
    assert {*shortlist.ids(plain, [FIRST_BYTE + 0xE6]).tolist()} >= USABLE


def test_a_prefix_is_in_its_list(shared: Tokenizers) -> None:
    shortlist = build(shared, each=1, frequent=1)
    prefix = [shared.target.size - 1, shared.target.size - 2]
    assert {*prefix} <= {*shortlist.ids([300], prefix).tolist()}
    assert shortlist.ids([]).tolist() == shortlist.always.tolist()


def test_the_same_text_gives_the_same_bytes(shared: Tokenizers) -> None:
    one, two = (dump_shortlist(build(shared), shared) for _ in range(2))
    assert one == two
    read = parse_shortlist(one, shared, "here")
    for source, _ in encode(shared):
        assert read.ids(source).tolist() == build(shared).ids(source).tolist()


def test_references_are_covered() -> None:
    """Of the pieces of 500 references more than COVERED are in lists of a fifth of the vocabulary.

    The text is Home Assistant's, Korean to English, with a part of it to learn from: the whole has more.
    """
    train = list(builtin_corpus("homeassistant-ko-en", "train").pairs())[:4000]
    test = list(builtin_corpus("homeassistant-ko-en", "test").pairs())[:500]
    both = train_tokenizer([text for pair in train for text in pair], TextConfig(vocabulary=4000))
    tokenizers = Tokenizers(both, both)
    shortlist = build_shortlist(encode(tokenizers, *zip(*train, strict=True)), tokenizers)
    found = total = size = 0
    for source, target in encode(tokenizers, *zip(*test, strict=True)):
        ids = shortlist.ids(source)
        found, total, size = found + int(np.isin(target, ids).sum()), total + len(target), size + len(ids)
    assert found / total > COVERED
    assert size / len(test) < 0.2 * both.size


def model(name: str, kind) -> NativeModel:
    return NativeModel(
        CONFIGS[name], pack_weights(CONFIGS[name], make(CONFIGS[name])[1], shared=True, type=kind)
    )


def some_lists(seed: int) -> Shortlist:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(0, 9, VOCABULARY)
    begin = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    likely = draw.integers(FIRST, VOCABULARY, begin[-1]).astype(np.int32)
    return Shortlist(begin, likely, np.array([EOS, 262], np.int32), VOCABULARY)


@needs_library
@given(
    st.sampled_from(["transformer", "luong", "rnn"]),
    st.sampled_from(["float32", "int8"]),
    st.lists(
        st.lists(st.integers(FIRST_BYTE, VOCABULARY - 1), min_size=1, max_size=7), min_size=1, max_size=6
    ),
    st.integers(1, 4),
)
def test_answers_stay_in_their_lists_and_need_no_neighbours(name, kind, sources, beam) -> None:
    native, shortlist = model(name, kind), some_lists(len(sources))
    lists = [shortlist.ids(source) for source in sources]
    limits, options = [8] * len(sources), SearchOptions(beam=beam)
    together = native.search(sources, limits, options, shortlists=lists)
    for i, answers in enumerate(together):
        assert native.search([sources[i]], [8], options, shortlists=[lists[i]]) == [answers]
        assert all({*answer.ids} <= {*lists[i].tolist()} for answer in answers)


@needs_library
@pytest.mark.parametrize("kind", ["float32", "int8"])
@pytest.mark.parametrize("name", ["transformer", "luong"])
def test_a_list_of_all_is_no_list_bit_for_bit(name: str, kind) -> None:
    native = model(name, kind)
    every = np.arange(VOCABULARY, dtype=np.int32)
    sources, limits, options = [[270, 5, 261], [262], [276, 263]], [9, 9, 5], SearchOptions(beam=3)
    listed = native.search(sources, limits, options, shortlists=[every] * 3)
    assert listed == native.search(sources, limits, options)


@needs_library
def test_an_answer_that_the_list_has_is_found_again() -> None:
    """Greedy search takes the best piece of all; if the list has it, it is the best of the list."""
    native, options = model("transformer", "float32"), SearchOptions(beam=1)
    sources = [[270, 280 - 10], [263, 264, 265], [275]]
    for source, [best] in zip(sources, native.search(sources, [12] * 3, options), strict=True):
        ids = np.union1d([EOS, 260, 266], best.ids).astype(np.int32)
        [[again]] = native.search([source], [12], options, shortlists=[ids])
        assert (again.ids, again.finished) == (best.ids, best.finished)
        assert again.score >= best.score  # of fewer pieces each has a larger share


def test_arrays_are_joined_as_lists_are() -> None:
    lists = [[3, 4], [5], [6, 7, 8]]
    for one, other in zip(joined(lists), joined([np.array(ids, np.int32) for ids in lists]), strict=True):
        assert one.tolist() == other.tolist()
        assert one.dtype == other.dtype


def test_another_vocabulary_is_refused(shared: Tokenizers, apart: Tokenizers) -> None:
    data = dump_shortlist(build(shared), shared)
    with pytest.raises(
        ModelError, match="the shortlist is for another source vocabulary: [0-9a-f]{12}…, not"
    ):
        parse_shortlist(data, apart, "here")
    mixed = replace(apart, source=shared.source)
    with pytest.raises(ModelError, match="the shortlist is for another target vocabulary") as caught:
        parse_shortlist(data, mixed, "here")
    assert "make it again with jumok export native --shortlist" in str(caught.value)


def test_another_format_is_refused(shared: Tokenizers) -> None:
    arrays, metadata = parse_tensors(dump_shortlist(build(shared), shared), "here")
    newer = dump_tensors(arrays, {**metadata, "format": "jumok-shortlist/2"})
    with pytest.raises(
        ModelError, match="format 'jumok-shortlist/2'; this jumok reads jumok-shortlist/1\n.*\n  upg"
    ):
        parse_shortlist(newer, shared, "here")
    with pytest.raises(ModelError, match="has the format 'None'"):
        parse_shortlist(dump_tensors(arrays, {}), shared, "here")
    with pytest.raises(ModelError, match="the file holds no readable tensors: its header is cut short"):
        parse_shortlist(newer[:40], shared, "here")


def changed(arrays, name: str, at: int, value: int):
    array = arrays[name].copy()
    array[at] = value
    return {**arrays, name: array}


DAMAGE = {
    "likely is missing": lambda a: {name: a[name] for name in ("begin", "always")},
    "always is float32": lambda a: {**a, "always": a["always"].astype(np.float32)},
    r"begin is int32 \(1, ": lambda a: {**a, "begin": a["begin"][None]},
    "it has [0-9]+ lists, and there are": lambda a: {**a, "begin": a["begin"][:-1]},
    "its lists do not follow one another": lambda a: changed(a, "begin", 5, 1 << 30),
    "lists do not follow": lambda a: changed(a, "begin", 0, -1),
    "do not follow one": lambda a: changed(a, "begin", -1, int(a["begin"][-1]) - 1),
    "likely has an id outside the [0-9]+ target tokens": lambda a: changed(a, "likely", 0, 5000),
    "likely has an id outside": lambda a: changed(a, "likely", 0, -1),
    "always has an id outside": lambda a: changed(a, "always", -1, 5000),
    "always does not ascend, or has no end": lambda a: {**a, "always": a["always"][::-1].copy()},
    "or has no end of the sentence": lambda a: {**a, "always": a["always"][1:]},
}


@pytest.mark.parametrize("message", DAMAGE)
def test_damage_is_found(shared: Tokenizers, message: str) -> None:
    arrays, metadata = parse_tensors(dump_shortlist(build(shared), shared), "here")
    with pytest.raises(ModelError, match=f"the shortlist is damaged: .*{message}"):
        parse_shortlist(dump_tensors(DAMAGE[message](arrays), metadata), shared, "here")


@pytest.mark.parametrize("fields", [None, [], {"passed": False}])
def test_without_a_certificate_it_is_refused(fields) -> None:
    with pytest.raises(ModelError, match="no certificate says how well the model agrees with itself"):
        check_listed(fields, "here")
    check_listed({"passed": True}, "here")
