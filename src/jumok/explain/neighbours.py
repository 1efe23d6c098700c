"""Seen in training: which states of training sentences are like those of a text, and a map of them all.

A sample of training pairs lies beside the model as `neighbours.safetensors`: a few states of each pair, in
codes, with the pair and the token they belong to. The search compares with all of them. What a state is says
`states.py`.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.checkpoint.manifest import NEIGHBOURS
from jumok.checkpoint.neighbours import bad_neighbours, has_neighbours, read_neighbours, write_neighbours
from jumok.decoding.results import JsonResult
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError, ModelError
from jumok.explain.capture import Captured, capture
from jumok.explain.forced import explained
from jumok.explain.states import SIDES, Codes, Plane, Side, coded, looked_at, nearest, states_of
from jumok.explain.subject import Subject, subjects_of
from jumok.explain.tokens import ended, label
from jumok.native.tensors import parse_tensors
from jumok.progress import Progress, silent
from jumok.text.tokenizer import EOS

PAIRS, PER_PAIR = 300, 4
"""Training pairs in an index, and states of each side of one."""
LONGEST = 128
"""Tokens of a pair that may come into an index: long ones are hard to show."""
MOST = 50
"""Neighbours of one state."""
BATCH = 32


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A state of a training pair: the pair, the token in it, and the cosine of the angle between the two."""

    pair: int
    place: int
    similarity: float


@dataclass(frozen=True, slots=True)
class NearToken:
    """A token of the text or of the answer, where its state lies on the map, and what is like it."""

    text: str
    id: int
    x: float
    y: float
    near: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class StatePoint:
    """A state of a training pair on the map."""

    x: float
    y: float
    pair: int
    place: int


@dataclass(frozen=True, slots=True)
class StateSide:
    """One side: its tokens, the map's axes, and if asked for all training states on it."""

    tokens: tuple[NearToken, ...]
    shares: tuple[float, ...]
    """How much of the spread of the training states each axis of the map shows."""
    points: tuple[StatePoint, ...]


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A pair of the training data, with its tokens; ends are among them."""

    n: int
    source: str
    target: str
    encoder: tuple[str, ...]
    decoder: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Neighbours(JsonResult):
    """What a model has seen in training that is like a text and its answer, token by token."""

    source: str
    target: str
    states: int
    """In the index."""
    encoder: StateSide
    decoder: StateSide
    pairs: tuple[TrainingPair, ...]
    """Those that are named."""


@dataclass(frozen=True, eq=False)
class StateIndex:
    """States of some training pairs; row i of `codes` belongs to token `places[i]` of pair `pairs[i]`."""

    texts: tuple[tuple[str, str], ...]
    codes: dict[Side, Codes]
    pairs: dict[Side, NDArray[np.int32]]
    places: dict[Side, NDArray[np.int32]]


def make_index(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    *,
    count: int = PAIRS,
    seed: int = 42,
    progress: Progress = silent,
) -> Path:
    """Draw pairs that the model was trained on, and keep some states of each in the model's folder."""
    check_usable(translator)
    own, draw = translator.seeing("neighbours"), random.Random(seed)  # noqa: S311  no secret
    chosen = draw.sample(list(pairs), min(len(pairs), 4 * count))  # more than needed: some are too long
    rows: dict[Side, list[tuple[Codes, int, int]]] = {side: [] for side in SIDES}
    kept: list[tuple[str, str]] = []
    for start in range(0, len(chosen), BATCH):
        some = [pair for pair in chosen[start : start + BATCH] if pair[0].strip() and pair[1].strip()]
        subjects = subjects_of(own, [one for one, _ in some], targets=[two for _, two in some])
        short = [one for one in subjects if not one.warnings and longest(one) < LONGEST]
        for subject, captured in zip(short, captures(own, short), strict=True):
            if len(kept) == count:
                break
            for side, states in states_of(captured, own.config.model).items():
                for place in sorted(draw.sample(range(len(states)), min(PER_PAIR, len(states)))):
                    rows[side].append((coded(states[place : place + 1]), len(kept), place))
            kept.append((subject.source, subject.target))
        progress("neighbours", len(kept), count)
        if len(kept) == count:
            break
    if not kept:
        raise DataError("no pair can be put into an index", hint=f"give pairs of fewer than {LONGEST} tokens")
    tensors: dict[str, Any] = {}
    for side in SIDES:
        tensors[f"{side}.codes"] = np.concatenate([row[0] for row in rows[side]])
        tensors[f"{side}.pairs"] = np.array([row[1] for row in rows[side]], np.int32)
        tensors[f"{side}.places"] = np.array([row[2] for row in rows[side]], np.int32)
    return write_neighbours(translator.folder, tensors, {"seed": seed, "pairs": kept})


