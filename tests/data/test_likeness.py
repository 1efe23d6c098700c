"""Partners look more alike than strangers, whatever the languages."""

from collections.abc import Callable
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.data.parallel import parallel

from jumok.data.builtin import builtin_corpus
from jumok.data.likeness import (
    FOLD,
    Likeness,
    SideFeatures,
    anchor_sign,
    features,
    learn_table,
    stem,
    stems,
    word_sign,
)

Sides = tuple[list[str], list[str]]


def builtin(name: str) -> Sides:
    pairs = list(builtin_corpus(name, "train").pairs())[:3_000]
    return [source for source, _ in pairs], [target for _, target in pairs]


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        (lambda: parallel(1_000), 0.95),
        (lambda: builtin("homeassistant-ko-en"), 0.9),
        (lambda: builtin("cmudict"), 0.9),
        (lambda: builtin("dates"), 0.9),
    ],
)
def test_partners_are_told_from_strangers(sides: Callable[[], Sides], told: float) -> None:
    sources, targets = sides()
    lines = np.arange(len(sources))
    partners = np.stack([lines, lines], axis=1)
    strangers = np.stack([lines, (lines + len(lines) // 3) % len(lines)], axis=1)
    likeness = Likeness(*features(sources, targets), partners)
    likeness.fit(partners, strangers)
    assert (likeness.score(partners) > likeness.score(strangers)).mean() > told
    assert likeness.score(partners).mean() > 0 > likeness.score(strangers).mean()


def test_pairs_by_chance_are_not_learned_by_heart() -> None:
    sources, _ = parallel(1_000, seed=1)
    _, targets = parallel(1_000, seed=2)
    lines = np.arange(1_000)
    pairs, others = np.stack([lines, lines], axis=1), np.stack([lines, (lines + 333) % 1_000], axis=1)
    likeness = Likeness(*features(sources, targets), pairs)
    likeness.fit(pairs, others)
    assert abs(likeness.score(pairs).mean() - likeness.score(others).mean()) < 0.1


def test_nothing_is_learned_by_heart_of_partners_far_apart() -> None:
    """Which half of the lines teaches is told by the source, also where the targets stand 100 lines later."""
    sources, _ = parallel(1_000, seed=1)
    _, targets = parallel(1_000, seed=2)
    lines = np.arange(1_000)
    pairs, others = (np.stack([lines, (lines + by) % 1_000], axis=1) for by in (100, 333))
    likeness = Likeness(*features(sources, targets), pairs)
    likeness.fit(pairs, others)
    assert abs(likeness.score(pairs).mean() - likeness.score(others).mean()) < 0.1


def test_a_blank_text_says_nothing() -> None:
    sources, targets = parallel(200)
    lines = np.arange(201)
    pairs = np.stack([lines, lines], axis=1)
    likeness = Likeness(*features([*sources, ""], [*targets, "x"]), pairs)
    likeness.fit(pairs[:-1], np.roll(pairs, 7, axis=0)[:-1])
    assert likeness.score(pairs)[-1] == 0


def test_stems_of_words_with_and_without_spaces() -> None:
    assert list(stems("running 2024, 학교에서", letters=False)) == ["runni", "2024", ",", "학교"]
    assert list(stems("日本語", letters=False)) == ["日本", "本語", "語"]
    assert list(stems("cat", letters=True)) == ["cat", "^c", "ca", "at", "t$"]
    assert list(stems("is a", letters=True)) == ["is", "^i", "is", "s$", "a"]


def test_words_that_meet_more_often_than_by_chance_are_bound() -> None:
    left = np.array([[1, 2], [1, 3], [2, 3], [3, 0]] * 10, np.int32)
    right = left.copy()
    rows = np.arange(40)
    table = learn_table(left, right, np.stack([rows, rows], axis=1))
    assert table[1, 1] > table[1, 2] >= 0
    assert table[0].max() == table[:, 0].max() == 0
    same, other = word_sign(left[:1], right[:1], table), word_sign(left[:1], right[3:4], table)
    assert same[0] > other[0]


def test_shared_rare_words_count_for_a_pair_and_single_ones_against_it() -> None:
    weights = np.array([0, 2.0, 5.0], np.float32)
    left = np.array([[1, 2], [1, 2], [0, 0]], np.int32)
    right = np.array([[2, 1], [0, 0], [0, 0]], np.int32)
    assert anchor_sign(left, right, weights).tolist() == pytest.approx([1.4, -0.7, 0])


def test_a_shared_word_weighs_as_much_as_it_is_surprising() -> None:
    """-log of the share of the texts that have it; words of one side weigh nothing."""
    sources = [f"{n} one" if n < 30 else "one" for n in range(60)]
    targets = [f"{n} eins 7" if n < 5 else "eins" for n in range(60)]
    source, target, weights = features(sources, targets)
    assert weights[source.anchors[0]].max() == pytest.approx(np.log(120 / 2))  # 0 stands in a text of each
    assert weights[source.anchors[7]].max() == pytest.approx(np.log(120 / 6))  # 7 in one source, 5 targets
    assert weights[target.anchors[59]].max() == 0


def rows(width: int) -> st.SearchStrategy[list[list[int]]]:
    """Lines of different words, of which there are four; 0 stands for none."""
    line = st.lists(st.integers(1, 4), max_size=width, unique=True)
    return st.lists(line.map(lambda words: words + [0] * (width - len(words))), min_size=1, max_size=6)


def ids(lines: list[list[int]]) -> NDArray[np.int32]:
    return np.array(lines, np.int32)


def plain_table(left: list[list[int]], right: list[list[int]]) -> dict[tuple[int, int], float]:
    """`learn_table` of lines and their partners, word by word."""
    found = {}
    for a in range(1, 5):
        for b in range(1, 5):
            both = sum(a in one and b in other for one, other in zip(left, right, strict=True))
            chance = sum(a in one for one in left) * sum(b in one for one in right) / len(left)
            found[a, b] = max(0.0, log((both + 3) / (chance + 3))) if both else 0.0
    return found


@settings(max_examples=40)
@given(st.data(), rows(3))
def test_words_and_their_bonds_are_those_of_counting_one_by_one(
    data: st.DataObject, left: list[list[int]]
) -> None:
    right = data.draw(st.lists(st.sampled_from([[0, 0], [1, 0], [2, 3], [4, 1]]), min_size=6, max_size=6))
    right = right[: len(left)]
    lines = np.arange(len(left))
    table = learn_table(ids(left), ids(right), np.stack([lines, lines[::-1]], axis=1))
    wanted = plain_table(left, right[::-1])
    there = {(a, b) for a in range(1, table.shape[0]) for b in range(1, table.shape[1])}
    assert {place: table[place] for place in there} == pytest.approx(
        {place: wanted[place] for place in there}
    )
    for one, other, sign in zip(left, right, word_sign(ids(left), ids(right), table), strict=True):
        mine, theirs = [a for a in one if a], [b for b in other if b]
        to = [max((table[a, b] for a in mine), default=0) for b in theirs]
        back = [max((table[a, b] for b in theirs), default=0) for a in mine]
        assert sign == pytest.approx((sum(to) / max(len(to), 1) + sum(back) / max(len(back), 1)) / 2)


@settings(max_examples=40)
@given(rows(3), rows(3))
def test_anchors_are_those_of_counting_one_by_one(left: list[list[int]], right: list[list[int]]) -> None:
    weights = np.array([0, 2, 4, 8, 16], np.float32)
    count = min(len(left), len(right))
    found = anchor_sign(ids(left[:count]), ids(right[:count]), weights)
    for one, other, sign in zip(left, right, found, strict=False):
        shared = sum(weights[word] for word in one if word in other)
        whole = sum(weights[word] for word in [*one, *other])
        assert sign == pytest.approx(min(max((4 * shared - whole) / 10, -1.5), 1.5))


def side(count: int, seed: int, length: float, blank: int) -> SideFeatures:
    draw = np.random.default_rng(seed)
    words = np.stack([draw.permutation(6)[:3] for _ in range(count)]).astype(np.int32)  # 0 is none
    lengths = (length + draw.random(count)).astype(np.float32)
    return SideFeatures(words, words[:, :2], lengths, np.arange(count) == blank)


def test_signs_are_taught_by_the_other_folds_and_weighed_as_they_should() -> None:
    count = 4 * FOLD
    source, target, weights = side(count, 1, 3.0, 5), side(count, 2, 1.0, 9), np.arange(6, dtype=np.float32)
    lines = np.arange(count)
    pairs, others = (np.stack([lines, np.roll(lines, by)], axis=1) for by in (150, 7))
    likeness = Likeness(source, target, weights, pairs)
    assert likeness.ratio == pytest.approx(np.median(source.lengths - np.roll(target.lengths, 150)))
    odd = lines // FOLD % 2 == 1
    signs = likeness.signs(others)
    for half, teachers in ((~odd, pairs[odd]), (odd, pairs[~odd])):
        table = learn_table(source.words, target.words, teachers)
        taught = word_sign(source.words[half], target.words[others[half, 1]], table)
        assert signs[half, 0] == pytest.approx(taught, abs=1e-6)
        assert taught.std() > 0.001
    assert (signs[:, 1] == anchor_sign(source.anchors, target.anchors[others[:, 1]], weights)).all()
    apart = abs(source.lengths - target.lengths[others[:, 1]] - likeness.ratio)
    assert signs[:, 2] == pytest.approx(-apart, abs=1e-6)
    assert (signs[:, 3] == 1).all()
    far = Likeness(source, target, weights, pairs)
    far.ratio += 9
    assert (far.signs(others)[:, 2] == -2).all()

    likeness.fit(pairs[:50], others)  # where the slope of the penalised likelihood is 0
    both = np.concatenate([likeness.signs(pairs[:50]), signs]).astype(np.float64)
    share = 1 / (1 + np.exp(-both @ likeness.coefficients))
    right = np.repeat([1.0, 0.0], [50, count])
    weight = np.repeat([0.5 / 50, 0.5 / count], [50, count])
    assert both.T @ (weight * (right - share)) == pytest.approx(1e-4 * likeness.coefficients, abs=1e-9)
    score, blank = likeness.score(pairs), (lines == 5) | (pairs[:, 1] == 9)
    known = np.clip(likeness.signs(pairs) @ likeness.coefficients, -5, 5)
    assert score == pytest.approx(np.where(blank, 0, known), abs=1e-6)
    likeness.coefficients = np.array([0.0, 0.0, 0.0, -9.0])
    assert likeness.score(others).min() == -5
    likeness.coefficients = np.array([0.0, 0.0, 0.0, 9.0])
    assert likeness.score(others).max() == 5
    assert Likeness(source, target, weights, pairs[:0]).ratio == 0


def test_the_lexicon_knows_words_of_three_lines_and_of_half_of_them_at_most() -> None:
    """Of eight: x stands in four and y in three; z in five is no sign, and w in two no proof."""
    lines = ["x y z 0", "x z 1 .", "x z 2 ,", "x z 3 ;", "y z 4 :", "y v 5 !", "w u 6 ?", "w t 7 -"]
    source, target, _ = features(lines, lines[::-1])
    known = [[2, 1], [1, 0], [1, 0], [1, 0], [2, 0], [2, 0], [0, 0], [0, 0]]
    assert source.words[:, :2].tolist() == known  # the rarest first
    assert target.words[:, :2].tolist() == known[::-1]
    assert target.lengths.tolist() == pytest.approx([log(len(line) + 5) for line in lines])


def test_the_bounds_of_scripts() -> None:
    found = [
        stem(word)
        for word in ("\u303fabcdef", "\u3040abc", "\uabffabc", "\uac00abc", "\ud7a3abc", "\ud7a4abcdef")
    ]
    assert found == ["\u303fabcd", "", "", "\uac00a", "\ud7a3a", "\ud7a4abcd"]
