"""Adapters: they start as nothing, learn by the chain rule, and are merged at every step."""

import copy

import pytest
import torch
from torch import nn

from jumok.backends.choose import choose_backend
from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.errors import ConfigError
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.training.lora import SCALE, AdaptedMatrix, Adapters, check_rank
from jumok.training.optimizer import Optimizers, is_hidden_matrix
from jumok.training.state import Average, Learner
from jumok.training.step import batch_loss, train_step

TINY = TransformerConfig(width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1, dropout=0.0)
BATCH = lay_pairs([[4, 5, 6], [7], [8, 9, 10, 11]], [[6, 7], [8, 9, 10], [4]])
SGD = TrainingConfig(optimizer="sgd", momentum=0.0, clip=0.0)


def make(*, fast: bool = False) -> Seq2Seq:
    torch.manual_seed(3)
    model = build_model(TINY, 20, 20, shared=True)
    if fast:
        model.ops = choose_backend("cpu")
    return model


def adapted(model: nn.Module, rank: int = 4) -> Adapters:
    return Adapters(model, rank, seed=7, adapts=is_hidden_matrix)


def test_a_model_with_fresh_adapters_is_the_model() -> None:
    model, plain = make(), make()
    adapters = adapted(model)
    adapters.merge()
    for (name, mine), theirs in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs), name
    learning = {name for name, one in model.named_parameters() if one.requires_grad}
    assert learning == adapters.by_name.keys()
    assert "target_embedding.weight" not in learning
    assert (
        sum(one.numel() for one in adapters.parameters.values())
        < 2700
        < sum(one.numel() for one in model.parameters())
    )


