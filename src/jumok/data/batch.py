"""What a model reads in one step: sentence pairs laid end to end, with no padding."""

import itertools
from collections.abc import Callable, Sequence
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

STEP = 64  # fixed rooms are multiples of it: every view of a batch then starts at an aligned address


@dataclass(frozen=True, slots=True)
class Room:
    """The tokens that one batch has places for: N of the source and M of the target."""

    source: int
    target: int
    longest_source: int = 0
    """Most tokens of one source; 0: as many as there is room for."""
    longest_target: int = 0

    @property
    def numbers(self) -> int:
        """How many integers describe a batch of this room: 5 for a source place, 6 for a target place."""
        return 5 * self.source + 6 * self.target


@dataclass(frozen=True, eq=False)
class Batch:
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
    learned: bool = True  # whether anything is to be predicted
    patches: Tensor | None = None  # (N, P) bytes: what the source ids stand for, if it is pictures
    aligned: Tensor | None = None  # (M,) where a head is taught to look in its own source, -1: nowhere

    def __post_init__(self) -> None:
        assert self.numbers.shape == (self.room.numbers,)
        assert self.numbers.dtype == torch.int32
        assert len(self.source_lengths) == len(self.target_lengths)

    @staticmethod
    def empty(room: Room) -> "Batch":
        """Fillers alone."""
        return lay_pairs([], [], room)

    @property
    def sources(self) -> Tensor:
        return self.numbers[: 5 * self.room.source].view(5, -1)  # (5, N)

    @property
    def targets(self) -> Tensor:
        return self.numbers[5 * self.room.source :].view(6, -1)  # (6, M)

    @property
    def source(self) -> Tensor:
        """(N,) ids: each x + EOS; of pictures (N, P), their patches."""
        return self.sources[0] if self.patches is None else self.patches

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

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return self.with_tensors(lambda x: x.to(device, non_blocking=True))

    def pin(self) -> "Batch":
        """The same batch in memory that a GPU copies from while the program goes on; as it is without one."""
        return self.with_tensors(Tensor.pin_memory) if torch.cuda.is_available() else self

    def with_tensors(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        patches, aligned = (None if one is None else change(one) for one in (self.patches, self.aligned))
        return replace(self, numbers=change(self.numbers), patches=patches, aligned=aligned)

    def unlearned(self) -> "Batch":
        """The same sentences with nothing to be predicted."""
        other = replace(self, numbers=self.numbers.clone(), learned=False)
        other.targets[1] = PAD
        return other

    def cut(self, parts: int) -> list["Batch"]:
        """The batch in at most so many of about equally many tokens, without fillers."""
        tokens = self.source_lengths + self.target_lengths
        whole = int(tokens.sum())
        ends = np.searchsorted(tokens.cumsum(), [whole * n / parts for n in range(1, parts)], side="left") + 1
        cuts = sorted({0, *ends.tolist(), len(tokens)})
        return [self.part(begin, end) for begin, end in itertools.pairwise(cuts)]

    def part(self, begin: int, end: int) -> "Batch":
        """The sentences from number `begin` to before `end`."""
        s, t = (np.append(0, lengths.cumsum()) for lengths in (self.source_lengths, self.target_lengths))
        lengths = self.source_lengths[begin:end], self.target_lengths[begin:end]
        room = exact_room(*lengths)
        sources = self.sources[:, s[begin] : s[end]].clone()
        targets = self.targets[:, t[begin] : t[end]].clone()
        sources[1:3] -= int(s[begin])
        sources[3:5] -= int(t[begin])
        targets[2:4] -= int(t[begin])
        targets[4:6] -= int(s[begin])
        patches = None if self.patches is None else self.patches[s[begin] : s[end]]
        aligned = None if self.aligned is None else self.aligned[t[begin] : t[end]]
        numbers = torch.cat((sources.flatten(), targets.flatten()))
        return Batch(numbers, room, *lengths, learned=self.learned, patches=patches, aligned=aligned)


def exact_room(source_lengths: Lengths, target_lengths: Lengths) -> Room:
    """Room for sentences of these lengths, which count their ends, and nothing else."""
    sums, longest = ([int(f(side)) for side in (source_lengths, target_lengths)] for f in (np.sum, _longest))
    return Room(*sums, *longest)


def _longest(lengths: Lengths) -> int:
    return int(lengths.max(initial=0))


def lay_pairs(sources: Sequence[Ids], targets: Sequence[Ids], room: Room | None = None) -> Batch:
    """A batch of these pairs, one after the other; without a room, in one of just their size.

    ValueError if they do not fit.
    """
    assert len(sources) == len(targets)
    pictures = len(sources) > 0 and getattr(sources[0], "ndim", 1) == 2
    source_lengths = np.array([len(ids) + (not pictures) for ids in sources], dtype=np.int64)
    target_lengths = np.array([len(ids) + 1 for ids in targets], dtype=np.int64)
    ids = None if pictures else [np.append(x, EOS) for x in sources]
    batch = _lay(
        None if ids is None else np.concatenate([*ids, np.zeros(0, dtype=np.int64)]),
        np.concatenate([*(np.append(y, EOS) for y in targets), np.zeros(0, dtype=np.int64)]),
        (source_lengths, target_lengths),
        room,
    )
    return batch if not pictures else replace(batch, patches=_patches(sources, batch.room))


def lay_rows(store: Store, rows: NDArray[np.integer], room: Room | None = None) -> Batch:
    """`lay_pairs` of these pairs of a store, without a loop over sentences."""
    if store.source_ids.ndim > 1:  # pictures
        batch = lay_pairs([store.source(row) for row in rows], [store.target(row) for row in rows], room)
        # Fillers alone are patches too: steps that are replayed read the same tensors each time.
        return batch if len(rows) else replace(batch, patches=_patches([store.source(0)[:0]], batch.room))
    source_lengths = store.source_lengths[rows] + np.int64(not store.closed)
    target_lengths = store.target_lengths[rows] + np.int64(1)
    source = _laid(store.source_ids, store.source_offsets[rows], source_lengths, end=not store.closed)
    target = _laid(store.target_ids, store.target_offsets[rows], target_lengths)
    return _lay(source, target, (source_lengths, target_lengths), room)


def _patches(pictures: Sequence[Any], room: Room) -> Tensor:
    """Patches of all pictures (N, P), zeros behind them."""
    laid = np.concatenate(pictures)
    rest = np.zeros((room.source - len(laid), laid.shape[1]), dtype=laid.dtype)
    return torch.from_numpy(np.concatenate((laid, rest)))


def _lay(
    source: NDArray[np.integer] | None,
    target: NDArray[np.integer],
    lengths: tuple[Lengths, Lengths],
    room: Room | None,
) -> Batch:
    """A batch of sources and targets that lie end to end already, each with its end."""
    source_lengths, target_lengths = lengths
    room = room or exact_room(*lengths)
    numbers, source_table, target_table = _fillers(room, source_lengths, target_lengths)
    if len(source_lengths):
        source_ends, target_ends = source_lengths.cumsum(), target_lengths.cumsum()
        s, t = source_ends[-1], target_ends[-1]
        source_begins, target_begins = source_ends - source_lengths, target_ends - target_lengths
        spans = np.stack((source_begins, source_ends, target_begins, target_ends))  # (4, B)
        if source is not None:
            source_table[0, :s] = source
        source_table[1:, :s] = spans.repeat(source_lengths, axis=1)  # (4, N)
        target_table[1, :t] = target
        target_table[0, 1:t] = target_table[1, : t - 1]
        target_table[0, target_begins] = BOS
        target_table[2:, :t] = spans[[2, 3, 0, 1]].repeat(target_lengths, axis=1)  # (4, M)
    return Batch(torch.from_numpy(numbers), room, source_lengths, target_lengths)


def _laid(
    ids: NDArray[np.integer], offsets: NDArray[np.int64], lengths: Lengths, *, end: bool = True
) -> NDArray[np.integer]:
    """Sentences end to end: each has its ids from its offset on, with `end` an EOS that `lengths` count."""
    ends = lengths.cumsum()
    if not len(ends):
        return ids[:0]
    places = np.arange(ends[-1]) + (offsets - ends + lengths).repeat(lengths)
    laid: NDArray[np.integer] = ids.take(places, mode="clip")  # the last EOS may lie behind all ids
    if end:
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
    for side, lengths, most in (
        ("source", source_lengths, room.longest_source or room.source),
        ("target", target_lengths, room.longest_target or room.target),
    ):
        if (longest := _longest(lengths)) > most:
            raise ValueError(f"a {side} of {longest:,} tokens does not fit into a room for {most:,} in one")
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
    """The fixed room of batches of about `budget` tokens, for pairs of these lengths.

    The sides share it as they share the corpus, so that both fill up together:

        N : M = mean(S + 1) : mean(T + 1),   N + M = budget,   each rounded up to a multiple of 64

    The longest sentence always fits.
    """
    means = [float(np.mean(side)) + 1 for side in (source_lengths, target_lengths)]
    longest = [int(np.max(side)) + 1 for side in (source_lengths, target_lengths)]
    shares = [ceil(budget * mean / sum(means)) for mean in means]
    source, target = (STEP * ceil(max(pair) / STEP) for pair in zip(shares, longest, strict=True))
    return Room(source, target, *longest)
