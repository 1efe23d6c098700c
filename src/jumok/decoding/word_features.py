"""What is known of each word of an answer without asking the model again: what tells sure from doubtful.

All of it comes from what a search hands back anyway: the log-probability of every token, and the texts.
Letters: W words and T tokens of the answer to one sentence. No torch.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.text.word_spans import is_letter, word_spans, words_of

Span = tuple[int, int]
Column = NDArray[np.float64]
Columns = Mapping[str, Column]

WORST = -20.0
"""Log-probabilities below this say no more than that a word is most improbable."""

WORD_FEATURES = (
    "word",
    "probability",
    "lowest",
    "before",
    "after",
    "earlier",
    "later",
    "sentence",
    "weakest",
    "end",
    "tokens",
    "place",
    "words",
    "ratio",
    "longer",
    "copy",
    "mark",
    "number",
    "capital",
    "repeat",
)
"""Known of every word; `word_columns` says what each is."""
SENTENCE_FEATURES = (
    "expected",
    "doubtful",
    "unchanged",
    "sentence",
    "weakest",
    "end",
    "words",
    "ratio",
    "longer",
)
"""Known of a whole sentence, when its words have probabilities."""


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """The answer to one sentence with what the search says about it."""

    source: str
    text: str
    log_probs: Sequence[float]
    """One for each token, the end included if there is one."""
    spans: Sequence[Span]
    """The characters of the text that each token writes; none for the end."""


def word_columns(answer: ScoredSentence) -> dict[str, Column]:
    """Numbers (W,) by name. Of word w with tokens t:

    word         Σ_t log P(t), not below WORST       probability  exp(word)
    lowest       min_t log P(t)
    before       `word` of the word before           after        of the next one, or log P of the end
    earlier      mean of `word` over all before      later        over all that follow
    sentence     mean log P of all tokens            weakest      the lowest `word` of the sentence
    end          log P of the end                    tokens       log of their number
    place        from 0 at the beginning to 1        words        log W
    ratio        log of characters per character of the source; longer is its square
    copy         the source has the same word        mark         it has neither letter nor digit
    number       it has a digit                      capital      it begins with a capital letter
    repeat       the answer has it more than once
    """
    spans = word_spans(answer.text)
    words = [answer.text[begin:end] for begin, end in spans]
    count = len(words)
    if not count:
        return {name: np.zeros(0) for name in WORD_FEATURES}
    log_probs = np.maximum(np.asarray(answer.log_probs, dtype=np.float64), WORST)  # (T,)
    inside = overlaps(spans, answer.spans)  # (W, T)
    total = np.maximum(inside @ log_probs, WORST)  # (W,)
    end = log_probs[-1] if len(log_probs) and answer.spans[-1][0] == answer.spans[-1][1] else 0.0
    places = np.arange(count)
    sums = np.cumsum(total)
    ratio = np.log((len(answer.text) + 5) / (len(answer.source) + 5))
    return {
        "word": total,
        "probability": np.exp(total),
        "lowest": np.where(inside, log_probs, 0.0).min(axis=1, initial=0.0),
        "before": np.concatenate([[0.0], total[:-1]]),
        "after": np.concatenate([total[1:], [end]]),
        "earlier": (sums - total) / np.maximum(places, 1),
        "later": (sums[-1] - sums) / np.maximum(count - 1 - places, 1),
        "sentence": np.full(count, log_probs.sum() / max(len(log_probs), 1)),
        "weakest": np.full(count, total.min()),
        "end": np.full(count, end),
        "tokens": np.log(np.maximum(inside.sum(axis=1), 1)),
        "place": (places + 0.5) / count,
        "words": np.full(count, np.log(count)),
        "ratio": np.full(count, ratio),
        "longer": np.full(count, ratio**2),
        **spelled(words, answer.source),
    }


def overlaps(words: Sequence[Span], tokens: Sequence[Span]) -> NDArray[np.bool_]:
    """Which tokens write a part of which word (W, T)."""
    left, right = np.asarray(words).reshape(-1, 2), np.asarray(tokens).reshape(-1, 2)
    return (right[:, 0] < left[:, 1:]) & (right[:, 1] > left[:, :1])


def spelled(words: Sequence[str], source: str) -> dict[str, Column]:
    """What the letters of the words say."""
    given, counts = set(words_of(source)), Counter(words)
    flags = {
        "copy": [word in given for word in words],
        "mark": [not any(map(is_letter, word)) for word in words],
        "number": [any(map(str.isdigit, word)) for word in words],
        "capital": [word[0].isupper() for word in words],
        "repeat": [counts[word] > 1 for word in words],
    }
    return {name: np.asarray(values, dtype=np.float64) for name, values in flags.items()}


def sentence_columns(words: Columns, change: Column) -> dict[str, Column]:
    """Numbers (1,) of a whole sentence, from those of its words and their probabilities of change p:

        expected     log(1 + Σ p), of how many words will be changed
        doubtful     max p
        unchanged    Σ log(1 − p): the log-probability that all stay, if words were independent

    The others are those that all words of a sentence share.
    """
    if not len(change):
        return {name: np.zeros(1) for name in SENTENCE_FEATURES}
    shared = {name: words[name][:1] for name in ("sentence", "weakest", "end", "words", "ratio", "longer")}
    return {
        "expected": np.log1p(change.sum(keepdims=True)),
        "doubtful": change.max(keepdims=True),
        "unchanged": np.log1p(-np.minimum(change, 0.999)).sum(keepdims=True),
        **shared,
    }
