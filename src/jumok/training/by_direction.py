"""Validation of a model by direction: what is translated in which, and what each scores.

The score of several directions is the mean of theirs: a language with few sentences counts like any other.
"""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from jumok.data.mix import chosen
from jumok.data.store import Store
from jumok.decoding.results import Translation
from jumok.decoding.translator import Translator
from jumok.evaluation.metrics import bleu_tokenizer, measure
from jumok.text.frame import Direction

Figures = dict[str, Any]


def grouped(ways: Sequence[Direction]) -> dict[Direction, list[int]]:
    """The places of each direction, in the order in which directions first come."""
    found: dict[Direction, list[int]] = {}
    for place, way in enumerate(ways):
        found.setdefault(way, []).append(place)
    return found


def facing(translator: Translator, way: Direction) -> Translator:
    """The translator for a direction; as it is where it knows but one."""
    return translator.towards(way.target, way.source) if translator.tokenizers.frame.languages else translator


def translated_by(
    translator: Translator,
    sources: Sequence[str],
    ways: Sequence[Direction],
    translate: Callable[[Translator, list[str]], list[Translation]],
) -> list[Translation]:
    """The translation of each source in its own direction, in the order of the sources."""
    answers: dict[int, Translation] = {}
    for way, places in grouped(ways).items():
        found = translate(facing(translator, way), [sources[place] for place in places])
        answers.update(zip(places, found, strict=True))
    return [answers[place] for place in range(len(sources))]


def scores_by(
    names: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    ways: Sequence[Direction],
    language: str,
) -> Figures:
    """Each metric of all, with its signature; of several directions the mean, and those of each beside it.

    `language` is that of the targets where a direction does not say.
    """
    each: dict[str, Figures] = {}
    signatures: dict[str, str] = {}
    for way, places in grouped(ways).items():
        tokenize, _ = bleu_tokenizer(way.target or language)
        left, right = ([texts[place] for place in places] for texts in (hypotheses, references))
        figures: Figures = {"pairs": len(places)}
        for name in names:
            found = measure(name, left, right, tokenize=tokenize)
            figures[name] = found.value
            signatures[name] = found.signature
        each[str(way)] = figures
    several = len(each) > 1
    scores: Figures = {}
    for name in names:
        note = f"mean of {len(each)} directions, the last: " if several else ""
        scores[name] = fmean(figures[name] for figures in each.values())
        scores[f"{name}_signature"] = note + signatures[name]
    return scores | ({"directions": each} if several else {})


def losses_by(store: Store, ways: Sequence[Direction], loss: Callable[[Store], float]) -> dict[str, float]:
    """The loss of each direction of a store whose corpora are directions; {} where there is but one."""
    names, first, found = list(grouped(ways)), 0, dict[str, float]()
    if len(names) < 2 or len(store.corpora) != len(names):
        return {}
    for way, count in zip(names, store.corpora, strict=True):
        if count:
            found[str(way)] = loss(chosen(store, np.arange(first, first + count)))
        first += count
    return found
