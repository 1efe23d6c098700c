"""What the order of lines shows, step by step, where a likeness says what it is told to say."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import numpy as np
import pytest

from jumok.data import alignment as module
from jumok.data.alignment import Alignment, LineOrder, Stretch
from jumok.data.likeness import Floats, Likeness, Rows


class Told:
    """A likeness that says of a pair what a function of its two lines says, and notes what it was asked."""

    def __init__(self, worth: Callable[[int, int], float]) -> None:
        self.worth, self.asked = worth, list[list[int]]()

    def score(self, pairs: Rows) -> Floats:
        self.asked = pairs.tolist()
        return np.array([self.worth(source, target) for source, target in self.asked], np.float32)


def ordered(numbers: Sequence[int], targets: Sequence[str] = (), sources: Sequence[str] = ()) -> LineOrder:
    sources, targets = sources or [f"s{number}" for number in numbers], targets or ["t"] * len(numbers)
    return LineOrder(np.array(numbers), sources, targets)


def fits(*bad: int) -> Likeness:
    """Each line fits its own target, but for some; strangers score from -1.9 to -1, bad pairs less."""

    def worth(source: int, target: int) -> float:
        return -1 - source * 7 % 10 / 10 if source != target else -3 if source in bad else 5

    return cast(Likeness, Told(worth))


def test_partners_stand_as_many_lines_away_as_they_should_in_the_corpus_itself() -> None:
    order = ordered([1, 2, 3, 4, 10, 11, 12])  # between lines 4 and 10 nothing was looked at
    assert order.partners(np.full(7, module.REACH + 1)).tolist() == [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6]]
    assert order.partners(np.full(7, module.REACH - 2)).tolist() == [[2, 0], [3, 1], [6, 4]]
    mixed = np.array([module.REACH, module.NONE, module.REACH - 1])
    assert order.partners(mixed).tolist() == [[0, 0], [2, 1]]
    assert order.shifted(np.array([0, 1, 4]), 2).tolist() == [[0, 2], [1, 3], [4, 6]]


@pytest.mark.parametrize(
    ("clear", "shift"),
    [
        ({0: 1.01, 3: 9.0}, 0),
        ({0: 1.0, 3: 1.25}, 0),
        ({0: 1.0, 3: 1.5, -4: 1.4}, 3),
        ({0: 0.0, 5: 0.5}, 5),
        ({0: 0.0, -5: 0.5}, -5),
        ({0: 0.0, 6: 9.0, -6: 9.0}, 0),
    ],
)
def test_another_beginning_is_believed_only_if_it_is_much_clearer(
    monkeypatch: pytest.MonkeyPatch, clear: dict[int, float], shift: int
) -> None:
    monkeypatch.setattr(LineOrder, "clearness", lambda _, shift: clear.get(shift, 0.0))
    assert ordered([1, 2, 3]).start() == shift


def test_a_shift_is_as_clear_as_its_partners_are_better_than_strangers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    likeness = Told(lambda source, target: 4.0 if target == source + 2 else 1.0)
    monkeypatch.setattr(LineOrder, "learn", lambda *_: likeness)
    assert ordered(range(1, 53)).clearness(2) == 3.0
    assert len(likeness.asked) == 50  # as many strangers as partners
    assert ordered(range(1, 52)).clearness(2) == 0.0  # 49 are too few


def own_but_for_line_31(worst: float, source: int, target: int) -> float:
    return worst if source == target == 30 else 1.0


def test_other_shifts_are_looked_at_where_twenty_lines_fit_no_better_than_by_chance() -> None:
    for worst, columns in ((-18.9, [5]), (-19.0, [3, 4, 5, 6, 7])):
        one = Told(partial(own_but_for_line_31, worst))
        found = ordered([*range(1, 61)]).scores(cast(Likeness, one))
        assert found.shape == (60, 12)
        assert [n for n in range(3, 8) if found[:, n].any()] == columns
    assert found[0].tolist() == [0.0] * 5 + [1.0] * 6 + [0.0]
    assert found[59].tolist() == [1.0] * 6 + [0.0] * 6


def test_a_stretch_must_fit_better_than_the_lines_as_they_stand() -> None:
    order, none = ordered([*range(1, 41)]), module.NONE
    scores = np.zeros((40, none + 1), np.float32)
    scores[:, 6], scores[:, none] = 0.25, 0.5
    for state, lines, kept in ((none, 19, False), (none, 20, True), (6, 30, False), (7, 30, False)):
        states = np.array([5] * 5 + [state] * lines + [5] * (35 - lines))
        assert (order.believed(states, scores) == state).sum() == lines * kept
    scores[:, 5] = -0.25
    assert order.believed(np.full(40, 6), scores).tolist() == [6] * 40


@pytest.mark.parametrize(
    ("bad", "share", "lines"),
    [(4, 0.0, ()), (5, 0.05, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), (20, 0.2, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10))],
)
def test_a_twentieth_of_strangers_is_worth_a_word(bad: int, share: float, lines: tuple[int, ...]) -> None:
    """Of strangers half score less than their median: so twice as many are strangers as score so little."""
    states = np.full(200, module.REACH)
    found = ordered(range(1, 201)).verdict(states, fits(*range(bad)))
    assert found == Alignment((), share, lines)


def test_where_most_are_strangers_the_side_in_order_is_told() -> None:
    states, many = np.full(200, module.REACH), fits(*range(60))
    lines, mixed = range(100, 300), ["b", "a"] * 100
    assert ordered(lines, (), mixed).verdict(states, many).ordered == "target"
    assert ordered(lines, mixed, mixed).verdict(states, many).ordered == ""
    assert ordered(lines, mixed).verdict(states, many).ordered == "source"
    assert ordered(lines).verdict(states, many).ordered == "source and the target"
    assert ordered(lines).verdict(states, fits(*range(50))).ordered == ""  # not more than half


def test_strangers_are_not_sought_among_the_lines_of_a_stretch() -> None:
    states = np.array([module.REACH] * 100 + [module.REACH - 2] * 50 + [module.NONE] * 50)
    found = ordered(range(11, 211)).verdict(states, fits(*range(10), *range(100, 200)))
    assert found.stretches == (Stretch(111, 160, -2), Stretch(161, 210, None))
    assert (found.strangers, found.worst) == (0.2, tuple(range(11, 21)))
    assert found.example == "s111 ↔ t (line 109)"


@pytest.mark.parametrize(
    ("lines", "alike", "share", "told"),
    [
        (1_000, 0.84, 0.6, 0.0),
        (1_000, 0.85, 0.6, 0.85),
        (1_000, 0.85, 0.9, 0.9),
        (999, 1.0, 0.9, 0.0),
    ],
)
def test_where_the_picture_is_not_clear_nearly_all_of_many_must_be_strangers(
    monkeypatch: pytest.MonkeyPatch, lines: int, alike: float, share: float, told: float
) -> None:
    """Neither strangers nor partners are sure here; 0.85 of a thousand pairs are nearly all."""
    monkeypatch.setattr(LineOrder, "strangers", lambda *_: (share, 0.1, (3,)))
    monkeypatch.setattr(LineOrder, "unrelated", lambda *_: alike)
    mixed = [f"{n * 7 % 10}" for n in range(lines)]
    found = ordered(range(1, lines + 1), mixed, mixed).verdict(np.full(lines, module.REACH), fits())
    assert found == Alignment((), told, (3,) if told else ())


def test_fewer_than_a_hundred_pairs_have_no_strangers() -> None:
    states = np.array([module.REACH] * 99 + [module.NONE] * 101)
    assert ordered(range(1, 201)).verdict(states, fits(*range(50))).strangers == 0.0


@pytest.mark.parametrize(
    ("by", "lines", "own", "others", "found"),
    [
        (6, 20, 1.0, 0.0, 6),
        (-6, 20, 1.0, 0.0, None),  # there are no lines before the first
        (5, 20, 1.0, 0.0, None),  # so near lines were looked at before
        (6, 19, 1.0, 0.0, None),
        (500, 20, 1.0, 0.0, 500),
        (501, 20, 1.0, 0.0, None),
        (40, 20, 0.25, -2.0, None),
        (40, 20, 0.5, -2.0, 40),
        (40, 20, 1.0, 0.75, None),
    ],
)
def test_how_far_the_partners_of_a_stretch_are(
    by: int, lines: int, own: float, others: float, found: int | None
) -> None:
    likeness = cast(Likeness, Told(lambda source, target: own if target == source + by else others))
    assert ordered(range(1, 601)).distance(0, lines, likeness) == found


def test_partners_are_sought_on_both_sides_of_a_stretch() -> None:
    likeness = cast(Likeness, Told(lambda source, target: float(target == source - 500)))
    assert ordered(range(1, 601)).distance(520, 560, likeness) == -500


def test_an_example_is_short_and_says_where_the_partner_stands() -> None:
    order = ordered([11, 12, 13], ["t11", "word " * 40, "t13"])
    shown = ("word " * 19).strip() + " …"
    assert order.example(Stretch(11, 13, 1)) == f"s11 ↔ {shown} (line 12)"
    assert order.example(Stretch(13, 13, -2)) == "s13 ↔ t11 (line 11)"
    assert order.example(Stretch(13, 13, None)) == "s13 ↔ t13"
    assert order.example(Stretch(13, 13, 1)) == ""


def test_strangers_of_like_length_are_seven_places_away() -> None:
    """Targets stand a line behind their sources here, and one has no source."""
    lengths = [99, 3, 8, 1, 10, 5, 2, 7, 4, 9, 6]
    order = ordered(range(1, 12), ["x" * length for length in lengths])
    pairs = np.array([[n, n + 1] for n in range(10)])
    line = {length: n for n, length in enumerate(lengths)}
    away = [(line[8] - 1, line[1]), (line[9] - 1, line[2]), (line[10] - 1, line[3])]
    for own, share in ((0.0, 0.0), (-1.0, 1.0)):
        worth = {(n, n + 1): own for n in range(10)} | dict.fromkeys(away, 0.0)
        likeness = Told(lambda s, t, known=worth: known.get((s, t), 9.0))  # type: ignore[misc]
        assert order.unrelated(pairs, cast(Likeness, likeness)) == share


@pytest.mark.parametrize(
    "texts", [["a", "B", "c"], ["a", "(b)", "c"], [*map("{:03}".format, range(98)), *"cba"]]
)
def test_a_side_is_sorted_if_nearly_all_neighbours_are(texts: list[str]) -> None:
    assert ordered(range(len(texts)), texts).is_ordered("target")


@pytest.mark.parametrize("texts", [["a", "c", "b"], [*map("{:03}".format, range(96)), *"edcba"]])
def test_a_side_with_more_neighbours_out_of_order_is_not_sorted(texts: list[str]) -> None:
    assert not ordered(range(len(texts)), texts).is_ordered("target")
