"""Answers drawn at random: temperature, top-k, top-p.

Each sentence has its own random numbers, made from the seed and its own source ids. So what is drawn for it
never depends on its neighbours, on its place in the batch or on the batch size.
"""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from jumok.decoding.filters import LiveRows
from jumok.decoding.greedy import Pick

HEAD = 128
"""Most probable tokens that a draw looks at first: the whole vocabulary is seldom worth sorting."""


def keep_top_k(probs: Tensor, k: int) -> Tensor:
    """Zero but for the k largest; `probs` (R, V) fall along each row. 0 keeps all."""
    return probs if k == 0 else probs.masked_fill(torch.arange(probs.shape[1], device=probs.device) >= k, 0)


def keep_top_p(probs: Tensor, p: float) -> Tensor:
    """Zero but for the shortest beginning of each row whose sum reaches p; `probs` (R, V) fall along a row.

    Nucleus sampling (Holtzman et al. 2020). The first is always kept; 1 keeps all.
    """
    before = probs.cumsum(dim=1) - probs  # (R, V), the sum of all larger ones
    kept = before < p * probs.sum(dim=1, keepdim=True)
    kept[:, 0] = True
    return probs if p == 1 else probs.masked_fill(~kept, 0)


def draw(
    log_probs: Tensor, uniform: Tensor, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> Tensor:
    """One token per row, (R, V) -> (R,): where the distribution function reaches `uniform` (R,) in [0, 1).

    p(v) ~ P(v) ** (1 / temperature), cut to the top k, then to the top p
    """
    scaled = log_probs.double() / temperature
    if top_k or top_p < 1 or scaled.shape[1] <= HEAD:
        return draw_sorted(scaled, uniform, top_k=top_k, top_p=top_p)
    probs = scaled.softmax(dim=1)
    head, ids = probs.topk(HEAD)  # (R, HEAD), nearly always all that is needed
    place = (head.cumsum(dim=1) <= uniform[:, None] * probs.sum(dim=1, keepdim=True)).sum(dim=1)  # (R,)
    token = ids.gather(1, place.clamp(max=HEAD - 1)[:, None]).squeeze(1)
    beyond = (place == HEAD).nonzero().squeeze(1)
    if len(beyond):
        token[beyond] = draw_sorted(scaled[beyond], uniform[beyond])
    return token


def draw_sorted(scaled: Tensor, uniform: Tensor, *, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """`draw` in full: the vocabulary in order, most probable first; `scaled` are log P / temperature."""
    ordered, ids = scaled.sort(dim=1, descending=True, stable=True)
    probs = keep_top_p(keep_top_k(ordered.softmax(dim=1), top_k), top_p)
    cumulative = probs.cumsum(dim=1)  # (R, V)
    place = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(dim=1)  # (R,)
    place = place.clamp(max=ids.shape[1] - 1)
    return ids.gather(1, place[:, None]).squeeze(1)


def uniforms(source: Sequence[int], length: int, *, seed: int, draw: int) -> Tensor:
    """`length` random numbers in [0, 1) for the given draw from one source sentence; always the same ones."""
    key = f"{seed}:{draw}:{','.join(map(str, source))}"
    digest = hashlib.sha256(key.encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return torch.rand(length, generator=generator, dtype=torch.float64)


def sampler(numbers: Sequence[Tensor], *, temperature: float, top_k: int, top_p: float) -> Pick:
    """A way for `GreedySearch` to pick: sentence i uses `numbers[i]`, one at each step."""
    table = torch.nn.utils.rnn.pad_sequence(list(numbers), batch_first=True)  # (B, limit)

    def pick(allowed: Tensor, rows: LiveRows) -> Tensor:
        uniform = table.to(allowed.device)[rows.sentence, rows.tokens.shape[1]]  # (R,)
        return draw(allowed, uniform, temperature=temperature, top_k=top_k, top_p=top_p)

    return pick
