"""Units of a source: words or tokens, in the order of the text, and the same for several tokenizers."""

from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.explain.tokens import agreed_units, side_of, units_of
from jumok.text.normalize import tidy
from jumok.text.tokenizer import Tokenizer, train_tokenizer

LINES = ["a man rides a horse.", "나는 어제 영화를 봤다.", "wait... what?! 2024-05-03"] * 3
BPE = train_tokenizer(LINES, TextConfig(vocabulary=400))
CHAR = train_tokenizer(LINES, TextConfig(kind="char", vocabulary=400))


def side(tokenizer: Tokenizer, text: str, *, end: bool = True) -> dict[str, object]:
    return side_of(tokenizer, tokenizer.encode(text), text, "", end=end)


def test_words_cover_their_text_and_leave_the_end_out() -> None:
    text = "나는 영화를 봤다."
    for tokenizer in (BPE, CHAR):
        found = units_of(side(tokenizer, text))
        assert [unit.text for unit in found] == ["나는", "영화를", "봤다", "."]
        assert [text[slice(*unit.span)] for unit in found] == ["나는", "영화를", "봤다", "."]
        tokens = [i for unit in found for i in unit.tokens]
        assert tokens == list(range(len(tokenizer.encode(text))))


def test_pieces_are_single_tokens() -> None:
    found = units_of(side(CHAR, "a b"), "tokens")
    assert [(unit.text, unit.tokens) for unit in found] == [("a", (0,)), ("␣", (1,)), ("b", (2,))]
    assert found[0].to_dict() == {"text": "a", "tokens": [0]}


def test_no_text_has_no_units() -> None:
    assert units_of(side(BPE, "")) == ()
    assert agreed_units([side(BPE, ""), side(CHAR, "")]) == [(), ()]


@given(st.text(alphabet="ab 한글.,!?-2😀\u0301", max_size=14).map(tidy))
def test_agreed_units_are_the_same_text_on_every_side(text: str) -> None:
    sides = [side(BPE, text, end=False), side(CHAR, text, end=False)]
    one, other = agreed_units(sides)
    assert [(unit.text, unit.span) for unit in one] == [(unit.text, unit.span) for unit in other]
    for tokenizer, units in ((BPE, one), (CHAR, other)):
        assert [i for unit in units for i in unit.tokens] == list(range(len(tokenizer.encode(text))))
    assert "".join(unit.text for unit in one).replace(" ", "") == text.replace(" ", "")
