"""BPE dropout: the same text in other pieces, by leaving merges out at random (Provilkov et al. 2020).

Byte-pair encoding joins, of all neighbours that have a merge, those whose merge was learned first (the
leftmost, where that is several) and goes on until no neighbours have one. With dropout each pair of
neighbours is passed over with probability p at each of these steps; a word whose pairs are all passed over
stays as it is.

Words repeat, so each distinct one is cut a number of times, once and for all, and each of its occurrences
then takes one of these cuts at random. All of it follows from the seed.

Axis letters: R words, each as often as it is cut; L symbols.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from jumok.text.tokenizer import FIRST, SPECIALS, Tokenizer

Ids = NDArray[np.int64]
NONE = np.iinfo(np.int32).max  # the rank of a pair without a merge
CUTS = 32  # at most, of one word
LONGEST = 128  # symbols; longer words are hardly words and keep their one cut
BLOCK = 1 << 15  # words cut at a time


@dataclass(frozen=True)
class Ragged:
    """Lists of numbers end to end: list i is values[begin[i] : begin[i + 1]]."""

    values: Ids
    begin: Ids

    def __len__(self) -> int:
        return len(self.begin) - 1

    def lengths(self) -> Ids:
        return np.diff(self.begin)

    def take(self, which: Ids) -> "Ragged":
        """These lists, in this order."""
        lengths = self.lengths()[which]
        begin = offsets(lengths)
        places = np.repeat(self.begin[which] - begin[:-1], lengths) + np.arange(begin[-1])
        return Ragged(self.values[places], begin)


def offsets(lengths: Ids) -> Ids:
    """Where each list begins when lists of these lengths lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join(parts: Sequence[Ragged]) -> Ragged:
    """All lists of all parts."""
    lengths = np.concatenate([part.lengths() for part in parts])
    return Ragged(np.concatenate([part.values for part in parts]), offsets(lengths))


def ragged(lists: Sequence[Sequence[int]]) -> Ragged:
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    return Ragged(np.fromiter(chain.from_iterable(lists), dtype=np.int64), offsets(lengths))


class Merges:
    """The merges of a tokenizer as sorted arrays, so that many pairs are looked up at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        ids = {piece: i for i, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
        self.size = tokenizer.size
        ranks = {
            ids[left] * self.size + ids[right]: rank for rank, (left, right) in enumerate(tokenizer.merges)
        }
        self.keys = np.array(sorted(ranks), dtype=np.int64)
        self.ranks = np.array([ranks[key] for key in self.keys.tolist()], dtype=np.int32)
        self.made = np.array([ids[left + right] for left, right in tokenizer.merges], dtype=np.int32)

    def rank(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int32]:
        """The rank of each pair's merge, or NONE; an id below 0 is nothing and has no merge."""
        if not len(self.keys):
            return np.full(left.shape, NONE, dtype=np.int32)
        wanted = left.astype(np.int64) * self.size + right
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        known = (self.keys[found] == wanted) & (left >= 0) & (right >= 0)
        return np.where(known, self.ranks[found], NONE).astype(np.int32)


def cut(
    symbols: NDArray[np.int32],
    joins: NDArray[np.bool_],
    merges: Merges,
    share: float,
    generator: np.random.Generator,
) -> Ragged:
    """The pieces of each word of `symbols` (R, L), with -1 where a word has ended.

    `joins` (R, L) says where a symbol may join the one before it. Merges happen in place: the left symbol
    becomes the piece, the right one -1, and `after` and `before` lead past it.
    """
    R, L = symbols.shape
    W = L + 1  # column L is the end of every word: it has no merge
    pieces = np.concatenate([symbols, np.full((R, 1), -1, dtype=np.int32)], axis=1)
    joins = np.concatenate([joins, np.zeros((R, 1), dtype=np.bool_)], axis=1)
    ranks = np.full((R, W), NONE, dtype=np.int32)
    ranks[:, :L] = np.where(joins[:, 1:], merges.rank(pieces[:, :-1], pieces[:, 1:]), NONE)
    after = np.arange(1, R * W + 1)  # places of the neighbours, in the matrices as one row
    before = np.where(np.arange(R * W) % W, np.arange(R * W) - 1, np.arange(R * W) + L)
    pieces, joins, rank = pieces.ravel(), joins.ravel(), ranks.ravel()
    rows = np.arange(R)
    while len(rows):
        offered = ranks[rows]
        if share:
            offered[generator.random(offered.shape, dtype=np.float32) < share] = NONE
        column = offered.argmin(axis=1)
        best = offered[np.arange(len(rows)), column]
        going = best < NONE
        rows, best = rows[going], best[going]
        at = rows * W + column[going]
        right, behind = after[at], before[at]
        ahead = after[right]
        pieces[at], pieces[right], rank[right] = merges.made[best], -1, NONE
        after[at], before[ahead] = ahead, at
        for one, other in ((at, ahead), (behind, at)):  # the new piece with its two neighbours
            rank[one] = np.where(joins[other], merges.rank(pieces[one], pieces[other]), NONE)
    there = (pieces >= 0).reshape(R, W)
    return Ragged(pieces[there.ravel()].astype(np.int64), offsets(there.sum(axis=1)))


