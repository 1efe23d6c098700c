"""What is looked at and changed inside a model in the C library: edits in, recordings and trees out.

The memory is allocated here, 4 bytes for each number of the shapes in `c/jumok.h`. Axis letters: S source
tokens with their end, T target tokens, H heads, Q queries, K keys, d width of one head, N layers, C parts of
a cell's state, D width.
"""

import ctypes
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.architectures import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.edits import AttentionEdit, Edits, Kind, PositionEdit, Where
from jumok.native.library import CAttentionEdit, CBatch, CEdits, CRecording, CTree
from jumok.native.watch import Watch

KINDS: tuple[Kind, ...] = ("enc_self", "dec_self", "cross")
"""By the numbers of jumok.h."""
PARTS = (
    *("log_prob", "entropy", "top_log_prob", "top_id", "encoder", "decoder", "bridge"),
    *("weights", "q", "k", "v", "scores", "scaled", "bias", "mask", "context", "out"),
)
"""The same."""
STATES, STAGES = PARTS[4:7], PARTS[7:]
END = len(PARTS)
KEEP_STEPS, KEEP_WEIGHTS, KEEP_STATES = 1, 2, 4
TOP = 5

Array = NDArray[Any]


class EditArrays:
    """Edits as the library takes them for sources that stand at `offsets`; `c` holds addresses."""

    def __init__(self, config: ModelConfig, edits: Edits, offsets: NDArray[np.int64], most: int) -> None:
        """Targets have `most` tokens at the most."""
        self.held: list[Any] = []
        sizes = config.attention
        layers = [
            self._layer(kind, layer, one, sizes[kind][1])
            for (kind, layer), one in edits.attention.items()
            if kind in KINDS and kind in sizes
        ]
        several = (CAttentionEdit * len(layers))(*layers)
        self.held.append(several)
        self.c = CEdits(count=len(layers), attention=ctypes.addressof(several))
        if edits.source_positions is not None:
            lengths = np.diff(offsets)
            places = np.concatenate([np.arange(n) for n in lengths.tolist()])
            self._place("source", edits.source_positions.of_source(places, lengths))
        if edits.target_positions is not None:
            self.c.target_count = most
            found = edits.target_positions.of_target(np.arange(most), config.table_rows)
            self._place("target", found)
        if edits.bridge is not None:
            self.c.bridge = self._keep(edits.bridge, np.float32)

    def _keep(self, values: Any, kind: Any) -> int:
        array = np.ascontiguousarray(values, dtype=kind)
        self.held.append(array)
        return int(array.ctypes.data)

    def _place(self, side: str, positions: NDArray[np.int64] | None) -> None:
        if positions is None:
            setattr(self.c, f"no_{side}_positions", 1)
        else:
            setattr(self.c, f"{side}_positions", self._keep(positions, np.int32))

    def _layer(self, kind: Kind, layer: int, edit: AttentionEdit, heads: int) -> CAttentionEdit:
        one = CAttentionEdit(kind=KINDS.index(kind), layer=layer, no_scale=not edit.scaled)
        if edit.factors:
            factors = np.ones(heads, np.float32)
            for head, factor in edit.factors:
                if head < heads:
                    factors[head] *= factor
            one.factors = self._keep(factors, np.float32)
        if edit.uniform:
            one.uniform = self._keep([head in edit.uniform for head in range(heads)], np.uint8)
        cut = np.unique(edit.cut_table, axis=0)  # ascending, each once
        one.cuts, one.cut = len(cut), self._keep(cut, np.int32)
        cells, weights = edit.row_table
        cells, first = np.unique(cells[::-1], axis=0, return_index=True)  # of a key named twice the last
        one.cells, one.cell = len(cells), self._keep(cells, np.int32)
        one.weight = self._keep(weights[::-1][first], np.float32)
        return one


