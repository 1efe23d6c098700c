"""The head of a trained model that aligns best: whose largest weights agree most with the IBM models' links.

A Transformer that no one taught to align has a head that does it well all the same (Garg et al. 2019,
section 4.1), but only its data can say which.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jumok.config import AlignHead
from jumok.data.aligner import Aligner, with_links
from jumok.data.batch import Batch, lay_rows
from jumok.data.sampler import epoch_batches
from jumok.data.store import Store
from jumok.decoding.batched import device_of
from jumok.models.interface import Seq2Seq
from jumok.training.step import sides_of

PAIRS, TOKENS = 300, 2048  # pairs that are looked at, and how many tokens of them together


@dataclass(frozen=True)
class HeadAgreement:
    """A head, and how often it looked where the links are."""

    head: AlignHead
    share: float
    """Of the target tokens that have a link."""
    mean: float
    """The same for the mean of the last layer's heads."""

    def to_dict(self) -> dict[str, float | int | None]:
        """Plain values, as a model folder has them."""
        known = {"layer": self.head.layer, "head": self.head.head}
        return {**known, "agreement": round(self.share, 4), "mean_agreement": round(self.mean, 4)}


def best_head(model: Seq2Seq, store: Store, aligner: Aligner) -> HeadAgreement | None:
    """The best head, or the best mean of a layer's heads, on pairs of a store.

    None where the model has no attention, or there are no links.
    The model is one that rests: in `eval` mode.
    """
    rows = np.linspace(0, len(store) - 1, min(len(store), PAIRS)).round().astype(np.int64)
    lengths = store.source_lengths[rows], store.target_lengths[rows]
    right: Tensor | None = None
    links = 0
    for piece in epoch_batches(*lengths, budget=TOKENS, seed=0, epoch=0):
        batch = with_links(lay_rows(store, rows[piece]), aligner).to(device_of(model))
        found, count = agreements(model, batch)
        right = found if right is None else right + found
        links += count
    if right is None or not right.numel() or not links:
        return None
    shares = right.double() / links  # (L, H + 1)
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    chosen = AlignHead(layer, None if head == shares.shape[1] - 1 else head)
    return HeadAgreement(chosen, float(shares[layer, head]), float(shares[-1, -1]))


@torch.inference_mode()
def agreements(model: Seq2Seq, batch: Batch) -> tuple[Tensor, int]:
    """How often each head, and the mean of each layer's (L, H + 1), looked where the links are; and links."""
    source, target_in = sides_of(batch)
    assert batch.aligned is not None
    wanted = target_in.grid(batch.aligned + 1) - 1  # (B, T), -1 behind short sentences
    known = wanted >= 0
    maps = model.explain(target_in, model.encode(source))  # L of (B, H, T, S)
    last = (source.known_lengths - 1).tolist()
    counts = []
    for weights in maps:
        both = torch.cat((weights, weights.mean(1, keepdim=True)), dim=1).clone()  # (B, H + 1, T, S)
        for row, end in enumerate(last):
            both[row, :, :, end] = -1.0  # no one comes from the end
        counts.append(((both.argmax(-1) == wanted[:, None]) & known[:, None]).sum((0, 2)))  # (H + 1,)
    return torch.stack(counts) if counts else batch.aligned.new_zeros(0, 0), int(known.sum())
