"""Shortlists: of a large vocabulary only the target tokens that a sentence may need are computed.

The list of a sentence holds the end, the most frequent target tokens, the likely ones of each of its source
tokens, and those that copy a source token. Bytes come all or none: where one may be needed the rest of its
character is needed, too; a source with bytes of its own gets them.

Which target tokens a source token is likely to become is IBM model 1, learned from pairs of ids:

    p(t | sentence s) = sum over i of p(t | s_i) / (I + 1),   s_0 = nothing

Pairs are looked at in blocks. Of each source token only the partners that are bound to it most closely take
part in the steps, so what memory grows with are the ids of the text and the vocabularies.

The file is `shortlist.safetensors`: the list of source token i is likely[begin[i] : begin[i + 1]], and
`always` belongs to every sentence. Its metadata says the format and which vocabularies it is for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ModelError
from jumok.native.tensors import check_format, dump_tensors, parse_tensors
from jumok.progress import Progress, silent
from jumok.text.ragged import Ragged, join, offsets, ragged
from jumok.text.tokenizer import BOS, BYTES, EOS, FIRST, FIRST_BYTE, PAD, UNK, Tokenizer, Tokenizers

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Pairs = Iterable[tuple[Sequence[int], Sequence[int]]]

FILE, FORMAT = "shortlist.safetensors", "jumok-shortlist/1"
AGAIN = "make it again with jumok export native --shortlist"

EACH, FREQUENT = 200, 200
"""Likely target tokens of each source token, and frequent ones of all sentences."""

OF_BYTES = slice(FIRST_BYTE, FIRST)
"""The byte tokens."""
NO_TEXT = (*range(0x20), 0x7F, 0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that no answer has: control characters, and what is in no UTF-8."""

STEPS = 4
BLOCK = 1 << 20
"""Places (source token, target token) of a block: few enough to stay in memory that is near."""
PARTNERS = 2
"""For each partner that is kept in the end, so many take part in the steps."""
TABLE = 1 << 22
"""New pairs of tokens that are counted before the weakest of all are left out."""
READ = 10_000
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of Fibonacci hashing
FREE = -1


@dataclass(frozen=True)
class Lexicon:
    """The likely target tokens of every source token, likeliest first, and how often each target occurred."""

    likely: Ragged
    counts: Ints

    def frequent(self, most: int) -> Ints:
        """The target tokens that occurred most often, ascending; of equals the lower id."""
        order = np.argsort(-self.counts, kind="stable")[:most]
        return np.sort(order[self.counts[order] > 0])


