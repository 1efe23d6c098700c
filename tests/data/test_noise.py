"""Noise takes words away and moves them a little, always in the same way."""

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
    text = " ".join(map(str, range(50)))
    shares = [sum(word != BLANK for word in noisy(text, seed).split(" ")) / 50 for seed in range(200)]
    assert 0.6 < sum(shares) / len(shares) < 0.8
    assert len({noisy(text, seed) for seed in range(20)}) == 20
