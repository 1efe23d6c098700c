"""Updates in a fixed room: as plain ones, whole or in parts, replayed or not."""

import copy
import gc
import logging
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jumok.backends.triton.backend import TritonBackend
from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.nn.patches import Patches
from jumok.training.captured import CapturedStep, StepGraphs, copy_all
from jumok.training.frozen import freeze, is_frozen
from jumok.training.lora import Adapters
from jumok.training.optimizer import Optimizers, is_hidden_matrix
from jumok.training.step import Share, train_step

SOURCES = [[4, 5, 6], [7], [8, 9, 10, 11], [5, 5]]
TARGETS = [[6, 7], [8, 9, 10], [4], [11, 12, 13, 14]]
ROOM = Room(64, 64)
TINY = TransformerConfig(width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1)
SGD = TrainingConfig(optimizer="sgd", lr=1e-2)


def make(**options: Any) -> Seq2Seq:
    torch.manual_seed(0)
    return build_model(replace(TINY, **({"dropout": 0.0} | options)), 20, 20, shared=True)


def stepper(model: Seq2Seq, config: TrainingConfig = SGD, **options: Any) -> CapturedStep:
    given: dict[str, Any] = {"seed": 1, "dtype": torch.float32} | options
    return CapturedStep(model, Optimizers(model, config), config, Batch.empty(ROOM), **given)


def laid(rows: slice = slice(None)) -> Batch:
    return lay_pairs(SOURCES[rows], TARGETS[rows], ROOM)


def weights(model: Seq2Seq) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@pytest.mark.parametrize(
    ("optimizer", "change"),
    [
        ("adamw", {}),
        ("adam", {}),
        ("sgd", {}),
        ("muon", {}),
        ("sgd", {"scaled": False}),
        ("sgd", {"norm": "none"}),
        ("sgd", {"residual": False}),
    ],
    ids=str,
)
def test_three_updates_equal_plain_ones(optimizer: Any, change: dict[str, Any]) -> None:
    config = replace(SGD, optimizer=optimizer)
    one, other = make(**change), make(**change)
    captured, optimizers = stepper(one, config), Optimizers(other, config)
    for step in (1, 2, 3):
        found = captured([laid()], Share(laid().tokens), lr=1e-2, step=step)
        plain = train_step(
            other, optimizers, [lay_pairs(SOURCES, TARGETS)], config, lr=1e-2, step=step, seed=1
        )
        assert found.numbers.tolist() == pytest.approx(plain.numbers.tolist(), rel=1e-4)
        assert (found.tokens, found.sentences) == (plain.tokens, plain.sentences)
    if optimizer == "sgd":  # where a gradient is rounding alone, the others make it large
        torch.testing.assert_close(weights(one), weights(other), atol=1e-5, rtol=1e-4)


def test_the_model_keeps_its_own_weights() -> None:
    """The copies stand in for them during a pass only, also for an embedding that has three uses."""
    model = make()
    before = dict(model.named_parameters())
    step = stepper(model, dtype=torch.bfloat16)
    step([laid()], Share(laid().tokens), lr=1e-2, step=1)
    after = dict(model.named_parameters())
    assert before.keys() == after.keys()
    assert all(after[name] is weight and weight.dtype == torch.float32 for name, weight in before.items())


def test_a_step_that_is_given_up_leaves_no_gradients_in_memory() -> None:
    """When memory runs out, the next try needs what this one had."""
    model = make()
    step = stepper(model)
    step([laid()], Share(laid().tokens), lr=1e-2, step=1)
    gone = [weakref.ref(one) for one in (*step.gradients, *step.copies)]
    del step
    gc.collect()
    assert not any(one() is not None for one in gone)


def test_parts_give_the_update_of_the_whole() -> None:
    whole, cut = make(), make()
    one = stepper(whole)([laid()], Share(laid().tokens), lr=1e-2, step=1)
    parts = [laid(slice(0, 1)), laid(slice(1, 3)), laid(slice(3, 4)), Batch.empty(ROOM)]
    two = stepper(cut)(parts, Share(laid().tokens), lr=1e-2, step=1)
    assert two.numbers.tolist() == pytest.approx(one.numbers.tolist(), rel=1e-5)
    torch.testing.assert_close(weights(cut), weights(whole), atol=1e-6, rtol=1e-5)


