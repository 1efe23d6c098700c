"""Updates within memory: sorted and packed, in parts, by one process and by several."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.run.conftest import TINY

from jumok.checkpoint.checkpoints import Checkpoints
from jumok.config import ARCHS, RunConfig
from jumok.data.batch import Batch, Room, lay_rows
from jumok.errors import ConfigError, DataError, RunError
from jumok.run.compute import make_learner
from jumok.run.prepare import Prepared, reopen
from jumok.run.train import TrainedRun
from jumok.settings import nest, parse_config
from jumok.training.captured import CapturedStep
from jumok.training.distributed import World
from jumok.training.state import LoopState
from jumok.training.step import Share, train_step
from jumok.training.updates import Updates, packs

CPU = torch.device("cpu")
KINDS = ("sorted", "packed")
Weights = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def prepared(trained: TrainedRun) -> Prepared:
    return reopen(trained.folder / "data")


class Told(Updates):
    """Updates that remember what is told of memory that has run out."""

    told: list[tuple[int, int]]


def updates_of(
    trained: TrainedRun, prepared: Prepared, *, arch: str = "luong", dropout: float = 0.0, **training: Any
) -> Told:
    """Updates of a tiny model."""
    sizes = nest({**TINY[arch], "model.arch": arch, "model.dropout": dropout})["model"]
    model = parse_config({"model": sizes}).model
    config = replace(trained.config, model=model, training=replace(trained.config.training, **training))
    told: list[tuple[int, int]] = []
    updates = Told(
        learner=make_learner(config, prepared, CPU, None),
        prepared=prepared,
        config=config,
        device=CPU,
        autocast=None,
        on_halved=lambda step, parts: told.append((step, parts)),
    )
    updates.told = told
    return updates


def first_update(updates: Updates, state: LoopState | None = None) -> list[Batch]:
    with closing(updates.batches(state or LoopState())) as batches:
        return next(batches)[0]


def numbers_of(batches: list[Batch]) -> list[Any]:
    return [batch.numbers.tolist() for batch in batches]


def weights_of(updates: Updates) -> Weights:
    return {name: value.detach().clone() for name, value in updates.learner.weights.items()}


# Which kind.


@pytest.mark.parametrize(
    ("batches", "shard", "device", "expected"),
    [
        ("auto", False, "cpu", False),
        ("auto", False, "cuda:1", True),
        ("auto", True, "cuda:1", False),
        ("sorted", False, "cuda", False),
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
        "  leave training.batches at auto: shared-out weights read batches of like lengths"
    )


@pytest.mark.parametrize("batches", KINDS)
def test_packed_batches_have_one_room_and_sorted_ones_their_own(
    batches: str, trained: TrainedRun, prepared: Prepared
) -> None:
    updates = updates_of(trained, prepared, batches=batches, accumulate=2)
    with closing(updates.batches(LoopState())) as stream:
        some = [batch for batches, _ in islice(stream, 5) for batch in batches]
    assert len(some) == 10
    assert (len({batch.room for batch in some}) == 1) is (batches == "packed")
    fillers = [batch.room.target - batch.tokens for batch in some]
    assert (sum(fillers) > 0) is (batches == "packed")


def test_a_room_is_shared_out_as_the_sides_of_the_corpus_share_it(
    trained: TrainedRun, prepared: Prepared
) -> None:
    updates = updates_of(trained, prepared, batches="packed", batch_tokens=6400)
    stores = [SimpleNamespace(source_lengths=[n], target_lengths=[m]) for n, m in ((20, 5), (16, 1))]
    updates.prepared = SimpleNamespace(stores=stores)  # type: ignore[assignment]
    updates.divide(2)
    assert updates.room == Room(2688, 576, 21, 6)  # 19 : 4 of 3,200, in whole 64s


# The stream.


@pytest.mark.parametrize("batches", KINDS)
def test_updates_go_on_from_where_a_state_stands(
    batches: str, trained: TrainedRun, prepared: Prepared
) -> None:
    updates = updates_of(trained, prepared, batches=batches)
    with closing(updates.batches(LoopState())) as stream:
        some = list(islice(stream, 8))
    assert some[-1][1].epoch > 0
    for (_, cursor), (batch, _) in zip(some, some[1:], strict=False):
        again = first_update(updates, LoopState().at(cursor))
        assert numbers_of(again) == numbers_of(batch)


@pytest.mark.parametrize("batches", KINDS)
def test_every_epoch_reads_its_own_cut_of_the_text(
    batches: str, trained: TrainedRun, prepared: Prepared
) -> None:
    """Variants of the store, as BPE dropout makes them, in turn; each pair once an epoch."""
    ids = prepared.train.target_ids
    variants = (prepared.train, replace(prepared.train, target_ids=np.full_like(ids, 5)))
    updates = updates_of(trained, replace(prepared, variants=variants), batches=batches)
    seen, epoch = [0, 0, 0], 0
    with closing(updates.batches(LoopState())) as stream:
        for some, cursor in stream:
            seen[epoch] += sum(batch.sentences for batch in some)
            for batch in some:
                written = {*batch.target_out[: batch.tokens].tolist()}
                assert (written <= {5, 2}) is (epoch == 1), "the epoch reads the other variant"
            epoch = cursor.epoch
            if epoch == 3:
                break
    assert seen == [len(prepared.train)] * 3


# Memory.


def small_memory(monkeypatch: pytest.MonkeyPatch, fits: Callable[[list[Batch]], bool]) -> list[list[Batch]]:
    """From now on a step only runs if its batches fit; gets the batches of every attempt."""
    seen: list[list[Batch]] = []
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")

    def step(model: Any, optimizers: Any, batches: list[Batch], *rest: Any, **options: Any) -> Any:
        seen.append(batches)
        if not fits(batches):
            raise error
        return train_step(model, optimizers, batches, *rest, **options)

    class Captured(CapturedStep):
        def __call__(self, batches: Any, *rest: Any, **options: Any) -> Any:
            seen.append(batches)
            if not fits(batches):
                raise error
            return super().__call__(batches, *rest, **options)

    monkeypatch.setattr("jumok.training.updates.train_step", step)
    monkeypatch.setattr("jumok.training.updates.CapturedStep", Captured)
    return seen


@pytest.mark.parametrize("arch", ARCHS)
def test_out_of_memory_halves_sorted_batches_and_keeps_the_update(
    arch: str, trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    roomy, tight = (updates_of(trained, prepared, arch=arch, optimizer="sgd") for _ in "ab")
    state = LoopState(step=7)
    batches = first_update(roomy)
    whole, _ = roomy.step(batches, state, 1e-2)
    first_update(tight)
    seen = small_memory(monkeypatch, lambda batches: max(batch.sentences for batch in batches) <= 10)
    result, parts = tight.step(batches, state, 1e-2)
    assert tight.told == [(8, 2**n) for n in range(1, len(seen))]
    assert parts == 2 ** (len(seen) - 1) > 1
    assert (result.tokens, result.sentences) == (whole.tokens, whole.sentences)
    assert result.numbers.tolist() == pytest.approx(whole.numbers.tolist(), rel=1e-4)
    torch.testing.assert_close(weights_of(tight), weights_of(roomy), atol=1e-6, rtol=1e-4)
    with closing(tight.batches(replace(state, parts=parts))) as stream:
        attempts = len(seen)
        tight.step(next(stream)[0], replace(state, parts=parts), 1e-2)
    assert len(seen) == attempts + 1  # remembered: no second attempt


def test_a_stream_goes_on_in_smaller_batches_once_memory_has_run_out(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_memory(monkeypatch, lambda batches: len(batches) > 1)
    updates = updates_of(trained, prepared)
    plain = updates_of(trained, prepared, accumulate=2)
    with closing(plain.batches(LoopState())) as stream:
        wanted = [numbers_of(batches) for batches, _ in islice(stream, 3)]
    with closing(updates.batches(LoopState())) as stream:
        batches, _ = next(stream)
        assert len(batches) == 1
        assert updates.step(batches, LoopState(), 1e-3)[1] == 2
        assert [numbers_of(batches) for batches, _ in islice(stream, 2)] == wanted[1:]


def test_out_of_memory_halves_the_room_of_packed_batches(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_memory(monkeypatch, lambda batches: batches[0].room.source <= 200)
    updates = updates_of(trained, prepared, arch="transformer", batch_tokens=1000, batches="packed")
    with closing(updates.batches(LoopState())) as stream:
        batches, cursor = next(stream)
        assert batches[0].room.source > 400
        result, parts = updates.step(batches, LoopState(), 1e-3)
        assert parts == 4
        assert updates.told == [(1, 2), (1, 4)]
        assert result.tokens > 700  # an update is as large as before
        batches, _ = next(stream)
        assert len(batches) == 4
        assert batches[0].room == updates.room
        state = LoopState(step=1, parts=4).at(cursor)
        again = first_update(updates, state)
        assert numbers_of(again) == numbers_of(batches)  # as a run that goes on would read it
        assert updates.step(batches, state, 1e-3)[1] == 4


@pytest.mark.parametrize("arch", ["rnn", "transformer"])
def test_out_of_memory_in_the_middle_of_an_update_counts_nothing_twice(
    arch: str, trained: TrainedRun, prepared: Prepared
) -> None:
    """The second of two batches fails: the gradients of the first are thrown away."""
    plain, broken = (updates_of(trained, prepared, arch=arch, optimizer="sgd", accumulate=2) for _ in "ab")
    plain.step(first_update(plain), LoopState(), 1e-2)
    model, calls = broken.learner.model, [0]
    encode = model.encode

    def second_fails(source: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate")
        return encode(source)

    broken.threads = None  # a thread of its own would have a model of its own
    model.encode = second_fails  # type: ignore[method-assign]
    _, parts = broken.step(first_update(broken), LoopState(), 1e-2)
    assert (parts, calls) == (4, [2 + 4])
    torch.testing.assert_close(weights_of(broken), weights_of(plain), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("batches", "told", "message"),
    [
        ("sorted", [2, 4, 8, 16, 32], "out of memory with a single sentence in the micro-batch"),
        (
            "packed",
            [2, 4],
            "out of memory with 64 source and 64 target tokens at a time, "
            "as many as the longest sentences have",
        ),
    ],
)
def test_memory_that_cannot_hold_one_sentence_is_an_error(
    batches: str,
    told: list[int],
    message: str,
    trained: TrainedRun,
    prepared: Prepared,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_memory(monkeypatch, lambda batches: False)
    updates = updates_of(trained, prepared, batch_tokens=400, batches=batches)
    before = weights_of(updates)
    some = first_update(updates)
    with pytest.raises(RunError) as caught:
        updates.step(some, LoopState(), 1e-3)
    assert str(caught.value) == (
        f"{message}\n  choose a smaller model (--preset tiny), a smaller text.vocabulary, "
        "or shorter sentences (data.max_length)"
    )
    assert caught.value.code == "out_of_memory"
    torch.testing.assert_close(weights_of(updates), before, atol=0, rtol=0)
    assert [parts for _, parts in updates.told] == told


def test_other_errors_pass_through(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr("jumok.training.updates.train_step", fail)
    for batches in KINDS:
        updates = updates_of(trained, prepared, batches=batches)
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            updates.step(first_update(updates), LoopState(), 1e-3)
        assert updates.told == []


# Parts.


@pytest.mark.parametrize("arch", ARCHS)
def test_parts_change_no_update(arch: str, trained: TrainedRun, prepared: Prepared) -> None:
    """The pairs of an update in one, two or more batches: the same loss and gradient."""
    found = []
    for parts in (1, 2, 5):
        updates = updates_of(trained, prepared, arch=arch, accumulate=parts)
        result, used = updates.step(first_update(updates), LoopState(), 1e-3)
        assert used == parts
        found.append([*result.numbers.tolist(), result.tokens, result.sentences])
    assert found[1] == pytest.approx(found[0], rel=1e-4)
    assert found[2] == pytest.approx(found[0], rel=1e-4)


@pytest.mark.usefixtures("passes_differ")
@pytest.mark.parametrize("changes", [{}, {"rdrop": 1.0}, {"teacher_forcing": 0.0}], ids=str)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_fixed_room_and_an_exact_one_learn_the_same_from_the_same_pairs(
    arch: str, changes: dict[str, float], trained: TrainedRun, prepared: Prepared
) -> None:
    options = {"arch": arch, "optimizer": "sgd", **changes}
    packed = updates_of(trained, prepared, batches="packed", **options)
    batches = first_update(packed)
    one, _ = packed.step(batches, LoopState(), 1e-2)
    exact = updates_of(trained, prepared, batches="sorted", **options)
    first_update(exact)
    rows = pairs_of(prepared, batches[0])
    other, _ = exact.step([lay_rows(prepared.train, rows)], LoopState(), 1e-2)
    assert one.numbers.tolist() == pytest.approx(other.numbers.tolist(), rel=1e-4)
    assert (one.tokens, one.sentences) == (other.tokens, other.sentences)
    torch.testing.assert_close(weights_of(packed), weights_of(exact), atol=1e-5, rtol=1e-4)


def pairs_of(prepared: Prepared, batch: Batch) -> Any:
    """The rows of the store that a batch holds."""
    store = prepared.train
    known = {(*store.source(row), -1, *store.target(row)): row for row in range(len(store))}
    sources = np.split(batch.source.numpy()[: batch.source_tokens], batch.source_lengths.cumsum())[:-1]
    targets = np.split(batch.target_out.numpy()[: batch.tokens], batch.target_lengths.cumsum())[:-1]
    return np.array([known[(*x[:-1], -1, *y[:-1])] for x, y in zip(sources, targets, strict=True)])


def test_a_new_run_starts_with_the_parts_of_its_settings_and_keeps_what_it_has_found(
    trained: TrainedRun, prepared: Prepared
) -> None:
    updates = updates_of(trained, prepared, accumulate=3)
    for state, parts in (
        (LoopState(), 3),
        (LoopState(step=5, parts=6), 6),
        (LoopState(step=5, parts=2), 2),  # three processes became more
    ):
        assert len(first_update(updates, state)) == updates.parts == parts


def test_a_model_on_the_native_back_end_runs_in_threads(trained: TrainedRun, prepared: Prepared) -> None:
    assert updates_of(trained, prepared, arch="transformer").threads is not None
    assert updates_of(trained, prepared, arch="luong").threads is None
    low = updates_of(trained, prepared, arch="transformer")
    assert replace_autocast(low).threads is None


def replace_autocast(updates: Updates) -> Updates:
    """The same in a lower precision, which the native back end does not compute."""
    return Updates(
        learner=updates.learner,
        prepared=updates.prepared,
        config=updates.config,
        device=CPU,
        autocast=torch.bfloat16,
        on_halved=lambda step, parts: None,
    )


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


def flags_of(world: Any) -> list[list[int]]:
    """What this process has told the other apart from its tokens."""
    return [heard for heard in world.heard if len(heard) == 1]


def test_losses_are_divided_by_the_tokens_of_all_processes(trained: TrainedRun, prepared: Prepared) -> None:
    updates = updates_of(trained, prepared)
    batches = first_update(updates)
    alone, _ = updates.step(batches, LoopState(), 0.0)
    updates.world = fellows([batches[0].tokens, 100, 7], [0])
    shared, _ = updates.step(batches, LoopState(), 0.0)
    assert shared.read().loss == pytest.approx(alone.read().loss / 2, rel=1e-5)
    assert (shared.tokens, shared.sentences) == (alone.tokens + 100, alone.sentences + 7)


@pytest.mark.parametrize("batches", KINDS)
@pytest.mark.parametrize(("world", "parts"), [(2, 3), (3, 2), (6, 1)])
def test_only_the_number_of_parts_decides_what_is_in_them(
    batches: str, world: int, parts: int, trained: TrainedRun, prepared: Prepared
) -> None:
    """Their order decides the draws of dropout, so it must not matter which process runs a part."""
    alone = updates_of(trained, prepared, accumulate=6, batches=batches)
    whole, found = numbers_of(first_update(alone)), []
    for rank in range(world):
        updates = updates_of(trained, prepared, accumulate=parts, batches=batches)
        updates.world = World(rank=rank, size=world)
        own = first_update(updates)
        found += numbers_of(own)
    assert found == whole


def test_a_process_without_a_pair_is_refused(trained: TrainedRun, prepared: Prepared) -> None:
    updates = updates_of(trained, prepared)
    updates.world = World(size=1000)
    with pytest.raises(
        DataError, match="^280 pairs cannot be shared by 1,000 processes\n  add data, or start"
    ):
        first_update(updates)


def test_when_another_process_has_no_memory_this_one_tries_again_too(
    trained: TrainedRun, prepared: Prepared
) -> None:
    updates = updates_of(trained, prepared)
    batches = first_update(updates)
    updates.world = fellows([50, 100, 7], [1], [1], [50, 100, 7], [0])
    _, parts = updates.step(batches, LoopState(), 1e-3)
    assert parts == 2
    assert updates.told == [(1, 2)]
    assert flags_of(updates.world) == [[0], [1], [0]]  # memory is left; there is more than a sentence; left


def test_a_process_without_memory_tells_the_others_once(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = small_memory(monkeypatch, lambda batches: len(attempts) > 1)
    updates = updates_of(trained, prepared)
    batches = first_update(updates)
    updates.world = fellows([50, 100, 7], [0], [1], [50, 100, 7], [0])
    assert updates.step(batches, LoopState(), 1e-3)[1] == 2
    assert flags_of(updates.world) == [[1], [1], [0]]


def test_it_goes_on_while_one_process_has_more_than_a_sentence(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All processes must give up together, or one would wait for ever for the others."""
    attempts = small_memory(monkeypatch, lambda batches: len(attempts) > 1)
    updates = updates_of(trained, prepared)
    first_update(updates)
    one = [lay_rows(prepared.train, np.array([3]))]
    updates.world = fellows([50, 100, 7], [0], [1], [50, 100, 7], [0])
    assert updates.step(one, LoopState(), 1e-3)[1] == 2
    attempts.clear()
    updates.world = fellows([50, 100, 7], [0], [0])
    with pytest.raises(RunError, match="out of memory with a single sentence"):
        updates.step(one, LoopState(), 1e-3)


