"""Numbers of eight bits: what rounding keeps, and the network that computes with them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from jumok.backends.eight import (
    BACKWARD,
    FORWARD,
    GRADIENTS,
    RoundedHead,
    RoundedNetwork,
    rounded,
    to_eight,
)
from jumok.backends.head import smoothed_rows

KINDS = [(FORWARD, 3, -6), (BACKWARD, 2, -14)]  # bits after the point, exponent of the smallest normal number


@pytest.mark.parametrize(("dtype", "bits", "least"), KINDS)
@given(x=st.floats(-1e9, 1e9, width=32), power=st.integers(0, 8))
def test_a_number_moves_by_half_a_step_or_to_the_largest(
    x: float, power: int, dtype: torch.dtype, bits: int, least: int
) -> None:
    scale, most = 2.0**power, torch.finfo(dtype).max
    found = float(rounded(torch.tensor(x), scale, dtype))
    if abs(x) * scale > most:
        assert found == (most if x > 0 else -most) / scale
    else:
        step = 2.0 ** (max(torch.tensor(abs(x) * scale).frexp().exponent.item() - 1, least) - bits) / scale
        assert abs(found - x) <= step / 2


@pytest.mark.parametrize("dtype", [FORWARD, BACKWARD])
def test_what_is_no_number_stays_so_and_infinity_is_the_largest(dtype: torch.dtype) -> None:
    nan, large, small = to_eight(torch.tensor([torch.nan, torch.inf, -torch.inf]), 4.0, dtype).float()
    assert nan.isnan()
    assert large == -small == torch.finfo(dtype).max


def test_the_network_is_the_plain_one_up_to_its_rounding() -> None:
    torch.manual_seed(0)
    shapes = [(40, 32), (64, 32), (64,), (32, 64)]
    sizes = [1.0, 0.2, 0.1, 0.2]
    given = [(size * torch.randn(*shape)).requires_grad_() for shape, size in zip(shapes, sizes, strict=True)]
    x, w1, b1, w2 = given
    dy = 0.05 * torch.randn(40, 32)
    y: torch.Tensor = RoundedNetwork.apply(*given)  # type: ignore[no-untyped-call]
    found = [y.detach(), *torch.autograd.grad(y, given, dy)]
    plain = F.linear(F.linear(x, w1, b1).relu(), w2)
    wanted = [plain.detach(), *torch.autograd.grad(plain, given, dy)]
    for one, other in zip(found, wanted, strict=True):
        error = float((one - other).norm() / other.norm())
        assert 0.001 < error < 0.25  # it is rounded, and no more than that


def test_gradients_of_numbers_on_the_grid_are_exact() -> None:
    """Where nothing has to be rounded, this is the plain network: signs, sums and the mask are right."""
    torch.manual_seed(1)
    grid = torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])
    shapes = [(6, 2), (3, 2), (3,), (2, 3)]
    given = [grid[torch.randint(5, shape)].requires_grad_() for shape in shapes]
    dy = grid[torch.randint(5, (6, 2))] / GRADIENTS
    y: torch.Tensor = RoundedNetwork.apply(*given)  # type: ignore[no-untyped-call]
    x, w1, b1, w2 = given
    plain = F.linear(F.linear(x, w1, b1).relu(), w2)
    torch.testing.assert_close(y, plain)
    for one, other in zip(
        torch.autograd.grad(y, given, dy), torch.autograd.grad(plain, given, dy), strict=True
    ):
        torch.testing.assert_close(one, other)


def head_loss(x: torch.Tensor, w: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Loss, nll, and the gradients of the loss, without rounding."""
    logits = (x @ w.t()).detach()
    loss, nll = smoothed_rows(logits, target, 0.1, grad=True)
    return loss.sum(), nll.sum(), logits @ w, logits.t() @ x


def test_the_head_is_the_plain_one_up_to_its_rounding() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(40, 32).requires_grad_(), (0.3 * torch.randn(70, 32)).requires_grad_()
    target = torch.randint(0, 70, (40,))
    target[:3] = 0  # unlearned
    loss, nll = RoundedHead.apply(x, w, target, 0.1)  # type: ignore[no-untyped-call]
    found = (loss.detach(), nll, *torch.autograd.grad(loss, (x, w)))
    for one, other in zip(found, head_loss(x.detach(), w.detach(), target), strict=True):
        error = float((one - other).norm() / other.norm())
        assert 1e-6 < error < 0.1  # it is rounded, and no more than that


def test_a_head_of_numbers_on_the_grid_has_the_exact_loss() -> None:
    """Only the gradient of the logits has to be rounded: by an eighth of itself at the most."""
    torch.manual_seed(1)
    grid = torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])
    x, w = (grid[torch.randint(5, shape)].requires_grad_() for shape in ((6, 4), (9, 4)))
    target = torch.tensor([0, 1, 2, 3, 8, 5])
    loss, nll = RoundedHead.apply(x, w, target, 0.1)  # type: ignore[no-untyped-call]
    wanted = head_loss(x.detach(), w.detach(), target)
    torch.testing.assert_close((loss.detach(), nll), wanted[:2])
    dx, dw = torch.autograd.grad(loss, (x, w))
    assert not dx[0].any()  # nothing is to be predicted there
    for one, other in ((dx, wanted[2]), (dw, wanted[3])):
        assert (one - other).norm() <= other.norm() / 8


def network(x: float, w1: float, w2: float) -> float:
    """What comes out where everything has one row and one column."""
    rows = [torch.tensor([[number]]) for number in (x, w1, w2)]
    return float(RoundedNetwork.apply(*rows[:2], torch.zeros(1), rows[2]))  # type: ignore[no-untyped-call]


def test_the_largest_numbers_that_fit_are_exact_and_none_beyond_them() -> None:
    """States up to 56, hidden numbers up to 112, weights up to 7."""
    assert network(56, 1, 1) == network(112, 1, 1) == 56
    assert network(56, 2, 1) == network(56, 4, 1) == 112
    assert network(1, 7, 1) == network(1, 14, 1) == 7
    assert network(1, 1, 7) == network(1, 1, 14) == 7


def test_the_largest_gradient_that_fits_is_exact_and_none_beyond_it() -> None:
    for dy, wanted in ((224.0, 224.0), (448.0, 224.0), (-300.0, -224.0)):
        x = torch.tensor([[1.0]], requires_grad=True)
        y = RoundedNetwork.apply(x, torch.ones(1, 1), torch.zeros(1), torch.ones(1, 1))  # type: ignore[no-untyped-call]
        assert float(torch.autograd.grad(y, x, torch.tensor([[dy]]))[0]) == wanted
