"""Beam search that stays on the device: the host looks in only every few steps.

`DeviceSearch` gives the answers of `BeamSearch`, its twin, for a Transformer and the usual filter. A batch
has one of few shapes, so that on a GPU each step is one CUDA graph, captured the second time its shape comes
up. Sentences of similar length are searched together, and those that are done leave when half of them are.

On a GPU that has bf16 the copy of the model that is searched computes in it, and logits and everything after
them are float32 or wider (`compute_type`). Scores then differ from the model's own in the third digit.

Letters: B sentences, W beam, S source, T target places, R = B·W rows.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.answers import Answer, NotFiniteError
from jumok.config import DecodingConfig
from jumok.decoding.batched import USUAL, device_of, make_filters
from jumok.decoding.filters import FREE, LEARNED, CharacterTables, Filter
from jumok.decoding.graphs import Graphs
from jumok.decoding.jobs import Job
from jumok.decoding.slots import Growth, SearchRecord, Slots, grow, penalties, unpack_answers
from jumok.models.cache import BatchShape, Buffers
from jumok.models.fixed import FixedSteps, wide_bias
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.native.model import SearchOptions
from jumok.text.frame import closed

ROWS = 10_240
"""Hypotheses in one batch, if memory allows: enough for a GPU to be busy."""
SHARE = 0.4
"""Of the memory that is free, how much a batch may take."""
LOOK = 4
"""Steps between two looks at what is done."""
FEWEST = 64
"""Sentences that are not worth to be made fewer."""
MANY = 4
"""Batches from which on the last few sentences of each wait, to be searched together at the end."""
ROOMS = 32
"""Shapes whose tensors are kept."""


@dataclass(frozen=True)
class Batches:
    """What is to be searched, and how much of it at once."""

    sources: Sequence[Sequence[int]]
    limits: Sequence[int]
    options: SearchOptions
    sentences: int | None
    budget: int | None

    def select(self, places: Sequence[int]) -> "Batches":
        sources, limits = [self.sources[i] for i in places], [self.limits[i] for i in places]
        return replace(self, sources=sources, limits=limits)


@dataclass(frozen=True)
class SearchRoom:
    """The tensors of one shape of batch."""

    buffers: Buffers
    slots: Slots
    final: Slots
    """Where sentences are written to when they leave, in the order of the batch."""
    place: Tensor  # (1,), steps taken
    history: Tensor  # (T, B, W, 3) int32
    penalty: Tensor  # (T + 1,)


def compute_type(device: torch.device) -> torch.dtype:
    """bf16 on a GPU that computes in it, else float32."""
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0):
        return torch.bfloat16
    return torch.float32


def supports(
    model: Seq2Seq, jobs: Sequence[Job], config: DecodingConfig, banned: Sequence[Filter] = ()
) -> bool:
    """Whether these jobs can be searched here: a plain Transformer on text, no filter but the usual one."""
    if not model.fits_buffers or model.training or config.draws or any(job.phrases for job in jobs):
        return False
    if make_filters(jobs, config, (), banned) != [USUAL] or model.vocabulary < LEARNED:
        return False
    longest = max((max(job.limit(config), len(job.source) + 1) for job in jobs), default=0)
    return model.most_positions is None or longest <= model.most_positions


def preferred(device: torch.device) -> bool:
    """Whether searching on the device is worth it: a CPU is as quick with plain Python in between."""
    return device.type == "cuda"


class DeviceSearch:
    """Searches for the answers to many sentences. One call at a time: others wait for their turn."""

    def __init__(
        self,
        model: Any,
        *,
        dtype: torch.dtype | None = None,
        graphs: bool = True,
    ) -> None:
        self.device = device_of(model)
        if self.device.type == "cuda":  # it would make a plan for each new shape
            torch.backends.cuda.enable_cudnn_sdp(enabled=False)
        self.fixed = FixedSteps(model, dtype or compute_type(self.device))
        self.vocabulary = self.fixed.vocabulary
        self.tables = CharacterTables.make(USUAL, wide_bias(LEARNED, self.vocabulary), self.device)
        self._source = model
        self._graphs = Graphs() if graphs and self.device.type == "cuda" else None
        self._memory = torch.zeros(0, dtype=self.fixed.dtype, device=self.device)
        self._rooms: dict[BatchShape, SearchRoom] = {}
        self._lock = Lock()

    def search(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        *,
        sentences: int | None = None,
        budget: int | None = None,
    ) -> Iterator[tuple[list[int], list[list[Answer]]]]:
        """For a batch of sentences at a time: their places in `sources`, and the answers to each, best first.

        Sentence i gets at most `limits[i]` tokens, its end included. A batch has up to `sentences`, else what
        memory allows, and rows times padded source tokens stay within `budget`. Raises NotFiniteError.
        """
        batch = Batches(sources, limits, options, sentences, budget)
        plan = deque(self._plan(batch, range(len(sources))))
        patient, later = len(plan) < MANY, list[int]()
        waiting, ready = list[tuple[list[int], SearchRecord]](), list[tuple[list[int], list[list[Answer]]]]()

        def unpack() -> None:
            ready.extend((places, unpack_answers(found, options)) for places, found in waiting)
            waiting.clear()

        with self._turn():
            self.fixed.refresh(self._source)
        while plan:
            with self._turn():
                self._reserve([shape for shape, _ in plan])
                shape, places = plan.popleft()
                few = 0 if patient else shape.sentences // 32
                found = self._run(shape, batch.select(places), few, unpack)
            yield from ready
            ready.clear()
            if found.bad.any():
                raise NotFiniteError(places[int(found.bad.argmax())])
            done, left = np.nonzero(found.done)[0], np.nonzero(~found.done)[0]
            waiting.append(([places[i] for i in done], found.select(done)))
            later += [places[i] for i in left]
            if not plan and later:  # once more, and together, from the start
                plan, patient, later = deque(self._plan(batch, later)), True, []
        unpack()
        yield from ready

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Inside, this thread alone uses the memory and the graphs, and the GPU is the model's."""
        place = torch.cuda.device_of(self._memory)  # type: ignore[no-untyped-call]  # a CPU: nothing changes
        with self._lock, torch.inference_mode(), place:
            yield

    def _plan(self, batch: Batches, places: Iterable[int]) -> list[tuple[BatchShape, list[int]]]:
        """Batches of similar length, longest first, each with the shape that it takes."""
        order = sorted(places, key=lambda i: (len(batch.sources[i]), batch.limits[i]), reverse=True)
        free, W = self._free(), batch.options.beam
        plan, begin = list[tuple[BatchShape, list[int]]](), 0
        while begin < len(order):
            S = padded(len(batch.sources[order[begin]]) + 1, 32)
            most = batch.sentences or power_below(ROWS / W)
            T = padded(max(batch.limits[i] for i in order[begin : begin + most]), 64)
            if batch.sentences is None:
                most = min(most, power_below(free / self._bytes(BatchShape(1, W, S, T))))
            if batch.budget is not None:
                most = min(most, max(batch.budget // (W * S), 1))
            taken = order[begin : begin + most]
            plan.append((BatchShape(power_above(len(taken)), W, S, T), taken))
            begin += len(taken)
        return plan

    def _free(self) -> float:
        """Bytes that a batch may take."""
        if self.device.type != "cuda":
            return float(1 << 30)
        free, _ = torch.cuda.mem_get_info(self.device)
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return SHARE * (free + cached + self._memory.nbytes)

    def _bytes(self, shape: BatchShape) -> int:
        """What a batch takes: keys and values, and three times the logits."""
        rows = shape.sentences * shape.beam
        return self.fixed.numbers(shape) * self.fixed.dtype.itemsize + 12 * rows * self.vocabulary

    def _reserve(self, shapes: Sequence[BatchShape]) -> None:
        """Memory for the largest of these caches, which all of them use in turn."""
        needed = max(map(self.fixed.numbers, shapes))
        if needed > len(self._memory) or len(self._rooms) > ROOMS:
            if self._graphs is not None:
                self._graphs.clear()  # they know the old addresses
            self._rooms.clear()
            needed = max(needed, len(self._memory))
            self._memory = self._memory.new_empty(0)  # free it first
            self._memory = torch.zeros(needed, dtype=self.fixed.dtype, device=self.device)

    def _room(self, shape: BatchShape, alpha: float) -> SearchRoom:
        """The tensors of a shape, made when it first comes up."""
        B, W, T, device = shape.sentences, shape.beam, shape.target, self.device
        if shape not in self._rooms:
            self._rooms[shape] = SearchRoom(
                buffers=self.fixed.make_buffers(shape, self._memory),
                slots=Slots.make(B, W, device),
                final=Slots.make(B, W, device),
                place=torch.zeros(1, dtype=torch.long, device=device),
                history=torch.zeros(T, B, W, 3, dtype=torch.int32, device=device),
                penalty=penalties(T, alpha, device),
            )
        room = self._rooms[shape]
        room.penalty.copy_(penalties(T, alpha, device))
        return room

    def _run(
        self, shape: BatchShape, batch: Batches, few: int, meanwhile: Callable[[], None]
    ) -> SearchRecord:
        """Search one batch until only so `few` are left; `meanwhile` is called while the device works."""
        limits, n_best = batch.limits, batch.options.n_best
        room = self._room(shape, batch.options.length_penalty)
        self.fixed.read(Sentences.lay(list(map(closed, batch.sources)), self.device), room.buffers)
        room.slots.start(torch.tensor(limits, device=self.device), room.penalty)
        room.place.zero_()
        B, step, longest = shape.sentences, 0, max(limits)
        while True:
            for _ in range(min(LOOK, longest - step)):
                self._step(shape, B, n_best, step)
                step += 1
            meanwhile()
            done = room.slots.done[:B]
            left = B - int(done.sum())  # the host waits here
            if left <= few or step == longest:
                break
            if (fewer := max(power_above(left), FEWEST)) < B:
                leave(room, B)
                rows = done.byte().argsort(stable=True)[:fewer]
                room.buffers.first(B).keep(rows, bucket(step))
                room.slots.first(B).keep(rows)
                B = fewer
        leave(room, B)
        found = fetch(room, len(limits), step)
        if found.bad.any():
            self._memory.zero_()  # what is not finite must not meet the next batch
        return found

    def _step(self, shape: BatchShape, B: int, n_best: int, step: int) -> None:
        """One step of the first B sentences."""
        room = self._rooms[shape]
        places = shape.target if self.fixed.bounded else min(bucket(step + 1), shape.target)

        def work() -> None:
            self._advance(room, B, n_best, places)

        if self._graphs is None:
            work()
        else:
            self._graphs.run((shape, B, n_best, places), work)

    def _advance(self, room: SearchRoom, B: int, n_best: int, places: int) -> None:
        """The model's step, the choice, and what is written down of it; nothing waits for the host."""
        slots, buffers, place = room.slots.first(B), room.buffers.first(B), room.place
        W = slots.token.shape[1]
        logits = self.fixed.step(slots.token, place, buffers, places)  # (R, V)
        state = slots.state.flatten()  # (R,)
        left = (slots.limit - place)[:, None].expand(B, W).flatten()
        log_probs, ids = self.fixed.best(
            logits, 2 * W, self.tables.bias(state, left), state != FREE
        )  # (R, 2W)

        ways = log_probs.view(B, W, -1), ids.view(B, W, -1)
        growth = grow(slots, *ways, place, room.penalty, n_best=n_best)
        slots.state.copy_(self.tables.after(slots.state.gather(1, growth.parent), growth.token))
        buffers.reorder(growth.parent, place)
        at = place * room.history.shape[1] + slots.home  # (B,)
        room.history.flatten(0, 1).index_copy_(0, at, record(growth))
        place.add_(1)


def record(growth: Growth) -> Tensor:
    """(B, W, 3) int32: parent, token, and the bits of the log-probability."""
    bits = growth.log_prob.view(torch.int32)
    return torch.stack((growth.parent.int(), growth.token.int(), bits), dim=2)


def leave(room: SearchRoom, B: int) -> None:
    """Write the first B slots to where their sentences stand in the batch."""
    home = room.slots.home[:B]
    for name, tensor in vars(room.slots).items():
        getattr(room.final, name).index_copy_(0, home, tensor[:B])


def fetch(room: SearchRoom, count: int, steps: int) -> SearchRecord:
    """What is left of the first `count` sentences, on the host."""
    final = room.final.first(count)
    ends = (final.scores, final.origins, final.ends)
    tensors = (final.done, final.bad, final.steps, final.limit, *ends, room.history[:steps, :count])
    return SearchRecord(*(tensor.to("cpu", copy=True).numpy() for tensor in tensors))


def padded(length: int, unit: int) -> int:
    """The next multiple of a unit."""
    return -(-length // unit) * unit


def bucket(places: int) -> int:
    """How far a step sees: few different lengths, each with a graph of its own."""
    return padded(places, 16 if places <= 64 else 64)


def power_above(count: int) -> int:
    """The lowest power of two that is not below `count`, from 8 on."""
    return max(1 << (count - 1).bit_length(), 8)


def power_below(count: float) -> int:
    """The highest power of two that is not above `count`, from 8 on."""
    return max(1 << (int(count).bit_length() - 1) if count >= 1 else 0, 8)
