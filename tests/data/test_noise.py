"""Noise takes words away and moves them a little, always in the same way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.noise import BLANK, NEAR, noisy

WORDS = st.lists(st.integers(0, 10_000).map(str), min_size=1, max_size=40, unique=True)


@given(WORDS, st.integers(0, 99))
def test_what_is_left_are_words_of_the_sentence_near_their_places(words: list[str], seed: int) -> None:
    text = " ".join(words)
    left = noisy(text, seed).split(" ")
    assert left
    assert noisy(text, seed).split(" ") == left
    kept = [word for word in left if word != BLANK]
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(words)
    before = [word for word in words if word in kept]
    blanks = left.count(BLANK)
    for place, word in enumerate(kept):
        assert abs(before.index(word) - place) <= NEAR + blanks


def test_words_move_by_up_to_three_places_as_in_the_paper() -> None:
    """Lample et al. 2018: |σ(i) - i| <= k, and k is 3."""
    words = list("abcdefgh")
    found = [noisy(" ".join(words), seed).split(" ") for seed in range(400)]
    whole = [text for text in found if sorted(text) == words]  # nothing was dropped or masked
    assert max(abs(text.index(word) - place) for text in whole for place, word in enumerate(words)) == 3


def test_about_as_much_as_it_says() -> None:
    """Of ten draws one masks two words on average, one drops a word and eight keep one: eleven words."""
    text, found = " ".join(map(str, range(50))), list[str]()
    for seed in range(400):
        found += noisy(text, seed).split(" ")
    blanks = found.count(BLANK)
    assert blanks / (400 * 50) == pytest.approx(1 / 11, abs=0.008)
    assert (len(found) - blanks) / (400 * 50) == pytest.approx(8 / 11, abs=0.013)
    assert len({noisy(text, seed) for seed in range(20)}) == 20


def test_two_words_are_enough_for_noise_and_one_is_kept() -> None:
    assert {noisy("a", seed) for seed in range(50)} == {"a"}
    assert {noisy("a b", seed) for seed in range(200)} >= {
        "a b",
        "b a",
        "a",
        "b",
        BLANK,
        f"{BLANK} b",
        f"a {BLANK}",
    }
