"""What can be wrong with one pair of sentences."""

from collections.abc import Iterable
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jumok.data.builtin import builtin_corpus
from jumok.data.checks import (
    BITS,
    Profile,
    bigrams,
    is_copied,
    is_long,
    learn_profile,
    log_ratios,
    noted_pairs,
    odd_pairs,
    repaired,
    shown,
    speaks_for_source,
    stray_kinds,
)
from jumok.data.habits import SideHabits, is_misread


def sides(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    sources, targets = zip(*pairs, strict=True)
    return list(sources), list(targets)


@pytest.fixture(scope="module")
def korean_english() -> Profile:
    return learn_profile(*sides(builtin_corpus("homeassistant-ko-en", "train").pairs()))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a plain line", []),
        ("tab\tis white space", []),
        ("nul\0", ["nul"]),
        ("bell\a", ["control"]),
        ("return\rinside", ["control"]),
        ("late mark\ufeff", ["control"]),
        ("vt\v", ["line_break"]),
        ("ff\f", ["line_break"]),
        ("nel\x85", ["line_break"]),
        ("ls\u2028 and ps\u2029", ["line_break"]),
        ("lost \ufffd", ["replacement"]),
        ("\0\a\u2028\ufffd", ["nul", "line_break", "control", "replacement"]),
    ],
)
def test_stray_characters_are_told_apart(text: str, kinds: list[str]) -> None:
    assert list(stray_kinds(text)) == kinds


def test_a_pair_of_characters_weighs_as_much_on_either_side() -> None:
    """Whoever turns a corpus round finds the same weights with the other sign."""
    pairs = [("a b", "c d e"), ("a bb", "c d"), ("ab a", "cd e e")] * 5
    there, back = learn_profile(*sides(pairs)), learn_profile(*sides((b, a) for a, b in pairs))
    assert there.weights is not None
    assert back.weights is not None
    assert there.weights.any()
    assert np.allclose(there.weights, -back.weights, atol=1e-6)
    assert there.ratio == pytest.approx(-back.ratio)


@given(st.text())
def test_nothing_stray_is_left_but_what_was_lost(text: str) -> None:
    assert set(stray_kinds(repaired(text))) <= {"replacement"}


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assume(not is_misread(text))
    assert repaired(text) == text


def test_line_breaks_become_spaces_and_controls_vanish() -> None:
    assert repaired("one\u2028two\x00 three\x07") == "one two three"


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("", "", "blank_both"),
        ("word", "", "blank_side"),
        ("", "word", "blank_side"),
        ("same words", "same words", "copied"),
        ("2024", "2024", ""),
        ("a", "b", ""),
    ],
)
def test_sides_are_compared(source: str, target: str, kind: str) -> None:
    assert odd_pairs(["x", source], ["y", target], Profile()) == ({1: kind} if kind else {})


def test_numbers_may_be_copied() -> None:
    assert not is_copied("3.14", "3.14")
    assert is_copied("π = 3.14", "π = 3.14")


def test_held_out_pairs_look_healthy_and_exchanged_ones_do_not(korean_english: Profile) -> None:
    korean, english = sides(builtin_corpus("homeassistant-ko-en", "test").pairs())
    assert "swapped" not in odd_pairs(korean, english, korean_english).values()
    found = [*odd_pairs(english, korean, korean_english).values()].count("swapped")
    assert found / len(korean) > 0.9


def test_sides_of_one_script_are_told_apart_by_their_letters() -> None:
    german = ["der Hund schläft", "das Haus ist groß", "ich gehe nach Hause", "wir essen zu Mittag"] * 5
    english = ["the dog is asleep", "the house is large", "I am going home", "we are having lunch"] * 5
    profile = learn_profile(german, english)
    both = ["the house is asleep", "das Haus schläft"]
    assert odd_pairs(both, both[::-1], profile) == {0: "swapped"}


@pytest.mark.parametrize("unsure", ["1234 5678 9012", "xq zv jw kk"])
def test_sides_are_swapped_only_if_both_are_sure(unsure: str) -> None:
    german = ["der Hund schläft", "das Haus ist groß", "ich gehe nach Hause", "wir essen zu Mittag"] * 5
    english = ["the dog is asleep", "the house is large", "I am going home", "we are having lunch"] * 5
    profile = learn_profile(german, english)
    assert odd_pairs(["the house is asleep"], ["das Haus schläft"], profile) == {0: "swapped"}
    assert odd_pairs(["the house is asleep"], [unsure], profile) == {}
    assert odd_pairs([unsure], ["das Haus schläft"], profile) == {}