def test_sums_over_processes_give_the_update_of_the_whole() -> None:
    """Each of two `processes` has half of the parts; what one reduces is what the other has, added."""
    whole = make()
    stepper(whole)([laid()], Share(laid().tokens), lr=1e-2, step=1)
    seen: list[list[Tensor]] = []
    half = stepper(make(), reduce=lambda tensors: seen.append([one.clone() for one in tensors]))
    half([laid(slice(2, 4))], Share(laid().tokens, first=1), lr=1e-2, step=1)

    def add(tensors: Any) -> None:
        for mine, theirs in zip(tensors, seen[0], strict=True):
            mine += theirs

    model = make()
    found = stepper(model, reduce=add)([laid(slice(0, 2))], Share(laid().tokens), lr=1e-2, step=1)
    torch.testing.assert_close(weights(model), weights(whole), atol=1e-6, rtol=1e-5)
    assert found.read().loss > 0


def test_a_step_with_numbers_that_are_not_finite_changes_nothing_and_says_so() -> None:
    model = make()
    step = stepper(model, TrainingConfig(lr=1e-2))
    good = step([laid()], Share(laid().tokens), lr=1e-2, step=1)
    before, memory = weights(model), copy.deepcopy(step.optimizers.tensors())
    with torch.no_grad():
        step.copies[0][5] = torch.nan
    spoiled = step([laid()], Share(laid().tokens), lr=1e-2, step=2)
    assert not good.read().skipped
    assert spoiled.read().skipped
    torch.testing.assert_close(weights(model), before, atol=0, rtol=0)  # NaN would not be equal
    torch.testing.assert_close(step.optimizers.tensors(), memory, atol=0, rtol=0)
    assert (
        not step([laid()], Share(laid().tokens), lr=1e-2, step=3).read().skipped
    )  # the copies are whole again


def test_dropout_depends_on_seed_step_and_part_alone() -> None:
    def losses(seed: int, step: int, first: int) -> list[float]:
        found = stepper(make(dropout=0.5), seed=seed)([laid()], Share(9, first), lr=0.0, step=step)
        return found.numbers.tolist()

    assert losses(1, 1, 0) == losses(1, 1, 0)
    assert len({tuple(losses(*key)) for key in ((1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 1))}) == 4


def test_r_drop_pulls_two_passes_together() -> None:
    """Without dropout both passes are one, so the loss is the plain one; with it there is more to pay."""
    plain, drop = TrainingConfig(), TrainingConfig(rdrop=4.0)

    def loss(config: TrainingConfig, share: float) -> float:
        step = stepper(make(dropout=share), config)
        return step([laid()], Share(laid().tokens), lr=0.0, step=1).read().loss

    assert loss(drop, 0.0) == pytest.approx(loss(plain, 0.0), rel=1e-5)
    assert loss(drop, 0.5) > loss(replace(drop, rdrop=1e-6), 0.5) + 1e-3


def test_teacher_forcing_below_1_feeds_the_models_own_guesses() -> None:
    config = TrainingConfig(teacher_forcing=0.0)
    one = stepper(make(), config)([laid()], Share(laid().tokens), lr=0.0, step=1)
    model = make()
    exact = [lay_pairs(SOURCES, TARGETS)]
    two = train_step(model, Optimizers(model, config), exact, config, lr=1e-9, step=1, seed=1)
    assert one.read().loss == pytest.approx(two.read().loss, rel=1e-5)


@pytest.mark.usefixtures("passes_differ")
@pytest.mark.parametrize("changes", [{}, {"rdrop": 2.0}, {"teacher_forcing": 0.0}])
def test_a_model_that_copies_learns_the_same_in_a_fixed_room(changes: dict[str, Any]) -> None:
    config = replace(SGD, label_smoothing=0.1, **changes)
    one, two = make(copy=True), make(copy=True)
    fixed = stepper(one, config)([laid()], Share(laid().tokens), lr=1e-3, step=1).read()
    exact = [lay_pairs(SOURCES, TARGETS)]
    found = train_step(two, Optimizers(two, config), exact, config, lr=1e-3, step=1, seed=1).read()
    assert (fixed.loss, fixed.nll) == pytest.approx((found.loss, found.nll), rel=1e-5)
    assert fixed.grad_norm == pytest.approx(found.grad_norm, rel=1e-4)
    torch.testing.assert_close(weights(one), weights(two), atol=1e-6, rtol=1e-4)


def test_a_step_is_warmed_up_once_and_learns_nothing_by_that() -> None:
    """Whoever captures a step needs every call to have been made before."""
    models = make(), make()
    plain, watched = map(stepper, models)
    told = list[str]()

    class Watched(StepGraphs):
        def warm(self, call: Callable[[], None]) -> None:
            super().warm(call)
            told.append("warm")
            call()

        def __call__(self, name: str, call: Callable[[], None]) -> None:
            told.append(name)
            call()

    watched.run = Watched(enabled=False)
    for step in range(1, 3):
        for one in (plain, watched):
            one([laid()], Share(14), lr=1e-2, step=step)
    assert told == ["warm", "first", "update", "first", "update"]
    torch.testing.assert_close(weights(models[1]), weights(models[0]), atol=0, rtol=0)


