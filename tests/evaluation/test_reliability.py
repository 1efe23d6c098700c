"""Numbers about probabilities, worked out by hand and by slow ways."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.evaluation.reliability import auc, found_share, reliability, reliability_bins

ROWS = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1, max_size=30)


@given(ROWS)
def test_auc_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[float, bool]]) -> None:
    scores, changed = np.array([a for a, _ in rows]), np.array([b for _, b in rows])
    pairs = [(x > y) + 0.5 * (x == y) for x in scores[changed] for y in scores[~changed]]
    assert auc(scores, changed) == pytest.approx(np.mean(pairs) if pairs else 0.5)


def test_changes_among_the_most_doubtful() -> None:
    scores, changed = np.arange(10) / 10, np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 1], dtype=bool)
    assert found_share(scores, changed) == pytest.approx(1 / 3)  # the last two hold one of three
    assert found_share(scores, changed, 0.3) == pytest.approx(2 / 3)
    assert found_share(scores, np.zeros(10, dtype=bool)) == 1


def test_bins_and_error_by_hand() -> None:
    p, changed = np.array([0.0, 0.05, 0.55, 0.55, 1.0]), np.array([0, 1, 0, 1, 1], dtype=bool)
    first, second, last = reliability_bins(p, changed)
    assert (first.count, first.predicted, first.observed) == (2, pytest.approx(0.025), 0.5)
    assert (second.count, second.predicted, second.observed) == (2, pytest.approx(0.55), 0.5)
    assert (last.count, last.predicted, last.observed) == (1, 1.0, 1.0)
    found = reliability(p, changed)
    assert found.error == pytest.approx((2 * 0.475 + 2 * 0.05) / 5)
    assert (found.count, found.changed) == (5, pytest.approx(0.6))
    assert found.most == pytest.approx(1 / 3)  # one word in five can hold one of three changes
    assert found.to_dict()["bins"][0]["count"] == 2


def test_probabilities_that_come_true_have_no_error() -> None:
    draw = np.random.default_rng(3)
    p = draw.random(50_000)
    assert reliability(p, draw.random(len(p)) < p).error < 0.01
    assert reliability(p, draw.random(len(p)) < 0.5).error > 0.2


def test_bins_are_tenths() -> None:
    p = np.array([0.0, 0.0999, 0.1, 0.1999, 0.2, 0.5, 0.8999, 0.9, 1.0])
    counts = [one.count for one in reliability_bins(p, np.ones(9, dtype=bool))]
    assert counts == [2, 2, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ([], (0, 0.0, 0.5, 1.0, 1.0, 0.0)),
        ([False], (1, 0.0, 0.5, 1.0, 1.0, 0.25)),
        ([True], (1, 1.0, 0.5, 0.0, 0.2, 0.75)),
        ([True] + 9 * [False], (10, 0.1, 0.5, 1.0, 1.0, 0.15)),  # two words in ten can hold one change
    ],
)
def test_reliability_of_a_few(changed: list[bool], told: tuple[float, ...]) -> None:
    found = reliability(np.full(len(changed), 0.25), np.array(changed, dtype=bool))
    assert (found.count, found.changed, found.auc, found.found, found.most, found.error) == pytest.approx(
        told
    )
    assert len(found.bins) == bool(changed)
