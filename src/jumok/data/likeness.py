"""How much a source and a target look like partners, learned from the corpus itself.

Three signs are weighed: words that often stand in partners (a lexicon), words that are the same on both sides
(names, numbers, marks), and lengths. Nothing here knows a language. A text is a row of ids.

Axis letters: N lines, W words of a line, A anchors of a line, F signs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

BEGINNING = 400  # characters of a text that are looked at
WORDS, ANCHORS = 10, 5  # of a line, the rarest
VOCABULARY = 3_000  # words of a side that the lexicon knows
SHRINK = 3.0  # partners by chance that a pair of words is given: what was seen once proves nothing
FEW_WORDS = 3.0  # on average, below which a word's letters are looked at too
FOLD = 100  # lines that are judged by what the others taught

_WORD = re.compile(r"\d+|[^\W\d_]+|[^\w\s]")


def stem(word: str) -> str:
    """The beginning of a word, which stands for all its forms; "" in scripts without spaces between words."""
    code = ord(word[0])
    if 0x3040 <= code < 0xAC00:
        return ""
    return word[: 2 if 0xAC00 <= code <= 0xD7A3 else 5]


def stems(text: str, *, letters: bool) -> Iterator[str]:
    """What stands for the words of a text: their beginnings; of scripts without spaces, neighbours."""
    for word in _WORD.findall(text):
        yield from [stem(word)] if stem(word) else (word[i : i + 2] for i in range(len(word)))
        if letters and len(word) > 1:
            edged = f"^{word}$"
            yield from (edged[i : i + 2] for i in range(len(edged) - 1))


@dataclass(frozen=True)
class SideFeatures:
    """One side of the lines: stems in the lexicon's vocabulary, anchors, lengths. 0 stands for none."""

    words: Ids  # (N, W)
    anchors: Ids  # (N, A)
    lengths: Floats  # (N,)
    blank: NDArray[np.bool_]  # (N,)


def features(sources: Sequence[str], targets: Sequence[str]) -> tuple[SideFeatures, SideFeatures, Floats]:
    """Both sides, and the weight of each anchor: how surprising it is."""
    lowered = [[text[:BEGINNING].casefold() for text in side] for side in (sources, targets)]
    plain = [[frozenset(_WORD.findall(text)) for text in side] for side in lowered]
    known, weights = _anchors(plain)
    made = []
    for given, low, own in zip((sources, targets), lowered, plain, strict=True):
        few = sum(map(len, own)) < FEW_WORDS * len(own)
        rows = [set(stems(text, letters=few)) for text in low]
        counts = Counter(stem for row in rows for stem in row)
        most = 0.5 * len(rows)
        common = [stem for stem, n in counts.most_common() if 2 < n <= most][: VOCABULARY - 1]
        ids = {stem: i for i, stem in enumerate(common, start=1)}
        lengths = np.log(np.array([*map(len, given)], np.float32) + 5)
        made.append(
            SideFeatures(
                _padded(rows, ids, WORDS),
                _padded(own, known, ANCHORS),
                lengths.astype(np.float32),
                np.array([not text for text in given]),
            )
        )
    return made[0], made[1], weights


def _anchors(plain: Sequence[Sequence[frozenset[str]]]) -> tuple[dict[str, int], Floats]:
    """Words of both sides that are rare enough to mean something, commonest first, and their weights."""
    counts = [Counter(word for row in side for word in row) for side in plain]
    lines = max(len(plain[0]), 1)
    both = {word: n + counts[1][word] for word, n in counts[0].items() if word in counts[1]}
    rare = sorted(
        (word for word, n in both.items() if n <= 0.1 * lines), key=lambda word: (-both[word], word)
    )
    weights = [0.0, *(np.log(2 * lines / both[word]) for word in rare)]
    return {word: i for i, word in enumerate(rare, start=1)}, np.array(weights, np.float32)


def _padded(rows: Sequence[set[str] | frozenset[str]], ids: dict[str, int], most: int) -> Ids:
    """The rarest known words of each row: those with the highest numbers."""
    made = np.zeros((len(rows), most), np.int32)
    for place, row in enumerate(rows):
        found = sorted((ids[word] for word in row if word in ids), reverse=True)[:most]
        made[place, : len(found)] = found
    return made


