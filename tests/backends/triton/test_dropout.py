"""Dropout's mask: its share, its independence, the same in backward."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, leaf, runs_kernels


def keeps(rows: int, columns: int, share: float) -> torch.Tensor:
    from jumok.backends.triton.dropout import drop

    return drop(torch.ones(rows, columns, device=DEVICE), share) != 0


@pytest.fixture
def large_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter runs one program after another, and takes its time to start each."""
    from jumok.backends.triton import dropout

    monkeypatch.setattr(dropout, "TILE", 2**15)


@runs_kernels
@pytest.mark.usefixtures("large_tiles")
class TestKernel:
    @pytest.mark.parametrize("share", [0.1, 0.5])
    def test_the_share_falls_out_in_every_row_and_column(self, share: float) -> None:
        torch.manual_seed(0)
        dropped = (~keeps(300, 500, share)).double()
        for axis, count in ((None, 150_000), (0, 300), (1, 500)):
            means = dropped.mean() if axis is None else dropped.mean(axis)
            deviation = (share * (1 - share) / count) ** 0.5
            assert (means - share).abs().max() < 5 * deviation

    def test_what_stays_is_scaled_up(self) -> None:
        from jumok.backends.triton.dropout import drop

        x = leaf(5, 7, 33)
        y = drop(x, 0.25)
        assert y.shape == x.shape
        torch.testing.assert_close(y[y != 0], x[y != 0] / 0.75)

    def test_backward_has_the_same_mask(self) -> None:
        from jumok.backends.triton.dropout import drop

        x = leaf(40, 1100)
        y = drop(x, 0.3)
        y.backward(torch.full_like(y, 2.0))  # type: ignore[no-untyped-call]
        assert x.grad is not None
        torch.testing.assert_close(x.grad, torch.where(y != 0, 2 / 0.7, 0.0))

    def test_each_call_has_its_own_mask_and_a_seed_gives_it_again(self) -> None:
        torch.manual_seed(3)
        first, second = keeps(100, 300, 0.5), keeps(100, 300, 0.5)
        torch.manual_seed(3)
        assert torch.equal(first, keeps(100, 300, 0.5))
        assert (first == second).double().mean() == pytest.approx(0.5, abs=0.015)

    def test_neighbours_know_nothing_of_each_other(self) -> None:
        torch.manual_seed(1)
        kept = keeps(200, 512, 0.5).double() * 2 - 1  # -1 or 1
        bound = 5 / kept.numel() ** 0.5
        for shift in (1, 2, 3, 8, 16, 64, 256):
            for axis in (0, 1):
                assert (kept * kept.roll(shift, axis)).mean().abs() < bound
        assert (kept @ kept.mT / 512).fill_diagonal_(0).abs().max() < 6 / 512**0.5
        assert (kept.mT @ kept / 200).fill_diagonal_(0).abs().max() < 6 / 200**0.5
