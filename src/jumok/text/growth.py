"""A vocabulary that grows: tokens for text that it does not cover, learned after those that it has.

Every token keeps its id, so a trained model keeps its rows. New byte-pair tokens are learned as the first
ones were, by joining the most frequent pair of neighbours, and going on from how the old tokens cut the text.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from jumok.errors import ConfigError
from jumok.progress import silent
from jumok.text.alphabet import count_words, most_frequent
from jumok.text.jamo import to_jamo
from jumok.text.tokenizer import FIRST, FIRST_BYTE, Tokenizer, spread
from jumok.text.tokenizer_form import Merges

LEAST = 2  # times that a pair must be seen to become a token
Pair = tuple[str, str]


def grow(tokenizer: Any, lines: Iterable[str], count: int) -> Tokenizer:
    """The tokenizer with at most `count` tokens more for these tidied lines; refuses one that is not ours."""
    if type(tokenizer) is not Tokenizer:
        raise ConfigError(
            f"--extend-vocabulary {count} cannot work: the tokenizer of this model comes from another "
            "toolkit, and tokens cannot be added to it",
            hint="leave the option out: text that it does not cover is written in smaller pieces",
            code="foreign_tokenizer",
        )
    if tokenizer.tags:
        raise ConfigError(
            f"--extend-vocabulary {count} cannot work: behind this model's tokens stand its languages' tags",
            hint="leave the option out: text that it does not cover is written in smaller pieces",
            code="tagged_tokenizer",
        )
    sample = spread(lines, silent)
    sample = list(map(to_jamo, sample)) if tokenizer.jamo else sample
    learned = tokenizer.pieces(range(FIRST, tokenizer.size))
    new = [one for one in symbols_of(sample, tokenizer) if one not in set(learned)]
    if tokenizer.kind != "bpe":
        return Tokenizer(replace(tokenizer.form, learned=(*learned, *new[:count])))
    characters = new[: count // 2]
    known, merges = [*learned, *characters], list(tokenizer.merges)
    words = Counter(part for line in sample for part in tokenizer.split(line))
    found = learn_merges(words, known, merges, count - len(characters))
    joined = [left + right for left, right in found]
    more = dict.fromkeys(one for one in joined if one not in set(known))
    return Tokenizer(replace(tokenizer.form, learned=(*known, *more), merges=(*merges, *found)))


def symbols_of(sample: list[str], tokenizer: Tokenizer) -> list[str]:
    """Characters of the text, or its words, the most frequent first; of byte-pair tokens not the rarest."""
    if tokenizer.kind == "word":
        counts = count_words(sample)
    else:
        counts = Counter(character for line in sample for character in line)
    least = LEAST if tokenizer.kind == "bpe" else 1
    frequent = most_frequent(counts, len(counts), least=least)
    return sorted(frequent, key=lambda one: (-counts[one], one))


def learn_merges(words: Counter[str], known: Sequence[str], merges: Merges, room: int) -> Merges:
    """Merges after `merges` that make at most `room` tokens which are not known yet."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    vocabulary = set(known)
    cuts = [(cut(word, ranks, vocabulary), count) for word, count in sorted(words.items())]
    counts: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, (pieces, count) in enumerate(cuts):
        for pair in neighbours(pieces):
            counts[pair] += count
            where[pair].add(number)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    found: Merges = []
    while heap and room > 0:
        count, best = heapq.heappop(heap)
        if counts[best] != -count or -count < LEAST:
            continue  # it has changed since, and stands there again
        found.append(best)
        room -= best[0] + best[1] not in vocabulary
        vocabulary.add(best[0] + best[1])
        touched: set[Pair] = set()
        for number in where.pop(best):
            pieces, times = cuts[number]
            after = join(pieces, best)
            for pair in neighbours(pieces):
                counts[pair] -= times
                touched.add(pair)
            for pair in neighbours(after):
                counts[pair] += times
                where[pair].add(number)
                touched.add(pair)
            cuts[number] = after, times
        for pair in touched:
            if counts[pair] >= LEAST:
                heapq.heappush(heap, (-counts[pair], pair))
    return found


def cut(word: str, ranks: dict[Pair, int], known: set[str]) -> list[str]:
    """A word in the pieces that these merges make; "" stands for a character that is written in bytes."""
    pieces = [character if character in known else "" for character in word]
    while pairs := [(ranks[pair], pair) for pair in neighbours(pieces) if pair in ranks]:
        pieces = join(pieces, min(pairs)[1])
    return pieces


def neighbours(pieces: list[str]) -> list[Pair]:
    """Pairs that could be joined: nothing crosses a byte."""
    return [pair for pair in zip(pieces, pieces[1:], strict=False) if all(pair)]


def join(pieces: list[str], pair: Pair) -> list[str]:
    """The same with every such pair, from the left, as one piece."""
    joined: list[str] = []
    place = 0
    while place < len(pieces):
        both = tuple(pieces[place : place + 2]) == pair
        joined.append(pair[0] + pair[1] if both else pieces[place])
        place += 2 if both else 1
    return joined


def parts_of(before: Tokenizer, after: Tokenizer) -> list[list[int]]:
    """For each token that `after` has and `before` has not: the old tokens that it is made of, bytes at last.

    A row of a table that begins as the mean of its parts' rows begins near what the model knew.
    """
    ids = {piece: id for id, piece in enumerate(before.pieces(range(before.size)))}
    made = {left + right: (left, right) for left, right in reversed(after.merges)}

    def parts(piece: str) -> list[int]:
        if piece in ids:
            return [ids[piece]]
        if piece in made:
            left, right = made[piece]
            return parts(left) + parts(right)
        return [FIRST_BYTE + byte for byte in piece.encode()]

    return [parts(piece) for piece in after.pieces(range(before.size, after.size))]
