"""A product beside the residual stream: values and gradients of the plain way, and those of the stream."""

from collections.abc import Callable

import pytest
import torch
from jumok.nn.branch import Branch, branch, masked, summed
from torch import Tensor

from jumok.nn import branch as module

Way = Callable[[Tensor, Tensor, Tensor, bool], tuple[Tensor, Tensor]]


def plain(x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001
    return branch(x, weight, bias, relu=relu)


def fused(x: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> tuple[Tensor, Tensor]:  # noqa: FBT001
    y, x = Branch.apply(x, weight, bias, relu)  # type: ignore[no-untyped-call]
    return y, x


def leaves() -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(*shape).double().requires_grad_() for shape in ((5, 3), (7, 3), (7,))]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("uses", ["product", "stream", "both"])
def test_what_runs_on_a_gpu_equals_the_plain_way(
    relu: bool,  # noqa: FBT001
    uses: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same function, with plain torch in the place of its kernels."""
    monkeypatch.setattr(module, "guarded", lambda _name, _fast, slow: slow())
    found = []
    for way in (plain, fused):
        x, weight, bias = given = leaves()
        y, after = way(x, weight, bias, relu)
        assert torch.equal(after, x)
        parts = {"product": [y.sin().sum()], "stream": [after.cos().sum()]}
        parts["both"] = parts["product"] + parts["stream"]
        torch.stack(parts[uses]).sum().backward()  # type: ignore[no-untyped-call]
        found.append([y.detach(), *(one.grad for one in given)])
    for one, other in zip(*found, strict=True):
        if one is None:
            assert other is None
        else:
            torch.testing.assert_close(other, one, atol=1e-6, rtol=1e-6)


def test_masked_keeps_what_the_relu_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "guarded", lambda _name, _fast, slow: slow())
    dy, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.0, 5.0], [6.0, 0.0]])
    kept, sums = masked(dy.clone(), y)  # it may write where it reads
    assert kept.tolist() == [[0, 2], [3, 0]]
    assert sums.tolist() == [3, 2]
    assert summed(dy).tolist() == [4, 6]
