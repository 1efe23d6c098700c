"""What is measured of each direction, and of all of them together."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jumok.data.store import Store
from jumok.evaluation.metrics import measure
from jumok.text.frame import Direction
from jumok.training.by_direction import grouped, losses_by, scores_by, translated_by

DE, FR = Direction("en", "de"), Direction("en", "fr")
ANSWERS = ["ein Hund", "un chien", "ein Mann", "un cheval"]
RIGHT = ["ein Hund", "un chat", "eine Frau", "un cheval"]
WAYS = [DE, FR, DE, FR]


def test_places_of_each_direction() -> None:
    assert grouped(WAYS) == {DE: [0, 2], FR: [1, 3]}


def test_the_whole_is_the_mean_of_its_directions() -> None:
    found = scores_by(["exact", "chrf"], ANSWERS, RIGHT, WAYS, "")
    assert list(found["directions"]) == ["en→de", "en→fr"]
    for way, places in grouped(WAYS).items():
        mine = [ANSWERS[i] for i in places], [RIGHT[i] for i in places]
        assert found["directions"][str(way)]["chrf"] == pytest.approx(measure("chrf", *mine).value)
        assert found["directions"][str(way)]["pairs"] == 2
    each = [one["chrf"] for one in found["directions"].values()]
    assert found["chrf"] == pytest.approx(sum(each) / 2)
    assert found["chrf_signature"].startswith("mean of 2 directions")


def test_one_direction_is_as_before() -> None:
    found = scores_by(["exact"], ANSWERS, RIGHT, [DE] * 4, "")
    plain = measure("exact", ANSWERS, RIGHT)
    assert found == {"exact": plain.value, "exact_signature": plain.signature}


def test_each_source_is_translated_in_its_own_direction() -> None:
    """By a model that knows several; another translates as it is, and the order stays that of the sources."""

    def translator(*languages: str) -> Any:
        frame = SimpleNamespace(languages=languages)
        towards = lambda target, source: f"{source} to {target}"  # noqa: E731
        return SimpleNamespace(tokenizers=SimpleNamespace(frame=frame), towards=towards)

    def answer(facing: Any, sources: list[str]) -> Any:
        told = facing if isinstance(facing, str) else "as it is"
        return [f"{source}: {told}" for source in sources]

    sources = ["one", "two", "three", "four"]
    many = translated_by(translator("en", "de", "fr"), sources, WAYS, answer)
    assert many == ["one: en to de", "two: en to fr", "three: en to de", "four: en to fr"]
    single = translated_by(translator(), sources, WAYS, answer)
    assert single == [f"{source}: as it is" for source in sources]


def test_the_loss_of_each_direction_is_that_of_its_corpus() -> None:
    """Corpora lie one after the other, in the order of their directions; of none there is no loss."""
    lengths = np.arange(1, 6, dtype=np.int32)
    begins = np.cumsum(lengths, dtype=np.int64) - lengths
    ids = np.zeros(15, dtype=np.uint16)
    store = Store(Path(), ids, begins, ids, begins, lengths, lengths, {}, "", "")

    def largest(some: Store) -> float:
        return float(some.source_lengths.max())

    ways = [DE, DE, FR, FR, FR]
    assert losses_by(replace(store, corpora=(2, 3)), ways, largest) == {"en→de": 2, "en→fr": 5}
    assert losses_by(replace(store, corpora=(4, 1)), ways, lambda some: len(some)) == {"en→de": 4, "en→fr": 1}
    assert losses_by(replace(store, corpora=(0, 5)), ways, largest) == {"en→fr": 5}
    assert losses_by(replace(store, corpora=(5,)), ways, largest) == {}  # not by direction
    assert losses_by(replace(store, corpora=(5,)), [DE] * 5, largest) == {}


def test_words_are_told_apart_as_the_language_of_the_target_does() -> None:
    """Chinese has no spaces: BLEU counts its characters, where a direction or the caller says so."""
    chinese = Direction("en", "zh")
    texts = ["一只大猫在房子里面睡觉。"] * 2, ["一只大猫在房子里面吃饭。"] * 2
    [told, asked] = (scores_by(["bleu"], *texts, [way] * 2, "zh") for way in (chinese, Direction()))
    assert told["bleu"] == asked["bleu"] > scores_by(["bleu"], *texts, [Direction()] * 2, "en")["bleu"]
    both = scores_by(["bleu"], *texts, [chinese, Direction("en", "de")], "")
    assert both["bleu_signature"].startswith("mean of 2 directions, the last: ")
