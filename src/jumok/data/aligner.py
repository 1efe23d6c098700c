"""Which source token each target token comes from, told by two IBM models that must agree.

One model goes from source to target, the other back. A link is the source token i for which both think most
of the link to target token j (alignment by agreement, Liang et al. 2006):

    a_j = argmax_i  p(i | j) p(j | i),   none where the best is below `LEAST`
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from jumok.data.batch import Batch
from jumok.data.store import Store
from jumok.progress import Progress, silent
from jumok.text.lexicon import Ints, PartnerTable, blocks, learn_partners, nearness
from jumok.text.ragged import Ragged, offsets

PARTNERS = 64  # of each token that take part
TENSION = 4.0  # how much the place in the sentence counts, as fast_align begins with
LEAST = 0.02
SAMPLE = 100_000  # pairs to learn from; of more a part spread evenly over them


@dataclass(frozen=True)
class Aligner:
    """Both models. Nothing in it changes; threads may share it."""

    there: PartnerTable
    back: PartnerTable

    def links(self, source: Ragged, target: Ragged) -> Ints:
        """For each target token of these pairs the place of its source token in the sentence, or -1."""
        found = np.full(len(target.values), -1, np.int64)
        starts, place = target.begin, 0
        for end, places in blocks(source, target, self.there.size):
            near = nearness(places, TENSION)
            known = self.there.likely[self.there.table.find(places.keys)] * near
            total = np.add.reduceat(known, places.begin) + self.there.nothing[places.targets]
            there = known / np.repeat(np.maximum(total, 1e-300), places.lengths)
            some = source.take(np.arange(place, end))
            keys, owner = self.turned(some, target.take(np.arange(place, end)), places.lengths)
            known = self.back.likely[self.back.table.find(keys)] * near
            total = np.bincount(owner, known, len(some.values)) + self.back.nothing[some.values]
            both = there * known / np.maximum(total, 1e-300)[owner]
            found[starts[place] : starts[end]] = best_places(both, places.begin, places.lengths)
            place = end
        return found

    def turned(self, source: Ragged, target: Ragged, lengths: Ints) -> tuple[Ints, Ints]:
        """The keys of all places for the model that goes back, and which source token each belongs to."""
        first = np.repeat(source.begin[:-1], target.lengths())  # (T,) of each target token's sentence
        begin = offsets(lengths)
        owner = np.repeat(first - begin[:-1], lengths) + np.arange(begin[-1])
        return np.repeat(target.values, lengths) * self.back.size + source.values[owner], owner


def best_places(values: np.ndarray, begin: Ints, lengths: Ints) -> Ints:
    """Where in each run of values the largest is, the first of equals; -1 where it is below `LEAST`."""
    if not len(begin):
        return begin
    most = np.maximum.reduceat(values, begin)
    places = np.flatnonzero(values >= np.repeat(most, lengths))
    first = places[np.searchsorted(places, begin)]
    return np.where(most >= LEAST, first - begin, -1)


def learn_aligner(store: Store, sizes: tuple[int, int], progress: Progress = silent) -> Aligner:
    """Both models of a corpus; `sizes` are those of the vocabularies. The same pairs give the same links."""
    rows = np.linspace(0, len(store) - 1, min(len(store), SAMPLE)).round().astype(np.int64)
    sides = [
        Ragged(ids.astype(np.int64), begin).take(rows)
        for ids, begin in (
            (store.source_ids, store.source_offsets),
            (store.target_ids, store.target_offsets),
        )
    ]
    return learn_both(sides[0], sides[1], sizes, progress)


def learn_both(
    source: Ragged, target: Ragged, sizes: tuple[int, int], progress: Progress = silent
) -> Aligner:
    """Both models of these pairs, none of which has an empty side."""
    there = learn_partners(source, target, sizes, PARTNERS, progress, tension=TENSION)
    back = learn_partners(target, source, (sizes[1], sizes[0]), PARTNERS, progress, tension=TENSION)
    return Aligner(there, back)


def with_links(batch: Batch, aligner: Aligner) -> Batch:
    """A batch that knows its links; ends and fillers have none."""
    sides = []
    for ids, lengths in ((batch.sources[0], batch.source_lengths), (batch.target_out, batch.target_lengths)):
        begin = offsets(lengths)
        sides.append(Ragged(ids.numpy()[: begin[-1]].astype(np.int64), begin))
    aligned = np.full(batch.room.target, -1, np.int64)
    if batch.sentences:
        links = aligner.links(sides[0], sides[1])
        links[sides[1].begin[1:] - 1] = -1  # the end
        aligned[: len(links)] = links
    return replace(batch, aligned=torch.from_numpy(aligned))
