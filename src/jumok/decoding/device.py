"""Beam search that stays on the device: the host looks in only every few steps.

`DeviceSearch` gives the answers of `BeamSearch`, its twin, for a Transformer and the usual filter. A batch has
one of few shapes, so that on a GPU each step is one CUDA graph, captured the second time its shape comes up.
Sentences of similar length are searched together, and those that are done leave when half of them are.

On a GPU that has bf16 the copy of the model that is searched computes in it, and logits and everything after
them are float32 or wider (`compute_type`). Scores then differ from the model's own in the third digit.

Letters: B sentences, W beam, S source, T target places, R = B·W rows.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.decoding.characters import FREE, LEARNED, CharacterTables
from jumok.decoding.filters import WholeCharacters
from jumok.decoding.jobs import USUAL, device_of
from jumok.decoding.scores import Answer, NotFiniteError
from jumok.decoding.slots import Growth, Slots, grow, penalties
from jumok.models.interface import Seq2Seq
from jumok.models.static import Cache, Shape, StaticTransformer
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn.best import CHUNK, k_best
from jumok.text.tokenizer import EOS, PAD

log = logging.getLogger("jumok")

ROWS = 10_240
"""Hypotheses in one batch, if memory allows: enough for a GPU to be busy."""
SHARE = 0.4
"""Of the memory that is free, how much a batch may take."""
LOOK = 4
"""Steps between two looks at what is done."""
FEWEST = 64
"""Sentences that are not worth to be made fewer."""


@dataclass(frozen=True)
class Options:
    """How the search goes; as in `DecodingConfig`."""

    beam: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    keep: int = 0
    """Most answers to each sentence; 0 for as many as the beam is wide."""

    @property
    def kept(self) -> int:
        return min(self.keep or self.beam, self.beam)


@dataclass(frozen=True)
class Found:
    """What a batch of n sentences left behind, on the host. F answers found, T steps."""

    steps: NDArray[np.int64]  # (n,)
    limit: NDArray[np.int64]  # (n,)
    scores: NDArray[np.float64]  # (n, F)
    origins: NDArray[np.int64]  # (n, F)
    ends: NDArray[np.float32]  # (n, F)
    history: NDArray[np.int32]  # (T, n, W, 3), of each beam: parent, token, and log-probability in its bits


@dataclass(frozen=True)
class Room:
    """The tensors of one shape of batch."""

    cache: Cache
    slots: Slots
    final: Slots
    """Where sentences are written to when they leave, in the order of the batch."""
    history: Tensor  # (T, B, W, 3) int32
    positions: Tensor  # (T, D)
    penalty: Tensor  # (T + 1,)


def compute_type(device: torch.device) -> torch.dtype:
    """bf16 on a GPU that computes in it, else float32."""
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0):
        return torch.bfloat16
    return torch.float32


def supports(model: Seq2Seq, longest: int) -> bool:
    """Whether a search of so many places can run here: a Transformer as it is, with a row for each place."""
    if type(model) is not TransformerSeq2Seq or model.training:
        return False
    vocabulary = len(model.target_embedding.weight)
    return vocabulary >= LEARNED and (model.rows is None or longest <= model.rows)


class DeviceSearch:
    """Searches for the answers to many sentences. One call at a time: others wait for their turn."""

    def __init__(
        self,
        model: TransformerSeq2Seq,
        *,
        dtype: torch.dtype | None = None,
        graphs: bool = True,
        usual: WholeCharacters = USUAL,
    ) -> None:
        self.device = device_of(model)
        if self.device.type == "cuda":  # it would make a plan for each new shape
            torch.backends.cuda.enable_cudnn_sdp(enabled=False)
        self.static = StaticTransformer(model, dtype or compute_type(self.device))
        self.vocabulary = len(self.static.head)
        entries = min(self.vocabulary, LEARNED + -LEARNED % CHUNK)
        self.tables = CharacterTables.make(usual, entries, self.device)
        self._source = model
        self._graphs = Graphs() if graphs and self.device.type == "cuda" else None
        self._memory = torch.zeros(0, dtype=self.static.dtype, device=self.device)
        self._rooms: dict[Shape, Room] = {}
        self._lock = Lock()

    def search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: Options,
        *,
        sentences: int | None = None,
        budget: int | None = None,
    ) -> Iterator[tuple[list[int], list[list[Answer]]]]:
        """For a batch of sentences at a time: their places in `sources`, and the answers to each, best first.

        Sentence i gets at most `limits[i]` tokens, its end included. A batch has up to `sentences`, by default
        what the memory holds, and rows times padded source tokens stay within `budget`. Raises NotFiniteError.
        """
        shapes = self._plan(sources, limits, options, sentences, budget)
        waiting: list[tuple[list[int], Found]] = []
        ready: list[tuple[list[int], list[list[Answer]]]] = []

        def unpack() -> None:
            ready.extend((places, unpacked(found, options)) for places, found in waiting)
            waiting.clear()

        for number, (shape, places) in enumerate(shapes):
            with self._lock, torch.inference_mode():
                if number == 0:
                    self.static.refresh(self._source)
                self._reserve(shapes)
                found = self._run(shape, [sources[i] for i in places], [limits[i] for i in places], options, unpack)
            yield from ready
            ready.clear()
            bad = found.steps < 0
            if bad.any():
                raise NotFiniteError(places[int(bad.argmax())])
            waiting.append((places, found))
        unpack()
        yield from ready

    def _plan(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: Options,
        sentences: int | None,
        budget: int | None,
    ) -> list[tuple[Shape, list[int]]]:
        """Batches of similar length, longest first, each with the shape that it takes."""
        order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), limits[i]), reverse=True)
        free = self._free() if sentences is None else 0
        batches, begin, W = list[tuple[Shape, list[int]]](), 0, options.beam
        while begin < len(order):
            S = padded(len(sources[order[begin]]) + 1, 32)
            most = sentences or power_below(ROWS / W)
            T = padded(max(limits[i] for i in order[begin : begin + most]), 64)
            if sentences is None:
                most = min(most, power_below(free / self._bytes(Shape(1, W, S, T))))
            if budget is not None:
                most = min(most, max(budget // (W * S), 1))
            places = order[begin : begin + most]
            batches.append((Shape(power_above(len(places)), W, S, T), places))
            begin += len(places)
        return batches

    def _free(self) -> float:
        """Bytes that a batch may take."""
        if self.device.type != "cuda":
            return float(1 << 30)
        free, _ = torch.cuda.mem_get_info(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return SHARE * (free + cached + self._memory.nbytes)

    def _bytes(self, shape: Shape) -> int:
        """What a batch takes: keys and values, and three times the logits."""
        rows = shape.sentences * shape.beam
        return self.static.numbers(shape) * self.static.dtype.itemsize + 12 * rows * self.vocabulary

    def _reserve(self, shapes: Sequence[tuple[Shape, list[int]]]) -> None:
        """Memory for the largest of these caches, which all of them use in turn."""
        needed = max(self.static.numbers(shape) for shape, _ in shapes)
        if needed > len(self._memory):
            if self._graphs is not None:
                self._graphs = Graphs()  # the old ones know the old addresses
            self._rooms.clear()
            self._memory = self._memory.new_empty(0)
            self._memory = torch.zeros(needed, dtype=self.static.dtype, device=self.device)

    def _room(self, shape: Shape, alpha: float) -> Room:
        """The tensors of a shape, made when it first comes up."""
        B, W, T = shape.sentences, shape.beam, shape.target
        penalty = penalties(T, alpha, self.device)
        if shape not in self._rooms:
            self._rooms[shape] = Room(
                cache=self.static.make_cache(shape, self._memory),
                slots=Slots.make(B, W, self.device),
                final=Slots.make(B, W, self.device),
                history=torch.zeros(T, B, W, 3, dtype=torch.int32, device=self.device),
                positions=self.static.positions(T),
                penalty=penalty.clone(),
            )
        room = self._rooms[shape]
        room.penalty.copy_(penalty)
        room.positions.copy_(self.static.positions(T))
        return room
