"""Sentences to train on, enough for so many packed batches, cut for those that pack and those that pad."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from padded import Padded, pad_pairs

from jumok.config import TransformerConfig
from jumok.data.batch import Batch, Room, lay_pairs, room_for

LONGEST, FIRST_WORD = 127, 4
SPREAD, RATIO = 0.6, 0.2  # standard deviations of log s and of log (t / s)
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """What is trained, and on how much at a time."""

    model: TransformerConfig
    vocabulary: int
    tokens: int  # of one update, source and target together
    mean: float  # tokens of a sentence, its end included
    corpus: int  # pairs that are sorted by length
    steps: int  # padded ones; packed there are a few less
    square: int = 8192  # of the matrices that measure the peak


@dataclass(frozen=True)
class Work:
    """The sentences, cut for those that pack and for those that pad."""

    size: Size
    device: torch.device
    room: Room
    packed: Sequence[Batch]
    padded: Sequence[Padded]  # from short to long

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32


def make_lengths(size: Size) -> tuple[Ids, Ids]:
    """Tokens of each pair of a corpus, ends included: log-normal, a target about as long as its source."""
    draw = np.random.default_rng(0)
    source = (size.mean - 1) * np.exp(SPREAD * draw.standard_normal(size.corpus) - SPREAD**2 / 2)
    target = source * np.exp(RATIO * draw.standard_normal(size.corpus) - RATIO**2 / 2)
    s, t = (np.clip(side.round(), 1, LONGEST).astype(np.int64) + 1 for side in (source, target))
    return s, t


def make_ids(lengths: Ids, vocabulary: int, seed: int) -> list[Ids]:
    """Sentences of these lengths, less their ends; words are as uneven as Zipf's law makes them."""
    words = vocabulary - FIRST_WORD
    drawn = words ** np.random.default_rng(seed).random((lengths - 1).sum())  # from 1 on, about 1 / rank
    ids = FIRST_WORD - 1 + drawn.astype(np.int64)
    return np.split(ids, (lengths - 1).cumsum())[:-1]


def make_work(size: Size, device: torch.device) -> Work:
    """Batches from all over a corpus that is sorted by length, and the same sentences packed.

    Padding is as small as the whole corpus allows. What does not fill another room is left out of the packed.
    """
    s, t = make_lengths(size)
    every = cut_by_length(np.lexsort((t, s)), s, t, size.tokens)
    step = max(len(every) / size.steps, 1.0)
    chosen = [every[int(n)] for n in np.arange(step / 2, len(every), step)]
    rows = np.concatenate(chosen)
    s, t = s[rows], t[rows]
    sources, targets = make_ids(s, size.vocabulary, 1), make_ids(t, size.vocabulary, 2)
    ends = np.cumsum([len(batch) for batch in chosen]).tolist()
    padded = [
        pad_pairs(sources[begin:end], targets[begin:end]).to(device)
        for begin, end in zip([0, *ends], ends, strict=False)
    ]
    room = room_for(s - 1, t - 1, size.tokens)
    packed = [
        lay_pairs([sources[n] for n in part], [targets[n] for n in part], room).to(device)
        for part in cut_by_room(np.random.default_rng(3).permutation(len(s)), s, t, room)
    ]
    return Work(size, device, room, packed, padded)


def cut_by_length(order: Ids, s: Ids, t: Ids, budget: int) -> list[Ids]:
    """Rows in this order, in batches whose two rectangles together stay within the budget."""
    found: list[Ids] = []
    begin = 0
    while begin < len(order):
        window = order[begin : begin + budget // 2]
        width = np.maximum.accumulate(s[window]) + np.maximum.accumulate(t[window])
        fits = int((np.arange(1, len(window) + 1) * width <= budget).sum())
        found.append(window[: max(fits, 1)])
        begin += len(found[-1])
    return found


def cut_by_room(order: Ids, s: Ids, t: Ids, room: Room) -> Iterator[Ids]:
    """Rows in this order, in parts that fit into a room; the last, which leaves room, is dropped."""
    begin, used = 0, (0, 0)
    for n, row in enumerate(order):
        used = (used[0] + s[row], used[1] + t[row])
        if used[0] > room.source or used[1] > room.target:
            yield order[begin:n]
            begin, used = n, (s[row], t[row])


def real_lengths(batch: Batch | Padded) -> tuple[Ids, Ids]:
    """Tokens of each source and target of a batch, on the host."""
    if isinstance(batch, Batch):
        return batch.source_lengths, batch.target_lengths
    s, t = (mask.sum(dim=1).cpu().numpy() for mask in (batch.source_mask, batch.target_mask))
    return s, t


def places(batch: Batch | Padded) -> int:
    """Places for tokens, used or not."""
    if isinstance(batch, Batch):
        return batch.room.source + batch.room.target
    return batch.source.numel() + batch.target_in.numel()


def count_operations(size: Size, s: Ids, t: Ids) -> float:
    """Of one update for each of these pairs, forward and backward; a multiplication and its sum are two."""
    model = size.model
    D, F, V = model.width, model.feedforward, size.vocabulary
    encoder, decoder = model.encoder_layers, model.decoder_layers
    per_source = encoder * (4 * D * D + 2 * D * F) + decoder * 2 * D * D
    per_target = decoder * (6 * D * D + 2 * D * F) + V * D
    pairs = encoder * (s * s).sum() + decoder * ((t * (t + 1) // 2).sum() + (s * t).sum())
    return float(6 * (s.sum() * per_source + t.sum() * per_target) + 12 * D * pairs)
