"""Products of fp8 matrices against torch's in float64; test_guard.py runs this file in the interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, INTERPRETED, runs_kernels
from torch import Tensor

from jumok.backends.eight import BACKWARD, FORWARD


@pytest.fixture(autouse=True)
def tiles_for_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    if INTERPRETED:
        from jumok.backends.triton import products

        monkeypatch.setattr(products, "TILE", products.ProductTile(32, 32, 32))


def drawn(*shape: int, dtype: torch.dtype = FORWARD) -> Tensor:
    return torch.randn(*shape).to(DEVICE).to(dtype)


def check_steps(found: Tensor, wanted: Tensor) -> None:
    """Equal up to a step of the type: Triton's interpreter rounds towards zero."""
    step = 2.0 ** (-7 if found.dtype == torch.bfloat16 else -2 if found.dtype == BACKWARD else -3)
    torch.testing.assert_close(found.double(), wanted, rtol=step, atol=0.02)


@runs_kernels
@pytest.mark.parametrize(("M", "N", "K"), [(48, 80, 96), (16, 48, 16)])
class TestKernel:
    def test_a_product_is_torchs(self, M: int, N: int, K: int) -> None:
        from jumok.backends.triton.products import multiply

        torch.manual_seed(0)
        a, b = drawn(M, K, dtype=BACKWARD), drawn(N, K)
        y = torch.full((M, N), torch.nan, dtype=torch.bfloat16, device=DEVICE)
        found = multiply(a, b, y, alpha=0.5)
        assert found is y
        check_steps(y, a.double() @ b.double().t() * 0.5)

    def test_relu_and_the_turned_result(self, M: int, N: int, K: int) -> None:
        from jumok.backends.triton.products import multiply

        torch.manual_seed(0)
        a, b, bias = drawn(M, K), drawn(N, K), torch.randn(N).to(DEVICE, torch.bfloat16)
        y, turned = (torch.empty(shape, dtype=FORWARD, device=DEVICE) for shape in ((M, N), (N, M)))
        multiply(a, b, y, alpha=0.1, scale=4.0, bias=bias, turned=turned)
        check_steps(y, (a.double() @ b.double().t() * 0.1 + bias.double()).relu() * 4)
        assert torch.equal(turned.float(), y.float().t())

    def test_a_mask(self, M: int, N: int, K: int) -> None:
        from jumok.backends.triton.products import multiply

        torch.manual_seed(0)
        a, b, mask = drawn(M, K, dtype=BACKWARD), drawn(N, K), torch.randn(M, N).relu().to(DEVICE).to(FORWARD)
        y, turned = (torch.empty(shape, dtype=BACKWARD, device=DEVICE) for shape in ((M, N), (N, M)))
        multiply(a, b, y, alpha=0.1, scale=4.0, mask=mask, turned=turned)
        assert 0 < int((mask.float() == 0).sum()) < M * N
        check_steps(y, (a.double() @ b.double().t()) * 0.4 * (mask.double() != 0))
        assert torch.equal(turned.float(), y.float().t())

    def test_it_adds_in_place(self, M: int, N: int, K: int) -> None:
        from jumok.backends.triton.products import multiply

        torch.manual_seed(0)
        a, b = drawn(M, K, dtype=BACKWARD), drawn(N, K)
        y = torch.randn(M, N).to(DEVICE, torch.bfloat16)
        wanted = y.double() + a.double() @ b.double().t() * 0.5
        multiply(a, b, y, alpha=0.5, add=True)
        check_steps(y, wanted)
