"""How an update is carried out: this process's batches of it, as many as the memory needs.

Where every shape must stay the same (a GPU replays captured steps), batches have a fixed room and pairs come
in random order; else pairs of like lengths make an update. Both are shared out over the processes of a
`World`, of which most have one.
"""

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.config import RunConfig
from jumok.data.aligner import SAMPLE, Aligner, learn_aligner, with_links
from jumok.data.batch import Batch, Room, lay_rows, room_for
from jumok.data.picture_store import PictureStore
from jumok.data.prefetch import ahead
from jumok.data.sampler import Cursor, Indices, packed_stream, stream
from jumok.data.store import Store
from jumok.errors import ConfigError, RunError
from jumok.text.tokenizer import Tokenizers
from jumok.training.captured import CapturedStep
from jumok.training.distributed import World
from jumok.training.shard import reduce_whole
from jumok.training.state import Learner, LoopState
from jumok.training.step import Reduce, Share, StepResult, is_out_of_memory, train_step
from jumok.training.threads import Threads, runs_in_threads

HINT = (
    "choose a smaller model (--preset tiny), a smaller text.vocabulary, or shorter "
    "sentences (data.max_length)"
)


class TrainingStores(Protocol):
    """What an update may ask of the prepared data."""

    @property
    def tokenizers(self) -> Tokenizers: ...
    @property
    def train(self) -> Store: ...
    @property
    def stores(self) -> Sequence[Store]: ...
    def for_epoch(self, epoch: int, /) -> Store: ...


def packs(config: RunConfig, device: torch.device) -> bool:
    """Whether batches have a fixed room: as set, else on a GPU, unless weights are shared out or a head is
    taught to align."""
    wanted, shard = config.training.batches, config.training.shard
    if wanted == "packed" and shard:
        raise ConfigError(
            "training.batches=packed and training.shard=true exclude each other",
            hint="leave training.batches at auto: shared-out weights read batches of like lengths",
        )
    plain = not (shard or config.training.align)
    return wanted == "packed" or (wanted == "auto" and device.type == "cuda" and plain)


