"""BPE dropout: the same text in other tokens, by leaving merges out at random (Provilkov et al. 2020).

Byte-pair encoding joins, of all neighbours that have a merge, those whose merge was learned first (the
leftmost, where that is several) and goes on until no neighbours have one. With dropout each pair of
neighbours is passed over with probability p at each of these steps; a word whose pairs are all passed over
stays as it is.

Words repeat, so each distinct one is cut a number of times, once and for all, and each of its occurrences
then takes one of these cuts at random. All of it follows from the seed.

Axis letters: L symbols, R words.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.text.ragged import Ids, Ragged, join, offsets, ragged
from jumok.text.tokenizer import FIRST, SPECIALS, Tokenizer

Symbols = NDArray[np.int32]
NOTHING = -1  # a symbol that joins no other: the border of two parts of a word, or its end
PLACES = 256  # more than a word has: rank · PLACES + place is one number that orders pairs
NONE = (2**31 - 1) // PLACES - 1  # the rank of a pair without a merge
MIX = np.uint64(0x9E3779B97F4A7C15)  # spreads keys over a table
CUTS = 32  # at most, of one word
LONGEST = 128  # symbols; longer words are hardly words and keep their one cut
BLOCK = 1 << 11  # words cut at a time


class MergeTable:
    """The merges of a tokenizer as arrays, so that many pairs are looked up at once.

    A pair's key leads to a slot of a sparse table. Where keys share a slot, the table knows one of them, and
    the others are searched for.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        ids = {piece: i for i, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
        self.made = np.array([ids[left + right] for left, right in tokenizer.merges], dtype=np.int32)
        self.size = tokenizer.size + 1
        keys = np.array(
            [self.key(ids[left], ids[right]) for left, right in tokenizer.merges] or [-1], dtype=np.int64
        )
        order = np.argsort(keys)
        self.keys, self.ranks = keys[order], order.astype(np.int32)
        self.bits = 5 + len(keys).bit_length()
        slots = self.slot(self.keys)
        self.table = np.zeros(1 << self.bits, dtype=np.int32)
        self.table[slots] = np.arange(len(keys))
        self.shared = np.bincount(slots, minlength=1 << self.bits) > 1

    def key(self, left: Any, right: Any) -> Any:
        """One number for a pair; a pair with NOTHING has none that a merge has."""
        return left * self.size + right + 1

    def slot(self, keys: Ids) -> NDArray[np.uint64]:
        return (keys.astype(np.uint64) * MIX) >> np.uint64(64 - self.bits)

    def rank(self, left: Symbols, right: Symbols) -> Symbols:
        """The rank of each pair's merge, or NONE."""
        wanted = self.key(left.astype(np.int64), right)
        slots = self.slot(wanted)
        found = self.table.take(slots)
        known = self.keys.take(found) == wanted
        unsure = np.nonzero(self.shared.take(slots) & ~known)
        searched = np.minimum(np.searchsorted(self.keys, wanted[unsure]), len(self.keys) - 1)
        found[unsure], known[unsure] = searched, self.keys[searched] == wanted[unsure]
        return np.where(known, self.ranks.take(found), np.int32(NONE))


@dataclass(frozen=True)
class WordCuts:
    """Cuts of some words: cut i is one of word `word[i]`, and was drawn `times[i]` times."""

    cuts: Ragged
    word: Ids
    times: Ids


def cut(
    symbols: Symbols, times: Ids, merges: MergeTable, share: float, generator: np.random.Generator
) -> list[WordCuts]:
    """Cut each word of `symbols` (L, R), whose last row is NOTHING, so many times (R,).

    The cuts of a word that have come about alike so far are one column with a count. In each step it falls
    into those that take the best pair, and those that pass it over and see the next best.
    """
    pieces, ranks = symbols, merges.rank(symbols[:-1], symbols[1:])  # (L, R), (L - 1, R)
    word, ended = np.arange(symbols.shape[1]), []
    while pieces.shape[1]:
        columns, left, offered, taking = np.arange(pieces.shape[1]), times, ranks, []
        while len(columns):
            best = lowest(offered)
            none = best >= NONE * PLACES
            over = columns[none]
            ended.append(WordCuts(compact(pieces.take(over, axis=1)), word[over], left[none]))
            passing = np.where(none, left, binomial(left, share, generator))
            take = left > passing
            taking.append((columns[take], best[take], (left - passing)[take]))
            again = np.flatnonzero((passing > 0) & ~none)
            columns, left, offered = columns[again], passing[again], offered.take(again, axis=1)
            offered[best[again] % PLACES, np.arange(len(again))] = NONE
        columns, best, times = map(np.concatenate, zip(*taking, strict=True))
        pieces, ranks = merge(pieces.take(columns, axis=1), ranks.take(columns, axis=1), best, merges)
        word = word[columns]
    return ended


def binomial(times: Ids, share: float, generator: np.random.Generator) -> Ids:
    """Of so many throws of a coin, how many show a side that has this share."""
    passing = (generator.random(len(times), dtype=np.float32) < share).astype(np.int64)
    several = np.flatnonzero(times > 1)
    passing[several] = generator.binomial(times[several], share)
    return passing


def lowest(ranks: Symbols) -> Symbols:
    """Each column's (L, R) lowest rank and the first place that has it, as rank · PLACES + place (R,)."""
    best: Symbols = (ranks * PLACES + np.arange(len(ranks), dtype=np.int32)[:, None]).min(axis=0)
    return best


def merge(pieces: Symbols, ranks: Symbols, best: Symbols, merges: MergeTable) -> tuple[Symbols, Symbols]:
    """Join the best pair of each column: pieces (L, R), ranks (L - 1, R) become one shorter."""
    rank, place = np.divmod(best, PLACES)
    columns, rows = np.arange(len(best)), np.arange(len(ranks), dtype=np.int32)[:, None]
    behind = rows > place  # (L - 1, R) what moves up
    pieces = np.where(behind, pieces[1:], pieces[:-1])
    pieces[place, columns] = merges.made[rank]
    ranks = np.where(behind[:-1], ranks[1:], ranks[:-1])
    for at in (place, np.maximum(place - 1, 0)):  # the new piece with its two neighbours
        ranks[at, columns] = merges.rank(pieces[at, columns], pieces[at + 1, columns])
    return pieces, ranks


def compact(pieces: Symbols) -> Ragged:
    """The columns (L, R) as lists, without NOTHING."""
    words = pieces.T
    there = words >= 0
    return Ragged(words[there].astype(np.int64), offsets(there.sum(axis=1)))


class WordCutter:
    """The distinct words of a growing text, each with its plain cut first and then with others.

    A word is told by its ids: one begins at each piece that begins with a space. Within a word, pieces never
    cross the tokenizer's own borders.
    """

    def __init__(self, tokenizer: Tokenizer, share: float, seed: int) -> None:
        self.tokenizer, self.share = tokenizer, share
        self.merges = MergeTable(tokenizer)
        self.generator = np.random.default_rng(seed)
        pieces = tokenizer.pieces(range(tokenizer.size))
        self.letters = {piece: i for i, piece in enumerate(pieces) if i >= FIRST and len(piece) == 1}
        # Letters, and signs behind them, are the usual parts: the library need not be asked for those.
        self.inner = {one for one in self.letters if len(tokenizer.split(f"{one}a{one}a")) == 1}
        self.signs = "".join(one for one in self.letters if tokenizer.split(f"a{one}{one}")[1:] == [one * 2])
        self.begins = np.array([piece.startswith(" ") for piece in pieces])
        self.begins[len(SPECIALS) + ord(" ")] = True
        self.numbers: defaultdict[bytes, int] = defaultdict()
        self.numbers.default_factory = self.numbers.__len__  # a new word gets the next number
        self.cuts = ragged([])
        self.draws: Ids = np.zeros(0, dtype=np.int64)  # which cut each draw gave, word by word
        self.first: Ids = np.zeros(1, dtype=np.int64)  # of each word, its first draw; and the end

    def read(self, texts: Ragged, times: int) -> Ragged:
        """The numbers of the words of texts, given as ids; new words are cut, `times` for each occurrence."""
        begins = self.begins[texts.values]
        begins[texts.begin[:-1][texts.lengths() > 0]] = True
        begin = np.append(np.flatnonzero(begins), len(texts.values))
        ids, width = texts.values.astype(np.uint32), 4
        data, ends = ids.tobytes(), (begin * width).tolist()
        known = len(self.numbers)
        found = np.array(
            [self.numbers[data[start:end]] for start, end in zip(ends[:-1], ends[1:], strict=True)],
            dtype=np.int64,
        )
        seen = np.bincount(found, minlength=len(self.numbers))[known:]
        if len(seen):
            new = [np.frombuffer(word, dtype=np.uint32).tolist() for word in list(self.numbers)[known:]]
            self._learn(new, np.minimum(CUTS, times * seen))
        return Ragged(found, np.searchsorted(begin, texts.begin))

    def pick(self, words: Ragged, generator: np.random.Generator, longest: int) -> Ragged:
        """The ids of texts that `read` has numbered, each word in one of its cuts at random.

        A text that would have more than `longest` ids is cut in the plain way.
        """
        plain = self.first[words.values]
        count = self.first[words.values + 1] - plain
        drawn = np.minimum(count - 1, 1 + (generator.random(len(plain)) * (count - 1)).astype(np.int64))
        chosen = self.draws[plain + drawn]
        length = np.diff(offsets(self.cuts.lengths()[chosen])[words.begin])
        long = np.repeat(length > longest, words.lengths())
        chosen[long] = self.draws[plain[long]]
        ids = self.cuts.take(chosen)
        return Ragged(ids.values, ids.begin[words.begin])

    def _learn(self, words: list[list[int]], times: Ids) -> None:
        """Cut new words: each once in the plain way, then as often as told."""
        spelled = map(self.tokenizer.spell, self.tokenizer.decode_many(words))
        symbols = list(map(self._symbols, spelled))
        times = np.where([len(one) > LONGEST for one in symbols], 0, times)
        plain = WordCuts(ragged(words), np.arange(len(words)), np.ones(len(words), dtype=np.int64))
        drawn = [plain, *self._draw(ragged(symbols), times)]
        word, often = (np.concatenate([getattr(one, name) for one in drawn]) for name in ("word", "times"))
        order = np.argsort(word, kind="stable")
        self.draws = np.concatenate([self.draws, np.repeat(len(self.cuts) + order, often[order])])
        self.first = np.concatenate([self.first[:-1], self.first[-1] + offsets(1 + times)])
        self.cuts = join([self.cuts, *(one.cuts for one in drawn)])

    def _draw(self, symbols: Ragged, times: Ids) -> list[WordCuts]:
        """Cuts of these words, each `times` in all; words of like length go together."""
        sizes = symbols.lengths()
        order = np.argsort(sizes, kind="stable")
        order = order[times[order] > 0]
        found = []
        for begin in range(0, len(order), BLOCK):
            which = order[begin : begin + BLOCK]
            there = np.arange(sizes[which].max() + 1) < sizes[which, None]
            block = np.full(there.shape, NOTHING, dtype=np.int32)
            block[there] = symbols.take(which).values
            drawn = cut(np.ascontiguousarray(block.T), times[which], self.merges, self.share, self.generator)
            found += [WordCuts(one.cuts, which[one.word], one.times) for one in drawn]
        return found

    def _symbols(self, word: str) -> list[int]:
        """The ids of a word's characters, or of their bytes; NOTHING between parts that no piece crosses."""
        core = word.rstrip(self.signs)
        usual = core and self.inner.issuperset(core)
        symbols: list[int] = []
        for part in filter(None, (f" {core}", word[len(core) :])) if usual else self.tokenizer.split(word):
            ids = [self.letters.get(letter, -1) for letter in part]
            if -1 in ids:
                ids = [i for letter in part for i in self._letter(letter)]
            symbols += [NOTHING, *ids] if symbols else ids
        return symbols

    def _letter(self, letter: str) -> list[int]:
        known = self.letters.get(letter)
        return [len(SPECIALS) + byte for byte in letter.encode()] if known is None else [known]