class Likeness:
    """Signs that lines are partners, by what `pairs` of them teach: rows (M, 2) of source and target lines.

    Lines are judged by what the other half of the folds taught, so that nothing is recognised by heart.
    """

    def __init__(self, source: SideFeatures, target: SideFeatures, weights: Floats, pairs: Rows) -> None:
        self.source, self.target, self.weights = source, target, weights
        fold = pairs[:, 0] // FOLD % 2
        self.tables = [learn_table(source.words, target.words, pairs[fold != half]) for half in (0, 1)]
        ratios = source.lengths[pairs[:, 0]] - target.lengths[pairs[:, 1]]
        self.ratio = float(np.median(ratios)) if len(ratios) else 0.0
        self.coefficients = np.zeros(4)

    def signs(self, pairs: Rows) -> Floats:
        """The signs of pairs of lines (N, F), the last of which is always 1."""
        left, right = pairs.T
        made = np.ones((len(pairs), 4), np.float32)
        for half in (0, 1):
            rows = np.flatnonzero(left // FOLD % 2 == half)
            made[rows, 0] = word_sign(
                self.source.words[left[rows]], self.target.words[right[rows]], self.tables[half]
            )
        made[:, 1] = anchor_sign(self.source.anchors[left], self.target.anchors[right], self.weights)
        apart = abs(self.source.lengths[left] - self.target.lengths[right] - self.ratio)
        made[:, 2] = -np.minimum(apart, 2.0)
        return made

    def fit(self, partners: Rows, strangers: Rows) -> None:
        """Weigh the signs so that they tell partners from strangers: logistic regression."""
        signs = np.concatenate([self.signs(partners), self.signs(strangers)]).astype(np.float64)
        right = np.repeat([1.0, 0.0], [len(partners), len(strangers)])
        weight = np.repeat(
            [0.5 / max(len(partners), 1), 0.5 / max(len(strangers), 1)], [len(partners), len(strangers)]
        )
        self.coefficients = np.zeros(4)
        for _ in range(8):
            share = 1 / (1 + np.exp(-signs @ self.coefficients))
            curve = (signs * (weight * share * (1 - share))[:, None]).T @ signs + 1e-4 * np.eye(4)
            slope = signs.T @ (weight * (right - share)) - 1e-4 * self.coefficients
            self.coefficients += np.linalg.solve(curve, slope)

    def score(self, pairs: Rows) -> Floats:
        """The logarithm of how much likelier partners have these signs than strangers; 0 of a blank one."""
        known = np.clip(self.signs(pairs) @ self.coefficients, -5, 5)
        blank = self.source.blank[pairs[:, 0]] | self.target.blank[pairs[:, 1]]
        return np.where(blank, 0.0, known).astype(np.float32)


def learn_table(left: Ids, right: Ids, pairs: Rows) -> Floats:
    """How many times as often two words stand in partners as they would by chance, as logarithms (V, V)."""
    lines, sizes = max(len(pairs), 1), [int(side.max(initial=0)) + 1 for side in (left, right)]
    mine, theirs = left[pairs[:, 0]].astype(np.int64), right[pairs[:, 1]].astype(np.int64)
    keys, counts = np.unique(mine[:, :, None] * sizes[1] + theirs[:, None, :], return_counts=True)
    alone = [np.bincount(side.ravel(), minlength=n) for side, n in zip((mine, theirs), sizes, strict=True)]
    chance = alone[0][keys // sizes[1]] * alone[1][keys % sizes[1]] / lines
    table = np.zeros(sizes, np.float32)
    table.ravel()[keys] = np.maximum(np.log((counts + SHRINK) / (chance + SHRINK)), 0)
    table[0], table[:, 0] = 0, 0
    return table


def word_sign(left: Ids, right: Ids, table: Floats) -> Floats:
    """How well the words of each line find a partner on the other side, both ways."""
    bonds = table[left[:, :, None], right[:, None, :]]  # (N, W, W)
    there = bonds.max(axis=1).sum(axis=1) / np.maximum((right > 0).sum(axis=1), 1)
    back = bonds.max(axis=2).sum(axis=1) / np.maximum((left > 0).sum(axis=1), 1)
    sign: Floats = (there + back) / 2
    return sign


def anchor_sign(left: Ids, right: Ids, weights: Floats) -> Floats:
    """The weight of the anchors that both sides have, less that of those of one side only."""
    both = (left[:, :, None] == right[:, None, :]) & (left > 0)[:, :, None]  # (N, A, A)
    mine, theirs = weights[left], weights[right]
    shared = np.where(both.any(axis=2), mine, 0).sum(axis=1)
    whole = mine.sum(axis=1) + theirs.sum(axis=1)
    sign: Floats = (4 * shared - whole) / 10
    return np.clip(sign, -1.5, 1.5)
