"""The head of a trained model that aligns best: whose largest weights agree most with the IBM models' links.

A Transformer that no one taught to align has a head that does it well all the same (Garg et al. 2019,
section 4.1), but only its data can say which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jumok.checkpoint.calibration import write_calibration
from jumok.checkpoint.manifest import ALIGNMENT
from jumok.config import AlignHead
from jumok.data.aligner import Aligner, learn_both, with_links
from jumok.data.batch import Batch, lay_rows
from jumok.data.sampler import epoch_batches
from jumok.data.store import Store
from jumok.decoding.batched import device_of, lay_sources, lay_targets
from jumok.decoding.heads import KEY, no_head
from jumok.decoding.jobs import Job, batches
from jumok.decoding.scores import unequal
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError
from jumok.models.interface import Seq2Seq
from jumok.text.frame import closed
from jumok.text.normalize import tidy
from jumok.text.ragged import Ragged, ragged
from jumok.text.tokenizer import EOS
from jumok.training.step import sides_of

PAIRS, TOKENS = 300, 2048  # pairs that are looked at, and how many tokens of them together
LEAST = 50  # pairs that can teach which tokens belong together


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

    def describe(self) -> str:
        """What was found, for people, who count from 1."""
        layer = self.head.layer + 1
        which = "the mean" if self.head.head is None else f"head {self.head.head + 1}"
        where = f"{which} of layer {layer} looks where the IBM models do for {self.share:.1%} of the tokens"
        return f"{where}; the mean of the last layer for {self.mean:.1%}"


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


def find_head(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], *, keep: bool = True
) -> tuple[HeadAgreement, Path | None]:
    """The head of a finished model that aligns best, on pairs that teach the IBM models, too.

    It is kept in the model's folder, where translators that are loaded afterwards find it: `alignment.json`.
    """
    check_searched(translator)
    if len(sources) != len(targets):
        raise unequal(len(sources), len(targets))
    both, longest = translator.tokenizers, translator.config.data.max_length
    left = both.text_source.encode_many(map(tidy, sources))
    right = both.target.encode_many(map(tidy, targets))
    pairs = [(s, t) for s, t in zip(left, right, strict=True) if 0 < len(s) <= longest and len(t) > 0]
    if len(pairs) < LEAST:
        raise DataError(
            f"{len(pairs)} pairs are too few to tell which words belong together",
            hint=f"give {LEAST} at least; 5,000 do well, and they may be those of the training",
            code="too_few",
        )
    sides = ragged([s for s, _ in pairs]), ragged([t for _, t in pairs])
    links = learn_both(*sides, (both.text_source.size, both.target.size)).links(*sides)
    rows = np.linspace(0, len(pairs) - 1, min(len(pairs), PAIRS)).round().astype(int).tolist()
    shares = head_shares(translator, [pairs[n] for n in rows], [row_of(links, sides[1], n) for n in rows])
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    chosen = AlignHead(layer, None if head == shares.shape[1] - 1 else head)
    found = HeadAgreement(chosen, float(shares[layer, head]), float(shares[-1, -1]))
    file = write_calibration(translator.folder, {KEY: found.to_dict()}, ALIGNMENT) if keep else None
    return found, file


def check_searched(translator: Translator) -> None:
    """An error if a model has no choice of heads."""
    _, heads = translator.config.model.attention.get("cross", (0, 0))
    if not translator.aligns:
        raise no_head(translator.config)
    if heads < 2 or translator.config.training.align:
        why = "was taught to align" if translator.config.training.align else "has one head only"
        raise ConfigError(
            f"this model {why}: there is nothing to choose", hint="align as it is", code="one_head"
        )


def row_of(links: np.ndarray, target: Ragged, n: int) -> np.ndarray:
    """The links of one pair."""
    return links[target.begin[n] : target.begin[n + 1]]


@torch.inference_mode()
def head_shares(
    translator: Translator, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], links: Sequence[np.ndarray]
) -> np.ndarray:
    """The share of linked target tokens for which each head, and each layer's mean (L, H + 1), looks there.

    Sources and targets are framed as the model reads and writes them; frames have no links.
    """
    model, both = translator.on_torch("the choice of a head").model, translator.tokenizers
    opening, (before, behind) = both.opening, both.frame.around
    wanted = {Job(both.framed(s), (*opening, *t, EOS)): own for (s, t), own in zip(pairs, links, strict=True)}
    layers, heads = translator.config.model.attention["cross"]
    right, count = np.zeros((layers, heads + 1)), 0
    for batch in batches(list(wanted), TOKENS, lambda one: len(one.source) + len(one.prefix) + 2):
        target_in, _ = lay_targets([one.prefix for one in batch], device_of(model))
        memory = model.encode(lay_sources([one.source for one in batch], device_of(model)))
        maps = torch.stack([one.float() for one in model.explain(target_in, memory)])  # (L, B, H, T, S)
        both_kinds = torch.cat((maps, maps.mean(2, keepdim=True)), dim=2).cpu().numpy()
        for row, one in enumerate(batch):
            own, end = wanted[one], len(closed(one.source)) - 1 - behind
            steps = len(opening) + np.flatnonzero(own >= 0)
            places = both_kinds[:, row, :, steps, before:end].argmax(-1)  # (steps, L, H + 1)
            right += (places == own[own >= 0][:, None, None]).sum(0)
            count += len(steps)
    return right / max(count, 1)
