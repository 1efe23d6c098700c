"""Whatever the functions of c/jumok.h are given, they answer or refuse: never a crash, never a byte outside.

The arrays are as long as their offsets say, which C cannot check; everything else may be wrong. Every array
that is written to has a margin that must stay as it was; `make sanitize` runs the same under the sanitizers.
"""

import ctypes
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.native.calling import (
    CONFIGS,
    EOS,
    HIGHEST,
    LOWEST,
    MARGIN,
    SOURCES,
    VOCABULARIES,
    Call,
    Out,
    at,
    joined,
    parts_of,
    search,
    small_model,
)

from jumok.native.library import (
    BAD_ARGUMENT,
    NOT_FINITE,
    OK,
    PAST_TABLE,
    CAnswers,
    CBatch,
    CConfig,
    COptions,
    CTensor,
    available,
    library,
    why_not,
)
from jumok.native.structs import c_config, c_tensors
from jumok.native.weights import Type

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

models = st.tuples(
    st.integers(0, len(CONFIGS) - 1), st.sampled_from(VOCABULARIES), st.sampled_from(["float32", "int8"])
)
odd = st.sampled_from([LOWEST, -2, -1, 0, 1, 2, 3, 5, 8, 500, 2**17, 2**24 + 1, HIGHEST])
good_ids = st.integers(0, SOURCES - 1)
good_sources = st.lists(good_ids, max_size=8).map(lambda one: [*one, EOS])


@st.composite
def calls(draw: st.DrawFn, vocabulary: int) -> Call:
    """Mostly sensible calls, of every size."""
    sources = draw(st.lists(good_sources, max_size=5))
    several = {"min_size": len(sources), "max_size": len(sources)}
    limits = draw(st.lists(st.integers(1, 8), **several))
    target = st.integers(0, vocabulary - 1)
    prefixes = draw(st.none() | st.lists(st.lists(target, max_size=4), **several))
    listed = st.sets(target).map(lambda one: sorted({EOS, *one}))
    shortlists = draw(st.none() | st.lists(listed, **several))
    beam = draw(st.sampled_from([1, 2, 3, 4, 300]))
    options = {
        "beam": beam,
        "n_best": draw(st.integers(1, beam)),
        "keep": draw(st.integers(1, beam)),
        "min_len": draw(st.integers(0, 10)),
        "threads": draw(st.sampled_from([1, 2, 5])),
        "rows": draw(st.sampled_from([0, 1, 3, 1000])),
        "length_penalty": draw(st.sampled_from([0.0, 1.0, -1.0, 5.0])),
    }
    return Call(sources, limits, prefixes, shortlists, options)


@settings(max_examples=min(80, settings().max_examples))
@given(models, st.data())
def test_sensible_calls_are_answered(model: tuple[int, int, Type], data: st.DataObject) -> None:
    which, vocabulary, type_ = model
    call = data.draw(calls(vocabulary))
    with small_model(which, vocabulary, type_) as handle:
        code, bad, found = search(handle, call)
    learned = getattr(CONFIGS[which], "positions", "") == "learned"
    too_long = learned and any(len(s) > 7 or n > 7 for s, n in zip(call.sources, call.limits, strict=True))
    long_prefix = any(len(p) > n for p, n in zip(call.prefixes or [], call.limits, strict=False))
    if code == PAST_TABLE:
        assert too_long
        assert 0 <= bad < len(call.sources)
    elif code == NOT_FINITE:  # a piece is forced that may not come, or none may
        assert call.prefixes or call.shortlists or vocabulary < 260 or call.options["min_len"]
    elif code == BAD_ARGUMENT:
        assert long_prefix or call.shortlists or call.prefixes
    else:
        assert code == OK
        assert all(0 <= token < vocabulary for one in found for token in one)


def spoil_offsets(number: int, value: int) -> Callable[[NDArray[np.int64]], None]:
    def spoil(offsets: NDArray[np.int64]) -> None:
        offsets[number % (len(offsets) - 1)] = value  # the last one is the caller's word for the length

    return spoil


