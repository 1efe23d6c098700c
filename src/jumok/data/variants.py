"""The pairs of a store again, cut into tokens differently: what BPE dropout trains on, epoch by epoch.

Row n of every variant is row n of the store, so whoever chooses rows need not know that there are variants.
"""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import overload

import numpy as np

from jumok.data.framed import around, bare
from jumok.data.store import SIDES, SideWriter, Store, write_header
from jumok.progress import Progress, silent
from jumok.text.dropout import WordCutter
from jumok.text.ragged import Ragged
from jumok.text.tokenizer import Tokenizer, Tokenizers

CHUNK = 100_000  # pairs in memory at a time


class PendingStores(Sequence[Store]):
    """Stores that a thread is still making: whoever looks at them waits for all, and for what went wrong."""

    def __init__(self, made: Future[tuple[Store, ...]]) -> None:
        self.made = made

    def __len__(self) -> int:
        return len(self.made.result())

    @overload
    def __getitem__(self, place: int) -> Store: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Store]: ...
    def __getitem__(self, place: int | slice) -> Store | Sequence[Store]:
        return self.made.result()[place]


def build_variants(
    store: Store,
    tokenizers: Tokenizers,
    folders: list[Path],
    *,
    share: float,
    seed: int,
    max_length: int,
    progress: Progress = silent,
) -> None:
    """Write one store per folder, in which a `share` of the merges is left out at random.

    Variant v follows from the texts, the seed and v. A text that this makes longer than `max_length` tokens
    keeps its plain cut.
    """
    source = cuts_of(tokenizers.text_source, share, seed)
    cuts = (source, source if tokenizers.shared else cuts_of(tokenizers.target, share, seed))
    frame = tokenizers.frame
    tags = ((frame.before, len(frame.source) - frame.before - 2 + frame.closes), (len(frame.target), 0))
    with ExitStack() as files:
        written = []
        for folder in folders:
            folder.mkdir()
            written.append([SideWriter(folder, side, files) for side in SIDES])
        for begin in range(0, len(store), CHUNK):
            rows = range(begin, min(begin + CHUNK, len(store)))
            for side, cutter in enumerate(cuts):
                plain, before, behind = bare(ids_of(store, side, rows), *tags[side])
                words = cutter.read(plain, len(folders)) if cutter else plain
                for variant, sides in enumerate(written):
                    generator = np.random.default_rng([seed, variant, side, begin])
                    picked = cutter.pick(words, generator, max_length) if cutter else plain
                    picked = around(picked, before, behind)
                    sides[side].add(picked.values.astype(store.source_ids.dtype), picked.lengths())
            progress("cutting anew", rows.stop, len(store))
    for folder, sides in zip(folders, written, strict=True):
        header = json.loads((store.folder / "header.json").read_bytes()) | {
            "source_ids": sides[0].count,
            "target_ids": sides[1].count,
            "max_length": max_length,
        }
        write_header(folder, header, [side.fingerprint() for side in sides], store.tokenizers)


def cuts_of(tokenizer: Tokenizer, share: float, seed: int) -> WordCutter | None:
    """The cuts of a text; None where there is but one, of characters and of words."""
    return WordCutter(tokenizer, share, seed) if tokenizer.kind == "bpe" else None


def ids_of(store: Store, side: int, rows: range) -> Ragged:
    """The ids of these rows on one side."""
    ids, begin = ((store.source_ids, store.source_offsets), (store.target_ids, store.target_offsets))[side]
    begin = begin[rows.start : rows.stop + 1]
    return Ragged(ids[begin[0] : begin[-1]].astype(np.int64), begin - begin[0])