class Cuts:
    """The distinct words of a growing text, each with its plain cut first and then with others.

    A word is what spaces separate; within one, pieces never cross the tokenizer's own word borders.
    """

    def __init__(self, tokenizer: Tokenizer, share: float, seed: int) -> None:
        self.tokenizer, self.share = tokenizer, share
        self.merges = Merges(tokenizer)
        self.generator = np.random.default_rng(seed)
        pieces = tokenizer.pieces(range(FIRST, tokenizer.size))
        self.letters = {piece: FIRST + i for i, piece in enumerate(pieces) if len(piece) == 1}
        self.numbers: defaultdict[str, int] = defaultdict()
        self.numbers.default_factory = self.numbers.__len__  # a new word gets the next number
        self.cuts = ragged([])
        self.first: Ids = np.zeros(1, dtype=np.int64)  # of each word, its first cut; and the end

    def read(self, texts: Sequence[str], times: int) -> Ragged:
        """The numbers of the words of tidy texts; words that are new are cut, `times` for each occurrence."""
        numbers, known = self.numbers, len(self.numbers)
        words = " ".join(texts).split(" ") if texts else []
        found = np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words))
        counts = np.array([text.count(" ") + 1 for text in texts], dtype=np.int64)
        seen = np.bincount(found, minlength=len(numbers))[known:]
        if len(seen):
            self._learn(list(numbers)[known:], np.minimum(CUTS, times * seen))
        return Ragged(found, offsets(counts))

    def pick(self, words: Ragged, generator: np.random.Generator, longest: int) -> Ragged:
        """The ids of texts that `read` has numbered, each word in one of its cuts at random.

        A text that would have more than `longest` ids is cut in the plain way.
        """
        plain = self.first[words.values]
        count = self.first[words.values + 1] - plain
        drawn = np.minimum(count - 1, 1 + (generator.random(len(plain)) * (count - 1)).astype(np.int64))
        sizes = self.cuts.lengths()
        length = np.diff(offsets(sizes[plain + drawn])[words.begin])
        chosen = np.where(np.repeat(length > longest, words.lengths()), plain, plain + drawn)
        ids = self.cuts.take(chosen)
        return Ragged(ids.values, ids.begin[words.begin])

    def _learn(self, words: list[str], times: Ids) -> None:
        """Cut new words: each once in the plain way, then as often as told; then sort the cuts by word."""
        symbols, borders = zip(*map(self._symbols, words), strict=True)
        times = np.where([len(one) > LONGEST for one in symbols], 0, times)
        plain = ragged(self.tokenizer.encode_many(words))
        owner = np.concatenate([np.arange(len(words)), np.repeat(np.arange(len(words)), times)])
        drawn = self._draw(ragged(symbols), ragged(borders), owner[len(words) :])
        new = join([plain, drawn]).take(np.argsort(owner, kind="stable"))
        self.first = np.concatenate([self.first[:-1], len(self.cuts) + offsets(1 + times)])
        self.cuts = join([self.cuts, new])

    def _draw(self, symbols: Ragged, borders: Ragged, owner: Ids) -> Ragged:
        """One cut for each entry of `owner`, a word's number; words of like length go together."""
        order = np.argsort(symbols.lengths()[owner], kind="stable")
        parts = [ragged([])]
        for begin in range(0, len(order), BLOCK):
            which = owner[order[begin : begin + BLOCK]]
            sizes = symbols.lengths()[which, None]
            there = np.arange(sizes.max()) < sizes
            block, joins = np.full(there.shape, -1, dtype=np.int32), np.zeros(there.shape, dtype=np.bool_)
            block[there] = symbols.take(which).values
            joins[there] = borders.take(which).values == 0
            parts.append(cut(block, joins, self.merges, self.share, self.generator))
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return join(parts).take(back)

    def _symbols(self, word: str) -> tuple[list[int], list[int]]:
        """The ids of a word's characters, or of their bytes; and 1 at each that begins a part of its own."""
        plain = word.isascii() and word.isalpha()  # the usual case, without a question to the library
        symbols: list[int] = []
        borders: list[int] = []
        for part in [f" {word}"] if plain else self.tokenizer.split(word):
            ids = [self.letters.get(letter, -1) for letter in part]
            if -1 in ids:
                ids = [i for letter in part for i in self._letter(letter)]
            symbols += ids
            borders += [1, *[0] * (len(ids) - 1)]
        return symbols, borders

    def _letter(self, letter: str) -> list[int]:
        known = self.letters.get(letter)
        return [len(SPECIALS) + byte for byte in letter.encode()] if known is None else [known]
