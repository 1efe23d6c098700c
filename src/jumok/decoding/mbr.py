"""Minimum Bayes risk: of many answers drawn from the model, the one that agrees best with all of them.

    best = argmax_h 1/N Σ_r U(h, r),    h and r among the N draws

(Kumar & Byrne 2004; Eikema & Aziz 2020). The most probable answer is often an odd one, too short or too
general, where probability is spread over many ways to say a thing. U is sentence chrF++ or ROUGE-1, the same
numbers as in `evaluation`, here for all pairs at once. No torch.

Letters: n different texts, G different n-grams.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from string import punctuation

import numpy as np
from numpy.typing import NDArray

from jumok.answers import Answer
from jumok.config import DecodingConfig, Utility
from jumok.text.rouge_words import rouge_words
from jumok.text.tokenizer import Tokenizer

Matrix = NDArray[np.float64]
Choose = Callable[[Sequence[Answer]], list[Answer]]
"""`choose(draws)`: the draws of one sentence, most probable first -> the same, best first."""

LETTERS, WORDS, BETA = 6, 2, 2  # longest n-grams of chrF++, and how much more recall counts


def choice(config: DecodingConfig, target: Tokenizer) -> Choose | None:
    """How the best of many draws is chosen; None: by its probability."""
    return partial(by_agreement, target.decode_many, config.utility) if config.mbr else None


def by_agreement(
    decode: Callable[[list[tuple[int, ...]]], Sequence[str]], utility: Utility, draws: Sequence[Answer]
) -> list[Answer]:
    """Draws by their expected utility, the best first; equal ones stay in their order."""
    means = expected_utilities(decode([draw.ids for draw in draws]), utility)
    # Sums of the same numbers in another order differ in their last digits, which must decide nothing.
    order = sorted(range(len(draws)), key=lambda place: -round(means[place], 9))
    return [draws[place] for place in order]


def expected_utilities(texts: Sequence[str], utility: Utility) -> list[float]:
    """The mean utility of each text against all of them, itself included: 0 to 1."""
    drawn = Counter(texts)
    weights = np.array(list(drawn.values()), dtype=np.float64) / len(texts)
    between = chrf_between if utility == "chrf" else rouge1_between
    utilities = between(list(drawn))  # (n, n)
    np.fill_diagonal(utilities, 1)  # a text agrees with itself, even one without a word
    means = utilities @ weights  # (n,)
    of = dict(zip(drawn, means.tolist(), strict=True))
    return [of[text] for text in texts]


def rouge1_between(texts: Sequence[str]) -> Matrix:
    """ROUGE-1 of every text, a row, against every text, a column: F1 of their words (n, n)."""
    words = [rouge_words(text) for text in texts]
    counts = np.array([len(row) for row in words], dtype=np.float64)
    return ratio(2 * overlaps(words), counts[:, None] + counts)


def chrf_between(texts: Sequence[str]) -> Matrix:
    """chrF++ of every text, a row, against every text, a column (n, n).

    Precision and recall are means over those lengths of n-grams that both texts have (Popović 2017):

        F = (1 + β²) P R / (β² P + R)
    """
    letters, words = ["".join(text.split()) for text in texts], [chrf_words(text) for text in texts]
    n = len(texts)
    precision, recall, orders = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for rows, longest in ((letters, LETTERS), (words, WORDS)):
        for order in range(1, longest + 1):
            grams = [ngrams(row, order) for row in rows]
            counts = np.array([len(row) for row in grams], dtype=np.float64)
            shared = overlaps(grams)  # (n, n)
            orders += (counts[:, None] > 0) & (counts > 0)
            precision += ratio(shared, counts[:, None])
            recall += ratio(shared, counts[None])
    precision, recall = ratio(precision, orders), ratio(recall, orders)
    return ratio((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def overlaps(rows: Sequence[Sequence[object]]) -> Matrix:
    """How many items every two rows share, repeated ones as often as both have them (n, n).

    The second time that a row has an item counts as an item of its own, so each row is a set, and the sizes
    of all intersections are one product of matrices.
    """
    places: dict[tuple[object, int], int] = {}
    sets = [
        [
            places.setdefault((item, time), len(places))
            for item, count in Counter(row).items()
            for time in range(count)
        ]
        for row in rows
    ]
    has = np.zeros((len(rows), len(places)), dtype=np.float32)  # (n, G)
    for row, own in zip(has, sets, strict=True):
        row[own] = 1
    return (has @ has.T).astype(np.float64)


def ngrams(row: str | Sequence[str], order: int) -> list[tuple[str, ...]]:
    """All runs of `order` items."""
    return list(zip(*(row[start:] for start in range(order)), strict=False))


def ratio(over: Matrix, under: Matrix) -> Matrix:
    """over / under, and 0 where there is nothing to divide by."""
    shape = np.broadcast_shapes(over.shape, under.shape)
    return np.divide(over, under, out=np.zeros(shape), where=np.broadcast_to(under, shape) > 0)


def chrf_words(text: str) -> list[str]:
    """Words as chrF++ takes them: one sign at the end, else one at the beginning, is a word of its own."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words
