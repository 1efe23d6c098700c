"""The loss at the end of a model: closed forms against autograd, chunks against the whole."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from jumok.backends import head as module
from jumok.backends.torch import TorchBackend

OPS = TorchBackend()
head_loss, rdrop_loss = OPS.head_loss, OPS.rdrop_loss
sizes = st.integers(1, 9)


def leaf(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype).requires_grad_()


def smoothed(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Loss and nll at each place, by autograd's own means."""
    log_probs, real = logits.log_softmax(-1), target != 0
    nll = -log_probs.gather(1, target.long()[:, None])[:, 0]
    return ((1 - smoothing) * nll - smoothing * log_probs.mean(-1)) * real, nll * real


def rdrop(logits: Tensor, target: Tensor, smoothing: float, alpha: float) -> tuple[Tensor, Tensor]:
    one, two = logits.log_softmax(-1).chunk(2)
    terms = [smoothed(half, target, smoothing) for half in logits.chunk(2)]
    agree = F.kl_div(two, one, reduction="none", log_target=True)
    agree = agree + F.kl_div(one, two, reduction="none", log_target=True)
    loss = (terms[0][0] + terms[1][0]) / 2 + alpha / 4 * agree.sum(-1) * (target != 0)
    return loss, (terms[0][1] + terms[1][1]) / 2


@st.composite
def heads(draw: st.DrawFn, passes: int) -> tuple[Tensor, Tensor, Tensor]:
    M, D, V = draw(st.integers(1, 12)), draw(sizes), draw(st.integers(2, 70))
    torch.manual_seed(draw(st.integers(0, 99)))
    return leaf(passes * M, D), leaf(V, D), torch.randint(0, V, (M,), dtype=torch.int32)


@given(given_=heads(1), smoothing=st.sampled_from([0.0, 0.1, 1.0]))
def test_head_loss_and_its_gradients(given_: tuple[Tensor, Tensor, Tensor], smoothing: float) -> None:
    features, head, target = given_
    loss, nll = head_loss(features, head, target, smoothing)
    wanted, wanted_nll = (x.sum() for x in smoothed(features @ head.T, target, smoothing))
    torch.testing.assert_close((loss, nll), (wanted, wanted_nll))
    assert not nll.requires_grad
    check_gradients(loss, wanted, features, head)


@given(given_=heads(2), smoothing=st.sampled_from([0.0, 0.1]), alpha=st.sampled_from([0.0, 1.0, 5.0]))
def test_rdrop_loss_and_its_gradients(
    given_: tuple[Tensor, Tensor, Tensor], smoothing: float, alpha: float
) -> None:
    features, head, target = given_
    loss, nll = rdrop_loss(features, head, target, smoothing, alpha)
    wanted, wanted_nll = (x.sum() for x in rdrop(features @ head.T, target, smoothing, alpha))
    torch.testing.assert_close((loss, nll), (wanted, wanted_nll))
    assert not nll.requires_grad
    check_gradients(loss, wanted, features, head)


@given(given_=heads(2), alpha=st.sampled_from([None, 2.0]))
def test_a_bias_of_the_logits_and_its_gradient(
    given_: tuple[Tensor, Tensor, Tensor], alpha: float | None
) -> None:
    features, head, target = given_
    bias = leaf(len(head))
    if alpha is None:
        features = features[: len(target)].detach().requires_grad_()
        loss, nll = head_loss(features, head, target, 0.1, bias)
        wanted = smoothed(OPS.logits(features, head, bias), target, 0.1)
    else:
        loss, nll = rdrop_loss(features, head, target, 0.1, alpha, bias)
        wanted = rdrop(features @ head.T + bias, target, 0.1, alpha)
    torch.testing.assert_close((loss, nll), tuple(x.sum() for x in wanted))
    check_gradients(loss, wanted[0].sum(), features, head, bias)


def check_gradients(loss: Tensor, wanted: Tensor, *leaves: Tensor) -> None:
    """Of a multiple, so that what comes from above is seen to count."""
    found = torch.autograd.grad(loss * 3, leaves)
    torch.testing.assert_close(found, torch.autograd.grad(wanted * 3, leaves))


def test_closed_forms_pass_gradcheck() -> None:
    torch.manual_seed(0)
    features, head, target = leaf(6, 3), leaf(5, 3), torch.tensor([0, 4, 1])
    assert torch.autograd.gradcheck(lambda x, w: rdrop_loss(x, w, target, 0.1, 2.0)[0], (features, head))
    assert torch.autograd.gradcheck(lambda x, w: head_loss(x[:3], w, target, 0.1)[0], (features, head))


def test_passes_that_agree_cost_nothing_more() -> None:
    features, head, target = leaf(5, 4), leaf(9, 4), torch.tensor([1, 2, 3, 0, 8])
    once, _ = head_loss(features, head, target, 0.1)
    twice, _ = rdrop_loss(torch.cat((features, features)), head, target, 0.1, 100.0)
    torch.testing.assert_close(once, twice)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("passes", [1, 2])
def test_chunks_make_no_difference(dtype: torch.dtype, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    features, head = leaf(passes * 300, 8, dtype=dtype), leaf(70, 8, dtype=dtype)
    target = torch.randint(0, 70, (300,))

    def run() -> tuple[Tensor, ...]:
        if passes == 1:
            loss, nll = head_loss(features, head, target, 0.1)
        else:
            loss, nll = rdrop_loss(features, head, target, 0.1, 1.0)
        return loss.detach(), nll, *torch.autograd.grad(loss, (features, head))

    whole = run()
    monkeypatch.setattr(module, "CHUNK", 16_000)
    assert module.chunk_rows(300, passes, 70, features.element_size()) == 128
    parts = run()
    bound = 0.01 if dtype == torch.bfloat16 else 1e-12
    for one, other in zip(whole, parts, strict=True):
        assert one.dtype == other.dtype
        assert (one - other).double().norm() <= bound * one.double().norm()


@given(tokens=st.integers(1, 100_000), passes=st.integers(1, 2), vocabulary=st.integers(2, 70_000))
def test_chunks_are_about_equal_and_stay_below_the_limit(tokens: int, passes: int, vocabulary: int) -> None:
    rows = module.chunk_rows(tokens, passes, vocabulary, 2)
    assert rows == tokens or rows % 128 == 0
    assert (rows - 128) * passes * vocabulary * 2 <= module.CHUNK


def test_without_gradients_nothing_is_kept() -> None:
    features, head, target = leaf(5, 4), leaf(9, 4), torch.tensor([1, 2, 3, 0, 8])
    with torch.no_grad():
        loss, nll = head_loss(features, head, target, 0.1)
    assert not loss.requires_grad
    wanted, wanted_nll = (x.sum() for x in smoothed(features @ head.T, target, 0.1))
    torch.testing.assert_close((loss, nll), (wanted.detach(), wanted_nll.detach()))


def test_a_head_in_float32_takes_features_in_bfloat16() -> None:
    torch.manual_seed(0)
    features, head = leaf(40, 8, dtype=torch.bfloat16), leaf(30, 8, dtype=torch.float32)
    loss, _ = head_loss(features, head, torch.randint(0, 30, (40,)), 0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.dtype == torch.float32
    assert features.grad is not None
    assert features.grad.dtype == torch.bfloat16
    assert head.grad is not None
    assert head.grad.dtype == torch.float32