@pytest.mark.parametrize("fast", [False, True])
def test_a_step_is_that_of_autograd_through_the_sum(*, fast: bool) -> None:
    model, plain = make(fast=fast), make()
    adapters = adapted(model)
    for one in adapters.by_name.values():  # not from nothing, or A would have no gradient
        nn.init.normal_(one.b, std=0.1)
    adapters.merge()
    factors = {
        name: (one.a.detach().clone(), one.b.detach().clone()) for name, one in adapters.by_name.items()
    }
    leaves = {name: (a.requires_grad_(), b.requires_grad_()) for name, (a, b) in factors.items()}
    weights = {
        name: weight.detach() + SCALE * leaves[name][1] @ leaves[name][0]
        if name in leaves
        else weight.detach()
        for name, weight in plain.named_parameters()
    }

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = plain

        def forward(self) -> torch.Tensor:
            return batch_loss(self.model, BATCH, SGD)[0]

    named = {f"model.{name}": weight for name, weight in weights.items()}
    loss = torch.func.functional_call(Loss(), named, (), tie_weights=False) / BATCH.tokens
    loss.backward()
    train_step(model, Optimizers(model, SGD, adapters), [BATCH], SGD, lr=0.5, step=1, seed=1)
    for name, one in adapters.by_name.items():
        a, b = leaves[name]
        assert a.grad is not None
        assert b.grad is not None
        torch.testing.assert_close(one.a.detach(), a.detach() - 0.5 * a.grad, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(one.b.detach(), b.detach() - 0.5 * b.grad, atol=1e-5, rtol=1e-4)
        merged = one.base + SCALE * one.b.detach() @ one.a.detach()
        torch.testing.assert_close(one.weight.detach(), merged)
        assert one.weight.grad is None
        assert one.a.grad is None


def test_frozen_matrices_get_no_adapter_and_what_must_learn_does() -> None:
    model = make()
    for parameter in model.encoder.parameters():  # type: ignore[union-attr]
        parameter.requires_grad = False
    adapters = Adapters(
        model, 2, seed=1, adapts=is_hidden_matrix, learns=lambda name: name == "target_embedding.weight"
    )
    assert all(name.startswith("decoder.") for name in adapters.by_name)
    optimizers = Optimizers(model, SGD, adapters)
    assert set(optimizers.names.values()) == {"target_embedding.weight", *adapters.parameters}


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_what_is_saved_reads_back_bit_for_bit(ema: float) -> None:
    def learner() -> Learner:
        model, config = make(fast=True), TrainingConfig(anchor=0.5)
        adapters = adapted(model)
        average = Average(model, ema) if ema else None
        return Learner(model, Optimizers(model, config, adapters), average)

    def step(one: Learner, number: int) -> None:
        train_step(one.model, one.optimizers, [BATCH], TrainingConfig(), lr=1e-2, step=number, seed=1)
        if one.average:
            one.average.update(number)

    first, second = learner(), learner()
    for number in (1, 2):
        step(first, number)
    saved = (
        {k: v.clone() for k, v in one.items()} for one in (first.model_tensors(), first.optimizer_tensors())
    )
    model, optimizer = saved
    assert not any(
        key.startswith("weights/encoder.0.feedforward.inner.weight") and "lora" not in key
        for key in optimizer
    )
    second.load(model, optimizer)
    for one in (first, second):
        step(one, 3)
    mine, theirs = first.model_tensors(), second.model_tensors()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    memory, other = first.optimizer_tensors(), second.optimizer_tensors()
    assert memory.keys() == other.keys()
    assert all(torch.equal(memory[name], other[name]) for name in memory)


def test_a_copy_of_the_model_for_another_thread_keeps_its_own_gradients() -> None:
    model = make(fast=True)
    adapters = adapted(model)
    twin = copy.deepcopy(model)
    loss, _ = batch_loss(twin, BATCH, SGD)
    loss.backward()
    assert all(one.a.grad is None and one.weight.grad is None for one in adapters.by_name.values())


def test_gradients_that_are_left_are_handed_on_once() -> None:
    """Other threads leave theirs in the matrix itself."""
    adapters = adapted(make())
    wanted = []
    for one in adapters.by_name.values():
        nn.init.normal_(one.b, std=0.1)
        one.weight.grad = torch.randn_like(one.weight)
        wanted.append(one.gradients(one.weight.grad))
    for _ in range(2):
        adapters.take()
    for one, (a, b) in zip(adapters.by_name.values(), wanted, strict=True):
        assert one.weight.grad is None
        torch.testing.assert_close([one.a.grad, one.b.grad], [a, b], atol=0, rtol=0)


def test_ranks_that_are_none_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        adapted(make(), rank=17)
    assert str(caught.value) == (
        "training.lora=17 is more than the rank of encoder.0.attention.project.linear.weight, which is 16\n"
        "  choose at most 16; 8 or 16 is usual"
    )
    model = make()
    for parameter in model.parameters():
        parameter.requires_grad = False
    with pytest.raises(ConfigError, match="training.lora=4: no matrix is left to adapt"):
        adapted(model)


def test_the_formulas_by_hand() -> None:
    """W = W_0 + 2 B A; dL/dB = 2 G A^T; dL/dA = 2 B^T G."""
    weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    adapted = AdaptedMatrix(weight, 1, torch.Generator().manual_seed(1))
    assert (adapted.a.shape, adapted.b.shape) == ((1, 2), (2, 1))
    with torch.no_grad():
        adapted.a.copy_(torch.tensor([[1.0, -1.0]]))
        adapted.b.copy_(torch.tensor([[2.0], [0.5]]))
    adapted.merge()
    assert weight.tolist() == [[5, -2], [4, 3]]
    a, b = adapted.gradients(torch.tensor([[1.0, 0.0], [0.0, 4.0]]))
    assert a.tolist() == [[4, 4]]
    assert b.tolist() == [[2], [-8]]
    for _ in range(2):  # what two backward passes leave is added up
        weight.grad = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
        adapted.take()
    assert adapted.a.grad is not None
    assert adapted.a.grad.tolist() == [[8, 8]]
    adapted.take()  # nothing is left, and nothing changes
    assert adapted.a.grad.tolist() == [[8, 8]]


def test_starts_are_as_large_as_the_widths_ask_and_follow_the_seed() -> None:
    weight = nn.Parameter(torch.zeros(3, 10_000))
    adapted, again = (AdaptedMatrix(weight, 2, torch.Generator().manual_seed(5)) for _ in range(2))
    assert adapted.a.std().item() == pytest.approx(0.01, rel=0.05)
    assert torch.equal(adapted.a, again.a)
    assert not adapted.b.any()


def test_a_rank_may_be_that_of_the_matrix() -> None:
    check_rank(16, "w", torch.zeros(16, 40))
    for shape in ((15, 40), (40, 15)):
        with pytest.raises(ConfigError, match="training.lora=16 is more than the rank of w, which is 15"):
            check_rank(16, "w", torch.zeros(shape))