def test_memory_that_runs_out_after_the_processes_met_is_an_error(
    trained: TrainedRun, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*args: Any, reduce: Any, **options: Any) -> Any:
        reduce([torch.ones(1)])
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")

    monkeypatch.setattr("jumok.training.updates.train_step", late)
    updates = updates_of(trained, prepared)
    batches = first_update(updates)
    updates.world = fellows([50, 100, 7], [0])
    with pytest.raises(RunError) as caught:
        updates.step(batches, LoopState(), 1e-3)
    assert str(caught.value) == (
        "process 1 is out of memory\n  CUDA out of memory. Tried to allocate 2 GiB.\n"
        "  raise training.accumulate, so that an update is run in more and smaller parts"
    )


def test_shared_out_weights_need_equally_many_batches_in_every_process(
    trained: TrainedRun, prepared: Prepared
) -> None:
    """A batch of one row in four parts: the other three have a sentence too, with nothing to learn."""
    sizes = {"batch_tokens": 1, "accumulate": 4}
    plain, shared = (updates_of(trained, prepared, shard=shard, **sizes) for shard in (False, True))
    assert [batch.learned for batch in first_update(plain)] == [True]
    batches = first_update(shared)
    assert [batch.learned for batch in batches] == [True, False, False, False]
    assert [batch.sentences for batch in batches] == [1] * 4
    results = [updates.step(first_update(updates), LoopState(), 1e-3)[0] for updates in (plain, shared)]
    assert results[1].numbers.tolist() == pytest.approx(results[0].numbers.tolist(), rel=1e-5)
    assert (results[1].tokens, results[1].sentences) == (results[0].tokens, results[0].sentences)


def test_the_same_checkpoint_gives_the_same_learner(trained: TrainedRun, prepared: Prepared) -> None:
    newest = Checkpoints(Path(trained.folder)).newest()
    one, other = (make_learner(trained.config, prepared, CPU, newest) for _ in range(2))
    for name, value in one.weights.items():
        assert torch.equal(value, other.weights[name])


def test_a_share_counts_the_batches_of_the_processes_before(trained: TrainedRun, prepared: Prepared) -> None:
    updates = updates_of(trained, prepared, accumulate=3)
    first_update(updates)
    updates.world = fellows([50, 100, 7])
    assert updates.shared([]) == (Share(50, first=3), 100, 7)
