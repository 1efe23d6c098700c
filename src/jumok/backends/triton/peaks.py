"""What `jumok.backends.best` needs of each row of logits, in one read: log sum exp, and each chunk's peak.

    shift = m + log sum_v exp(x_v - m),   m = max_v x_v,   peak_c = max_{v in c} x_v

Axis letters: R rows, V vocabulary, C chunks.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

BLOCK, WARPS = 4096, 8  # numbers of a row that are taken at once. May be exchanged before the first call


@triton.jit
def peaks_kernel(logits, shift, peaks, V, C, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    """One row a program. The sum is kept for the highest number so far (Milakov & Gimelshein 2018)."""
    row = tl.program_id(0).to(tl.int64)
    top = tl.full((), -float("inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    for first in range(0, V, BLOCK):
        ids = first + tl.arange(0, BLOCK)
        x = tl.load(logits + row * V + ids, mask=ids < V, other=-float("inf"))
        high = tl.max(tl.reshape(x, (BLOCK // CHUNK, CHUNK)), 1)
        chunk = first // CHUNK + tl.arange(0, BLOCK // CHUNK)
        tl.store(peaks + row * C + chunk, high, mask=chunk < C)
        higher = tl.maximum(top, tl.max(high, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        top = higher
    tl.store(shift + row, top + tl.log(total))


def find_peaks(logits: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
    """logits (R, V) in float32, rows end to end -> shift (R, 1), peaks (R, C)."""
    R, V = logits.shape
    C = triton.cdiv(V, chunk)
    shift, peaks = logits.new_empty(R, 1), logits.new_empty(R, C)
    peaks_kernel[(R,)](logits, shift, peaks, V, C, BLOCK, chunk, num_warps=WARPS)
    return shift, peaks
