"""A text that is cut ends with a whole character."""

from hypothesis import example, given
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.text.beginning import beginning, beginnings
from jumok.text.ragged import ragged
from jumok.text.tokenizer import FIRST_BYTE, train_tokenizer

TOKENIZER = train_tokenizer(["the lower the lowest"] * 3, TextConfig(vocabulary=300))
texts = st.text("the 한🐎é\u0301", max_size=12)


@given(texts, st.integers(1, 20))
@example("🐎🐎", 8)
def test_what_is_left_is_a_beginning_of_the_text(text: str, most: int) -> None:
    ids = TOKENIZER.encode(text)
    kept = beginning(ids, most)
    assert list(kept) == ids[: len(kept)]
    assert min(len(ids), most) - 3 <= len(kept) <= most
    assert "\ufffd" not in TOKENIZER.decode(kept)


@given(st.lists(texts, max_size=6), st.integers(1, 20))
def test_many_at_once_equal_one_by_one(many: list[str], most: int) -> None:
    ids = TOKENIZER.encode_many(many)
    found = beginnings(ragged(ids), most)
    assert [found.values[found.begin[i] : found.begin[i + 1]].tolist() for i in range(len(found))] == [
        list(beginning(one, most)) for one in ids
    ]


def test_no_byte_of_a_character_is_left_without_the_others() -> None:
    first, last = FIRST_BYTE + 0xC2, (FIRST_BYTE + 0x80, FIRST_BYTE + 0xBF)
    for ids, most, kept in (
        *(([9, first, byte], 2, [9]) for byte in last),
        *(([first, byte], 1, []) for byte in last),
        ([first, FIRST_BYTE + 0x7F], 1, [first]),
        ([first, FIRST_BYTE + 0xC0], 1, [first]),
        ([last[0], last[0]], 0, []),
        ([9, last[0]], 2, [9, last[0]]),
    ):
        assert list(beginning(ids, most)) == kept
        assert beginnings(ragged([ids, ids]), most).values.tolist() == kept * 2
