"""Updates within memory: padded and packed, in parts, by one process and by several."""

from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jumok.run.stepping import PackedSteps, PaddedSteps, batch_of, packs
from jumok.training.packed import PackedStep
from tests.run.conftest import TINY

from jumok.checkpoint.checkpoints import Checkpoints
from jumok.config import ARCHS, RunConfig
from jumok.data.batch import Padded
from jumok.errors import ConfigError, DataError, RunError
from jumok.run.compute import make_learner
from jumok.run.prepare import Prepared, reopen
from jumok.run.train import TrainedRun
from jumok.settings import nest, parse_config
from jumok.training.distributed import World
from jumok.training.state import LoopState
from jumok.training.step import Share, StepResult, train_step

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def prepared(trained: TrainedRun) -> Prepared:
    return reopen(trained.folder / "data")


def steps_of(
    kind: type[Any], trained: TrainedRun, prepared: Prepared, *, arch: str = "luong", **training: Any
) -> Any:
    """Steps of a tiny model; its attribute `told` gets what is told of memory that has run out."""
    sizes = nest({**TINY[arch], "model.arch": arch, "model.dropout": 0.0})["model"]
    model = parse_config({"model": sizes}).model
    config = replace(trained.config, model=model, training=replace(trained.config.training, **training))
    learner = make_learner(config, prepared, CPU, None)
    told: list[tuple[int, int]] = []
    steps = kind(
        learner=learner,
        prepared=prepared,
        config=config,
        device=CPU,
        autocast=None,
        on_halved=lambda step, parts: told.append((step, parts)),
    )
    steps.told = told
    return steps


def first_update(steps: Any, state: LoopState) -> Any:
    with closing(steps.updates(state)) as updates:
        return next(updates)[0]


# Which kind.


@pytest.mark.parametrize(
    ("batches", "shard", "device", "expected"),
    [
        ("auto", False, "cpu", False),
        ("auto", False, "cuda:1", True),
        ("auto", True, "cuda:1", False),
        ("padded", False, "cuda", False),
        ("packed", False, "cpu", True),
    ],
)
def test_a_gpu_packs_unless_told_otherwise(batches: Any, shard: bool, device: str, expected: bool) -> None:  # noqa: FBT001
    base = RunConfig()
    config = replace(base, training=replace(base.training, batches=batches, shard=shard))
    assert packs(config, torch.device(device)) is expected


def test_packed_batches_and_shared_out_weights_exclude_each_other() -> None:
    base = RunConfig()
    config = replace(base, training=replace(base.training, batches="packed", shard=True))
    with pytest.raises(ConfigError) as caught:
        packs(config, CPU)
    assert str(caught.value) == (
        "training.batches=packed and training.shard=true exclude each other\n"
        "  leave training.batches at auto: shared-out weights read padded batches"
    )


# The stream.


@pytest.mark.parametrize("kind", [PaddedSteps, PackedSteps])
def test_updates_go_on_from_where_a_state_stands(kind: type, trained: TrainedRun, prepared: Prepared) -> None:
    steps = steps_of(kind, trained, prepared)
    with closing(steps.updates(LoopState())) as updates:
        some = list(islice(updates, 8))
    assert some[-1][1].epoch > 0
    for (_, cursor), (batch, _) in zip(some, some[1:], strict=False):
        again = first_update(steps, LoopState().at(cursor))
        assert rows_of(again) == rows_of(batch)


def rows_of(batch: Any) -> Any:
    return [piece.numbers.tolist() for piece in batch] if isinstance(batch, list) else batch[1][0].tolist()


@pytest.mark.parametrize("kind", [PaddedSteps, PackedSteps])
def test_every_epoch_reads_its_own_cut_of_the_text(
    kind: type, trained: TrainedRun, prepared: Prepared
) -> None:
    """Variants of the store, as BPE dropout makes them, in turn; each pair once an epoch."""
    variants = (prepared.train, replace(prepared.train, target_ids=prepared.train.target_ids[::-1].copy()))
    steps = steps_of(kind, trained, replace(prepared, variants=variants))
    seen: dict[int, list[Any]] = {0: [], 1: [], 2: []}
    epoch = 0
    with closing(steps.updates(LoopState())) as updates:
        for batch, cursor in updates:
            seen[epoch] += (
                [len(piece.source_lengths) for piece in batch] if kind is PackedSteps else [len(batch[1][0])]
            )
            if kind is PaddedSteps:
                assert batch[0] is variants[epoch % 2]
            epoch = cursor.epoch
            if epoch == 3:
                break
    assert [sum(sizes) for sizes in seen.values()] == [len(prepared.train)] * 3


