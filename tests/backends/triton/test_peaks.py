"""The kernel against torch, on a GPU, or without one in Triton's interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, runs_kernels


@runs_kernels
@pytest.mark.parametrize("vocabulary", [300, 4096, 9001])
def test_every_chunk_has_its_peak_and_every_row_its_sum(vocabulary: int) -> None:
    from jumok.backends.triton.peaks import find_peaks

    logits = torch.randn(5, vocabulary, generator=torch.Generator().manual_seed(0)).to(DEVICE) * 9
    logits[1] += 200
    logits[2, 7] = torch.nan
    shift, peaks = find_peaks(logits, 64)
    torch.testing.assert_close(shift[:, 0], logits.logsumexp(dim=1), equal_nan=True)
    for row in (0, 1, 3, 4):
        assert peaks[row].tolist() == [chunk.max().item() for chunk in logits[row].split(64)]
