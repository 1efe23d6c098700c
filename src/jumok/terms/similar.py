"""Texts that are nearly the same: an index of character n-grams finds candidates, edit distance judges them.

Two texts that differ in d edits share all but 3 d of the longer one's trigrams (Ukkonen 1992). Of the texts
that share so many, those that share most are then compared character by character.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIZE = 3  # characters of an n-gram
EDGE = "\u0002"  # stands before and behind each text, so that its ends count
CANDIDATES = 24  # texts that are compared character by character
BITS = 21  # of a code point


class NgramIndex:
    """Which texts have which n-grams, as two arrays: postings, and where those of each n-gram begin."""

    def __init__(self, texts: Sequence[str]) -> None:
        grams = [ngrams(text) for text in texts]
        self.counts = np.array([len(one) for one in grams], np.int32)  # (texts,)
        self.lengths = np.array([len(text) for text in texts], np.int32)  # (texts,)
        owners = np.repeat(np.arange(len(texts), dtype=np.int32), self.counts)
        joined = np.concatenate(grams) if grams else np.empty(0, np.uint64)
        order = np.argsort(joined, kind="stable")
        self.grams, self.begins = np.unique(joined[order], return_index=True)
        self.ends = np.append(self.begins[1:], len(joined))
        self.owners = owners[order]

    def candidates(self, text: str, threshold: float) -> NDArray[np.int64]:
        """The texts that share most n-grams with this one, best first, and enough to be so similar."""
        wanted = ngrams(text)
        places = np.searchsorted(self.grams, wanted)
        known = places < len(self.grams)
        places = places[known][self.grams[places[known]] == wanted[known]]
        if not len(places):
            return np.empty(0, np.int64)
        lists = [self.owners[self.begins[place] : self.ends[place]] for place in places]
        shared = np.bincount(np.concatenate(lists), minlength=len(self.counts))
        edits = np.floor((1 - threshold) * np.maximum(self.lengths, len(text)) + 1e-6)  # whole ones
        enough = np.maximum(self.counts, len(wanted)) - SIZE * edits
        likeness = 2 * shared / (self.counts + len(wanted))
        likeness[shared < np.maximum(enough, 1)] = 0
        best = np.argpartition(-likeness, min(CANDIDATES, len(likeness)) - 1)[:CANDIDATES]
        best = best[likeness[best] > 0]
        return best[np.argsort(-likeness[best], kind="stable")]


def ngrams(text: str) -> NDArray[np.uint64]:
    """The different n-grams of a text, each as one number, sorted."""
    codes = np.frombuffer(f"{EDGE}{text}{EDGE}".encode("utf-32-le"), np.uint32).astype(np.uint64)
    if len(codes) < SIZE:
        return np.empty(0, np.uint64)
    shift = np.uint64(BITS)
    return np.unique((codes[:-2] << shift | codes[1:-1]) << shift | codes[2:])


def similarity(left: str, right: str) -> float:
    """1 - d / n: d edits lead from one text to the other, and n characters has the longer."""
    longer = max(len(left), len(right))
    return 1 - edit_distance(left, right) / longer if longer else 1.0


def edit_distance(left: str, right: str) -> int:
    """How many characters have to be put in, left out or replaced (Levenshtein).

    A column of the table at a time, as bits of one number: Myers 1999, in the words of Hyyrö 2003.
    """
    if not left:
        return len(right)
    where: dict[str, int] = {}
    for place, character in enumerate(left):
        where[character] = where.get(character, 0) | 1 << place
    full, last = (1 << len(left)) - 1, 1 << (len(left) - 1)
    up, down, distance = full, 0, len(left)  # cells that are one more, or one less, than the one above
    for character in right:
        same = where.get(character, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        more, less = down | ~(diagonal | up) & full, diagonal & up
        distance += bool(more & last) - bool(less & last)
        more, less = (more << 1 | 1) & full, less << 1 & full
        up, down = less | ~(diagonal | more) & full, diagonal & more
    return distance
