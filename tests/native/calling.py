"""Small models and raw calls of c/jumok.h for tests that give it anything; what it writes to has margins."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.architectures import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.native.library import OK, CAnswers, CBatch, CConfig, COptions, CTensor, library
from jumok.native.structs import c_config, c_tensors
from jumok.native.weights import PackedWeights, Type, layout, pack_weights

MARGIN, MARK = 16, 0x5A5A5A5A
LOWEST, HIGHEST = -(2**31), 2**31 - 1
EOS = 2

CONFIGS: tuple[ModelConfig, ...] = (
    RnnConfig(width=6, cell="lstm", layers=2, bidirectional=True),
    LuongConfig(width=10, cell="gru", score="concat", input_feeding=True),
    LuongConfig(width=7, cell="rnn", score="dot", bidirectional=False, tied=False),
    TransformerConfig(encoder_layers=2, decoder_layers=1, width=12, heads=3, feedforward=9),
    TransformerConfig(
        encoder_layers=1,
        decoder_layers=2,
        width=8,
        heads=2,
        feedforward=17,
        norm="pre",
        positions="learned",
        max_positions=7,
        tied=False,
    ),
    TransformerConfig(
        encoder_layers=1, decoder_layers=1, width=4, heads=1, feedforward=4, positions="rotary", norm="none"
    ),
    TransformerConfig(
        encoder_layers=1,
        decoder_layers=1,
        width=6,
        heads=2,
        head_width=5,
        feedforward=7,
        norm="pre",
        rms_norm=True,
        positions="relative",
        buckets=6,
        max_distance=9,
        activation="gelu",
        gated=True,
        embedding_norm=True,
        logits_bias=True,
    ),
)
VOCABULARIES = (4, 5, 100, 260, 277)
"""Of the target: too few pieces for all bytes, too."""
SOURCES = 23


@lru_cache
def parts_of(which: int, vocabulary: int, type_: Type) -> dict[str, PackedWeights]:
    """The parts of a small model with random weights. Shared by all tests, so nobody writes to them."""
    config, random = CONFIGS[which], np.random.default_rng(which)
    tensors: dict[str, NDArray[np.float32]] = {}
    for part in layout(config, SOURCES, vocabulary):
        tensors[part.weight] = random.normal(size=part.shape).astype(np.float32)
        if part.bias:
            tensors[part.bias] = random.normal(size=part.rows).astype(np.float32)
    return pack_weights(config, tensors, type=type_)


@contextmanager
def opened(config: CConfig, tensors: Sequence[CTensor]) -> Iterator[int | None]:
    """The handle of a model; None if its parts do not fit."""
    c, array = library().c, (CTensor * len(tensors))(*tensors)
    handle = c.jm_model_new(ctypes.byref(config), array, len(tensors), None, 0)
    try:
        yield handle
    finally:
        c.jm_model_free(handle)


@contextmanager
def small_model(which: int, vocabulary: int, type_: Type = "float32") -> Iterator[int]:
    tensors = c_tensors(parts_of(which, vocabulary, type_))
    with opened(c_config(CONFIGS[which], SOURCES, vocabulary), tensors) as handle:
        assert handle
        yield handle


@dataclass
class Out:
    """An array to be written to, and its margin."""

    size: int
    dtype: type
    array: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        whole = np.full(max(self.size, 0) + MARGIN, MARK, dtype=np.int32)
        self.array = whole.view(self.dtype)

    @property
    def whole(self) -> bool:
        return bool((self.array[max(self.size, 0) :].view(np.int32) == MARK).all())


@dataclass(frozen=True)
class Call:
    """A call of jm_search as lists."""

    sources: list[list[int]]
    limits: list[int]
    prefixes: list[list[int]] | None = None
    shortlists: list[list[int]] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    spoil: Callable[[NDArray[np.int64]], None] | None = None
    """Changes the offsets of the sources."""


def joined(lists: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    flat = [i for one in lists for i in one]
    return np.array([*flat, 0], np.int32), np.cumsum([0, *map(len, lists)], dtype=np.int64)


def search(handle: int | None, call: Call) -> tuple[int, int, list[tuple[int, ...]]]:
    """The code, the bad sentence, and all answers; what is written must lie inside of what it may be."""
    keep_arrays = [joined(call.sources)]
    ids, offsets = keep_arrays[0]
    if call.spoil is not None:
        call.spoil(offsets)
    limits = np.array([*call.limits, 0], np.int32)
    batch = CBatch(count=len(call.sources), ids=at(ids), offsets=at(offsets), limits=at(limits))
    for name, lists in (("prefix", call.prefixes), ("shortlist", call.shortlists)):
        if lists is not None:
            keep_arrays.append(joined(lists))
            setattr(batch, name, at(keep_arrays[-1][0]))
            setattr(batch, f"{name}_offsets", at(keep_arrays[-1][1]))
    usual = {"beam": 2, "n_best": 1, "keep": 1, "min_len": 0, "threads": 1, "rows": 0, "length_penalty": 1.0}
    options = COptions(**{**usual, **call.options})
    keep = min(max(options.keep, 0), 3000)
    room = keep * sum(min(max(limit, 0), 1000) for limit in call.limits)
    outs = [Out(room, np.int32), Out(room, np.float32)]
    outs += [Out(keep * len(call.sources), np.int32) for _ in range(2)]
    answers, bad = CAnswers(*(at(one.array) for one in outs)), ctypes.c_int32(-7)
    code = library().c.jm_search(
        handle, ctypes.byref(batch), ctypes.byref(options), ctypes.byref(answers), ctypes.byref(bad)
    )
    assert all(one.whole for one in outs)
    assert code in range(5)
    found: list[tuple[int, ...]] = []
    if code == OK:
        place = 0
        for i, limit in enumerate(call.limits):
            for length in outs[2].array[i * keep : (i + 1) * keep].tolist():
                assert -1 <= length <= limit
                found.append(tuple(outs[0].array[place : place + max(length, 0)].tolist()))
                place += limit
    return code, bad.value, found


def at(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)
