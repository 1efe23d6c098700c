"""The characters, or words, of a text and which of them become tokens."""

from collections import Counter

import numpy as np

from jumok.config import TextConfig
from jumok.text.marks import CONTEXT_MARK, MARKS, QUESTION_MARK


def count_characters(sample: list[str]) -> Counter[str]:
    """How often each character stands in these lines."""
    codes = np.bincount(np.frombuffer("".join(sample).encode("utf-32-le"), dtype=np.uint32))
    return Counter({chr(code): int(codes[code]) for code in np.flatnonzero(codes).tolist()})


def count_words(sample: list[str]) -> Counter[str]:
    """How often each word stands in these lines, with the space before it."""
    return Counter(f" {word}" for line in sample for word in line.split())


def favour_marks(counts: Counter[str], config: TextConfig) -> None:
    """Count marks so that each is a token of its own, however small the vocabulary.

    Those of questions only if the text has them; those of protected spans always, if the model learns them.
    """
    most, space = max(counts.values(), default=0), " " if config.kind == "word" else ""
    for mark in (QUESTION_MARK, CONTEXT_MARK):
        if space + mark in counts:
            counts[space + mark] += most
    for mark in MARKS if config.marks else ():
        counts[mark] += most + 2


def most_frequent(counts: Counter[str], room: int, *, least: int) -> list[str]:
    """The `room` most frequent characters, or words, seen at least `least` times, in code point order."""
    ranked = sorted(counts, key=lambda one: (-counts[one], one))
    frequent = [one for one in ranked[:room] if counts[one] >= least]
    return sorted(frequent)