@st.composite
def spoiled(draw: st.DrawFn, vocabulary: int) -> Call:
    """A call with one or two things wrong, or merely strange."""
    call = draw(calls(vocabulary).filter(lambda one: bool(one.sources)))
    for fault in draw(st.lists(st.integers(0, 6), min_size=1, max_size=2)):
        row = draw(st.integers(0, len(call.sources) - 1))
        match fault:
            case 0:
                sources = [list(one) for one in call.sources]
                sources[row].insert(draw(st.integers(0, len(sources[row]))), draw(odd))
                call = replace(call, sources=sources)
            case 1:
                sources = [list(one) for one in call.sources]
                sources[row] = []
                call = replace(call, sources=sources)
            case 2:
                limits = list(call.limits)
                limits[row] = draw(st.sampled_from([LOWEST, -1, 0, 1]))
                call = replace(call, limits=limits)
            case 3:
                name = draw(st.sampled_from(["beam", "n_best", "keep", "min_len", "threads", "rows"]))
                call = replace(call, options={**call.options, name: draw(odd)})
            case 4:
                penalty = draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300]))
                call = replace(call, options={**call.options, "length_penalty": penalty})
            case 5:
                number, value = (
                    draw(st.integers(0, 9)),
                    draw(st.integers(-9, 40) | st.sampled_from([-(2**63), 2**63 - 1])),
                )
                call = replace(call, spoil=spoil_offsets(number, value))
            case _:
                lists = [draw(st.lists(odd, max_size=9)) for _ in call.sources]
                name = draw(st.sampled_from(["prefixes", "shortlists"]))
                call = replace(call, **{name: lists})
    return call


@settings(max_examples=min(150, settings().max_examples))
@given(models, st.data())
def test_spoiled_calls_are_answered_or_refused(model: tuple[int, int, Type], data: st.DataObject) -> None:
    which, vocabulary, type_ = model
    with small_model(which, vocabulary, type_) as handle:
        search(handle, data.draw(spoiled(vocabulary)))


@pytest.mark.parametrize(
    "call",
    [
        Call([[5, SOURCES, 2]], [4]),
        Call([[5, -1, 2]], [4]),
        Call([[5, 2], []], [4, 4]),
        Call([[5, 2]], [0]),
        Call([[5, 2]], [4], options={"beam": 0}),
        Call([[5, 2]], [4], options={"keep": 3, "beam": 2}),
        Call([[5, 2]], [4], options={"keep": 0}),
        Call([[5, 2]], [4], prefixes=[[277]]),
        Call([[5, 2]], [4], shortlists=[[2, 277]]),
        Call([[5, 2]], [4], shortlists=[[5, 4, 2]]),
        Call([[5, 2]], [4], shortlists=[[-1, 2]]),
        Call([[5, 2], [6, 2]], [4, 4], spoil=spoil_offsets(1, -2)),
        Call([[5, 2], [6, 2]], [4, 4], spoil=spoil_offsets(0, 3)),
    ],
)
@pytest.mark.parametrize("which", [0, 3])
def test_wrong_arguments_have_their_code(which: int, call: Call) -> None:
    with small_model(which, 277) as handle:
        assert search(handle, call)[0] == BAD_ARGUMENT


def test_nothing_is_refused_and_no_sentences_are_no_work() -> None:
    c = library().c
    with small_model(0, 277) as handle:
        assert search(handle, Call([], []))[0] == OK
        assert search(None, Call([[5, 2]], [3]))[0] == BAD_ARGUMENT
        assert c.jm_search(handle, None, None, None, None) == BAD_ARGUMENT
        assert c.jm_search(handle, CBatch(count=1), COptions(beam=1), CAnswers(), None) == BAD_ARGUMENT
        assert c.jm_score(handle, None, None, None, 1, None, None) == BAD_ARGUMENT
        assert c.jm_score(handle, CBatch(count=1), None, None, 1, None, None) == BAD_ARGUMENT
    c.jm_model_free(None)
    error = ctypes.create_string_buffer(64)
    assert c.jm_model_new(None, None, 0, ctypes.cast(error, ctypes.c_char_p), 64) is None
    assert error.value


@settings(max_examples=min(60, settings().max_examples))
@given(models, st.data())
def test_targets_are_scored_or_refused(model: tuple[int, int, Type], data: st.DataObject) -> None:
    which, vocabulary, type_ = model
    sources = data.draw(st.lists(good_sources, min_size=1, max_size=5))
    token = st.integers(0, vocabulary - 1) | odd
    targets = [
        data.draw(st.lists(token, max_size=6)) + data.draw(st.sampled_from([[2], []])) for _ in sources
    ]
    ids, offsets = joined(sources)
    right, places = joined(targets)
    if data.draw(st.booleans()):
        spoil_offsets(data.draw(st.integers(0, 9)), data.draw(st.integers(-9, 30)))(places)
    batch, found, bad = (
        CBatch(len(sources), at(ids), at(offsets)),
        Out(len(right), np.float32),
        ctypes.c_int32(),
    )
    threads = data.draw(st.sampled_from([LOWEST, 0, 1, 2, HIGHEST]))
    with small_model(which, vocabulary, type_) as handle:
        code = library().c.jm_score(
            handle, ctypes.byref(batch), at(right), at(places), threads, at(found.array), ctypes.byref(bad)
        )
    assert code in range(5)
    assert found.whole
    outside = any(not 0 <= i < vocabulary for one in targets for i in one)
    assert not outside or code in (BAD_ARGUMENT, PAST_TABLE) or places[-1] != len(right) - 1