def learn_lexicon(
    pairs: Pairs, sizes: tuple[int, int], each: int, progress: Progress = silent, *, steps: int = STEPS
) -> Lexicon:
    """The `each` likeliest partners of every source token; `sizes` are those of the vocabularies.

    Pairs with an empty side are passed over. The same pairs give the same lexicon.
    """
    source, target = read_pairs(pairs)
    counts = np.bincount(target.values, minlength=sizes[1])
    total = len(source) * (steps + 1)

    def report(before: int, done: int) -> None:
        progress("learning the shortlist", before * len(source) + done, total)

    keys, together = np.zeros(0, np.int64), np.zeros(0, np.int64)
    tables: list[tuple[Ints, Ints]] = []
    for done, places in blocks(source, target, sizes[1]):
        tables.append(np.unique(places.keys, return_counts=True))
        if sum(len(new_keys) for new_keys, _ in tables) > TABLE or done == len(source):
            keys, together = merged([(keys, together), *tables])
            chosen = strongest(keys, together**2 / counts[keys % sizes[1]], sizes[1], PARTNERS * each)
            keys, together, tables = keys[chosen], together[chosen], []
        report(0, done)
    table = KeyTable(keys)
    likely = np.zeros(table.size)
    likely[table.find(keys)] = together
    likely = normalised(likely, table.keys // sizes[1])
    nothing = counts / max(int(counts.sum()), 1)
    for step in range(1, steps + 1):
        sums, alone = np.zeros(table.size), np.zeros(sizes[1])
        for done, places in blocks(source, target, sizes[1]):
            expect(places, table, likely, nothing, sums, alone)
            report(step, done)
        likely = normalised(sums, table.keys // sizes[1])
        nothing = alone / max(float(alone.sum()), 1e-300)
    values = likely[table.find(keys)]
    keys, values = keys[values > 0], values[values > 0]
    chosen = strongest(keys, values, sizes[1], each)
    lengths = np.bincount(keys[chosen] // sizes[1], minlength=sizes[0])
    return Lexicon(Ragged(keys[chosen] % sizes[1], offsets(lengths)), counts)


def read_pairs(pairs: Pairs) -> tuple[Ragged, Ragged]:
    """All pairs that have two sides, as arrays."""
    sides: tuple[list[Ragged], list[Ragged]] = ([ragged([])], [ragged([])])
    whole = iter(pairs)
    while some := list(islice(whole, READ)):
        kept = [(source, target) for source, target in some if len(source) and len(target)]
        for side, number in zip(sides, (0, 1), strict=True):
            side.append(ragged([pair[number] for pair in kept]))
    return join(sides[0]), join(sides[1])


@dataclass(frozen=True)
class PairPlaces:
    """Some sentence pairs: a place for each of their source tokens under each of their target tokens."""

    keys: Ints
    """Source id · target tokens + target id."""
    targets: Ints
    """The target tokens."""
    begin: Ints
    """Where the places of each target token begin."""
    lengths: Ints
    """How many they are."""


def blocks(source: Ragged, target: Ragged, size: int) -> Iterator[tuple[int, PairPlaces]]:
    """The places of all pairs, a block at a time, with the number of pairs so far."""
    places = offsets(source.lengths() * target.lengths())
    begin = 0
    while begin < len(source):
        end = max(int(np.searchsorted(places, places[begin] + BLOCK, side="right")) - 1, begin + 1)
        which = np.arange(begin, end)
        left, right = source.take(which), target.take(which)
        lengths = np.repeat(left.lengths(), right.lengths())
        starts = offsets(lengths)
        place = np.repeat(np.repeat(left.begin[:-1], right.lengths()) - starts[:-1], lengths)
        keys = left.values[place + np.arange(starts[-1])] * size + np.repeat(right.values, lengths)
        yield end, PairPlaces(keys, right.values, starts[:-1], lengths)
        begin = end


def merged(tables: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Keys that ascend and their counts, from several such tables."""
    keys, counts = (np.concatenate(side) for side in zip(*tables, strict=True))
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts, first) if len(first) else counts


def strongest(keys: Ints, values: Floats, size: int, most: int) -> Ints:
    """Which keys have the `most` largest values of their source token, source by source, largest first.

    Of equals the lower target id comes first. Keys ascend.
    """
    rows = keys // size
    order = np.lexsort((-values, rows))
    rows = rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return order[rank < most]


def expect(
    places: PairPlaces, table: "KeyTable", likely: Floats, nothing: Floats, sums: Floats, alone: Floats
) -> None:
    """Add to `sums` and `alone` how much of each target token comes from its partners, and from nothing."""
    slots = table.find(places.keys)
    known = likely[slots]
    whole = np.add.reduceat(known, places.begin) + nothing[places.targets]
    share = 1 / np.maximum(whole, 1e-300)
    sums += np.bincount(slots, known * np.repeat(share, places.lengths), len(sums))
    alone += np.bincount(places.targets, nothing[places.targets] * share, len(alone))


def normalised(sums: Floats, rows: Ints) -> Floats:
    """Sums as shares of those of their row; a row of -1 is none."""
    totals = np.bincount(rows + 1, sums)
    return np.where(rows < 0, 0.0, sums / np.maximum(totals[rows + 1], 1e-300))


class KeyTable:
    """A place for each of some keys, found with a few looks. The place after the last is that of others."""

    def __init__(self, keys: Ints) -> None:
        bits = max(int(2 * len(keys)).bit_length(), 4)
        self._shift, self._mask = np.uint64(64 - bits), (1 << bits) - 1
        self.keys = np.full((1 << bits) + 1, FREE, np.int64)
        self.size = len(self.keys)
        slots = self._hash(keys)
        while len(keys):
            free = self.keys[slots] == FREE
            self.keys[slots[free]] = keys[free]  # of several the last stays
            rest = self.keys[slots] != keys
            keys, slots = keys[rest], slots[rest] + 1 & self._mask

    def find(self, keys: Ints) -> Ints:
        """The places of keys; the last for one that is not there."""
        slots = self._hash(keys)
        there = self.keys[slots]
        slots[there == FREE] = self.size - 1
        open_ = np.flatnonzero((there != keys) & (there != FREE))
        while len(open_):
            slots[open_] = slots[open_] + 1 & self._mask
            there = self.keys[slots[open_]]
            slots[open_[there == FREE]] = self.size - 1
            open_ = open_[(there != keys[open_]) & (there != FREE)]
        return slots

    def _hash(self, keys: Ints) -> Ints:
        return (keys.astype(np.uint64) * FACTOR >> self._shift).astype(np.int64)


class Shortlist:
    """What a sentence may be translated with. Nothing in it changes; threads may share it."""

    def __init__(self, begin: Ids, likely: Ids, always: Ids, size: int) -> None:
        """`begin`, `likely` and `always` as in the file, for a vocabulary of `size` target tokens."""
        self.begin, self.likely, self.always, self.size = begin, likely, always, size
        # As the quickest way to a sentence's list wants them.
        self._begin: list[int] = begin.tolist()
        self._likely = likely.astype(np.intp)
        self._taken = np.zeros(size, dtype=np.bool_)
        self._taken[always] = True
        self._text = np.ones(len(BYTES), dtype=np.bool_)
        self._text[list(NO_TEXT)] = False

    def ids(self, source: Sequence[int], prefix: Sequence[int] = ()) -> Ids:
        """The target ids for a source, ascending; those of a prefix are among them."""
        begin, likely = self._begin, self._likely
        parts = [likely[begin[i] : begin[i + 1]] for i in source]
        taken = self._taken.copy()
        taken[np.concatenate([np.array(prefix, dtype=np.intp), *parts])] = True
        if taken[OF_BYTES].any():
            taken[OF_BYTES] |= self._text
        return np.flatnonzero(taken).astype(np.int32)


def build_shortlist(
    pairs: Pairs,
    tokenizers: Tokenizers,
    progress: Progress = silent,
    *,
    each: int = EACH,
    frequent: int = FREQUENT,
) -> Shortlist:
    """The shortlist from pairs of ids, such as those that the model learned from."""
    source, target = tokenizers.text_source, tokenizers.target
    lexicon = learn_lexicon(pairs, (source.size, target.size), each, progress)
    never = np.zeros(target.size, dtype=np.bool_)
    never[[BOS, PAD, UNK, *(FIRST_BYTE + byte for byte in NO_TEXT)]] = True
    rows = np.repeat(np.arange(source.size), lexicon.likely.lengths())
    left, right = copies(source, target)
    keys = np.concatenate((rows * target.size + lexicon.likely.values, left * target.size + right))
    keys = np.unique(keys)
    keys = keys[~never[keys % target.size]]
    begin = np.zeros(source.size + 1, dtype=np.int32)
    np.cumsum(np.bincount(keys // target.size, minlength=source.size), out=begin[1:])
    common = lexicon.frequent(frequent)
    always = np.union1d(common[~never[common]], [EOS])
    return Shortlist(begin, (keys % target.size).astype(np.int32), always.astype(np.int32), target.size)


def copies(source: Tokenizer, target: Tokenizer) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The source tokens that the target has, too, and which they are there."""
    known = {piece: i for i, piece in enumerate(target.pieces(range(target.size)))}
    names = source.pieces(range(FIRST_BYTE, source.size))
    both = [(i, known[name]) for i, name in enumerate(names, FIRST_BYTE) if name in known]
    left, right = zip(*both, strict=True)
    return np.array(left), np.array(right)


def dump_shortlist(shortlist: Shortlist, tokenizers: Tokenizers) -> bytes:
    """The bytes of `shortlist.safetensors`."""
    arrays = {"begin": shortlist.begin, "likely": shortlist.likely, "always": shortlist.always}
    return dump_tensors(arrays, {"format": FORMAT, **_fingerprints(tokenizers)})


def parse_shortlist(buffer: Any, tokenizers: Tokenizers, where: str) -> Shortlist:
    """The shortlist in the bytes of `shortlist.safetensors`. Whatever is wrong is a ModelError."""
    arrays, metadata = parse_tensors(buffer, where)
    check_format(metadata, FORMAT, "the shortlist", where, AGAIN)
    for name, value in _fingerprints(tokenizers).items():
        if metadata.get(name) != value:
            raise ModelError(
                f"the shortlist is for another {name}: {str(metadata.get(name))[:12]}…, not {value[:12]}…",
                where=where,
                hint=AGAIN,
                code="vocabulary_mismatch",
            )
    size = tokenizers.target.size
    if reason := _fault(arrays, tokenizers.source.size, size):
        raise ModelError(f"the shortlist is damaged: {reason}", where=where, hint=AGAIN, code="damaged")
    return Shortlist(arrays["begin"], arrays["likely"], arrays["always"], size)


def check_listed(fields: Any, where: str) -> None:
    """Refuse a shortlist without a part of the certificate that says that it is good enough."""
    if not isinstance(fields, dict) or fields.get("passed") is not True:
        raise ModelError(
            "no certificate says how well the model agrees with itself when it uses the shortlist",
            where=where,
            hint=AGAIN,
            code="no_certificate",
        )


def _fingerprints(tokenizers: Tokenizers) -> dict[str, str]:
    return {
        "source vocabulary": tokenizers.source.fingerprint,
        "target vocabulary": tokenizers.target.fingerprint,
    }


def _fault(arrays: Mapping[str, NDArray[Any]], source: int, target: int) -> str:
    """What is wrong with the arrays of a file; "" if nothing is."""
    for name in ("begin", "likely", "always"):
        array = arrays.get(name)
        if array is None:
            return f"{name} is missing"
        if array.dtype != np.int32 or array.ndim != 1:
            return f"{name} is {array.dtype.name} {array.shape}, not a list of int32"
    begin, likely, always = arrays["begin"], arrays["likely"], arrays["always"]
    if len(begin) != source + 1:
        return f"it has {len(begin) - 1:,} lists, and there are {source:,} source tokens"
    if begin[0] != 0 or begin[-1] != len(likely) or (begin[1:] < begin[:-1]).any():
        return "its lists do not follow one another"
    for name, ids in (("likely", likely), ("always", always)):
        if len(ids) and not 0 <= ids.min() <= ids.max() < target:
            return f"{name} has an id outside the {target:,} target tokens"
    if (always[1:] <= always[:-1]).any() or EOS not in always:
        return "always does not ascend, or has no end of the sentence"
    return ""