def past_table(edits: Edits | None, source: int, rows: int) -> int:
    """A position that a learned table of so many rows does not have; `source` tokens with the end."""

    def last(edit: PositionEdit | None) -> int:
        if edit is None:
            return source - 1
        found = edit.of_source(np.arange(source), np.array([source]))
        return -1 if found is None else int(found.max())

    return max(last(None if edits is None else edits.source_positions), rows)


def no_key(edits: Edits, source: int) -> ValueError:
    """The error for a query that loses every key it may look at."""
    head, q = _without_key(edits, source)
    return ValueError(f"every key of head {head}, query {q} is cut: a query needs one key to look at")


def _without_key(edits: Edits, source: int) -> tuple[int, int]:
    """Head and query of the first such row."""
    for kind in KINDS:
        for (its, _), edit in sorted(edits.attention.items()):
            rows = groupby(sorted(set(edit.cut)), key=lambda cell: cell[:2]) if its == kind else ()
            for (head, q), cells in rows:
                keys = q + 1 if kind == "dec_self" else source
                if sum(k < keys for _, _, k in cells) == keys and (kind != "enc_self" or q < source):
                    return head, q
    return 0, 0


@dataclass(frozen=True, eq=False)
class Recorded:
    """One sentence of a recording, as views: its parts by name, those of attention by kind and layer too."""

    parts: Mapping[str, Array]
    attention: Mapping[Where, Mapping[str, Array]]


class Recording:
    """Memory for what a model computes for some sentences, and what stands in it once it is filled."""

    def __init__(
        self,
        c: ctypes.CDLL,
        handle: int | None,
        config: ModelConfig,
        sizes: Sequence[tuple[int, int]],
        *,
        steps: bool,
        stages: Collection[Where],
    ) -> None:
        """`sizes` are source tokens with the end and room for target tokens; `stages` the layers of which
        every stage is kept, not the weights alone."""
        self.config, self.sizes, self.stages = config, list(sizes), set(stages)
        self._library, self._handle = c, handle
        self.layers = attentions(config)
        asked = [where in self.stages for where in self.layers]
        self._asked = np.array([*asked, False], np.uint8)
        keep = KEEP_WEIGHTS | KEEP_STATES | (KEEP_STEPS if steps else 0)
        self.c = CRecording(keep=keep, stages=self._asked.ctypes.data if self.stages else None)
        rooms = [self._at(S, T, END, 0, 0) for S, T in self.sizes]
        self.places = np.cumsum([0, *rooms], dtype=np.int64)
        self.data = np.empty(int(self.places[-1]), np.float32)  # untouched pages take no memory
        self.c.data, self.c.places = self.data.ctypes.data, self.places.ctypes.data

    def _at(self, *place: int) -> int:
        return int(self._library.jm_record_at(self._handle, ctypes.byref(self.c), *place))

    def read(self, sentence: int, written: int) -> Recorded:
        """One sentence that came to so many target tokens."""
        S, room = self.sizes[sentence]
        at = int(self.places[sentence])

        def following(shape: tuple[int, ...], used: tuple[int, ...]) -> Array:
            """What stands next, as far as it was written."""
            nonlocal at
            begin, at = at, at + prod(shape)
            return self.data[begin:at].reshape(shape)[tuple(map(slice, used))]

        parts: dict[str, Array] = {}
        for part, shape, used in plain_shapes(self.config, S, room, written):
            if part in STATES or self.c.keep & KEEP_STEPS:
                parts[part] = following(shape, used)
        if "top_id" in parts:
            parts["top_id"] = parts["top_id"].view(np.int32)
        layers: dict[Where, dict[str, Array]] = {}
        for kind, layer in self.layers:
            names = STAGES if (kind, layer) in self.stages else ("weights",)
            shapes = stage_shapes(self.config, kind, S, room, written, names)
            layers[kind, layer] = {part: following(*shape) for part, shape in shapes.items()}
        assert at == self.places[sentence + 1], "jm_record_at has other shapes"
        return Recorded(parts, layers)


