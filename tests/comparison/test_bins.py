"""Bins by source length for a comparison."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.comparison.bins import (
    SENTENCES,
    by_length,
    equal_groups,
    hopeless,
    longest_seen,
    scored,
    unit_for,
    wilson,
)
from jumok.evaluation.lengths import Bars, TrainLengths
from jumok.evaluation.metrics import edit_rate, exact

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=400)


def sources(counts: list[int]) -> list[str]:
    return ["x" * count for count in counts]


def trained(to: int) -> TrainLengths:
    return TrainLengths(1, 1, {"source_characters": Bars(5, (1,) * (to // 5))})


@given(lengths, st.none() | st.integers(1, 70))
def test_every_sentence_is_in_one_bin(counts: list[int], trained_to: int | None) -> None:
    groups = equal_groups(sources(counts), "source_characters", trained_to)
    assert sorted(line for group in groups for line in group.sentences) == list(range(len(counts)))
    for group in groups:
        held = [counts[line] for line in group.sentences]
        assert (min(held), max(held)) == (group.lo, group.hi)
    assert all(one.hi is not None and one.hi < two.lo for one, two in zip(groups, groups[1:], strict=False))


@given(lengths, st.integers(1, 60))
def test_no_bin_has_both_sides_of_what_was_seen(counts: list[int], trained_to: int) -> None:
    for group in equal_groups(sources(counts), "source_characters", trained_to):
        assert group.hi is not None
        assert group.hi <= trained_to or group.lo > trained_to


def test_bins_are_of_about_equal_size() -> None:
    groups = equal_groups(sources([1 + i % 60 for i in range(1200)]), "source_characters", None)
    assert [len(group.sentences) for group in groups] == [200] * 6


def test_few_sentences_make_few_bins() -> None:
    groups = equal_groups(sources([1 + i % 60 for i in range(2 * SENTENCES)]), "source_characters", None)
    assert len(groups) == 2


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("one two three four five six seven eight", "source_words"),
        ("one two three four five six seven", "source_characters"),
        ("2024년", "source_characters"),
    ],
)
def test_short_texts_are_counted_in_characters(text: str, unit: str) -> None:
    assert unit_for([text] * 3) == unit


def test_the_longest_that_training_saw() -> None:
    assert longest_seen(trained(20), "source_characters") == 20
    assert longest_seen(trained(20), "source_words") is None
    assert longest_seen(None, "source_words") is None


def test_bins_past_training_are_marked() -> None:
    counts = [1 + i % 30 for i in range(300)]
    texts = sources(counts)
    found = by_length(texts, exact(texts, texts), trained(20), 100)
    assert found["unit"] == "source_characters"
    assert found["trained_to"] == 20
    assert [one["beyond"] for one in found["bins"]] == [one["lo"] > 20 for one in found["bins"]]
    assert found["bins"][-1]["beyond"]
    assert sum(one["n"] for one in found["bins"]) == 300


def test_whole_bins_by_hand() -> None:
    """Sixty sentences to a bin of what training has seen; what it has not seen is in one."""
    texts = sources([*range(1, 121), *range(131, 141)])
    answers = [text if len(text) > 30 and len(text) != 135 else "no" for text in texts]
    found = by_length(texts, exact(answers, texts), trained(125), 0)
    alike = {"ci95": None, "thin": False, "beyond": False}
    assert found == {
        "unit": "source_characters",
        "trained_to": 125,
        "bins": [
            {"lo": 1, "hi": 60, "n": 60, "value": 50.0, **alike},
            {"lo": 61, "hi": 120, "n": 60, "value": 100.0, **alike},
            {"lo": 131, "hi": 140, "n": 10, "value": 90.0, "ci95": None, "thin": True, "beyond": True},
        ],
    }
    last = sources([20] * 60 + [21] * 60)  # as long as the longest of training, and one longer
    edge = by_length(last, exact(last, last), trained(20), 0)["bins"]
    assert [(one["lo"], one["hi"], one["beyond"]) for one in edge] == [(20, 20, False), (21, 21, True)]
    below = by_length(texts[:119], exact(texts[:119], texts[:119]), None, 0)
    assert [(one["lo"], one["hi"]) for one in below["bins"]] == [(1, 119)]
    assert longest_seen(TrainLengths(1, 1, {"source_words": Bars(5, ())}), "source_words") is None


def test_a_bin_has_the_score_of_its_sentences() -> None:
    texts = sources([1] * 60 + [9] * 60)
    answers = texts[:60] + ["wrong"] * 15 + texts[75:]
    short, long = by_length(texts, exact(answers, texts), None, 200)["bins"]
    assert (short["value"], long["value"]) == (100.0, 75.0)
    assert long["ci95"][0] < 75 < long["ci95"][1]
    assert (short["thin"], long["thin"]) == (False, False)


def test_a_bin_that_is_all_right_is_not_certain() -> None:
    texts = sources([4] * 60)
    (only,) = by_length(texts, exact(texts, texts), None, 200)["bins"]
    assert only["ci95"][1] == 100.0
    assert 93 < only["ci95"][0] < 95


def test_the_whole_has_the_interval_of_its_only_bin() -> None:
    texts = sources([4] * 60)
    wrong = exact(["no"] * 60, texts)
    whole, (only,) = scored(wrong, 200), by_length(texts, wrong, None, 200)["bins"]
    assert whole["ci95"] == only["ci95"] == list(wilson(0, 60))
    assert whole["ci95"][0] == 0.0
    assert 5 < whole["ci95"][1] < 7  # not certain of 0
    assert whole["signature"].endswith("|ci:wilson")
    assert "bs:" not in whole["signature"]
    assert "|bs:200|" in scored(edit_rate("wer", texts, texts), 200)["signature"]
    assert scored(wrong, 0)["ci95"] is None


@pytest.mark.parametrize(
    ("ci95", "lower", "found"),
    [
        ([0.0, 3.0], False, True),
        ([0.1, 3.0], False, False),
        ([97.0, 100.0], True, True),
        ([97.0, 99.9], True, False),
        ([97.0, 100.0], False, False),
    ],
)
def test_from_nothing_nothing_can_fall(ci95: list[float], lower: bool, found: bool) -> None:  # noqa: FBT001
    assert hopeless({"ci95": ci95}, lower=lower) is found


def test_without_resamples_there_is_no_interval() -> None:
    texts = sources([4] * 60)
    assert by_length(texts, edit_rate("wer", texts, texts), None, 0)["bins"][0]["ci95"] is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_holds_the_share(counts: tuple[int, int]) -> None:
    right, n = counts
    low, high = wilson(right, n)
    assert 0 <= low <= 100 * right / n + 1e-9
    assert 100 * right / n - 1e-9 <= high <= 100
    ends = np.array([low, high]) / 100  # each end p solves (right/n - p)² = z² p(1-p)/n, unless cut
    inner = ends[(ends > 0) & (ends < 1)]
    assert np.allclose((right / n - inner) ** 2, 1.96**2 * inner * (1 - inner) / n)
