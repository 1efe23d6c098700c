"""The head's kernels against their plain torch twins; test_guard.py runs this file in the interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, check_close, runs_kernels
from torch import Tensor

from jumok.backends import head as plain


@pytest.fixture(params=[32768, 64], ids=["whole", "blocks"])
def row_lengths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows at once, or in blocks of 256 numbers."""
    from jumok.backends.triton import head

    monkeypatch.setattr(head, "WHOLE", request.param)
    monkeypatch.setattr(head, "BLOCK", 256)


def draw(rows: int, V: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Rows further apart than V, with NaN between them; the first target is not learned."""
    room = torch.full((rows, -(-V // 64) * 64 + 64), torch.nan, device=DEVICE, dtype=dtype)
    room[:, :V] = (3 * torch.randn(rows, V)).to(dtype)
    target = torch.randint(1, V, (rows,), dtype=torch.int32)
    target[0] = 0
    return room[:, :V], target.to(DEVICE)


@runs_kernels
@pytest.mark.parametrize(("V", "dtype"), [(7, torch.float32), (500, torch.float32), (500, torch.bfloat16)])
class TestKernels:
    @pytest.mark.usefixtures("row_lengths")
    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_smoothed_rows(self, V: int, dtype: torch.dtype, smoothing: float) -> None:
        from jumok.backends.triton.head import smoothed_rows

        torch.manual_seed(V)
        logits, target = draw(4, V, dtype)
        exact = logits.double()
        wanted = plain.smoothed_rows(exact, target, smoothing, grad=True)
        before = logits.clone()
        for grad in (False, True):
            found = smoothed_rows(logits, target, smoothing, grad=grad)
            for one, other in zip(found, wanted, strict=True):
                check_close(one, other, torch.float32)
            assert grad or torch.equal(logits, before)
        check_close(logits, exact, dtype)
        assert not logits[0].any()

    @pytest.mark.parametrize("alpha", [0.0, 5.0])
    def test_rdrop_rows(
        self, V: int, dtype: torch.dtype, alpha: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from jumok.backends.triton import head

        monkeypatch.setattr(head, "BLOCK", 256)
        torch.manual_seed(V)
        logits, target = draw(6, V, dtype)
        target = target[:3]
        exact = logits.double()
        wanted = plain.rdrop_rows(exact, target, 0.1, alpha, grad=True)
        before = logits.clone()
        for grad in (False, True):
            found = head.rdrop_rows(logits, target, 0.1, alpha, grad=grad)
            for one, other in zip(found, wanted, strict=True):
                check_close(one, other, torch.float32)
            assert grad or torch.equal(logits, before)
        check_close(logits, exact, dtype)
        assert not logits[[0, 3]].any()


@runs_kernels
def test_a_thread_has_a_few_numbers_and_a_program_at_most_a_thousand_threads() -> None:
    from jumok.backends.triton.head import warps_of

    assert [warps_of(block, 32) for block in (8, 4096, 8192, 16384, 32768, 65536)] == [4, 4, 8, 16, 32, 32]
