"""Pairs with marks: the same things on both sides, in the order of the source, decided by pair and seed."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.data.marked import PairMarker
from jumok.text.marks import MARKS
from jumok.text.protected import protected_spans

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
