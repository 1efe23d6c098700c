"""The fp8 head's kernels against its twin; test_guard.py runs what needs no GPU in the interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, check_close, runs_kernels
from torch import Tensor

from jumok.backends import head as plain
from jumok.backends.eight import BACKWARD, LOGITS, RoundedHead, to_eight
from jumok.backends.triton.backend import TritonBackend


def bits(x: Tensor) -> Tensor:
    return x.view(torch.uint8).int()


@runs_kernels
@pytest.mark.parametrize(("R", "V", "room"), [(16, 192, 192), (48, 150, 192)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_and_the_gradient_as_it_lies_and_turned(R: int, V: int, room: int, smoothing: float) -> None:
    from jumok.backends.triton.head_eight import gradient_rows

    torch.manual_seed(R)
    logits = (3 * torch.randn(R, room)).to(DEVICE, torch.bfloat16)
    target = torch.randint(1, V, (R,), dtype=torch.int32).to(DEVICE)
    target[0] = 0
    exact = logits[:, :V].float()
    wanted = plain.smoothed_rows(exact, target, smoothing, grad=True)
    loss, nll, g8, turned = gradient_rows(logits, target, V, smoothing)
    for one, other in zip((loss, nll), wanted, strict=True):
        check_close(one, other, torch.float32)
    assert torch.equal(bits(turned), bits(g8).t())
    assert not bits(g8)[:, V:].any()
    assert not bits(g8)[0].any()
    steps = (bits(g8)[1:, :V] - bits(to_eight(exact[1:], LOGITS, BACKWARD))).abs()
    assert int(steps.max()) <= 1  # next to a tie the exponential decides
    assert float((steps > 0).float().mean()) < 0.01


def losses(kind: str, M: int, D: int, V: int) -> list[Tensor]:
    """The loss, the nll and the gradients of states and head."""
    torch.manual_seed(0)
    x = torch.randn(M, D, device=DEVICE).to(torch.bfloat16).requires_grad_()
    w = (2 * D**-0.5 * torch.randn(V, D, device=DEVICE)).to(torch.bfloat16).requires_grad_()
    target = torch.randint(0, V, (M,), device=DEVICE, dtype=torch.int32)
    if kind == "twin":
        loss, nll = RoundedHead.apply(x, w, target, 0.1)  # type: ignore[no-untyped-call]
    else:
        ops = TritonBackend(eight=kind == "fp8")
        loss, nll = ops.head_loss(x, w, target, 0.1)
        assert not ops.guard.off
    (0.5 * loss).backward()
    assert x.grad is not None
    assert w.grad is not None
    return [loss.detach(), nll, x.grad, w.grad]


@pytest.mark.parametrize(
    ("M", "D", "V"),
    [
        pytest.param(32, 32, 50, marks=runs_kernels),
        pytest.param(80, 48, 150, marks=pytest.mark.gpu),
        pytest.param(1024, 512, 32000, marks=pytest.mark.gpu),
    ],
)
@pytest.mark.parametrize("chunk", [2**12, 2**30], ids=["chunks", "at once"])
def test_values_and_gradients_are_nearer_the_twin_than_its_rounding_is_wide(
    M: int, D: int, V: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jumok.backends.triton import head_eight

    monkeypatch.setattr(head_eight, "CHUNK", max(chunk, 512 * V))
    found, twin, exact = (losses(kind, M, D, V) for kind in ("fp8", "twin", "bf16"))
    for one, other, true in zip(found, twin, exact, strict=True):
        size = true.float().norm()
        error, width = ((a.float() - b.float()).norm() / size for a, b in ((one, other), (other, true)))
        assert one.isfinite().all()
        assert error <= max(0.7 * width, 0.008)


@pytest.mark.parametrize("case", ["no gradient", "float32", "width", "bias"])
def test_only_a_head_that_learns_in_bf16_is_rounded(case: str) -> None:
    """Elsewhere the op is the plain one: no kernel of fp8 is called, so this runs anywhere."""
    torch.manual_seed(0)
    kind = torch.float32 if case == "float32" else torch.bfloat16
    D = 24 if case == "width" else 32
    x, w = (torch.randn(n, D).to(kind).requires_grad_(case != "no gradient") for n in (16, 50))
    target = torch.randint(1, 50, (16,))
    bias = torch.zeros(50, dtype=kind, requires_grad=True) if case == "bias" else None
    ops = TritonBackend(eight=True)
    ops.guard.off.add("head_loss")  # plain torch does the work of the other kernel
    loss, _ = ops.head_loss(x, w, target, 0.1, bias)
    logits = x.float() @ w.float().t()
    torch.testing.assert_close(
        loss.float(), plain.smoothed_rows(logits, target, 0.1, grad=False)[0].sum(), rtol=2e-3, atol=0.0
    )
    assert "fp8 head" not in ops.guard.off
