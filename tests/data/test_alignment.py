"""Lines out of step are found by content, with their place and how far; a sound corpus gives no alarm."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.parallel import parallel

from jumok.data import alignment as module
from jumok.data.alignment import Alignment, LineOrder, PairSample, Stretch, best_path, judge, runs
from jumok.data.builtin import builtin_corpus

Sides = tuple[list[str], list[str]]


def look(sides: Sides, first: int = 1) -> Alignment:
    sample = PairSample()
    sample.add(range(first, first + len(sides[0])), *sides)
    return judge(sample)


def shifted(sides: Sides, at: int, by: int, seed: int = 0) -> Sides:
    """From line `at` + 1 on the targets are `by` lines behind, or ahead where it is below 0."""
    sources, targets = list(sides[0]), list(sides[1])
    if by > 0:
        targets[at:at] = Random(seed).sample(targets, by)
    else:
        del targets[at : at - by]
    lines = min(len(sources), len(targets))
    return sources[:lines], targets[:lines]


def near(found: Stretch, first: int, last: int, shift: int | None) -> bool:
    """Lines that were left out have no partner, so that a stretch may begin after them."""
    slack = 3 + abs(min(shift or 0, 0))
    return abs(found.first - first) <= slack and abs(found.last - last) <= 3 and found.shift == shift


@pytest.fixture(scope="module")
def korean_english() -> Sides:
    pairs = list(builtin_corpus("homeassistant-ko-en", "train").pairs())[:2_000]
    return [source for source, _ in pairs], [target for _, target in pairs]


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.integers(100, 900))
def test_a_sound_corpus_gives_no_alarm(seed: int, lines: int) -> None:
    found = look(parallel(lines, seed))
    assert (found.stretches, found.strangers, found.ordered) == ((), 0, "")


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 0.8), st.integers(1, module.REACH), st.sampled_from([-1, 1]))
def test_a_shift_is_always_found(seed: int, part: float, by: int, way: int) -> None:
    sides, at = parallel(600, seed), int(600 * part)
    (found,) = look(shifted(sides, at, by * way)).stretches
    assert near(found, at + 1, 600 - by * (way < 0), by * way)


@pytest.mark.parametrize("by", [-3, 1])
def test_a_shift_in_a_real_corpus(korean_english: Sides, by: int) -> None:
    sides = shifted(korean_english, 500, by)
    (found,) = look(sides).stretches
    assert near(found, 501, len(sides[0]), by)


def test_a_sound_real_corpus_gives_no_alarm(korean_english: Sides) -> None:
    assert look(korean_english) == Alignment()


def test_a_line_too_many_and_a_line_too_few_make_a_stretch(korean_english: Sides) -> None:
    sources, targets = shifted(korean_english, 500, 1)
    del targets[700]
    (found,) = look((sources[: len(targets)], targets)).stretches
    assert near(found, 501, 700, 1)


def test_several_shifts_are_all_named(korean_english: Sides) -> None:
    sides = shifted(shifted(korean_english, 500, 1), 1_500, 1, seed=1)
    one, two = look(sides).stretches
    assert near(one, 501, 1_500, 1)
    assert near(two, 1_501, 2_000, 2)


def test_a_corpus_that_is_shifted_from_the_first_line(korean_english: Sides) -> None:
    (found,) = look(shifted(korean_english, 0, -2)).stretches
    assert (found.first, found.shift) == (1, -2)


def test_many_missing_lines_are_counted(korean_english: Sides) -> None:
    (found,) = look(shifted(korean_english, 1_000, -40)).stretches
    assert near(found, 1_001, 1_960, -40)


def test_lines_that_fit_nowhere_make_a_stretch_without_a_shift(korean_english: Sides) -> None:
    targets = list(korean_english[1])
    targets[1_000:1_300] = Random(0).sample(targets[1_000:1_300], 300)
    (found,) = look((korean_english[0], targets)).stretches
    assert near(found, 1_001, 1_300, None)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 1.0])
def test_the_share_of_pairs_by_chance_is_told(share: float) -> None:
    sources, targets = parallel(2_000)
    places = Random(1).sample(range(2_000), int(2_000 * share))
    for place, text in zip(places, [targets[i] for i in Random(2).sample(places, len(places))], strict=True):
        targets[place] = text
    found = look((sources, targets))
    assert found.strangers == pytest.approx(share, abs=0.05)
    assert found.stretches == ()
    assert len(set(found.worst) & {place + 1 for place in places}) == 10


@pytest.mark.parametrize("damaged", [lambda lines: lines[::-1], lambda lines: lines[8:] + lines[:8]])
def test_a_side_in_another_order_is_told_of_a_corpus_that_is_sorted_by_length(
    damaged: Callable[[list[str]], list[str]],
) -> None:
    """Lines that stand near each other are then alike, also when none has its own partner."""
    sources, targets = parallel(2_000)
    places = sorted(range(2_000), key=lambda n: len(sources[n].split()))
    sources, targets = [sources[n] for n in places], damaged([targets[n] for n in places])
    assert look((sources, targets)).strangers > 0.9


@pytest.mark.parametrize(("alike", "said"), [(0.7, ""), (0.9, "source")])
def test_less_than_nearly_all_as_good_as_others_of_like_length_is_no_sign(
    korean_english: Sides, monkeypatch: pytest.MonkeyPatch, alike: float, said: str
) -> None:
    """In a dictionary, such as emoji and their names, words have no words, and it may be sorted."""
    monkeypatch.setattr(module, "SURE", 1.0)  # as if no picture were clear
    monkeypatch.setattr(LineOrder, "unrelated", lambda *_: alike)
    pairs = sorted(zip(*korean_english, strict=True))
    assert look(([source for source, _ in pairs], [target for _, target in pairs])).ordered == said


@pytest.mark.parametrize(("side", "said"), [(0, "source"), (1, "target")])
def test_a_sorted_side_is_named(korean_english: Sides, side: int, said: str) -> None:
    sides = list(korean_english)
    sides[side] = sorted(sides[side], key=str.casefold)
    found = look((sides[0], sides[1]))
    assert (found.ordered, found.stretches) == (said, ())
    assert found.strangers > 0.8


@pytest.mark.parametrize("lines", [100, 101, 1_000])
def test_strangers_stand_far_apart_and_each_line_is_one_once(lines: int) -> None:
    """Neighbours often say the like; what is sought nearby must not be taken for a stranger."""
    numbers = np.arange(1, lines + 1)
    far = LineOrder(numbers, ["a b c"] * lines, ["d e f"] * lines).far
    apart = abs(far[:, 0] - far[:, 1])
    assert np.minimum(apart, lines - apart).min() > lines / 4
    assert sorted(far[:, 1].tolist()) == far[:, 0].tolist() == list(range(lines))


def test_a_path_that_stays_is_not_sought_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sound corpus is learned from twice: to see whether it is, and for the only path."""
    learned = list[int]()
    learn = LineOrder.learn
    monkeypatch.setattr(
        LineOrder, "learn", lambda self, pairs: learned.append(len(pairs)) or learn(self, pairs)
    )
    assert look(parallel(400)) == Alignment()
    assert learned == [400, 400]