# Memory.


def test_out_of_memory_halves_the_rectangles_and_keeps_the_update(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def small_memory(model: Any, optimizers: Any, batches: list[Padded], *rest: Any, **options: Any) -> Any:
        sizes.append(max(len(batch.source) for batch in batches))
        if sizes[-1] > 10:
            raise torch.OutOfMemoryError("no room")
        return train_step(model, optimizers, batches, *rest, **options)

    steps = steps_of(PaddedSteps, trained, prepared)
    monkeypatch.setattr("jumok.run.stepping.train_step", small_memory)
    batch = first_update(steps, LoopState())
    result, parts = steps.step(batch, LoopState(step=7), 1e-3)
    assert parts > 1
    assert sizes[-1] <= 10 < sizes[-2]
    assert result.sentences == len(batch[1][0])
    assert steps.told[-1] == (8, parts)
    assert len(steps.told) == len(sizes) - 1
    before = len(sizes)
    steps.step(batch, LoopState(step=8, parts=parts), 1e-3)
    assert len(sizes) == before + 1  # remembered: no second attempt


def test_out_of_memory_halves_the_room_of_packed_pieces(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SmallMemory(PackedStep):
        def __call__(self, pieces: Any, *rest: Any, **options: Any) -> Any:
            if pieces[0].room.source > 200:
                raise torch.OutOfMemoryError("no room")
            return super().__call__(pieces, *rest, **options)

    monkeypatch.setattr("jumok.run.stepping.PackedStep", SmallMemory)
    steps = steps_of(PackedSteps, trained, prepared, arch="transformer", batch_tokens=1000)
    with closing(steps.updates(LoopState())) as updates:
        batch, cursor = next(updates)
        assert batch[0].room.source > 400
        result, parts = steps.step(batch, LoopState(), 1e-3)
        assert parts == 4
        assert steps.told == [(1, 2), (1, 4)]
        assert result.tokens > 700  # an update is as large as before
        batch, _ = next(updates)
        assert len(batch) == 4
        assert batch[0].room == steps.room
        again = first_update(steps, LoopState(step=1, parts=4).at(cursor))
        assert rows_of(again) == rows_of(batch)  # as a run that goes on would read it
        assert steps.step(batch, LoopState(step=1, parts=4).at(cursor), 1e-3)[1] == 4


def test_memory_that_cannot_hold_the_longest_sentence_is_an_error(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr("jumok.run.stepping.train_step", no_memory)
    steps = steps_of(PackedSteps, trained, prepared, batch_tokens=200)
    batch = first_update(steps, LoopState())
    with pytest.raises(RunError) as caught:
        steps.step(batch, LoopState(), 1e-3)
    assert str(caught.value) == (
        "out of memory with 64 source and 64 target tokens at a time, as many as the longest sentences have\n"
        "  choose a smaller model (--preset tiny), a smaller text.vocabulary, or shorter sentences "
        "(data.max_length)"
    )
    assert caught.value.code == "out_of_memory"


def test_other_errors_pass_through(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("something else")

    monkeypatch.setattr("jumok.run.stepping.train_step", fail)
    for kind in (PaddedSteps, PackedSteps):
        steps = steps_of(kind, trained, prepared)
        batch = first_update(steps, LoopState())
        with pytest.raises(RuntimeError, match="something else"):
            steps.step(batch, LoopState(), 1e-3)


# Parts.


@pytest.mark.parametrize("arch", ARCHS)
def test_parts_change_no_update(arch: str, trained: TrainedRun, prepared: Prepared) -> None:
    """The rows of an update in one, two or more rectangles: the same loss and gradient."""
    found = []
    for parts in (1, 2, 5):
        steps = steps_of(PaddedSteps, trained, prepared, arch=arch, accumulate=parts)
        batch = first_update(steps, LoopState())
        result, used = steps.step(batch, LoopState(), 1e-3)
        assert used == parts
        found.append([*result.numbers.tolist(), result.tokens, result.sentences])
    assert found[1] == pytest.approx(found[0], rel=1e-4)
    assert found[2] == pytest.approx(found[0], rel=1e-4)


@pytest.mark.parametrize("arch", ARCHS)
def test_packed_and_padded_pieces_of_the_same_pairs_learn_the_same(
    arch: str, trained: TrainedRun, prepared: Prepared
) -> None:
    packed = steps_of(PackedSteps, trained, prepared, arch=arch)
    with closing(packed.updates(LoopState())) as updates:
        batch, _ = next(updates)
    one, _ = packed.step(batch, LoopState(), 1e-3)
    padded = steps_of(PaddedSteps, trained, prepared, arch=arch)
    rows = pairs_of(prepared, batch[0])
    other, _ = padded.step((prepared.train, [rows]), LoopState(), 1e-3)
    assert one.numbers.tolist() == pytest.approx(other.numbers.tolist(), rel=1e-4)
    assert (one.tokens, one.sentences) == (other.tokens, other.sentences)


def pairs_of(prepared: Prepared, piece: Any) -> Any:
    """The rows of the store that a packed piece holds."""
    store = prepared.train
    known = {(*store.source(row), -1, *store.target(row)): row for row in range(len(store))}
    sources = np.split(piece.source.numpy()[: piece.source_tokens], piece.source_lengths.cumsum())[:-1]
    targets = np.split(piece.target_out.numpy()[: piece.tokens], piece.target_lengths.cumsum())[:-1]
    return np.array([known[(*x[:-1], -1, *y[:-1])] for x, y in zip(sources, targets, strict=True)])


def test_a_new_run_starts_with_the_parts_of_its_settings_and_keeps_what_it_has_found(
    trained: TrainedRun, prepared: Prepared
) -> None:
    steps = steps_of(PaddedSteps, trained, prepared, accumulate=3)
    assert steps.parts(LoopState()) == 3
    assert steps.parts(LoopState(step=5, parts=6)) == 6
    assert steps.parts(LoopState(step=5, parts=2)) == 2  # three processes became more


# Several processes.


class Fellows(World):
    """A world of two in which the other process says what it is told to."""

    def sums(self, numbers: Any) -> list[int]:
        self.__dict__.setdefault("heard", []).append(list(numbers))
        return [number + theirs for number, theirs in zip(numbers, self.__dict__["says"].pop(0), strict=True)]

    def reduce(self, tensors: Any) -> None:
        pass


def fellows(*says: list[int]) -> Fellows:
    world = Fellows(rank=1, size=2)
    world.__dict__["says"] = list(says)
    return world


def test_losses_are_divided_by_the_tokens_of_all_processes(trained: TrainedRun, prepared: Prepared) -> None:
    steps = steps_of(PaddedSteps, trained, prepared)
    batch = first_update(steps, LoopState())
    _, own = np.array_split(batch[1][0], 2)
    alone, _ = steps.step((prepared.train, [own]), LoopState(), 0.0)
    pieces = batch_of(prepared.train, own)
    steps.world = fellows([pieces.tokens, 100, 7], [0])
    shared, _ = steps.step(batch, LoopState(), 0.0)
    assert shared.read().loss == pytest.approx(alone.read().loss / 2, rel=1e-5)
    assert (shared.tokens, shared.sentences) == (alone.tokens + 100, alone.sentences + 7)


@pytest.mark.parametrize(("world", "parts"), [(1, 6), (2, 3), (3, 2), (6, 1)])
def test_only_the_number_of_pieces_decides_what_is_in_them(
    world: int, parts: int, trained: TrainedRun, prepared: Prepared
) -> None:
    """Their order decides the draws of dropout, so it must not matter who runs a piece."""
    steps, rows = steps_of(PaddedSteps, trained, prepared), np.arange(8)
    sizes = []
    for rank in range(world):
        steps.world = World(rank=rank, size=world)
        sizes += [piece.sentences for piece in steps.pieces(prepared.train, rows, parts)]
    assert sizes == [2, 2, 1, 1, 1, 1]


def test_all_processes_cut_into_the_same_number_of_parts(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five rows the first process has three: one in each part needs three parts, everywhere."""
    used = []
    for rank in range(2):
        steps = steps_of(PaddedSteps, trained, prepared)
        steps.world = World(rank=rank, size=2)

        def attempt(pieces: Any, parts: int, call: Any) -> Any:
            if parts < 3:
                raise torch.OutOfMemoryError("no room")
            return StepResult(torch.zeros(4), 0, 0)

        monkeypatch.setattr(steps, "together", attempt)
        used.append(steps.step((prepared.train, [np.arange(5)]), LoopState(), 1e-3)[1])
    assert used == [3, 3]


def test_a_process_without_a_pair_is_refused(trained: TrainedRun, prepared: Prepared) -> None:
    steps = steps_of(PaddedSteps, trained, prepared)
    steps.world = World(size=1000)
    with pytest.raises(
        DataError, match="^280 pairs cannot be shared by 1,000 processes\n  add data, or start"
    ):
        first_update(steps, LoopState())


def test_when_another_process_has_no_memory_this_one_tries_again_too(
    trained: TrainedRun, prepared: Prepared
) -> None:
    steps = steps_of(PaddedSteps, trained, prepared)
    batch = first_update(steps, LoopState())
    steps.world = fellows([50, 100, 7], [1], [50, 100, 7], [0])
    _, parts = steps.step(batch, LoopState(), 1e-3)
    assert parts == 2
    assert steps.told == [(1, 2)]
    assert [heard for heard in steps.world.heard if len(heard) == 1] == [[0], [0]]


def test_a_process_without_memory_tells_the_others_once(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []

    def first_fails(*args: Any, **options: Any) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise torch.OutOfMemoryError("no room")
        return train_step(*args, **options)

    monkeypatch.setattr("jumok.run.stepping.train_step", first_fails)
    steps = steps_of(PaddedSteps, trained, prepared)
    batch = first_update(steps, LoopState())
    steps.world = fellows([50, 100, 7], [0], [50, 100, 7], [0])
    assert steps.step(batch, LoopState(), 1e-3)[1] == 2
    assert [heard for heard in steps.world.heard if len(heard) == 1] == [[1], [0]]


def test_memory_that_runs_out_after_the_processes_met_is_an_error(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*args: Any, reduce: Any, **options: Any) -> Any:
        reduce([torch.ones(1)])
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")

    monkeypatch.setattr("jumok.run.stepping.train_step", late)
    steps = steps_of(PaddedSteps, trained, prepared)
    batch = first_update(steps, LoopState())
    steps.world = fellows([50, 100, 7], [0])
    with pytest.raises(RunError) as caught:
        steps.step(batch, LoopState(), 1e-3)
    assert str(caught.value) == (
        "process 1 is out of memory\n  CUDA out of memory. Tried to allocate 2 GiB.\n"
        "  raise training.accumulate, so that an update is run in more and smaller parts"
    )


def test_shared_out_weights_need_equally_many_pieces_in_every_process(
    trained: TrainedRun, prepared: Prepared
) -> None:
    steps = steps_of(PaddedSteps, trained, prepared, shard=True)
    rows = np.array([3, 4], dtype=np.int64)
    pieces = steps.pieces(prepared.train, rows, 4)
    assert [piece.tokens > 0 for piece in pieces] == [True, True, False, False]
    plain = steps_of(PaddedSteps, trained, prepared)
    assert len(plain.pieces(prepared.train, rows, 4)) == 2
    assert plain.pieces(prepared.train, rows[:0], 4) == []


def test_the_same_checkpoint_gives_the_same_learner(trained: TrainedRun, prepared: Prepared) -> None:
    newest = Checkpoints(Path(trained.folder)).newest()
    one, other = (make_learner(trained.config, prepared, CPU, newest) for _ in range(2))
    for name, value in one.weights.items():
        assert torch.equal(value, other.weights[name])


def test_a_share_counts_the_pieces_of_the_processes_before(trained: TrainedRun, prepared: Prepared) -> None:
    steps = steps_of(PaddedSteps, trained, prepared)
    steps.world = fellows([50, 100, 7])
    seen: list[Share] = []

    def call(share: Share) -> Any:
        seen.append(share)
        raise RuntimeError("seen")

    with pytest.raises(RuntimeError, match="seen"):
        steps.together([], 3, call)
    assert seen == [Share(50, first=3)]