def test_a_length_may_be_five_spreads_from_the_usual_one() -> None:
    sources = ["x" * 45, "x" * 15] * 50  # log ratios of log 2 and 0 with targets of 20 characters
    profile = learn_profile(sources, ["y" * 20] * 100)
    assert profile.tolerance == pytest.approx(5 * 1.4826 * 0.5 * log(2.5))
    edge = 20 * exp(profile.ratio + profile.tolerance)
    assert not is_odd_length("x" * int(edge / 1.1 - 5), "y" * 15, profile)
    assert is_odd_length("x" * int(edge * 1.1 - 5), "y" * 15, profile)


def test_a_line_far_longer_than_the_others_is_named() -> None:
    profile = learn_profile(["a word"] * 50, ["ein Wort"] * 50)
    assert odd_pairs(["word " * 1_200], ["Wort " * 1_200], profile) == {0: "long_line"}
    assert odd_pairs(["word " * 100], ["Wort " * 100], profile) == {}


def is_odd_length(source: str, target: str, profile: Profile) -> bool:
    return odd_pairs([source], [target], profile) == {0: "odd_length"}


def test_a_length_is_odd_only_against_the_habits_of_its_corpus() -> None:
    summaries = learn_profile(["x" * 500] * 20, ["y" * 50] * 20)
    assert not is_odd_length("x" * 480, "y" * 51, summaries)
    assert is_odd_length("x" * 50, "y" * 50, summaries)
    equal = learn_profile(["x" * 50] * 20, ["y" * 50] * 20)
    assert not is_odd_length("x" * 80, "y" * 40, equal)
    assert is_odd_length("x" * 100, "y" * 20, equal)


def test_fewer_than_ten_pairs_show_no_habits() -> None:
    assert learn_profile(["a"] * 9, ["b"] * 9).weights is None
    assert learn_profile(["a"] * 10, ["b"] * 10).weights is not None
    assert not is_odd_length("x" * 1000, "y", Profile())


def test_equal_lengths_have_the_ratio_one() -> None:
    ratios = log_ratios(["abc", "x" * 15], ["xyz", "y" * 5])
    assert ratios.tolist() == pytest.approx([0, 0.6931], abs=1e-4)  # log(20 / 10)


def test_bigrams_hold_the_edges_and_no_case() -> None:
    together, starts = bigrams(["Ab", "", "a" * 100])
    assert starts.tolist() == [0, 4, 6]
    lower, _ = bigrams(["ab"])
    assert together[:4].tolist() == lower.tolist()  # " a", "ab", "b ", and the edge
    edge = bigrams([""])[0][0]
    assert [together[3], *together[4:6], together[-1]] == [edge] * 4
    assert len(together) == 6 + 64 + 2
    assert len({*lower.tolist()}) == 4


def test_no_pairs_are_no_trouble() -> None:
    assert odd_pairs([], [], learn_profile(["a b"] * 10, ["c d"] * 10)) == {}


def test_strays_are_shown_as_escapes_and_long_text_is_cut() -> None:
    assert shown("a\0b\u2028") == "a\\x00b\\u2028"
    assert shown("x" * 100, width=10) == "x" * 9 + "…"


def test_a_character_pair_counts_from_its_fifth_time_on_and_edges_say_nothing() -> None:
    for times, says in ((4, False), (5, True)):
        profile = learn_profile(["qx"] * times + ["..."] * (20 - times), ["a longer text"] * 20)
        assert profile.weights is not None
        buckets, starts = bigrams(["qx"])
        assert starts.tolist() == [0]
        assert [bool(weight) for weight in profile.weights[buckets]] == [says, says, says, False]
        assert profile.tolerance == pytest.approx(log(3))


def test_who_speaks_must_be_sure_in_all_and_in_each_character() -> None:
    for weight, length, sure in ((1.25, 2, 1), (1.2, 2, 0), (0.25, 40, 0), (0.3, 40, 1), (-0.3, 40, -1)):
        weights = np.full(1 << BITS, weight, np.float32)
        assert speaks_for_source(["x" * length], weights).tolist() == [sure]


def test_as_long_as_the_longest_is_not_too_long() -> None:
    profile = Profile(sides=(SideHabits(longest=10), SideHabits(longest=5)))
    found = [is_long(("x" * left, "x" * right), profile) for left, right in ((10, 5), (11, 5), (10, 6))]
    assert found == [False, True, True]


def test_what_is_noted_of_which_pair() -> None:
    raw = (["a", "b\0", "c"], ["&amp;\n", "e", "f"])
    tidied = (["a", "b", "c"], ["&amp;", "e", "f"])
    assert noted_pairs(raw, tidied, Profile()) == {1: {"nul"}, 0: {"html", "line_break"}}


def test_sixty_characters_are_shown() -> None:
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 59 + "…"
    assert shown("a\0b\n", 4) == "a\\x00b\\n"