def captures(translator: Translator, subjects: Sequence[Subject]) -> list[Captured]:
    """One pass over each, with the stages that states are taken from."""
    with explained():
        return capture(
            translator.inside,
            [one.source_ids for one in subjects],
            [one.target_ids for one in subjects],
            ended=[one.ended for one in subjects],
            stages=looked_at(translator.config.model),
        )


def longest(subject: Subject) -> int:
    """Tokens of the longer side."""
    return max(len(subject.source_ids), len(subject.target_ids))


def shown(translator: Translator, side: Side, ids: Sequence[Any]) -> tuple[str, ...]:
    """The tokens of a side as people read them, each with the space that it begins with."""
    both = translator.tokenizers
    pieces = (both.source if side == "encoder" else both.target).pieces(ids)
    return tuple(" " * (piece[:1].isspace() and bool(piece.strip())) + label(piece) for piece in pieces)


def has_index(translator: Translator) -> bool:
    """Whether there is an index beside a model, be it damaged."""
    return not translator.info.get("members") and has_neighbours(translator.folder)


def index_of(translator: Translator) -> StateIndex:
    """The index beside a model; an error if it has none, or one that is damaged or another model's."""
    check_usable(translator)
    try:
        stat = (translator.folder / NEIGHBOURS).stat()
        mark = (stat.st_mtime_ns, stat.st_size)
    except OSError:
        mark = (0, 0)  # reading it says what is wrong
    return open_index(translator.folder, mark)


@lru_cache(maxsize=16)
def open_index(folder: Path, mark: tuple[int, int]) -> StateIndex:
    """The index in a folder; `mark` says which one, so that one that was made anew is read again."""
    data, about = read_neighbours(folder)
    where = folder / NEIGHBOURS
    try:
        tensors, _ = parse_tensors(data, str(where))
        pairs = about["pairs"]
        index = StateIndex(
            tuple((str(source), str(target)) for source, target in pairs),
            *({side: tensors[f"{side}.{part}"] for side in SIDES} for part in ("codes", "pairs", "places")),
        )
        fits = all(fitting(index, side) for side in SIDES)
    except (LookupError, TypeError, ValueError, ModelError):
        fits = False
    if not fits:
        raise bad_neighbours(where, "its states do not fit its pairs")
    return index


def fitting(index: StateIndex, side: Side) -> bool:
    """Whether every state of a side has a pair and a place in it."""
    codes, pairs, places = index.codes[side], index.pairs[side], index.places[side]
    if codes.dtype != np.int8 or codes.ndim != 2 or not codes.size:
        return False
    if {pairs.dtype.str, places.dtype.str} != {"<i4"} or not pairs.shape == places.shape == codes.shape[:1]:
        return False
    return all(
        least.min() >= 0 and least.max() < most
        for least, most in ((pairs, len(index.texts)), (places, LONGEST))
    )


def check_usable(translator: Translator) -> None:
    """Refuse models whose states an index cannot hold."""
    info, frame = translator.info, translator.tokenizers.frame
    for said, what in (
        (info.get("members"), "of an ensemble every member has its own states"),
        (translator.tokenizers.pictures, "it reads pictures"),
        (frame.pairs or frame.languages, "it has several directions"),
    ):
        if said:
            raise ConfigError(
                f"no index of training states for this model: {what}",
                hint="choose a model of text with one direction",
                code="no_neighbours",
            )


