"""Partners look more alike than strangers, whatever the languages."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.data.parallel import parallel

from jumok.data.builtin import builtin_corpus
from jumok.data.likeness import Likeness, anchor_sign, features, learn_table, stems, word_sign

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
