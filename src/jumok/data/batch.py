"""What a model reads in one step: sentences as rectangles (`Padded`), or laid end to end (`Packed`)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.data.store import Store
from jumok.text.tokenizer import BOS, EOS, PAD

Ids = Sequence[int] | NDArray[np.integer]
Lengths = NDArray[np.int64]
Numbers = NDArray[np.int32]

STEP = 64  # rooms are multiples of it: every view of a packed batch then starts at an aligned address


@dataclass(frozen=True, slots=True)
class Padded:
    """Sentence pairs, padded to a rectangle. Masks are True at real tokens."""

    source: Tensor  # (B, S), ends with EOS; of pictures (B, S, P), their patches
    source_mask: Tensor  # (B, S)
    target_in: Tensor  # (B, T), starts with BOS
    target_out: Tensor  # (B, T), ends with EOS
    target_mask: Tensor  # (B, T)

    def __post_init__(self) -> None:
        assert self.source.shape[:2] == self.source_mask.shape
        assert self.target_in.shape == self.target_out.shape == self.target_mask.shape

    @property
    def tokens(self) -> int:
        """Real target tokens: what the summed loss is divided by."""
        return int(self.target_mask.sum())

    @property
    def source_tokens(self) -> int:
        """Real source tokens."""
        return int(self.source_mask.sum())

    @property
    def sentences(self) -> int:
        return len(self.source)

    def to(self, device: torch.device | str) -> "Padded":
        """The same batch on another device."""
        return Padded(
            source=self.source.to(device, non_blocking=True),
            source_mask=self.source_mask.to(device, non_blocking=True),
            target_in=self.target_in.to(device, non_blocking=True),
            target_out=self.target_out.to(device, non_blocking=True),
            target_mask=self.target_mask.to(device, non_blocking=True),
        )


def pad_pairs(sources: Sequence[Ids], targets: Sequence[Ids]) -> Padded:
    """A batch of these pairs: x + EOS, BOS + y and y + EOS, each filled up with PAD."""
    assert len(sources) == len(targets)
    pictures = len(sources) > 0 and getattr(sources[0], "ndim", 1) == 2
    source, source_mask = stack_pictures(sources) if pictures else pad_sources(sources)
    target_out, target_mask = pad_sources(targets)
    target_in = target_out.roll(1, dims=1)
    target_in[target_in == EOS] = PAD  # the shifted end of a sentence is nothing the decoder may read
    target_in[:, 0] = BOS
    return Padded(source, source_mask, target_in, target_out, target_mask)


def pad_sources(sources: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Each x + EOS, filled up with PAD (B, S), and a mask that is True at real tokens (B, S)."""
    lengths = np.array([len(ids) + 1 for ids in sources], dtype=np.int64)
    padded = np.full((len(sources), lengths.max(initial=1)), PAD, dtype=np.int64)
    for row, ids in zip(padded, sources, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = EOS
    mask = np.arange(padded.shape[1]) < lengths[:, None]
    return torch.from_numpy(padded), torch.from_numpy(mask)


def stack_pictures(pictures: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Patches (B, S, P) and a mask of all True (B, S): pictures are of one length and have no end."""
    patches = torch.from_numpy(np.stack(pictures))
    return patches, torch.ones(patches.shape[:2], dtype=torch.bool)


@dataclass(frozen=True, slots=True)
class Room:
    """The tokens that fit into one packed batch: N of the source and M of the target."""

    source: int
    target: int
    longest: int = 0
    """Most tokens of one source; 0: as many as there is room for."""

    @property
    def numbers(self) -> int:
        """How many integers describe a batch of this room: 5 for a source place, 6 for a target place."""
        return 5 * self.source + 6 * self.target


@dataclass(frozen=True, eq=False)
class Packed:
    """Sentence pairs laid end to end, and behind them tokens that only fill the room up.

    All of it is one tensor, so that one copy brings it to a device. It is two tables:

        (5, N)  source ids | source_range (2) | source_readers (2)
        (6, M)  target_in | target_out | target_range (2) | target_reads (2)

    Ranges are half-open and never go back. A filler is PAD and a sentence of its own; as a target it reads
    the last real source token, as a source nobody reads it. `target_out` is PAD at fillers and nowhere else.
    """

    numbers: Tensor  # (5·N + 6·M,) int32
    room: Room
    source_lengths: Lengths  # (B,) with the EOS, on the host
    target_lengths: Lengths  # (B,) with the BOS, or the EOS

    def __post_init__(self) -> None:
        assert self.numbers.shape == (self.room.numbers,)
        assert self.numbers.dtype == torch.int32
        assert len(self.source_lengths) == len(self.target_lengths)

    @staticmethod
    def empty(room: Room) -> "Packed":
        """Fillers alone."""
        return pack_pairs([], [], room)

    @property
    def sources(self) -> Tensor:
        return self.numbers[: 5 * self.room.source].view(5, -1)  # (5, N)

    @property
    def targets(self) -> Tensor:
        return self.numbers[5 * self.room.source :].view(6, -1)  # (6, M)

    @property
    def source(self) -> Tensor:
        """(N,) ids: each x + EOS."""
        return self.sources[0]

    @property
    def source_range(self) -> Tensor:
        """(2, N): where the token's own sentence lies among the source tokens."""
        return self.sources[1:3]

    @property
    def source_readers(self) -> Tensor:
        """(2, N): the target tokens of the same pair."""
        return self.sources[3:5]

    @property
    def target_in(self) -> Tensor:
        """(M,) ids: each BOS + y."""
        return self.targets[0]

    @property
    def target_out(self) -> Tensor:
        """(M,) ids: each y + EOS."""
        return self.targets[1]

    @property
    def target_range(self) -> Tensor:
        """(2, M): where the token's own sentence lies among the target tokens."""
        return self.targets[2:4]

    @property
    def target_reads(self) -> Tensor:
        """(2, M): the source tokens of the same pair."""
        return self.targets[4:6]

    @property
    def longest(self) -> int:
        """No source has more tokens, in this batch or in another of the room."""
        return self.room.longest or self.room.source

    @property
    def sentences(self) -> int:
        return len(self.source_lengths)

    @property
    def source_tokens(self) -> int:
        """Real source tokens."""
        return int(self.source_lengths.sum())

    @property
    def tokens(self) -> int:
        """Real target tokens: what the summed loss is divided by."""
        return int(self.target_lengths.sum())

    def to(self, device: torch.device | str) -> "Packed":
        """The same batch on another device."""
        return replace(self, numbers=self.numbers.to(device, non_blocking=True))

    def pin(self) -> "Packed":
        """The same batch in memory that a GPU copies from while the program goes on; as it is without one."""
        return replace(self, numbers=self.numbers.pin_memory()) if torch.cuda.is_available() else self


def pack_pairs(sources: Sequence[Ids], targets: Sequence[Ids], room: Room) -> Packed:
    """A batch of these pairs, one after the other. ValueError if they do not fit."""
    assert len(sources) == len(targets)
    source_lengths = np.array([len(ids) + 1 for ids in sources], dtype=np.int64)
    target_lengths = np.array([len(ids) + 1 for ids in targets], dtype=np.int64)
    numbers, source_table, target_table = _fillers(room, source_lengths, target_lengths)
    s = t = 0  # where the pair begins
    for x, y in zip(sources, targets, strict=True):
        s_end, t_end = s + len(x) + 1, t + len(y) + 1
        source_table[0, s:s_end] = [*x, EOS]
        source_table[1:, s:s_end] = np.array([s, s_end, t, t_end])[:, None]
        target_table[0, t:t_end] = [BOS, *y]
        target_table[1, t:t_end] = [*y, EOS]
        target_table[2:, t:t_end] = np.array([t, t_end, s, s_end])[:, None]
        s, t = s_end, t_end
    return Packed(torch.from_numpy(numbers), room, source_lengths, target_lengths)


def pack_rows(store: Store, rows: NDArray[np.integer], room: Room) -> Packed:
    """`pack_pairs` of these pairs of a store, without a loop over sentences."""
    source_lengths = store.source_lengths[rows] + np.int64(1)
    target_lengths = store.target_lengths[rows] + np.int64(1)
    numbers, source_table, target_table = _fillers(room, source_lengths, target_lengths)
    if len(rows):
        source_ends, target_ends = source_lengths.cumsum(), target_lengths.cumsum()
        s, t = source_ends[-1], target_ends[-1]
        source_begins, target_begins = source_ends - source_lengths, target_ends - target_lengths
        spans = np.stack((source_begins, source_ends, target_begins, target_ends))  # (4, B)
        source_table[0, :s] = _laid(store.source_ids, store.source_offsets[rows], source_lengths)
        source_table[1:, :s] = spans.repeat(source_lengths, axis=1)  # (4, N)
        target_table[1, :t] = _laid(store.target_ids, store.target_offsets[rows], target_lengths)
        target_table[0, 1:t] = target_table[1, : t - 1]
        target_table[0, target_begins] = BOS
        target_table[2:, :t] = spans[[2, 3, 0, 1]].repeat(target_lengths, axis=1)  # (4, M)
    return Packed(torch.from_numpy(numbers), room, source_lengths, target_lengths)


def _laid(ids: NDArray[np.integer], offsets: NDArray[np.int64], lengths: Lengths) -> NDArray[np.integer]:
    """Sentences end to end: each has its ids from its offset on, then an EOS that `lengths` counts."""
    ends = lengths.cumsum()
    places = np.arange(ends[-1]) + (offsets - ends + lengths).repeat(lengths)
    laid: NDArray[np.integer] = ids.take(places, mode="clip")  # the last EOS may lie behind all ids
    laid[ends - 1] = EOS
    return laid


def _fillers(
    room: Room, source_lengths: Lengths, target_lengths: Lengths
) -> tuple[Numbers, Numbers, Numbers]:
    """The numbers of a batch without sentences, also as its two tables, if sentences of these lengths fit."""
    s, t = int(source_lengths.sum()), int(target_lengths.sum())
    if s > room.source or t > room.target:
        there = f"a room of {room.source:,} and {room.target:,}"
        raise ValueError(f"{s:,} source and {t:,} target tokens do not fit into {there}")
    if (most := int(source_lengths.max(initial=0))) > (room.longest or room.source):
        raise ValueError(f"a source of {most:,} tokens does not fit into a room for {room.longest:,} in one")
    numbers = np.full(room.numbers, PAD, dtype=np.int32)
    source_table = numbers[: 5 * room.source].reshape(5, -1)
    target_table = numbers[5 * room.source :].reshape(6, -1)
    for table in (source_table[1:3], target_table[2:4]):
        table[0] = np.arange(table.shape[1])
        table[1] = table[0] + 1
    # Close to what is real, so that no block of tokens has to look across the room between.
    source_table[3:] = t
    target_table[4], target_table[5] = max(s, 1) - 1, max(s, 1)
    return numbers, source_table, target_table


def room_for(source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer], budget: int) -> Room:
    """The room of one packed batch of about `budget` tokens, for pairs of these lengths.

    The sides share it as they share the corpus, so that both fill up together:

        N : M = mean(S + 1) : mean(T + 1),   N + M = budget,   each rounded up to a multiple of 64

    The longest sentence always fits, as a padded batch may also be one long pair.
    """
    means = [float(np.mean(side)) + 1 for side in (source_lengths, target_lengths)]
    longest = [int(np.max(side)) + 1 for side in (source_lengths, target_lengths)]
    shares = [ceil(budget * mean / sum(means)) for mean in means]
    source, target = (STEP * ceil(max(pair) / STEP) for pair in zip(shares, longest, strict=True))
    return Room(source, target, longest[0])
