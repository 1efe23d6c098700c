"""Sentences to train on, enough for so many packed batches, cut for those that pack and those that pad."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.config import TransformerConfig
from jumok.data.batch import Packed, Padded, Room, pack_pairs, pad_pairs, room_for

LONGEST, FIRST_WORD, SPREAD = 127, 4, 0.6
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """What is trained, and on how much at a time."""

    model: TransformerConfig
    vocabulary: int
    tokens: int  # of one update, source and target together
    mean: float  # tokens of a sentence, its end included
    steps: int
    square: int = 8192  # of the matrices that measure the peak


@dataclass(frozen=True)
class Work:
    """The pool of sentences, cut for those that pack and for those that pad."""

    size: Size
    device: torch.device
    room: Room
    packed: Sequence[Packed]
    padded: Sequence[Padded]  # from short to long
    tokens: int
    operations: float

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32


def make_pairs(size: Size, number: int) -> tuple[list[Ids], list[Ids]]:
    """Sentences without their ends; a target is about as long as its source, and words follow Zipf's law."""
    draw = np.random.default_rng(0)
    lengths = (size.mean - 1) * np.exp(SPREAD * draw.standard_normal(number) - SPREAD**2 / 2)
    ratios = np.exp(0.2 * draw.standard_normal(number) - 0.02)
    sides = []
    for side in (lengths, lengths * ratios):
        whole = np.clip(side.round(), 1, LONGEST).astype(np.int64)
        words = size.vocabulary - FIRST_WORD
        ids = FIRST_WORD - 1 + words ** draw.random(whole.sum())
        sides.append(np.split(ids.astype(np.int64), whole.cumsum())[:-1])
    return sides[0], sides[1]


def make_work(size: Size, device: torch.device) -> Work:
    """Pack as many sentences as fill `steps` rooms; the same ones, sorted by length, are padded."""
    sources, targets = make_pairs(size, int(size.steps * size.tokens / size.mean / 2 * 1.2) + 100)
    s = np.array([len(x) for x in sources], dtype=np.int64)
    t = np.array([len(y) for y in targets], dtype=np.int64)
    room = room_for(s, t, size.tokens)
    packed: list[Packed] = []
    begin, used = 0, (0, 0)
    for n in range(len(s)):
        if len(packed) == size.steps:
            break
        used = (used[0] + s[n] + 1, used[1] + t[n] + 1)
        if used[0] > room.source or used[1] > room.target:
            packed.append(pack_pairs(sources[begin:n], targets[begin:n], room).to(device))
            begin, used = n, (s[n] + 1, t[n] + 1)
    assert len(packed) == size.steps
    order = np.lexsort((t[:begin], s[:begin]))
    padded = [
        pad_pairs([sources[i] for i in rows], [targets[i] for i in rows]).to(device)
        for rows in cut_by_length(order, s + 1, t + 1, room.source + room.target)
    ]
    tokens = int(s[:begin].sum() + t[:begin].sum()) + 2 * begin
    operations = count_operations(size, s[:begin] + 1, t[:begin] + 1)
    return Work(size, device, room, packed, padded, tokens, operations)


def cut_by_length(order: Ids, s: Ids, t: Ids, budget: int) -> Iterator[Ids]:
    """Rows in this order, cut where the next one would make the rectangles larger than the budget."""
    begin, longest = 0, (0, 0)
    for n, row in enumerate(order):
        grown = (max(longest[0], s[row]), max(longest[1], t[row]))
        if (n + 1 - begin) * sum(grown) > budget:
            yield order[begin:n]
            begin, grown = n, (s[row], t[row])
        longest = grown
    yield order[begin:]


def count_operations(size: Size, s: Ids, t: Ids) -> float:
    """Of one update for each of these pairs, forward and backward; a multiplication and its sum are two."""
    model = size.model
    D, F, V = model.width, model.feedforward, size.vocabulary
    encoder, decoder = model.encoder_layers, model.decoder_layers
    per_source = encoder * (4 * D * D + 2 * D * F) + decoder * 2 * D * D
    per_target = decoder * (6 * D * D + 2 * D * F) + V * D
    pairs = encoder * (s * s).sum() + decoder * ((t * (t + 1) // 2).sum() + (s * t).sum())
    return float(6 * (s.sum() * per_source + t.sum() * per_target) + 12 * D * pairs)
