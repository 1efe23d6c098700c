"""The k best entries of each row's log-softmax, found without sorting the row and without asking the host.

A row is cut into chunks of consecutive ids. The k best entries lie in the k chunks with the highest peaks, so
one pass over the row finds the peaks and all that follows is small. Nothing here waits for the device or has
a shape that depends on numbers: it can be captured in a CUDA graph.

Letters: R rows, V vocabulary, E first ids that have a bias of their own, C chunks, k wanted.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

CHUNK = 64  # ids side by side that share one peak; the work is V / CHUNK + k CHUNK
LOW = 0xFFFF_FFFF


Peaks = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
"""Logits (R, V) -> scores (R, V), shift (R, 1), peaks (R, C): log P is scores - shift, a peak is a chunk's
best score."""


def k_best(logits: Tensor, k: int, bias: Tensor, closed: Tensor, row_peaks: Peaks) -> tuple[Tensor, Tensor]:
    """log P and ids (R, k) of each row's best entries, best first; of equals the lower id comes first.

        log P(v) = logits[v] - log sum_u exp(logits[u])

    What may be chosen changes none of these numbers: `bias` (R, E) is 0 or minus infinity at the first ids,
    and a row that is `closed` (R,) has none of the others. E is a multiple of CHUNK, or V. The logits (R, V)
    are float32, and are used up.
    """
    V, E, k = logits.shape[1], bias.shape[1], min(k, logits.shape[1])
    scores, shift, peaks = row_peaks(logits)  # (R, V), (R, 1), (R, C)
    scores[:, :E] += bias
    edge = -(-E // CHUNK)  # chunks that the bias touches
    peaks[:, :edge] = chunk_peaks(scores[:, : edge * CHUNK])
    peaks[:, edge:].masked_fill_(closed[:, None], -torch.inf)

    _, chunk = unpacked(ranks(peaks - shift).topk(min(k, peaks.shape[1])).values)  # (R, c)
    ids = (chunk[:, :, None] * CHUNK + torch.arange(CHUNK, device=chunk.device)).flatten(1)  # (R, c·CHUNK)
    near = scores.gather(1, ids.clamp(max=V - 1)) - shift
    near.masked_fill_((ids >= V) | (closed[:, None] & (ids >= E)), -torch.inf)
    found, places = unpacked(ranks(near, ids).topk(k).values)
    return found, places.clamp(max=V - 1)  # in a row without numbers it may be any


def twin_peaks(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`Peaks` in plain torch: it computes log P itself, so that its shift is 0."""
    scores = logits.log_softmax(dim=1)  # (R, V)
    return scores, scores.new_zeros(len(scores), 1), chunk_peaks(scores)


def chunk_peaks(scores: Tensor) -> Tensor:
    """The best score of each chunk: (R, V) -> (R, C)."""
    whole = F.pad(scores, (0, -scores.shape[1] % CHUNK), value=-torch.inf)
    return whole.view(len(whole), -1, CHUNK).amax(dim=2)


def ranks(scores: Tensor, ids: Tensor | None = None) -> Tensor:
    """Numbers of 64 bits in the order of (score, then lower id): no two of a row are equal."""
    bits = scores.view(torch.int32)
    ordered = bits ^ ((bits >> 31) & 0x7FFF_FFFF)  # floats as integers in the same order
    places = torch.arange(scores.shape[1], device=scores.device) if ids is None else ids
    return (ordered.long() << 32) | (LOW - places)


def unpacked(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The scores and ids that `ranks` packed."""
    ordered = (keys >> 32).int()
    bits = ordered ^ ((ordered >> 31) & 0x7FFF_FFFF)
    return bits.view(torch.float32), LOW - (keys & LOW)