@dataclass(kw_only=True)
class Updates:
    """Makes the batches of each update of one run, and carries the updates out."""

    learner: Learner
    prepared: TrainingStores
    config: RunConfig
    device: torch.device
    autocast: torch.dtype | None
    on_halved: Callable[[int, int], None]  # told of the step and the parts it needs when memory has run out
    world: World = field(default_factory=World)
    parts: int = field(default=0, init=False)  # batches that each process cuts its share of an update into
    room: Room | None = field(default=None, init=False)  # of each of them; None: as large as its pairs
    captured: CapturedStep | None = field(default=None, init=False)
    threads: Threads | None = field(default=None, init=False)
    met: bool = field(default=False, init=False)  # whether the processes have met in this update,
    going: bool = field(default=False, init=False)  # and all of them went on from there

    def __post_init__(self) -> None:
        if runs_in_threads(self.learner.model) and self.autocast is None:
            self.threads = Threads(self.learner.model)

    def batches(self, state: LoopState) -> Generator[tuple[list[Batch], Cursor], None, None]:
        """This process's batches of each update from where the state stands, without end."""
        self.divide(state.parts if state.step else self.config.training.accumulate)
        cursor, step = state.cursor, state.step
        while True:
            parts = self.parts
            with closing(self.batches_from(cursor, step)) as updates:
                for batches, after in updates:
                    yield batches, after
                    cursor, step = after, step + 1
                    if self.parts != parts:  # memory ran out: from here on in smaller batches
                        break

    def divide(self, parts: int) -> None:
        """Size the batches so that an update of `parts` of them for each process has its tokens."""
        self.parts = parts
        if not packs(self.config, self.device):
            return
        stores = self.prepared.stores
        lengths = [
            np.concatenate([getattr(store, f"{side}_lengths") for store in stores])
            for side in ("source", "target")
        ]
        budget = self.config.training.batch_tokens // (self.world.size * parts)
        self.room = room_for(lengths[0], lengths[1], max(1, budget))

    def batches_from(self, cursor: Cursor, step: int) -> Generator[tuple[list[Batch], Cursor], None, None]:
        """The same from a place in the data on, made by a thread while the model works on those before."""
        room, parts, aligner = self.room, self.parts, self.aligner
        known = aligner is not None and self.learner.model.taught_head.after
        empty_too = room is not None and self.learner.model.fixed_shapes  # a captured step is replayed anyway

        def laid(update: tuple[Store, list[Indices], Cursor, int]) -> tuple[list[Batch], Cursor]:
            store, pieces, after, number = update
            if isinstance(store, PictureStore):  # pictures move at random
                store = store.moved(self.config.image.shift, self.config.seed, number)
            # A thread knows not which GPU is this process's, and pinning memory wakes the one it thinks of.
            with torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext():
                batches = [lay_rows(store, rows, room) for rows in pieces if empty_too or len(rows)]
                if aligner is not None:
                    batches = [with_links(batch, aligner, after=known) for batch in batches]
                batches = [batch.pin() for batch in batches]
            if self.config.training.shard:
                # Processes that share out the weights must call each layer equally often.
                blank = lay_rows(store, np.zeros(1, dtype=np.int64)).unlearned()
                batches += [blank] * (parts - len(batches))
            return batches, after

        return ahead(self.by_epoch(cursor, step), laid)

    @cached_property
    def aligner(self) -> Aligner | None:
        """Which tokens belong together, learned from the training data where a head is taught to align."""
        return self.learned_aligner(SAMPLE) if self.config.training.align else None

    def learned_aligner(self, sample: int) -> Aligner:
        """The same data gives the same, so a run that goes on goes on as it was."""
        both = self.prepared.tokenizers
        return learn_aligner(self.prepared.train, (both.source.size, both.target.size), sample=sample)

    def by_epoch(self, cursor: Cursor, step: int) -> Iterator[tuple[Store, list[Indices], Cursor, int]]:
        """The pairs of this process's batches of each update, from each epoch's own store; and its number."""
        while True:
            store, epoch = self.prepared.for_epoch(cursor.epoch), cursor.epoch
            for pieces, after in self.pieces(store, cursor):
                step += 1
                yield store, pieces, after, step
                cursor = after
                if cursor.epoch != epoch:
                    break

    def pieces(self, store: Store, cursor: Cursor) -> Iterator[tuple[list[Indices], Cursor]]:
        world, seed = self.world, self.config.seed
        if self.room is None:
            source, target = sorting_lengths(store)
            budget = self.config.training.batch_tokens
            return stream(
                source,
                target,
                budget=budget,
                seed=seed,
                cursor=cursor,
                rank=world.rank,
                world=world.size,
                parts=self.parts,
            )
        return packed_stream(
            store.source_lengths,
            store.target_lengths,
            room=self.room,
            seed=seed,
            cursor=cursor,
            rank=world.rank,
            world=world.size,
            parts=self.parts,
        )

    def step(self, batches: list[Batch], state: LoopState, lr: float) -> tuple[StepResult, int]:
        """Update the weights; the result counts tokens and sentences of all processes. And the parts used."""
        learner, config, step = self.learner, self.config, state.step + 1
        while True:
            share, tokens, sentences = self.shared(batches)
            self.met = self.going = False
            try:
                if learner.model.fixed_shapes and self.room is not None and not config.training.rollout:
                    self.captured = self.captured or self.capture(batches[0])
                    result = self.captured(batches, share, lr=lr, step=step)
                else:
                    result = train_step(
                        learner.model,
                        learner.optimizers,
                        [batch for batch in batches if batch.sentences],
                        config.training,
                        lr=lr,
                        step=step,
                        seed=config.seed,
                        share=share,
                        autocast=self.autocast,
                        reduce=self.reduce,
                        threads=self.threads,
                    )
                break
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                self.tell(error)
            # Not before the error, and all that it holds in memory, are gone.
            batches = self.halve(batches, state)
        if learner.average is not None:
            learner.average.update(step)
        return replace(result, tokens=tokens, sentences=sentences), self.parts

    def shared(self, batches: list[Batch]) -> tuple[Share, int, int]:
        """This process's share of the update that all do together; tokens and sentences of all."""
        counts = [(b.tokens, b.tokens + b.source_tokens, b.sentences) for b in batches if b.learned]
        own = [sum(column) for column in zip(*counts, strict=True)] if counts else [0, 0, 0]
        targets, tokens, sentences = self.world.sums(own)
        return Share(targets, first=self.world.rank * self.parts), tokens, sentences

    def capture(self, batch: Batch) -> CapturedStep:
        config = self.config
        return CapturedStep(
            self.learner.model,
            self.learner.optimizers,
            config.training,
            batch,
            seed=config.seed,
            dtype=self.autocast or torch.float32,
            graph=self.device.type == "cuda",
            reduce=self.reduce,
        )

    def tell(self, error: RuntimeError) -> None:
        """Tell the others that memory has run out here; once they have gone on without, it is too late."""
        if self.world.size == 1:
            return
        if self.going or self.config.training.shard:
            raise RunError(
                f"process {self.world.rank} is out of memory",
                where=str(error).splitlines()[0],
                hint="raise training.accumulate, so that an update is run in more and smaller parts",
                code="out_of_memory",
            ) from error
        if not self.met:
            self.world.sum(1)

    def halve(self, batches: list[Batch], state: LoopState) -> list[Batch]:
        """The same update in twice as many batches, each half as large, as all updates from here on."""
        before, alone = self.room, not self.world.sum(int(any(batch.sentences > 1 for batch in batches)))
        self.captured = None
        self.learner.zero_grad()  # gradients that the failed one has made
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.divide(2 * self.parts)
        if before is None and alone:
            raise RunError(
                "out of memory with a single sentence in the micro-batch", hint=HINT, code="out_of_memory"
            )
        if before is not None and self.room == before:
            raise RunError(
                f"out of memory with {before.source:,} source and {before.target:,} target tokens at a time, "
                "as many as the longest sentences have",
                hint=HINT,
                code="out_of_memory",
            )
        self.on_halved(state.step + 1, self.parts)
        with closing(self.batches_from(state.cursor, state.step)) as updates:
            return next(updates)[0]

    @property
    def reduce(self) -> Reduce | None:
        """Adds the gradients of all processes up; None for a process alone."""
        if self.world.size == 1:
            return None
        return reduce_whole(self.world.reduce) if self.config.training.shard else self.meet

    def meet(self, tensors: Sequence[Tensor]) -> None:
        """`World.reduce`, once every process has come so far: one may have run out of memory instead."""
        self.met = True
        if self.world.sum(0):
            raise torch.OutOfMemoryError("another process of this run is out of memory")
        self.going = True
        self.world.reduce(tensors)


def sorting_lengths(store: Store) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What pairs are sorted into batches by: their lengths.

    Captions count as equally long, nearly as the longest: batches of like captions would teach one thing at
    a time.
    """
    source, target = store.source_lengths, store.target_lengths
    if isinstance(store, PictureStore):
        target = np.full_like(target, np.quantile(target, 0.95))
    return source, target