INTEGERS = [name for name, kind in CConfig._fields_ if kind is ctypes.c_int32]


@settings(max_examples=min(200, settings().max_examples))
@given(models, st.data())
def test_parts_that_do_not_fit_are_refused(model: tuple[int, int, Type], data: st.DataObject) -> None:
    """One line says why; a change that fits after all makes a model that can be searched."""
    which, vocabulary, type_ = model
    config = c_config(CONFIGS[which], SOURCES, vocabulary)
    tensors = list(c_tensors(parts_of(which, vocabulary, type_)))
    one = data.draw(st.sampled_from(tensors))
    match data.draw(st.integers(0, 7)):
        case 0:
            tensors.remove(one)
        case 1:
            tensors.append(CTensor(b"more", 0, 1, 1, one.data, None, None))
        case 2:
            one.name = data.draw(
                st.sampled_from([b"", b"%s%n%s", b"x" * 300, None, b"output", b"encoder.0.0"])
            )
        case 3:
            setattr(one, data.draw(st.sampled_from(["rows", "columns", "type"])), data.draw(odd))
        case 4:
            setattr(one, data.draw(st.sampled_from(["data", "scale", "bias"])), None)
        case 5:
            config.embedding_scale = data.draw(st.sampled_from([np.nan, np.inf, 0.0]))
        case _:
            setattr(config, data.draw(st.sampled_from(INTEGERS)), data.draw(odd))
    size = data.draw(st.sampled_from([0, 1, 8, 300]))
    error = ctypes.create_string_buffer(b"\x5a" * size + b"\x00", size + 1)
    array = (CTensor * len(tensors))(*tensors)
    c = library().c
    handle = c.jm_model_new(
        ctypes.byref(config), array, len(array), ctypes.cast(error, ctypes.c_char_p), size
    )
    try:
        if handle:
            search(handle, Call([[5, 2], [2]], [3, 2]))
        else:
            assert size == 0 or len(error.value) < size
            assert size < 2 or error.value
            assert b"\n" not in error.value
    finally:
        c.jm_model_free(handle)


@given(st.integers(-3, 40), st.integers(-3, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=min(60, settings().max_examples))
def test_packing_stays_inside(rows: int, columns: int, seed: int) -> None:
    c = library().c
    if rows < 0 or columns < 0:
        assert c.jm_packed_f32(rows, columns) == c.jm_packed_i8(rows, columns) == 0
        assert (
            c.jm_pack_f32(None, rows, columns, None) == c.jm_unpack_i8(None, None, rows, columns, None) == -1
        )
        assert c.jm_pack_i8(None, rows, columns, None, None) == -1
        return
    weights = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    blocks = -(-rows // 16) * 16
    plain, codes = (
        Out(c.jm_packed_f32(rows, columns) // 4, np.float32),
        Out(c.jm_packed_i8(rows, columns) // 4, np.uint8),
    )
    scale, back = Out(blocks, np.float32), Out(rows * columns, np.float32)
    assert c.jm_pack_f32(at(weights), rows, columns, at(plain.array)) == 0
    assert c.jm_pack_i8(at(weights), rows, columns, at(codes.array), at(scale.array)) == 0
    assert c.jm_unpack_i8(at(codes.array), at(scale.array), rows, columns, at(back.array)) == 0
    assert all(one.whole for one in (plain, scale, back))
    assert bytes(codes.array[-4 * MARGIN :]) == b"\x5a" * (4 * MARGIN)
    most = np.abs(weights).max(axis=1, initial=0, keepdims=True) / 127
    error = np.abs(back.array[: weights.size].reshape(weights.shape) - weights)
    assert (error <= most * 0.5001 + 1e-9).all()


@given(st.integers(LOWEST, HIGHEST) | st.integers(-2, 6))
def test_levels_that_are_not_there_are_refused(level: int) -> None:
    c = library().c
    before, mask = c.jm_level(), c.jm_levels()
    try:
        there = 0 <= level < 31 and bool(mask >> level & 1)
        assert c.jm_set_level(level) == (0 if there else -1)
        assert c.jm_level() == (level if there else before)
    finally:
        c.jm_set_level(before)
