"""A batch shared out over threads: gradients and losses are those of one thread in plain torch."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jumok.backends import c_ops
from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.nn.patches import Patches
from jumok.training.optimizer import Optimizers
from jumok.training.step import batch_loss, train_step
from jumok.training.threads import MOST, Threads, runs_in_threads

needs_library = pytest.mark.skipif(not c_ops.is_available(), reason="the C library is not built here")
SMALL = TransformerConfig(encoder_layers=1, decoder_layers=2, width=16, heads=2, feedforward=24, dropout=0.0)
TRAINING = TrainingConfig(label_smoothing=0.1)
Found = tuple[Tensor, dict[str, Tensor]]


@pytest.fixture(autouse=True)
def thread_count() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def make(config: ModelConfig = SMALL, **options: Any) -> Seq2Seq:
    torch.manual_seed(0)
    model = build_model(config, 300, 300, **({"shared": True} | options))
    model.ops = NativeBackend()
    return model


def pairs(count: int, seed: int = 0, room: Room | None = None) -> Batch:
    draw = np.random.default_rng(seed)
    sides = [[draw.integers(260, 300, draw.integers(0, 30)).tolist() for _ in range(count)] for _ in "st"]
    return lay_pairs(*sides, room)


def gradients(model: Seq2Seq) -> dict[str, Tensor]:
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


def alone(model: Seq2Seq, batch: Batch, config: TrainingConfig = TRAINING) -> Found:
    """Loss and nll, and gradients, by one thread in plain torch."""
    loss, nll = batch_loss(model.using(TorchBackend()).train(), batch, config)
    (loss * 0.01).backward()  # type: ignore[no-untyped-call]
    return torch.stack((loss.detach(), nll)), gradients(model)


def added(threads: Threads, batch: Batch, config: TrainingConfig = TRAINING, seed: int = 1) -> Tensor:
    """Loss and nll by threads, as a step calls them; the model keeps the gradients."""
    with threads.share_out(batch, config, batch_loss, share=0.01, seed=seed) as own:
        loss, nll = batch_loss(own.model, own.batch, config)
        (loss * 0.01).backward()  # type: ignore[no-untyped-call]
    return torch.stack((loss.detach(), nll, *own.others)).view(-1, 2).sum(0)


def assert_equal(found: Found, wanted: Found) -> None:
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-5, atol=1e-3)
    assert found[1].keys() == wanted[1].keys()
    for name, gradient in wanted[1].items():
        torch.testing.assert_close(found[1][name], gradient, rtol=1e-3, atol=1e-5, msg=name)


@needs_library
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"norm": "pre"},
        {"norm": "none"},
        {"positions": "learned"},
        {"positions": "rotary"},
        {"tied": False},
        {"copy": True},
    ],
    ids=str,
)
def test_threads_give_the_gradients_of_one(count: int, change: dict[str, Any]) -> None:
    model, batch = make(replace(SMALL, **change)), pairs(80)
    wanted = alone(model, batch)
    torch.set_num_threads(count)
    threads = Threads(model)
    found = added(threads, batch)
    assert len(threads.twins) == count - 1
    assert torch.get_num_threads() == count
    assert_equal((found, gradients(model)), wanted)


@needs_library
@pytest.mark.usefixtures("passes_differ")
@pytest.mark.parametrize("change", [{"rdrop": 1.0}, {"teacher_forcing": 0.0}], ids=str)
def test_threads_do_every_kind_of_loss(change: dict[str, float]) -> None:
    model, batch, config = make(), pairs(80), replace(TRAINING, **change)
    plain, _ = alone(model, batch)
    wanted = alone(model, batch, config)
    assert abs(wanted[0][0] - plain[0]) > 1e-3 * plain[0]  # it is another loss
    torch.set_num_threads(2)
    found = added(Threads(model), batch, config)
    assert_equal((found, gradients(model)), wanted)


@needs_library
def test_fillers_of_a_fixed_room_are_left_out() -> None:
    model, batch = make(), pairs(80)
    torch.set_num_threads(2)
    threads = Threads(model)
    wanted = added(threads, batch), gradients(model)
    found = added(threads, pairs(80, room=Room(2048, 2048))), gradients(model)
    assert torch.equal(found[0], wanted[0])
    assert all(torch.equal(gradient, wanted[1][name]) for name, gradient in found[1].items())


@needs_library
def test_threads_share_pictures_out() -> None:
    model = make(shared=False, patches=Patches(48, 9))
    draw = np.random.default_rng(0)
    pictures = draw.integers(0, 256, (120, 9, 48), dtype=np.uint8)
    batch = lay_pairs(list(pictures), [draw.integers(260, 300, 5).tolist() for _ in pictures])
    wanted = alone(model, batch)
    torch.set_num_threads(2)
    threads = Threads(model)
    assert_equal((added(threads, batch), gradients(model)), wanted)
    assert len(threads.twins) == 1


@needs_library
def test_gradients_add_up_from_batch_to_batch() -> None:
    model = make()
    torch.set_num_threads(2)
    threads = Threads(model)
    for seed in (0, 1):
        added(threads, pairs(80, seed))
    both = gradients(model)
    single = []
    for seed in (0, 1):
        added(threads, pairs(80, seed))
        single.append(gradients(model))
    for name, gradient in both.items():
        torch.testing.assert_close(gradient, single[0][name] + single[1][name], rtol=1e-5, atol=1e-6)


@needs_library
@pytest.mark.parametrize("count", [1, 2])
def test_the_same_seed_gives_the_same_numbers_and_another_others(count: int) -> None:
    model, batch = make(replace(SMALL, dropout=0.3)), pairs(80)
    torch.set_num_threads(count)
    threads, found = Threads(model), []
    for seed in (5, 5, 6):
        torch.rand(int(torch.randint(1, 9, ())))  # whatever was drawn before
        found.append((added(threads, batch, seed=seed), gradients(model)))
    assert torch.equal(found[0][0], found[1][0])
    assert all(torch.equal(gradient, found[1][1][name]) for name, gradient in found[0][1].items())
    assert not torch.equal(found[0][0], found[2][0])


@needs_library
def test_updates_of_the_weights_reach_every_thread() -> None:
    model, batch = make(), pairs(80)
    threads, optimizers = Threads(model), Optimizers(model, TRAINING)
    torch.set_num_threads(2)
    losses = []
    for step in range(1, 9):
        result = train_step(model, optimizers, [batch], TRAINING, lr=0.01, step=step, seed=0, threads=threads)
        losses.append(result.read().loss)
    ((twin, _),) = threads.twins
    for mine, its in zip(model.parameters(), twin.parameters(), strict=True):
        assert mine.data_ptr() == its.data_ptr()
        assert its.grad is None
    assert losses[-1] < 0.9 * losses[0]
    wanted = alone(model, batch)
    assert_equal((added(threads, batch), gradients(model)), wanted)


@needs_library
def test_a_step_by_threads_is_the_step_by_one() -> None:
    found = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        model, config = make(), replace(TRAINING, optimizer="sgd")
        step = {"lr": 0.1, "step": 1, "seed": 0, "threads": Threads(model)}
        result = train_step(model, Optimizers(model, config), [pairs(80)], config, **step)  # type: ignore[arg-type]
        found.append((result.numbers, dict(model.named_parameters())))
    for numbers, weights in found[1:]:
        torch.testing.assert_close(numbers, found[0][0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(weights, found[0][1], rtol=1e-4, atol=1e-6)


@needs_library
@pytest.mark.parametrize("here", [True, False], ids=["in the caller", "in another thread"])
def test_a_part_that_failed_leaves_nothing_to_the_next_call(*, here: bool) -> None:
    model, batch = make(), pairs(80)
    torch.set_num_threads(2)
    threads = Threads(model)
    added(threads, batch)
    wanted = gradients(model)

    def fail(one: Seq2Seq, part: Batch, config: TrainingConfig) -> tuple[Tensor, Tensor]:
        if not here:
            raise torch.OutOfMemoryError("not enough memory")
        return batch_loss(one, part, config)  # the other part comes to its end

    def shared() -> None:
        with threads.share_out(batch, TRAINING, fail, share=0.01, seed=1):
            if here:
                raise torch.OutOfMemoryError("not enough memory")

    with pytest.raises(torch.OutOfMemoryError):
        shared()
    assert torch.get_num_threads() == 2
    model.zero_grad(set_to_none=True)
    added(threads, batch)
    for name, gradient in gradients(model).items():
        assert torch.equal(gradient, wanted[name]), name


@needs_library
def test_a_small_batch_stays_with_one_thread() -> None:
    torch.set_num_threads(MOST)
    model = make()
    threads = Threads(model)
    added(threads, pairs(4))
    assert threads.twins == []
    added(threads, pairs(60))
    assert 0 < len(threads.twins) < MOST - 1


def test_only_models_of_fixed_shapes_on_the_native_back_end_run_in_threads() -> None:
    assert runs_in_threads(make())
    for arch in (RnnConfig(width=8), LuongConfig(width=8)):
        assert not runs_in_threads(make(arch))
    assert not runs_in_threads(make().using(TorchBackend()))