def neighbours(
    translator: Translator, text: str, target: str | None = None, *, count: int = 5, points: bool = False
) -> Neighbours:
    """The training states most like those of a text and its answer, or a target; see `Model.neighbours`."""
    if not 1 <= count <= MOST:
        raise ConfigError(f"count={count} cannot work", hint=f"choose a number from 1 to {MOST}")
    index, own = index_of(translator), translator.seeing("neighbours")
    [subject] = subjects_of(own, [text], targets=None if target is None else [target])
    [captured] = captures(own, [subject])
    states, named = states_of(captured, own.config.model), set[int]()
    if any(states[side].shape[1] != index.codes[side].shape[1] for side in SIDES):
        raise bad_neighbours(translator.folder / NEIGHBOURS, "its states are of another width")
    sides = dict[Side, StateSide]()
    ids = {"encoder": captured.source, "decoder": captured.target}
    for side in SIDES:
        sides[side] = one_side(index, side, states[side], ids[side], shown(own, side, ids[side]), count)
        named |= {one.pair for token in sides[side].tokens for one in token.near}
    if points:
        named = set(range(len(index.texts)))
        sides = {side: replace_points(index, side, sides[side]) for side in SIDES}
    return Neighbours(
        subject.source,
        subject.target,
        sum(len(codes) for codes in index.codes.values()),
        sides["encoder"],
        sides["decoder"],
        training_pairs(own, index, sorted(named)),
    )


def training_pairs(
    translator: Translator, index: StateIndex, named: Sequence[int]
) -> tuple[TrainingPair, ...]:
    """Some pairs of an index with their tokens."""
    texts = [index.texts[n] for n in named]
    subjects = subjects_of(translator, [one for one, _ in texts], targets=[two for _, two in texts])
    return tuple(
        TrainingPair(
            n,
            one.source,
            one.target,
            shown(translator, "encoder", ended(one.source_ids)),
            shown(translator, "decoder", (*one.target_ids, EOS)),
        )
        for n, one in zip(named, subjects, strict=True)
    )


def one_side(
    index: StateIndex,
    side: Side,
    states: NDArray[np.float32],
    ids: Sequence[int],
    texts: Sequence[str],
    count: int,
) -> StateSide:
    """The tokens of one side with their neighbours and their places on the map."""
    known, asked = index.codes[side], coded(states)
    plane = plane_of(index, side)
    rows, likeness = nearest(known, asked, count)  # (Q, k)
    tokens = [
        NearToken(
            texts[q].strip(),
            int(ids[q]),
            x,
            y,
            tuple(
                Neighbour(int(index.pairs[side][row]), int(index.places[side][row]), round(float(one), 6))
                for row, one in zip(rows[q], likeness[q], strict=True)
            ),
        )
        for q, (x, y) in enumerate(flat(plane.place(asked)))
    ]
    return StateSide(tuple(tokens), plane.shares, ())


def replace_points(index: StateIndex, side: Side, found: StateSide) -> StateSide:
    """The side with all training states on its map."""
    places = flat(plane_of(index, side).place(index.codes[side]))
    rows = zip(places, index.pairs[side].tolist(), index.places[side].tolist(), strict=True)
    return StateSide(found.tokens, found.shares, tuple(StatePoint(x, y, n, t) for (x, y), n, t in rows))


@lru_cache(maxsize=32)
def plane_of(index: StateIndex, side: Side) -> Plane:
    """The map of an index; an index is compared by identity."""
    return Plane(index.codes[side])


def flat(places: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Places on a map with as many digits as a picture can show."""
    full = np.zeros((len(places), 2))
    full[:, : places.shape[1]] = places
    return [(float(x), float(y)) for x, y in np.round(full, 5)]
