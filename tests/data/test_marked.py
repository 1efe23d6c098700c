"""Pairs with marks: the same things on both sides, in the order of the source, decided by pair and seed."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.data.marked import PairMarker, is_name, matched, places_of, touching
from jumok.text.marks import MARKS
from jumok.text.protected import ProtectedSpan, protected_spans

ALL = PairMarker(seed=1, share=1.0)
NONE = PairMarker(seed=1, share=0.0)


def marks(text: str) -> list[str]:
    return [one for one in text if one in MARKS]


def test_what_is_protected_on_both_sides_is_marked_on_both() -> None:
    source, target = NONE(("Öffne {name} auf https://a.org.", "On https://a.org open {name}."))
    first, second = marks(source)
    assert source == f"Öffne {first} auf {second}."
    assert target == f"On {second} open {first}."
    assert first < second


def test_what_one_side_lacks_stays() -> None:
    for pair in [
        ("Öffne {name}", "Open it"),
        ("Öffne {name}", "Open {name} {name}"),
        ("ein Haus", "a house"),
    ]:
        assert NONE(pair) == pair


def test_words_of_both_sides_are_marked_at_random() -> None:
    source, target = ALL(("Tom wohnt in Boston", "Tom lives in Boston"))
    assert marks(source)
    assert sorted(marks(source)) == sorted(marks(target))
    assert "in" in source.split()
    assert NONE(("Tom wohnt in Boston", "Tom lives in Boston")) == (
        "Tom wohnt in Boston",
        "Tom lives in Boston",
    )


def test_spans_that_touch_are_one_mark() -> None:
    source, target = NONE(("<b>{n}</b> Dateien", "<b>{n}</b> files"))
    assert len(marks(source)) == len(marks(target)) == 1


def test_the_share_is_kept_and_every_mark_is_learned() -> None:
    pairs = [(f"Tom {n} sah Boston", f"Tom {n} saw Boston") for n in range(1000, 3000)]
    some = [PairMarker(seed=1, share=0.1)(pair) for pair in pairs]
    assert 120 < sum(one != pair for one, pair in zip(some, pairs, strict=True)) < 280
    assert {mark for source, _ in map(ALL, pairs) for mark in marks(source)} == set(MARKS)


def test_one_to_three_words_get_marks_and_the_first_mark_is_the_usual_one() -> None:
    pair = ("Tom Anna Boston Paris 2024", "Paris Tom 2024 Anna Boston")
    found = [marks(PairMarker(seed, share=1.0)(pair)[0]) for seed in range(200)]
    assert {len(one) for one in found} == {1, 2, 3}
    assert 90 < sum(one[0] == MARKS[0] for one in found) < 150
    assert PairMarker(1).share == 0.1


def test_names_and_numbers_are_worth_a_mark() -> None:
    found = [is_name(word) for word in ("haus", "abc", "Abc", "in", "In", "7")]
    assert found == [True, False, True, False, True, True]


def test_where_a_text_stands_by_itself() -> None:
    assert places_of("Tom", "Tom Tomas aTom Tom") == [(0, 3), (15, 18)]
    assert places_of("{a}", "x{a}y") == [(1, 4)]
    assert places_of("v{a}", "xv{a}y v{a}y") == [(7, 11)]
    assert places_of("{a}v", "x{a}vy x{a}v") == [(8, 12)]


def test_spans_that_touch_are_one_from_the_first_to_the_last() -> None:
    spans = [ProtectedSpan(0, 3, "tag"), ProtectedSpan(3, 6, "placeholder"), ProtectedSpan(7, 8, "keep")]
    assert touching("<b>{n} x", spans) == [ProtectedSpan(0, 6, "tag"), spans[2]]
    assert touching("", []) == []


def twins(source: str, target: str) -> list[tuple[str, int]]:
    """What is matched in a source of words, and where it stands in the target."""
    begins = [place for place in range(len(source)) if source[place - 1 : place] in ("", " ")]
    spans = [ProtectedSpan(begin, (source + " ").index(" ", begin), "keep") for begin in begins]
    found = matched(source, target, spans)
    assert all(source[slice(*one)] == target[slice(*other)] for one, other in found)
    return [(source[slice(*one)], other[0]) for one, other in found]


def test_spans_have_places_of_their_own_on_the_other_side() -> None:
    assert twins("{x} {y}", "{y} {x}") == [("{x}", 4), ("{y}", 0)]
    assert twins("{x} {y} {x}", "{x} {x} {y}") == [("{x}", 0), ("{y}", 8), ("{x}", 4)]
    assert twins("{x} {y}", "a {y}") == [("{y}", 2)]
    assert twins("{x} {y}", "{x}{y}") == [("{x}", 0), ("{y}", 3)]
    assert twins("{x} {y}", "{y}{x}") == [("{x}", 3), ("{y}", 0)]
    assert twins("a-b b", "a-b") == [("a-b", 0)]  # what stands inside another is none
    assert twins("b a-b", "a-b") == [("b", 2)]
    assert twins("b-a b", "b-a") == [("b-a", 0)]
    assert len(twins(" ".join(f"w{n}" for n in range(12)), " ".join(f"w{n}" for n in range(12)))) == 10


WORDS = st.lists(
    st.sampled_from(["Tom", "{a}", "%s", "haus", "2024", "12345", "⓷", "der", "</b>"]), max_size=14
)


@given(WORDS, WORDS, st.integers(0, 5))
def test_both_sides_have_the_same_marks_and_lose_nothing_else(
    left: list[str], right: list[str], seed: int
) -> None:
    pair = (" ".join(left), " ".join(right))
    made = PairMarker(seed, share=0.5)(pair)
    assert made == PairMarker(seed, share=0.5)(pair)
    source, target = made
    if made != pair and "⓷" not in pair[0] + pair[1]:
        assert marks(source) == sorted(marks(source))
        assert sorted(marks(source)) == sorted(marks(target))
        assert len(set(marks(source))) == len(marks(source))
    assert len(source.split()) == len(pair[0].split())
    if made != pair:
        assert len(protected_spans(source)) <= max(
            len(protected_spans(pair[0])), len(marks(source)) + len(left)
        )
