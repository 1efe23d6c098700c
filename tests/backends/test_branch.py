"""A product beside the residual stream: values and gradients of the plain way, and those of the stream."""

from typing import Any

import pytest
import torch
from torch import Tensor

from jumok.backends.branch import Branch, plain_sums
from jumok.backends.products import torch_product
from jumok.backends.torch import TorchBackend


def leaves() -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(*shape).double().requires_grad_() for shape in ((5, 3), (7, 3), (7,))]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("uses", ["product", "stream", "both"])
def test_its_own_backward_is_the_plain_one(uses: str, *, relu: bool) -> None:
    found = []
    for fast in (False, True):
        x, weight, bias = given = leaves()
        if fast:
            y, after = Branch.apply(x, weight, bias, relu, plain_sums)  # type: ignore[no-untyped-call]
        else:
            product, after = TorchBackend().branch(x, weight, bias, relu=relu)
            y = product.values
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


def test_plain_sums_keep_what_the_relu_let_through() -> None:
    dy, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.0, 5.0], [6.0, 0.0]])
    kept, sums = plain_sums(dy, y)
    assert kept.tolist() == [[0, 2], [3, 0]]
    assert sums.tolist() == [3, 2]
    assert plain_sums(dy, None)[1].tolist() == [4, 6]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("frozen", ["weight", "bias", "x"])
def test_what_is_frozen_gets_no_gradient_and_costs_no_product(frozen: str, *, relu: bool) -> None:
    products = []

    def multiply(*factors: Tensor, **more: Any) -> Tensor:
        products.append(factors)
        return torch_product(*factors, **more)

    found = []
    for fast in (False, True):
        x, weight, bias = given = leaves()
        {"weight": weight, "bias": bias, "x": x}[frozen].requires_grad_(False)  # noqa: FBT003
        if fast:
            y, _ = Branch.apply(x, weight, bias, relu, plain_sums, multiply)  # type: ignore[no-untyped-call]
        else:
            product, _ = TorchBackend().branch(x, weight, bias, relu=relu)
            y = product.values
        y.sin().sum().backward()
        found.append([one.grad for one in given])
    for one, other in zip(*found, strict=True):
        if one is None:
            assert other is None
        else:
            torch.testing.assert_close(other, one, atol=1e-6, rtol=1e-6)
    assert len(products) == (2 if frozen == "weight" else 3)
