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


@given(texts=st.lists(TEXT.filter(str.strip), min_size=1, max_size=20, unique=True), text=TEXT)
def test_nothing_similar_is_missed(texts: list[str], text: str) -> None:
    threshold = 0.7
    found = {texts[place] for place in NgramIndex(texts).candidates(text, threshold).tolist()}
    close = {
        one for one in texts if similarity(one, text) >= threshold and set(ngrams(one)) & set(ngrams(text))
    }
    assert close <= found


def test_an_empty_index_has_no_candidates() -> None:
    assert NgramIndex([]).candidates("text", 0.7).tolist() == []
