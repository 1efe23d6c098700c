"""Edit distance by bits is that of the table; the index finds what a look at every text would."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.terms.similar import NgramIndex, edit_distance, ngrams, similarity

TEXT = st.text("abc é", max_size=14)


def slow_distance(left: str, right: str) -> int:
    """The table, row by row."""
    above = list(range(len(right) + 1))
    for i, one in enumerate(left, start=1):
        row = [i]
        for j, other in enumerate(right, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (one != other)))
        above = row
    return above[-1]


@given(left=TEXT, right=TEXT)
def test_bits_count_as_the_table_does(left: str, right: str) -> None:
    assert edit_distance(left, right) == slow_distance(left, right) == edit_distance(right, left)


def test_similarity_is_a_share_of_the_longer() -> None:
    assert similarity("", "") == similarity("same", "same") == 1
    assert similarity("abcd", "abxd") == 0.75
    assert similarity("", "ab") == 0


def test_the_ends_of_a_text_count() -> None:
    assert len(ngrams("")) == 0
    assert len(ngrams("a")) == 1
    assert len(ngrams("aaaaaa")) == 3  # at the beginning, inside, at the end


@given(
    texts=st.lists(TEXT.filter(str.strip), min_size=1, max_size=20, unique=True),
    text=TEXT,
    threshold=st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
)
def test_nothing_similar_is_missed(texts: list[str], text: str, threshold: float) -> None:
    found = {texts[place] for place in NgramIndex(texts).candidates(text, threshold).tolist()}
    close = {
        one for one in texts if similarity(one, text) >= threshold and set(ngrams(one)) & set(ngrams(text))
    }
    assert close <= found


def test_an_empty_index_has_no_candidates() -> None:
    assert NgramIndex([]).candidates("text", 0.7).tolist() == []


def test_just_as_similar_as_asked_for_is_similar() -> None:
    """With an edit in ten characters, three of ten n-grams are others."""
    index = NgramIndex(["abcdefghij", "abcdefghij and more", "0123456789"])
    for text, threshold, found in (
        ("abcdeXghij", 0.9, [0]),
        ("abcdeXghij", 0.91, []),
        ("aXcdefghXj", 0.8, [0]),
        ("aXcdefghXj", 0.81, []),
        ("abcdefghij", 1.0, [0]),
        ("abcdefghij", 0.5, [0, 1]),
    ):
        assert index.candidates(text, threshold).tolist() == found
    assert similarity("abcdefghij", "aXcdefghXj") == 0.8


def test_the_best_two_dozen_are_compared_best_first() -> None:
    more = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))
    texts = ["abcdef" + more[: n * 7 % 40] for n in range(40)]
    found = NgramIndex(texts).candidates("abcdef", 0.01).tolist()
    assert [len(texts[place]) for place in found] == list(range(6, 30))


def test_characters_of_every_plane_are_told_apart() -> None:
    first, second = (set(ngrams(f"{sign}ab").tolist()) for sign in ("\U00100000", "\0"))
    assert (len(first), len(second), len(first & second)) == (3, 3, 1)
