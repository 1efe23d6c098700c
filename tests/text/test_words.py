"""Word by word the ids are the tokenizer's own."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.text import words as module
from jumok.text.normalize import tidy
from jumok.text.ragged import Ragged
from jumok.text.tokenizer import Tokenizer, train_tokenizer
from jumok.text.words import Words

LINES = ["the lower the lowest, 1984!", "나는 어제 영화를 봤다.", "a-b <s> </s> <0xEA> ..."] * 4
BPE = train_tokenizer(LINES, TextConfig(vocabulary=400))
EACH = {
    "bpe": BPE,
    "char": train_tokenizer(LINES, TextConfig(kind="char", vocabulary=400)),
    "word": train_tokenizer(LINES, TextConfig(kind="word", vocabulary=300)),
    "bpe jamo": train_tokenizer(LINES, TextConfig(vocabulary=400, jamo=True)),
}
text = st.one_of(st.text(), st.lists(st.sampled_from(" ".join(LINES).split())).map(" ".join)).map(tidy)


def lists(found: Ragged) -> list[list[int]]:
    return [found.values[found.begin[i] : found.begin[i + 1]].tolist() for i in range(len(found))]


@pytest.mark.parametrize("tokenizer", EACH.values(), ids=EACH)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(text.filter(bool), max_size=6))
@example(texts=["\u0301the ๓", "á-1 x\u0301\u0301 🐎✓ 걃", "</s> <0xEA>", "the the"])
def test_as_the_tokenizer_does(tokenizer: Tokenizer, texts: list[str]) -> None:
    words = Words(tokenizer)
    for _ in range(2):  # with new words and with known ones
        assert lists(words.encode(texts)) == tokenizer.encode_many(texts)


def test_it_forgets_before_it_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    words = Words(BPE)
    for line in LINES:
        assert lists(words.encode([line])) == [BPE.encode(line)]
        assert len(words.numbers) <= 3 + len(line.split())
