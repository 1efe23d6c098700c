"""The kernel behind the gradient of a bias against plain torch; test_guard.py has it interpreted."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, TOLERANCE, check_close, runs_kernels


@runs_kernels
class TestKernel:
    @pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
    @pytest.mark.parametrize(("rows", "width"), [(1, 8), (33, 300), (50, 512)])
    def test_sums_over_rows(self, rows: int, width: int, dtype: torch.dtype) -> None:
        from jumok.backends.triton.columns import column_sums

        torch.manual_seed(0)
        dy = torch.randn(rows, width).to(DEVICE, dtype)
        sums = column_sums(dy)
        assert sums.dtype == torch.float32
        check_close(sums, dy.double().sum(0), dtype)

    @pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
    @pytest.mark.parametrize(("rows", "width"), [(1, 8), (33, 300), (50, 512)])
    def test_masks_and_sums(self, rows: int, width: int, dtype: torch.dtype) -> None:
        from jumok.backends.triton.columns import mask_and_sum

        torch.manual_seed(0)
        dy, h = (torch.randn(rows, width).to(DEVICE, dtype) for _ in range(2))
        dh, sums = mask_and_sum(dy, h.relu())
        wanted = dy.double() * (h > 0)
        check_close(dh, wanted, dtype)
        check_close(sums, wanted.sum(0), dtype)
