"""How an update is carried out: this process's pieces of it, in as many parts as the memory needs.

Padded pieces are rectangles of like lengths, packed ones (on a GPU) sentences laid end to end in a room that
never changes its size. Both are shared out over the processes of a `World`, of which most have one.
"""

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.config import RunConfig, TransformerConfig
from jumok.data.batch import Packed, Padded, Room, pack_rows, pad_pairs, room_for
from jumok.data.builtin import reads_pictures
from jumok.data.picture_store import PictureStore
from jumok.data.prefetch import ahead
from jumok.data.sampler import Cursor, Indices, check_shared, own_pieces, packed_stream, stream
from jumok.data.store import Store
from jumok.errors import ConfigError, RunError
from jumok.run.prepare import Prepared
from jumok.training.distributed import World
from jumok.training.packed import PackedStep
from jumok.training.shard import reduce_whole
from jumok.training.state import Learner, LoopState
from jumok.training.step import (
    Piece,
    Reduce,
    Share,
    StepResult,
    is_out_of_memory,
    step_in_memory,
    train_step,
)

B = TypeVar("B")
Rows = tuple[Store, list[Indices]]  # pairs of a store, piece by piece
Updates = Generator[tuple[B, Cursor], None, None]  # what each update reads, and the place behind it
Open = Callable[[Store, Cursor], Iterator[tuple[list[Indices], Cursor]]]
Halved = Callable[[int, int], None]  # told of the step and the parts it needs when memory has run out


def packs(config: RunConfig, device: torch.device) -> bool:
    """Whether batches are packed: as told, else on a GPU; weights that are shared out read padded ones."""
    wanted, shard = config.training.batches, config.training.shard
    if wanted == "packed" and shard:
        raise ConfigError(
            "training.batches=packed and training.shard=true exclude each other",
            hint="leave training.batches at auto: shared-out weights read padded batches",
        )
    pictures = reads_pictures(config.data)
    if wanted == "packed" and pictures:
        raise ConfigError(
            "training.batches=packed cannot work with pictures: they are all of one length already",
            hint="leave training.batches at auto",
        )
    return wanted == "packed" or (wanted == "auto" and device.type == "cuda" and not shard and not pictures)


@dataclass(kw_only=True)
class Steps(ABC, Generic[B]):
    """Carries the updates of one run out; B is what an update reads."""

    learner: Learner
    prepared: Prepared
    config: RunConfig
    device: torch.device
    autocast: torch.dtype | None
    on_halved: Halved
    world: World = field(default_factory=World)
    met: bool = field(default=False, init=False)  # whether the processes have met in this update,
    going: bool = field(default=False, init=False)  # and all of them went on from there

    @abstractmethod
    def updates(self, state: LoopState) -> Updates[B]:
        """This process's share of each update from where the state stands, without end."""

    @abstractmethod
    def step(self, batch: B, state: LoopState, lr: float) -> tuple[StepResult, int]:
        """Update the weights; the result counts tokens and sentences of all processes. And the parts used."""

    def parts(self, state: LoopState) -> int:
        """Into how many pieces each process cuts its share of an update."""
        return state.parts if state.step else self.config.training.accumulate

    def by_epoch(self, cursor: Cursor, open_: Open) -> Updates[Rows]:
        """The updates that `open_` gives for each epoch's own store, one epoch after the other."""
        while True:
            store, epoch = self.prepared.for_epoch(cursor.epoch), cursor.epoch
            for rows, after in open_(store, cursor):
                yield (store, rows), after
                cursor = after
                if cursor.epoch != epoch:
                    break

    def together(
        self, pieces: Sequence[Piece], parts: int, call: Callable[[Share], StepResult]
    ) -> StepResult:
        """One attempt at an update by all processes; if one has no memory for it, it fails in all."""
        counts = [(p.tokens, p.tokens + p.source_tokens, p.sentences) for p in pieces]
        own = [sum(column) for column in zip(*counts, strict=True)] if counts else [0, 0, 0]
        targets, tokens, sentences = self.world.sums(own)
        self.met = self.going = False
        try:
            result = call(Share(targets, first=self.world.rank * parts))
        except RuntimeError as error:
            if self.world.size > 1 and is_out_of_memory(error):
                self.fail(error)
            raise
        return replace(result, tokens=tokens, sentences=sentences)

    def fail(self, error: RuntimeError) -> None:
        """Tell the others that memory has run out here; once they have gone on without, it is too late."""
        if self.going or self.config.training.shard:
            raise RunError(
                f"process {self.world.rank} is out of memory",
                where=str(error).splitlines()[0],
                hint="raise training.accumulate, so that an update is run in more and smaller parts",
                code="out_of_memory",
            ) from error
        if not self.met:
            self.world.sum(1)

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