def attentions(config: ModelConfig) -> list[Where]:
    """Every attention of a model in the order of the library."""
    return [(kind, n) for kind in KINDS for n in range(config.attention.get(kind, (0, 0))[0])]


Shape = tuple[tuple[int, ...], tuple[int, ...]]
"""Of what there is room for, and of what was written."""


def plain_shapes(
    config: ModelConfig, S: int, room: int, T: int
) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """The parts that are no attention's."""
    for part in ("log_prob", "entropy"):
        yield part, (room,), (T,)
    for part in ("top_log_prob", "top_id"):
        yield part, (room, TOP), (T, TOP)
    if isinstance(config, RnnConfig | LuongConfig):
        D, bridge = config.width, (config.layers, 2 if config.cell == "lstm" else 1, config.width)
        yield "encoder", (S, D), (S, D)
        yield "decoder", (room, D), (T, D)
        yield "bridge", bridge, bridge


def stage_shapes(
    config: ModelConfig, kind: Kind, S: int, room: int, T: int, names: Collection[str]
) -> dict[str, Shape]:
    """Those of the stages that one kind of attention has."""
    heads = config.attention[kind][1]
    d = config.d_k if isinstance(config, TransformerConfig) else config.width
    Q, queries = (S, S) if kind == "enc_self" else (room, T)
    K, keys = (room, T) if kind == "dec_self" else (S, S)
    table: Shape = ((heads, Q, K), (heads, queries, keys))
    asks: Shape = ((heads, Q, d), (heads, queries, d))
    offers: Shape = ((heads, K, d), (heads, keys, d))
    own: dict[str, Shape] = {"q": asks, "k": offers, "v": offers, "context": asks}
    own["out"] = ((Q, config.width), (queries, config.width))
    biased = isinstance(config, TransformerConfig) and config.positions == "relative" and kind != "cross"
    return {part: own.get(part, table) for part in names if part != "bias" or biased}


@dataclass(frozen=True)
class TreeWay:
    """One way on from a live hypothesis: `place` among those that live on, -1 rejected, -2 an answer."""

    step: int
    row: int
    token: int
    place: int
    log_prob: float


@dataclass
class TreeArrays:
    """Memory for the steps of a beam search of one sentence."""

    room: int
    c: CTree = field(init=False)

    def __post_init__(self) -> None:
        numbers = {name: np.zeros(self.room, np.int32) for name in ("step", "row", "token", "place")}
        self.arrays: dict[str, Array] = {**numbers, "log_prob": np.zeros(self.room, np.float32)}
        addresses = {name: array.ctypes.data for name, array in self.arrays.items()}
        self.c = CTree(room=self.room, count=0, **addresses)

    @property
    def full(self) -> bool:
        """There was not room for all."""
        return int(self.c.count) > self.room

    def steps(self) -> list[list[TreeWay]]:
        """The ways on of each step, those of one hypothesis together."""
        rows = [self.arrays[name][: self.c.count].tolist() for name in self.arrays]
        ways = (TreeWay(*row) for row in zip(*rows, strict=True))
        return [list(group) for _, group in groupby(ways, key=lambda way: way.step)]


@dataclass(frozen=True, eq=False)
class Probe:
    """Someone who looks into a model, and changes it; `watch` follows the search of one sentence."""

    edits: Edits | None = None
    recording: Recording | None = None
    tree: TreeArrays | None = None
    watch: Watch | None = None

    def put(
        self, batch: CBatch, config: ModelConfig, offsets: NDArray[np.int64], most: int
    ) -> EditArrays | None:
        """Into a batch with these sources; what comes back has to live as long."""
        changed = None if self.edits is None else EditArrays(config, self.edits, offsets, most)
        given = {"edits": changed, "recording": self.recording, "tree": self.tree, "watch": self.watch}
        for name, one in given.items():
            if one is not None:
                setattr(batch, name, ctypes.addressof(one.c))
        return changed


NOTHING = Probe()
"""No one looks."""