def test_copy_all_copies_between_types() -> None:
    to = [torch.zeros(2, dtype=torch.bfloat16), torch.zeros(2), torch.zeros(2, dtype=torch.bfloat16)]
    copy_all(to, [torch.ones(2), torch.full((2,), 2.0), torch.full((2,), 3.0)])
    assert [one.tolist() for one in to] == [[1, 1], [2, 2], [3, 3]]


def test_without_a_gpu_a_call_is_just_called() -> None:
    calls: list[str] = []
    graphs = StepGraphs(enabled=False)
    graphs.warm(lambda: calls.append("warm"))
    graphs("one", lambda: calls.append("one"))
    graphs("one", lambda: calls.append("one"))
    assert calls == ["one", "one"]


def test_what_cannot_be_captured_is_called_with_one_notice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    monkeypatch.setattr(torch.cuda, "graph", refuse)
    graphs, calls = StepGraphs(enabled=True), list[str]()
    for name in ("first", "first", "update"):
        graphs(name, lambda name=name: calls.append(name))  # type: ignore[misc]
    assert calls == ["first", "first", "update"]
    (record,) = caplog.records
    assert record.message == (
        "the GPU cannot replay this model's steps (operation not permitted when stream is capturing): "
        "they run one by one"
    )


def test_what_was_captured_is_replayed_and_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a graph that only counts: the first call is captured and replayed, the next are replayed."""
    replays, calls = list[object](), list[str]()

    class Graph:
        """Stands in for one of a GPU."""

        def replay(self) -> None:
            replays.append(self)

        def pool(self) -> str:
            return "the pool"

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", lambda *_, **__: nullcontext())
    graphs = StepGraphs(enabled=True)
    for name in ("first", "first", "update", "first"):
        graphs(name, lambda name=name: calls.append(name))  # type: ignore[misc]
    assert calls == ["first", "update"]
    assert [replays.index(one) for one in replays] == [0, 0, 2, 0]


def test_memory_that_runs_out_in_a_capture_is_no_reason_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    monkeypatch.setattr(torch.cuda, "graph", full)
    graphs = StepGraphs(enabled=True)
    with pytest.raises(torch.OutOfMemoryError):
        graphs("first", lambda: None)
    assert graphs.enabled


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU captures it")
def test_a_call_that_cannot_be_captured_is_called_with_one_notice(caplog: pytest.LogCaptureFixture) -> None:
    """Here for want of a GPU."""
    calls: list[str] = []
    graphs = StepGraphs(enabled=True)
    with caplog.at_level(logging.WARNING, "jumok"):
        graphs("one", lambda: calls.append("one"))
        graphs("one", lambda: calls.append("two"))
    assert calls == ["one", "two"]
    assert not graphs.enabled
    (record,) = caplog.records
    assert "they run one by one" in record.getMessage()


def test_memory_that_runs_out_while_capturing_is_no_reason_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", full)
    with pytest.raises(torch.OutOfMemoryError):
        StepGraphs(enabled=True)("one", lambda: None)


def test_a_failure_without_a_word_has_a_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def speechless() -> None:
        raise NotImplementedError

    monkeypatch.setattr(torch.cuda, "CUDAGraph", speechless)
    with caplog.at_level(logging.WARNING, "jumok"):
        StepGraphs(enabled=True)("one", lambda: None)
    assert "(NotImplementedError)" in caplog.text


def test_pictures_are_copied_into_the_fixed_room() -> None:
    """Replays read the patches of the batch at hand, not those of the first."""
    draw = np.random.default_rng(1)
    pictures = draw.integers(0, 256, (2, 4, 48), dtype=np.uint8)
    one, two = (lay_pairs([picture], [[5, 6]], ROOM) for picture in pictures)
    config = replace(SGD, label_smoothing=0.0)
    losses = []
    for first in (one, two):
        torch.manual_seed(0)
        model = build_model(replace(TINY, dropout=0.0), 20, 20, shared=False, patches=Patches(48, 4))
        step = CapturedStep(model, Optimizers(model, config), config, first, seed=1, dtype=torch.float32)
        losses.append([step([batch], Share(3), lr=0.0, step=1).read().loss for batch in (one, two)])
    assert losses[0] == losses[1]
    assert losses[0][0] != losses[0][1]


@pytest.mark.gpu
def test_a_replayed_update_equals_one_that_is_called() -> None:
    config = TrainingConfig(lr=1e-3)
    found = []
    for graph in (True, False):
        model = make(dropout=0.1).cuda()
        step = stepper(model, config, dtype=torch.bfloat16, graph=graph)
        for number in range(1, 6):
            result = step([laid()], Share(laid().tokens), lr=1e-3, step=number)
        found.append(result.numbers.cpu())
        assert step.run.enabled == graph
    torch.testing.assert_close(found[0], found[1], atol=1e-2, rtol=1e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("rdrop", [0.0, 1.0])
def test_updates_in_fp8_learn_what_those_in_bf16_do(rdrop: float) -> None:
    """The same batch again and again: both losses fall, and stay together."""
    config, found = TrainingConfig(lr=2e-3, rdrop=rdrop), []
    for eight in (False, True):
        model = make(dropout=0.1, width=32, feedforward=64).cuda()
        ops = model.ops = TritonBackend(eight=eight)
        step = stepper(model, config, dtype=torch.bfloat16)
        found.append(
            [
                step([laid()], Share(laid().tokens), lr=2e-3, step=number).read().loss
                for number in range(1, 41)
            ]
        )
        assert step.run.enabled
        assert not ops.guard.off
    plain, rounded = (torch.tensor(losses) for losses in found)
    assert plain[-1] < 0.8 * plain[0]
    torch.testing.assert_close(rounded, plain, rtol=0.05, atol=0.05)
    assert not torch.equal(rounded, plain)  # it was computed in another way


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_gpu_that_is_not_the_current_one_steps_too() -> None:
    model = make().to("cuda:1")
    before = weights(model)
    step = stepper(model, dtype=torch.bfloat16)
    for number in range(1, 4):
        result = step([laid()], Share(laid().tokens), lr=1e-2, step=number)
    assert step.run.enabled
    assert not result.read().skipped
    assert any(not torch.equal(value, before[name]) for name, value in weights(model).items())


@pytest.mark.parametrize(
    ("parts", "rank", "anchor"),
    [(("encoder", "embeddings"), 0, 0.0), ((), 4, 0.0), ((), 0, 3.0), (("encoder",), 2, 1.0)],
    ids=str,
)
def test_frozen_weights_adapters_and_an_anchor_learn_as_plain_ones(
    parts: tuple[str, ...], rank: int, anchor: float
) -> None:
    config = replace(SGD, anchor=anchor)
    models = make(), make()
    for model in models:
        freeze(model, parts)
    one, other = (
        Optimizers(model, config, Adapters(model, rank, seed=1, adapts=is_hidden_matrix) if rank else None)
        for model in models
    )
    captured = CapturedStep(models[0], one, config, Batch.empty(ROOM), seed=1, dtype=torch.float32)
    before = weights(models[0])
    for step in (1, 2, 3):
        found = captured([laid()], Share(laid().tokens), lr=1e-2, step=step)
        plain = train_step(
            models[1], other, [lay_pairs(SOURCES, TARGETS)], config, lr=1e-2, step=step, seed=1
        )
        torch.testing.assert_close(found.numbers, plain.numbers, atol=1e-5, rtol=1e-5)
    for name, weight in weights(models[0]).items():
        torch.testing.assert_close(weight, weights(models[1])[name], atol=1e-5, rtol=1e-4)
        learns = not is_frozen(name, parts) and (not rank or name in one.adapters.by_name)  # type: ignore[union-attr]
        assert torch.equal(weight, before[name]) != learns, name
    assert len(captured.gradients) == len(one.weights)


@pytest.mark.gpu
@pytest.mark.parametrize(("parts", "rank"), [(("encoder", "embeddings"), 0), ((), 4)], ids=str)
def test_a_gpu_replays_frozen_weights_adapters_and_an_anchor(parts: tuple[str, ...], rank: int) -> None:
    config = replace(SGD, optimizer="adamw", anchor=1.0)
    models = make().cuda(), make().cuda()
    results = []
    for model, graph in zip(models, (True, False), strict=True):
        model.ops = TritonBackend()
        freeze(model, parts)
        adapters = Adapters(model, rank, seed=1, adapts=is_hidden_matrix) if rank else None
        step = CapturedStep(
            model, Optimizers(model, config, adapters), config, Batch.empty(ROOM), seed=1, graph=graph
        )
        for number in (1, 2, 3):
            results.append(step([laid()], Share(laid().tokens), lr=1e-2, step=number).numbers)
    for replayed, called in zip(results[:3], results[3:], strict=True):
        torch.testing.assert_close(replayed, called, atol=1e-2, rtol=1e-2)
    for name, weight in weights(models[0]).items():
        torch.testing.assert_close(weight, weights(models[1])[name], atol=2e-2, rtol=2e-2)
