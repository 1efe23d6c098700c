"""The loss against the formula, against torch's own, and its gradient against autograd's."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from jumok.nn.loss import rdrop_token_loss, token_loss

sizes = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(2, 9))
smoothings = st.sampled_from([0.0, 0.1, 0.5])
seeds = st.integers(0, 999)


def random_batch(B: int, T: int, V: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, targets and a mask with at least one real token."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(B, T, V, generator=generator)
    target_out = torch.randint(V, (B, T), generator=generator)
    mask = torch.rand(B, T, generator=generator) < 0.7
    mask[0, 0] = True
    return logits, target_out, mask


def test_loss_by_hand() -> None:
    """Row 13: two tokens, p = 1/2 and p = 1/4 of the right one."""
    p = torch.tensor([[[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]])
    target_out, mask = torch.tensor([[0, 2]]), torch.ones(1, 2, dtype=torch.bool)
    loss, nll = token_loss(p.log(), target_out, mask, 0.0)
    assert loss.item() == nll.item() == pytest.approx(math.log(2) + math.log(4))
    smooth, nll = token_loss(p.log(), target_out, mask, 0.3)
    mean_log_p = (math.log(0.5) + 2 * math.log(0.25)) / 3
    by_hand = sum(-(0.7 * math.log(right) + 0.3 * mean_log_p) for right in (0.5, 0.25))
    assert smooth.item() == pytest.approx(by_hand)
    assert nll.item() == pytest.approx(math.log(8))


def test_loss_of_the_notes_is_the_mean_of_minus_log_p() -> None:
    """L = -1/N sum_i sum_c y_ic log(p_ic), with one-hot y; our sum over N tokens divided by N."""
    logits, target_out, _ = random_batch(2, 3, 5, seed=0)
    mask = torch.ones(2, 3, dtype=torch.bool)
    y = F.one_hot(target_out, 5).float()
    note = -(y * logits.softmax(dim=-1).log()).sum() / 6
    torch.testing.assert_close(token_loss(logits, target_out, mask, 0.0)[0] / 6, note)


@settings(max_examples=50, deadline=None)
@given(size=sizes, smoothing=smoothings, seed=seeds)
def test_loss_equals_torchs_cross_entropy(size: tuple[int, int, int], smoothing: float, seed: int) -> None:
    logits, target_out, mask = random_batch(*size, seed)
    loss, nll = token_loss(logits, target_out, mask, smoothing)
    theirs = F.cross_entropy(logits[mask], target_out[mask], reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss, theirs, atol=1e-4, rtol=1e-5)
    plain = F.cross_entropy(logits[mask], target_out[mask], reduction="sum")
    torch.testing.assert_close(nll, plain, atol=1e-4, rtol=1e-5)


@settings(max_examples=50, deadline=None)
@given(size=sizes, smoothing=smoothings, seed=seeds, scale=st.floats(0.01, 10))
def test_gradient_equals_autograds(
    size: tuple[int, int, int], smoothing: float, seed: int, scale: float
) -> None:
    logits, target_out, mask = random_batch(*size, seed)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    (token_loss(ours, target_out, mask, smoothing)[0] * scale).backward()
    reference = F.cross_entropy(theirs[mask], target_out[mask], reduction="sum", label_smoothing=smoothing)
    (reference * scale).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(size=sizes, smoothing=smoothings, seed=seeds, extra=st.integers(1, 4))
def test_padding_adds_nothing(size: tuple[int, int, int], smoothing: float, seed: int, extra: int) -> None:
    logits, target_out, mask = random_batch(*size, seed)
    longer = F.pad(logits, (0, 0, 0, extra), value=7.0).requires_grad_()
    padded = token_loss(
        longer, F.pad(target_out, (0, extra)), F.pad(mask, (0, extra), value=False), smoothing
    )
    torch.testing.assert_close(padded, token_loss(logits, target_out, mask, smoothing))
    padded[0].backward()
    assert not longer.grad[:, size[1] :].any()
    assert not longer.grad[:, : size[1]][~mask].any()


@settings(max_examples=20, deadline=None)
@given(size=sizes, smoothing=smoothings, seed=seeds)
def test_row_order_does_not_matter(size: tuple[int, int, int], smoothing: float, seed: int) -> None:
    logits, target_out, mask = random_batch(*size, seed)
    straight = token_loss(logits, target_out, mask, smoothing)[0]
    flipped = token_loss(logits.flip(0), target_out.flip(0), mask.flip(0), smoothing)[0]
    torch.testing.assert_close(straight, flipped)


def test_the_second_number_carries_no_gradient() -> None:
    logits, target_out, mask = random_batch(2, 3, 4, seed=1)
    loss, nll = token_loss(logits.requires_grad_(), target_out, mask, 0.1)
    assert loss.requires_grad
    assert not nll.requires_grad


def test_half_precision_logits_are_summed_in_full_precision() -> None:
    logits, target_out, mask = random_batch(2, 3, 4, seed=1)
    half = logits.bfloat16().requires_grad_()
    loss, _ = token_loss(half, target_out, mask, 0.1)
    assert loss.dtype == torch.float32
    loss.backward()
    assert half.grad.dtype == torch.bfloat16


def test_huge_logits_stay_finite() -> None:
    logits = torch.tensor([[[1e4, 0.0], [0.0, 1e4]]], requires_grad=True)
    loss, _ = token_loss(logits, torch.tensor([[0, 0]]), torch.ones(1, 2, dtype=torch.bool), 0.1)
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


def test_a_loss_has_all_its_digits_under_autocast() -> None:
    """Products of vectors would be bf16 there, and 5.64 would be 5.625."""
    torch.manual_seed(0)
    logits, target = torch.randn(3, 7, 11), torch.randint(0, 11, (3, 7))
    mask = torch.ones(3, 7, dtype=torch.bool)
    wanted = token_loss(logits, target, mask, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        found = token_loss(logits, target, mask, 0.1)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, atol=0, rtol=0)


@settings(max_examples=30, deadline=None)
@given(size=sizes, smoothing=smoothings, seed=seeds, alpha=st.sampled_from([0.0, 1.0, 5.0]))
def test_rdrop_is_half_of_both_losses_and_a_quarter_of_both_divergences(
    size: tuple[int, int, int], smoothing: float, seed: int, alpha: float
) -> None:
    (one, target_out, mask), (two, _, _) = random_batch(*size, seed), random_batch(*size, seed + 1)
    loss, nll = rdrop_token_loss(one, two, target_out, mask, smoothing, alpha)
    losses = [token_loss(x, target_out, mask, smoothing) for x in (one, two)]
    p, q = (x[mask].log_softmax(-1) for x in (one, two))
    apart = F.kl_div(p, q, reduction="sum", log_target=True) + F.kl_div(
        q, p, reduction="sum", log_target=True
    )
    wanted = (losses[0][0] + losses[1][0]) / 2 + alpha / 4 * apart
    torch.testing.assert_close(loss, wanted, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(nll, (losses[0][1] + losses[1][1]) / 2)
