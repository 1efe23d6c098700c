"""Kinds of mistakes: pairs made by hand, and laws of counting."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.evaluation.mistakes import (
    KINDS,
    Pair,
    Scored,
    cause_of,
    find_mistakes,
    said_again,
    slips_of,
)

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@pytest.mark.parametrize(
    ("answer", "reference", "kinds"),
    [
        ("the cat sat", "the cat sat", {}),
        ("the dog sat", "the cat sat", {"wrong": 1}),
        ("the sat", "the cat sat", {"omitted": 1}),
        ("", "the cat", {"omitted": 2}),
        ("the big cat sat", "the cat sat", {"added": 1}),
        ("the cat", "", {"added": 2}),
        ("2024-05-03", "2024-03-05", {"moved": 2}),  # a swap
        ("sat the cat", "the cat sat", {"moved": 1}),
        ("the cat cat sat", "the cat sat", {"repeated": 1}),
        ("the cat sat sat sat", "the cat sat", {"repeated": 2}),
        ("on the mat on the mat", "on the mat", {"repeated": 3}),
        ("the the cat", "the dog cat", {"repeated": 1, "omitted": 1}),  # not a wrong word: it was said again
        ("30 30", "01 02", {"wrong": 1, "repeated": 1, "omitted": 1}),  # wrong once, and then said again
        ("no no", "no no", {}),  # as the reference has it
        ("a b c d a b c d", "a b c d", {"repeated": 4}),
        ("a b c d e a b c d e", "a b c d e", {"added": 5}),  # five words said again are not a stutter
        ("the red dog", "the cat", {"wrong": 1, "added": 1}),
        ("cat a dog", "a cat b", {"moved": 2, "wrong": 1}),
        ("나는 영화를 봤다", "나는 어제 영화를 봤다", {"omitted": 1}),
        ("The cat", "the cat", {"wrong": 1}),  # capitals are part of a word
    ],
)
def test_kinds_by_hand(answer: str, reference: str, kinds: dict[str, int]) -> None:
    found = find_mistakes([Pair("x", (reference,), answer)])
    assert dict(found.kinds) == kinds
    assert len(found.lines) == bool(kinds)


@given(WORDS, WORDS)
def test_every_word_that_differs_is_one_mistake(answer: list[str], reference: list[str]) -> None:
    slips = slips_of(answer, reference)
    gone = Counter(slip.reference for slip in slips if slip.reference is not None)
    come = Counter(slip.answer for slip in slips if slip.answer is not None)
    ours, theirs = Counter(answer), Counter(reference)
    assert gone <= theirs
    assert come <= ours
    assert ours - come == theirs - gone  # what is left is the same on both sides
    assert (not slips) == (answer == reference)


@given(WORDS, WORDS)
def test_what_can_be_moved_is_not_called_missing(answer: list[str], reference: list[str]) -> None:
    slips = slips_of(answer, reference)
    lost = {slip.reference for slip in slips if slip.kind in ("wrong", "omitted")}
    extra = {slip.answer for slip in slips if slip.kind in ("wrong", "added", "repeated")}
    assert not lost & extra


def test_said_again() -> None:
    assert said_again(list("ababc")) == [{0, 2}, {1, 3}]
    assert said_again(list("aaa")) == [{0, 1, 2}]
    assert said_again(list("aba")) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "alpha", "cause"),
    [
        ((-2.0, 3), (-1.0, 3), 1.0, "search"),
        ((-1.0, 3), (-2.0, 3), 1.0, "model"),
        ((-1.0, 3), (-1.0, 3), 1.0, "model"),  # not higher
        ((-1.0, 1), (-1.9, 7), 1.0, "search"),  # -1.0 / 1 against -1.9 / 2
        ((-1.0, 1), (-1.9, 7), 0.0, "model"),  # the search had no penalty: log P itself counts
    ],
)
def test_search_or_model(
    ours: tuple[float, int], theirs: tuple[float, int], alpha: float, cause: str
) -> None:
    pair = Pair("x", ("a",), "b", Scored(*ours), Scored(*theirs))
    assert cause_of(pair, alpha) == cause
    assert find_mistakes([pair], alpha=alpha).causes == {cause: 1}


def test_without_scores_no_one_is_blamed() -> None:
    found = find_mistakes([Pair("x", ("a",), "b")])
    assert found.causes == {}
    assert found.lines[0].cause is None


def test_by_word_and_by_length() -> None:
    pairs = [
        Pair("short", ("am 5 Mai",), "am 6 Mai"),
        Pair("short too", ("am 5 Mai",), "am 6 Juni"),
        Pair("short", ("am 5 Mai",), "am 5 Mai"),
        Pair("a source that is a good deal longer", ("5 Mai",), "5"),
    ]
    found = find_mistakes(pairs)
    five, six, mai = (next(one for one in found.words if one.word == word) for word in ("5", "6", "Mai"))
    assert (five.times, five.missed, five.extra, five.instead) == (4, 2, 0, (("6", 2),))
    assert (six.times, six.missed, six.extra, six.lines) == (0, 0, 2, (0, 1))
    assert (mai.missed, mai.lines) == (2, (1, 3))
    assert found.unit == "source_characters"
    assert [(part.n, part.wrong) for part in found.lengths] == [(2, 1), (2, 2)]
    assert sum(part.n for part in found.lengths) == found.n
    for kind in KINDS:
        assert sum(part.kinds.get(kind, 0) for part in found.lengths) == found.kinds.get(kind, 0)


def test_of_several_references_the_nearest_counts() -> None:
    found = find_mistakes([Pair("x", ("one two three", "a b d"), "a b c")])
    assert found.kinds == {"wrong": 1}
    assert found.lines[0].reference == "a b d"
    assert [(word.word, word.times, word.instead) for word in found.words] == [
        ("c", 0, ()),
        ("d", 1, (("c", 1),)),
    ]


def test_forms_of_unicode_and_spaces_are_no_mistake() -> None:
    assert find_mistakes([Pair("x", ("caf\u00e9  au lait",), "cafe\u0301 au lait")]).lines == ()


def test_only_the_first_words_of_a_very_long_answer_are_compared() -> None:
    long = " ".join("w" for _ in range(400))
    found = find_mistakes([Pair("x", (long,), long + " more")])
    assert (found.cut, found.kinds) == (1, {})
    found = find_mistakes([Pair("x", (long,), long[:-1] + "more")])
    assert (found.cut, bool(found.kinds)) == (0, True)


def test_as_json_it_says_its_schema() -> None:
    plain = find_mistakes([Pair("x", ("a",), "b")]).to_dict()
    assert plain["schema"] == "mistakes/1"
    assert plain["lines"][0] == {
        "line": 0,
        "source": "x",
        "reference": "a",
        "hypothesis": "b",
        "kinds": {"wrong": 1},
        "cause": None,
    }


def test_every_kind_counts_for_its_words_and_its_length() -> None:
    pairs = [
        Pair("eins", ("the red cat",), "the blue cat"),
        Pair("zwei drei", ("on the mat",), "the mat on"),
        Pair("vier fünf", ("a cat",), "a cat cat"),
        Pair("sechs", ("the red mat",), "the mat"),
        Pair("sieben acht neun", ("a mat",), "a mat too"),
        Pair("zehn", ("a cat",), "a cat"),
    ]
    told: list[tuple[str, int, int | None]] = []
    found = find_mistakes(pairs, progress=lambda what, done, total: told.append((what, done, total)))
    assert told == [("mistakes", number, 6) for number in range(6)]
    assert [tuple(line.kinds) for line in found.lines] == [
        ("wrong",),
        ("moved",),
        ("repeated",),
        ("omitted",),
        ("added",),
    ]
    assert [(one.word, one.times, one.missed, one.extra, one.instead, one.lines) for one in found.words] == [
        ("red", 2, 2, 0, (("blue", 1),), (0, 3)),
        ("blue", 0, 0, 1, (), (0,)),
        ("cat", 3, 0, 1, (), (2,)),
        ("on", 1, 1, 0, (), (1,)),  # moved: missed where it belongs, and nothing stands there instead
        ("too", 0, 0, 1, (), (4,)),
    ]
    assert [(part.lo, part.hi, part.n, part.wrong, part.kinds) for part in found.lengths] == [
        (4, 4, 2, 1, {"wrong": 1}),
        (5, 8, 1, 1, {"omitted": 1}),
        (9, 16, 3, 3, {"moved": 1, "repeated": 1, "added": 1}),
    ]


def test_missed_and_too_much_count_together_when_words_are_ranked() -> None:
    found = find_mistakes([Pair("x", ("b",), "c"), Pair("x", ("d",), "b"), Pair("x", ("a",), "a z")])
    assert [word.word for word in found.words] == ["b", "c", "d", "z"]
    assert (found.words[0].missed, found.words[0].extra) == (1, 1)


def test_of_many_words_the_worst_fifty_are_shown_each_with_a_few_lines() -> None:
    many = [Pair("x", (f"w{n:02}",), f"v{n:02}") for n in range(30)]
    shown = [word.word for word in find_mistakes(many).words]
    assert shown == [*(f"v{n:02}" for n in range(30)), *(f"w{n:02}" for n in range(20))]
    for_one = [Pair("x", ("w",), answer) for answer in (*"abbcccdddd", *"e" * 11)]
    [word] = [one for one in find_mistakes(for_one).words if one.word == "w"]
    assert (word.times, word.missed, word.lines) == (21, 21, tuple(range(20)))
    assert word.instead == (("e", 11), ("d", 4), ("c", 3))


def test_a_search_without_a_word_about_length_has_the_penalty_one() -> None:
    """-0.94 / 1 against -1.9 / 2; with a penalty of two it would be -1.9 / 4, without one -1.9."""
    pair = Pair("x", ("a",), "b", Scored(-0.94, 1), Scored(-1.9, 7))
    assert [find_mistakes([pair], **alpha).causes for alpha in ({}, {"alpha": 0.0}, {"alpha": 2.0})] == [
        {"model": 1},
        {"model": 1},
        {"search": 1},
    ]