def test_too_few_lines_are_not_judged() -> None:
    sides = shifted(parallel(99), 20, 1)
    assert look(sides) == Alignment()


def test_blank_lines_are_no_trouble() -> None:
    sides = parallel(300)
    assert look((["", *sides[0]], ["", *sides[1]])).stretches == ()
    assert look(([""] * 200, [""] * 200)).stretches == ()


@pytest.mark.parametrize(
    ("stretch", "words"),
    [
        (Stretch(5_001, 20_000, 1), "from line 5,001 to 20,000 the target is 1 line behind the source"),
        (Stretch(1, 9, -3), "from line 1 to 9 the target is 3 lines ahead of the source"),
        (Stretch(1, 9, None), "from line 1 to 9 no target near them fits"),
    ],
)
def test_a_stretch_in_words(stretch: Stretch, words: str) -> None:
    assert str(stretch) == words


def test_the_sample_is_spread_evenly_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 1_000)
    sample = PairSample([(5_001, 5_003)])
    for first in range(1, 30_001, 700):
        some = range(first, min(first + 700, 30_001))
        sample.add(some, [f"{n}" for n in some], ["x" * 3_000 for n in some])
    numbers, sources, targets = sample.lists()
    blocks = sorted({(n - 1) // module.BLOCK for n in numbers.tolist()} - {25})
    assert len(blocks) <= 5
    assert len(set(np.diff(blocks))) == 1
    assert {5_001, 5_002, 5_003} < set(numbers.tolist())
    assert sources == [f"{n}" for n in numbers.tolist()] == sorted(sources, key=int)
    assert max(map(len, targets)) == module.CUT


def test_a_shift_between_sampled_lines_is_doubtful() -> None:
    sample = PairSample()
    sample.add([*range(1, 201), *range(801, 1_001)], ["a"] * 400, ["b"] * 400)
    assert sample.doubtful(Alignment((Stretch(801, 1_000, 1),))) == [(201, 800)]
    assert sample.doubtful(Alignment((Stretch(101, 150, 1),))) == []


scores = st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6)


@given(scores, st.integers(0, 12))
def test_the_best_path_is_the_best_of_all(rows: list[list[int]], change: int) -> None:
    from itertools import product

    def worth(path: tuple[int, ...]) -> int:
        changes = sum(one != two for one, two in zip(path, path[1:], strict=False))
        return sum(row[state] for row, state in zip(rows, path, strict=True)) - change * changes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHANGE", float(change))
        found = best_path(np.array(rows, np.float32))
    best = max(worth(path) for path in product(range(3), repeat=len(rows)))
    assert worth(tuple(found.tolist())) == best


def test_runs() -> None:
    assert runs(np.array([5, 5, 6, 6, 6, 5])) == [(0, 2), (2, 5), (5, 6)]


def test_lines_in_doubt_are_those_between_told_once() -> None:
    sample = PairSample()
    sample.add([1, 2, 4, 5, 9], ["a"] * 5, ["b"] * 5)
    both = Alignment((Stretch(1, 2, 1), Stretch(4, 5, 2), Stretch(9, 9, 3)))
    assert sample.doubtful(both) == [(3, 3), (6, 8)]
    assert sample.doubtful(Alignment((Stretch(2, 2, 1), Stretch(9, 9, None)))) == [(3, 3), (6, 8)]
    ends = PairSample()
    ends.add([1, 4], ["a"] * 2, ["b"] * 2)
    assert ends.doubtful(Alignment((Stretch(1, 1, 1),))) == [(2, 3)]


def test_every_thirty_second_block_of_a_long_corpus_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 1_000)
    sample = PairSample([(201, 203), (29_999, 29_999)])
    for first in range(1, 30_001, 1_000):
        sample.add(range(first, first + 1_000), ["a"] * 1_000, ["b"] * 1_000)
    blocks = [range(200 * n + 1, 200 * n + 201) for n in (0, 32, 64, 96, 128)]
    numbers = [*blocks[0], 201, 202, 203, *(number for block in blocks[1:] for number in block), 29_999]
    assert sample.lists()[0].tolist() == numbers
    assert (sample.last, sample.stride) == (30_000, 32)
