"""The kernel behind linear & relu against plain torch; test_dropout.py runs this file in the interpreter."""

import pytest
import torch
from tests.nn.kernels.interpreter import TOLERANCE, check_close, leaf, runs_kernels

from jumok.nn import kernels


@runs_kernels
class TestKernel:
    @pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
    @pytest.mark.parametrize(("rows", "inner"), [(1, 8), (33, 300), (50, 512)])
    def test_values_and_gradients_are_the_twins(self, rows: int, inner: int, dtype: torch.dtype) -> None:
        from jumok.nn.kernels.relu import linear_relu

        torch.manual_seed(0)
        given = [leaf(rows, 24, dtype=dtype), leaf(inner, 24, dtype=dtype), leaf(inner, dtype=dtype)]
        h = linear_relu(*given)
        assert h.dtype == dtype
        x, weight, bias = exact = [one.detach().double().requires_grad_() for one in given]
        wanted = (x @ weight.T + bias) * (h > 0)
        d_h = torch.randn_like(h)
        h.backward(d_h)  # type: ignore[no-untyped-call]
        wanted.backward(d_h.double())  # type: ignore[no-untyped-call]
        check_close(h, wanted, dtype)
        for one, other in zip(given, exact, strict=True):
            assert other.grad is not None
            check_close(one.grad, other.grad, dtype)

    def test_plain_torch_gives_the_gradients_of_a_kernel_that_fails(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from jumok.nn.kernels import relu

        monkeypatch.setattr(kernels, "_off", set())
        monkeypatch.setattr(relu, "TILE", None)
        self.test_values_and_gradients_are_the_twins(33, 300, torch.bfloat16)
        assert kernels._off

    def test_gradients_come_in_the_types_of_the_parameters(self) -> None:
        from jumok.nn.kernels.relu import linear_relu

        x, weight, bias = leaf(9, 8, dtype=torch.bfloat16), leaf(16, 8), leaf(16)
        linear_relu(x, weight, bias).sum().backward()  # type: ignore[no-untyped-call]
        for one in (x, weight, bias):
            assert one.grad is not None
            assert one.grad.dtype == one.dtype