class PaddedSteps(Steps[Rows]):
    """Updates on rectangles. The rows of an update stay the same however many parts they are cut into.

    Each process knows the rows of all, so that all cut them alike: into the same number of parts each.
    """

    def updates(self, state: LoopState) -> Updates[Rows]:
        def open_(store: Store, cursor: Cursor) -> Iterator[tuple[list[Indices], Cursor]]:
            check_shared(len(store), self.world.size)
            return stream(
                *batch_lengths(store),
                budget=self.config.training.batch_tokens,
                seed=self.config.seed,
                cursor=cursor,
            )

        return self.by_epoch(state.cursor, open_)

    def step(self, batch: Rows, state: LoopState, lr: float) -> tuple[StepResult, int]:
        store, (rows,) = batch

        def attempt(parts: int) -> StepResult:
            self.learner.model.zero_grad(set_to_none=True)
            pieces = self.pieces(self.moved(store, state), rows, parts)
            return self.together(pieces, parts, lambda share: self.run(pieces, share, state, lr))

        if self.config.training.shard:  # the processes wait for each other within the update: no other try
            return attempt(self.parts(state)), self.parts(state)
        halved = lambda parts: self.on_halved(state.step + 1, parts)  # noqa: E731
        most = max(1, -(-len(rows) // self.world.size))  # rows of the process that has the most
        return step_in_memory(attempt, self.parts(state), most, halved)

    def moved(self, store: Store, state: LoopState) -> Store:
        """The store as this step reads it: pictures move at random."""
        if not isinstance(store, PictureStore):
            return store
        return store.moved(self.config.image.shift, self.config.seed, state.step + 1)

    def pieces(self, store: Store, rows: Indices, parts: int) -> list[Padded]:
        """This process's share of the rows in so many rectangles; fewer if there are fewer rows.

        Processes that share out the weights must call each layer equally often: they fill up with a pair that
        is not learned from.
        """
        cut = own_pieces(rows, self.world.rank, self.world.size, parts)
        pieces = [batch_of(store, piece) for piece in cut if len(piece)]
        if self.config.training.shard:
            pair = batch_of(store, np.zeros(1, dtype=np.int64))
            blank = replace(pair, target_mask=torch.zeros_like(pair.target_mask))
            pieces += [blank] * (parts - len(pieces))
        return pieces

    def run(self, pieces: Sequence[Padded], share: Share, state: LoopState, lr: float) -> StepResult:
        return train_step(
            self.learner.model,
            self.learner.optimizers,
            pieces,
            self.config.training,
            lr=lr,
            step=state.step + 1,
            seed=self.config.seed,
            share=share,
            autocast=self.autocast,
            reduce=self.reduce,
        )


@dataclass(kw_only=True)
class PackedSteps(Steps[list[Packed]]):
    """Updates on sentences laid end to end, made by a thread while the model works on those before."""

    divided: int = field(default=0, init=False)  # the parts that the room was made for
    room: Room = field(default=Room(0, 0), init=False)  # of one piece
    captured: PackedStep | None = field(default=None, init=False)

    def updates(self, state: LoopState) -> Updates[list[Packed]]:
        self.make_room(self.parts(state))
        cursor = state.cursor
        while True:
            divided = self.divided
            with closing(self.pieces_from(cursor)) as updates:
                for pieces, after in updates:
                    yield pieces, after
                    cursor = after
                    if self.divided != divided:  # memory ran out: from here on in smaller pieces
                        break

    def pieces_from(self, cursor: Cursor) -> Updates[list[Packed]]:
        room, parts = self.room, self.divided

        def open_(store: Store, cursor: Cursor) -> Iterator[tuple[list[Indices], Cursor]]:
            return packed_stream(
                store.source_lengths,
                store.target_lengths,
                room=room,
                seed=self.config.seed,
                cursor=cursor,
                rank=self.world.rank,
                world=self.world.size,
                parts=parts,
            )

        def packed(update: tuple[Rows, Cursor]) -> tuple[list[Packed], Cursor]:
            (store, pieces), after = update
            # A thread knows not which GPU is this process's, and pinning memory wakes the one it thinks of.
            with torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext():
                return [pack_rows(store, rows, room).pin() for rows in pieces], after

        return ahead(self.by_epoch(cursor, open_), packed)

    def make_room(self, parts: int) -> None:
        """Size the pieces so that an update of `parts` of them for each process has its tokens."""
        stores = (self.prepared.train, *self.prepared.variants)
        source, target = (
            np.concatenate([getattr(store, f"{side}_lengths") for store in stores])
            for side in ("source", "target")
        )
        budget = self.config.training.batch_tokens // (self.world.size * parts)
        self.divided, self.room = parts, room_for(source, target, max(1, budget))

    def step(self, batch: list[Packed], state: LoopState, lr: float) -> tuple[StepResult, int]:
        while True:
            result = self.attempt(batch, state, lr)
            if result is not None:
                return result, self.divided
            self.halve()
            self.on_halved(state.step + 1, self.divided)
            with closing(self.pieces_from(state.cursor)) as updates:
                batch, _ = next(updates)  # the same place of the epoch, cut for the smaller room

    def attempt(self, batch: list[Packed], state: LoopState, lr: float) -> StepResult | None:
        """The update, or None if the memory does not suffice; nothing of the failure stays in memory then."""
        try:
            return self.together(batch, self.divided, lambda share: self.run(batch, share, state, lr))
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return None

    def halve(self) -> None:
        before = self.room
        self.captured = None
        self.learner.model.zero_grad(set_to_none=True)  # gradients that the failed one has made
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.make_room(2 * self.divided)
        if self.room == before:
            raise RunError(
                f"out of memory with {before.source:,} source and {before.target:,} target tokens at a time, "
                "as many as the longest sentences have",
                hint="choose a smaller model (--preset tiny), a smaller text.vocabulary, or shorter "
                "sentences (data.max_length)",
                code="out_of_memory",
            )

    def run(self, batch: list[Packed], share: Share, state: LoopState, lr: float) -> StepResult:
        """A Transformer's steps are captured and replayed; the others read lengths and run one by one."""
        learner, config, step = self.learner, self.config, state.step + 1
        if isinstance(config.model, TransformerConfig):
            self.captured = self.captured or PackedStep(
                learner.model,
                learner.optimizers,
                config.training,
                self.room,
                seed=config.seed,
                dtype=self.autocast or torch.float32,
                graph=self.device.type == "cuda",
                reduce=self.reduce,
            )
            return self.captured(batch, share, lr=lr, step=step)
        learner.model.zero_grad(set_to_none=True)
        return train_step(
            learner.model,
            learner.optimizers,
            [piece for piece in batch if piece.sentences],
            config.training,
            lr=lr,
            step=step,
            seed=config.seed,
            share=share,
            autocast=self.autocast,
            reduce=self.reduce,
        )


def batch_lengths(store: Store) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What pairs are sorted into batches by: their lengths.

    Captions count as equally long, nearly as the longest: batches of like captions would teach one thing at
    a time, and beside the patches of a picture their padding costs little.
    """
    source, target = store.source_lengths, store.target_lengths
    if isinstance(store, PictureStore):
        target = np.full_like(target, np.quantile(target, 0.95))
    return source, target


def batch_of(store: Store, rows: Indices) -> Padded:
    """The pairs of these rows as one rectangle."""
    return pad_pairs([store.source(row) for row in rows], [store.target(row) for row in rows])
