"""The CPU's back end: its chances come from one generator, and what C does not take torch does."""

import pytest
import torch
from torch import nn

from jumok.backends.c_ops import WIDEST_HEAD, is_available
from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.backends.values import Projected
from jumok.models.sentences import Sentences

pytestmark = pytest.mark.skipif(not is_available(), reason="the C library is not built here")
CPU = torch.device("cpu")


@pytest.mark.parametrize("own", [None, torch.Generator()], ids=["torch", "own"])
def test_chances_come_from_torchs_generator_unless_it_has_its_own(own: torch.Generator | None) -> None:
    ops, seed = NativeBackend(own), torch.manual_seed if own is None else own.manual_seed
    x, found = torch.ones(50, 20), []
    for _ in range(2):
        seed(7)
        found.append((ops.drop(x, 0.5, training=True), *ops.seeds(3, CPU), ops.uniform(5, CPU)))
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    assert not torch.equal(ops.drop(x, 0.5, training=True), found[0][0])


def test_a_generator_of_its_own_leaves_torchs() -> None:
    torch.manual_seed(1)
    wanted = torch.rand(3)
    torch.manual_seed(1)
    ops = NativeBackend(torch.Generator())
    ops.drop(torch.ones(9, 9), 0.5, training=True)
    ops.uniform(4, CPU)
    assert torch.equal(torch.rand(3), wanted)


def test_drop_is_dropout_in_training_alone() -> None:
    x = torch.ones(40, 30)
    assert NativeBackend().drop(x, 0.5, training=False) is x
    assert NativeBackend().drop(x, 0.0, training=True) is x
    assert set(NativeBackend().drop(x, 0.5, training=True).flatten().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("width", [WIDEST_HEAD, WIDEST_HEAD + 8])
def test_heads_of_any_width_and_the_gradient_of_a_bias_that_is_owed(width: int) -> None:
    spans = Sentences.lay([[0] * 3, [0] * 2], CPU).causal_spans
    x, weight, bias = torch.randn(5, 4), torch.randn(3 * width, 4), torch.randn(3 * width)
    found = []
    for ops in (TorchBackend(), NativeBackend()):
        leaf = bias.clone().requires_grad_()
        y, _ = ops.branch(x, weight, leaf, owed=True)
        out = ops.attend((y,), 1, spans, scale=True, where=("dec_self", 0))
        found.append((out.detach(), *torch.autograd.grad(out.square().sum(), leaf)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-3 * float(one.abs().max()), rtol=0)


@pytest.mark.parametrize(("norm", "add"), [(None, True), (nn.Identity(), True), (nn.LayerNorm(6), False)])
def test_add_norm_without_a_norm_or_a_sum_is_plain(norm: nn.Module | None, *, add: bool) -> None:
    x, states, linear = torch.randn(4, 6), torch.randn(4, 3), nn.Linear(3, 6)
    given = (x, states, linear, norm, 0.1)
    one, other = (
        ops.add_norm(*given, training=False, seed=None, add=add) for ops in (NativeBackend(), TorchBackend())
    )
    torch.testing.assert_close(one, other)


def test_products_that_owe_nothing_can_be_attended() -> None:
    spans = Sentences.lay([[0] * 3], CPU).own_spans
    qkv = Projected(torch.randn(3, 24))
    one, other = (
        ops.attend((qkv,), 2, spans, scale=False, where=("enc_self", 0))
        for ops in (NativeBackend(), TorchBackend())
    )
    torch.testing.assert_close(one, other)


def test_logits_of_a_model_that_copies_are_products_like_any_other() -> None:
    states, head = torch.randn(5, 8), torch.randn(70, 8)
    one, other = (ops.logits(states, head) for ops in (NativeBackend(), TorchBackend()))
    torch.testing.assert_close(one, other)
    rounded = TorchBackend().logits(states.bfloat16().float(), head.bfloat16().float())
    torch.testing.assert_close(NativeBackend(bf16=True).logits(states, head), rounded, atol=1e-5, rtol=1e-5)
    assert not torch.equal(rounded, other)


def test_a_back_end_for_another_thread_differs_in_its_chances_alone() -> None:
    ops, generator = NativeBackend(bf16=True), torch.Generator()
    other = ops.drawing_from(generator)
    assert (other.bf16, other.kept, other.multiply) == (True, ops.kept, ops.multiply)
    assert other.generator is generator
    assert ops.generator is None


@pytest.mark.parametrize("widths", [(3,), (1, 2)])
def test_heads_up_to_the_widest_are_attended_in_c_however_their_products_are_cut(
    monkeypatch: pytest.MonkeyPatch, widths: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    spans = Sentences.lay([[0] * 3, [0] * 2], CPU).causal_spans
    qkv = torch.randn(5, 3 * WIDEST_HEAD)
    given = tuple(Projected(part) for part in qkv.split([WIDEST_HEAD * n for n in widths], dim=1))
    wanted = TorchBackend().attend(given, 1, spans, scale=True, where=("dec_self", 0))
    monkeypatch.setattr(TorchBackend, "attend", pytest.fail)
    found = NativeBackend().attend(given, 1, spans, scale=True, where=("dec_self", 0))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
