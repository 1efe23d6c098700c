"""BPE dropout: plain pieces without it, always the same text, and the same again from the same seed."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.text import dropout as module
from jumok.text.dropout import NONE, NOTHING, MergeTable, WordCuts, WordCutter
from jumok.text.normalize import tidy
from jumok.text.ragged import Ragged, ragged
from jumok.text.tokenizer import Tokenizer, train_tokenizer
from jumok.text.tokenizer_form import TokenizerForm

LINES = [
    "the lower the lowest, 1984 and 2026! lowering towers tower over the others",
    "나는 어제 영화를 봤다. 나는 오늘 책을 읽었다.",
    "ein Mann reitet auf einem Pferd <s> </s> <0xEA> a-b a-b ... ...",
] * 4
TOKENIZER = train_tokenizer(LINES, TextConfig(vocabulary=460))
words_known = st.sampled_from([word for line in LINES for word in line.split()])
text = st.one_of(
    st.text(), st.lists(st.one_of(words_known, st.text("lowerth-1.", max_size=12))).map(" ".join)
)


def ids_of(texts: list[str], tokenizer: Tokenizer = TOKENIZER) -> Ragged:
    return ragged(tokenizer.encode_many(texts))


def picked(texts: list[str], share: float, seed: int = 1, longest: int = 10**6) -> list[list[int]]:
    cuts = WordCutter(TOKENIZER, share, seed)
    found = cuts.pick(cuts.read(ids_of(texts), 4), np.random.default_rng(seed), longest)
    return [found.values[found.begin[i] : found.begin[i + 1]].tolist() for i in range(len(texts))]


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(text.map(tidy), max_size=5))
@example(texts=["the lowest"])
@example(texts=["", "\u0301the ๓", "á-1 x\u0301\u0301 🐎✓ 걃", "</s> <0xEA>"])
def test_without_dropout_the_pieces_are_the_librarys(texts: list[str]) -> None:
    assert picked(texts, 0.0) == TOKENIZER.encode_many(texts)


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(text.map(tidy), max_size=5), share=st.floats(0, 0.99), seed=st.integers(0, 99))
def test_any_cut_spells_the_same_text(texts: list[str], share: float, seed: int) -> None:
    cut = picked(texts, share, seed)
    assert TOKENIZER.decode_many(cut) == texts
    assert cut == picked(texts, share, seed)


def test_pieces_never_cross_a_border_of_the_tokenizer() -> None:
    crossing = Tokenizer(
        TokenizerForm(("-", "a", "a-"), (("a", "-"),), "bpe")
    )  # a merge that no text could have taught
    cuts = WordCutter(crossing, 0.0, 1)
    found = cuts.pick(cuts.read(ids_of(["a-a"], crossing), 1), np.random.default_rng(0), 99)
    assert found.values.tolist() == crossing.encode("a-a")
    figures = Tokenizer(TokenizerForm(("1", "a", "11"), (("1", "1"),), "bpe"))
    cuts = WordCutter(figures, 0.0, 1)
    found = cuts.pick(cuts.read(ids_of(["a11"], figures), 1), np.random.default_rng(0), 99)
    assert figures.pieces(found.values.tolist())[-2:] == ["1", "1"]


def test_usual_words_are_parted_without_asking_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters, and signs behind them: most of a text, and the library is slow to ask."""
    cuts, asked = WordCutter(TOKENIZER, 0.1, 1), list[str]()
    known = [cuts._symbols(word) for word in ("lowest", "Pferd...", "읽었다.")]
    split = Tokenizer.split
    monkeypatch.setattr(Tokenizer, "split", lambda self, text: [asked.append(text), split(self, text)][1])
    assert [cuts._symbols(word) for word in ("lowest", "Pferd...", "읽었다.")] == known
    assert asked == []
    cuts._symbols("a-b")
    assert asked == ["a-b"]


def test_more_dropout_more_pieces() -> None:
    counts = [sum(map(len, picked(LINES, share))) for share in (0.0, 0.1, 0.3, 0.6, 0.99)]
    assert counts == sorted(counts)
    assert counts[-1] > 0.9 * sum(len(f" {line}") for line in LINES)


def counted(drawn: list[WordCuts], tokenizer: Tokenizer = TOKENIZER) -> Counter[tuple[str, ...]]:
    """How often each cut was drawn, of one word."""
    found: Counter[tuple[str, ...]] = Counter()
    for one in drawn:
        for i, times in enumerate(one.times.tolist()):
            ids = one.cuts.values[one.cuts.begin[i] : one.cuts.begin[i + 1]].tolist()
            found[tuple(tokenizer.pieces(ids))] += times
    return found


def test_the_share_of_merges_left_out() -> None:
    """Of a word with one merge the share p stays apart: 4,000 draws tell p to within 0.03."""
    pair = Tokenizer(TokenizerForm((" ", " x", "x"), ((" ", "x"),), "bpe"))
    merges, draws = MergeTable(pair), 4000
    symbols = np.array([[260], [262], [NOTHING]], dtype=np.int32)
    for share in (0.1, 0.5):
        drawn = module.cut(symbols, np.array([draws]), merges, share, np.random.default_rng(0))
        assert counted(drawn, pair)[" ", "x"] / draws == pytest.approx(share, abs=0.03)


def slow_cut(symbols: list[str], merges: dict[tuple[str, str], int], rejected: list[bool]) -> list[str]:
    """The paper's algorithm on one word, with the coins thrown beforehand."""
    coins = iter(rejected)
    while True:
        pairs = [
            (merges[pair], i)
            for i, pair in enumerate(zip(symbols, symbols[1:], strict=False))
            if pair in merges
        ]
        left = [pair for pair in pairs if not next(coins)]
        if not left:
            return symbols
        _, i = min(left)
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]


def test_cuts_are_as_likely_as_in_the_paper() -> None:
    """Each cut of one word, 4,000 times by either way: no cut's share differs by more than 0.04."""
    word, share, draws = "lowest", 0.3, 4000
    generator = np.random.default_rng(5)
    merges = {pair: rank for rank, pair in enumerate(TOKENIZER.merges)}
    slow = Counter(
        tuple(slow_cut(list(f" {word}"), merges, (generator.random(60) < share).tolist()))
        for _ in range(draws)
    )
    cuts = WordCutter(TOKENIZER, share, 7)
    symbols = np.array([[*cuts._symbols(word), NOTHING]], dtype=np.int32).T
    fast = counted(module.cut(symbols, np.array([draws]), cuts.merges, share, generator))
    assert fast.total() == draws
    alone = np.repeat(symbols, draws, axis=1)  # and as so many words of their own
    single = counted(module.cut(alone, np.ones(draws, np.int64), cuts.merges, share, generator))
    assert len(slow) > 5
    for pieces in {*slow, *fast, *single}:
        assert slow[pieces] / draws == pytest.approx(fast[pieces] / draws, abs=0.04)
        assert slow[pieces] / draws == pytest.approx(single[pieces] / draws, abs=0.04)


@given(st.lists(st.tuples(st.integers(-1, TOKENIZER.size - 1), st.integers(-1, TOKENIZER.size - 1))))
def test_every_merge_is_found_and_nothing_else(others: list[tuple[int, int]]) -> None:
    merges = MergeTable(TOKENIZER)
    ids = {piece: i for i, piece in enumerate(TOKENIZER.pieces(range(TOKENIZER.size)))}
    ranks = {(ids[left], ids[right]): rank for rank, (left, right) in enumerate(TOKENIZER.merges)}
    pairs = [*ranks, *others]
    left, right = np.array(pairs, dtype=np.int32).T
    assert merges.rank(left, right).tolist() == [ranks.get(pair, NONE) for pair in pairs]


def test_occurrences_differ_and_seeds_differ() -> None:
    texts = ["the lowest tower"] * 40
    assert len({tuple(ids) for ids in picked(texts, 0.3)}) > 5
    assert picked(texts, 0.3, seed=1) != picked(texts, 0.3, seed=2)


def test_words_that_come_later_leave_the_known_ones_alone() -> None:
    cuts = WordCutter(TOKENIZER, 0.3, 1)
    first = cuts.read(ids_of(LINES[:1]), 4)
    before = cuts.pick(first, np.random.default_rng(0), 999)
    second = cuts.read(ids_of(LINES), 4)
    after = cuts.pick(first, np.random.default_rng(0), 999)
    assert before.values.tolist() == after.values.tolist()
    found = cuts.pick(second, np.random.default_rng(0), 999)
    assert TOKENIZER.decode_many([found.values.tolist()]) == [" ".join(LINES)]


def test_what_would_be_too_long_keeps_its_plain_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TOKENIZER.encode_many(LINES)
    assert picked(LINES, 0.9, longest=0) == plain
    long = ["the" * 100, "the lowest"]
    assert picked(long, 0.9)[0] == TOKENIZER.encode(long[0])
    monkeypatch.setattr(module, "BLOCK", 3)
    assert TOKENIZER.decode_many(picked(LINES, 0.5)) == [tidy(line) for line in LINES]


class Always(np.random.Generator):
    """Draws the same number again and again."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(1))
        self.value = value

    def random(self, size: int) -> Any:  # type: ignore[override]
        return np.full(size, self.value)


def test_every_draw_of_a_word_may_be_picked_and_the_plain_cut_is_none_of_them() -> None:
    cuts = WordCutter(TOKENIZER, 0.5, 3)
    words = cuts.read(ids_of(["lowest"]), 8)
    assert cuts.first.tolist() == [0, 9]
    for number in range(8):
        for part in (0.0, 0.999):
            found = cuts.pick(words, Always((number + part) / 8), 999)
            assert found.values.tolist() == cuts.cuts.take(cuts.draws[[1 + number]]).values.tolist()
    longest = max(len(cuts.pick(words, Always(n / 8), 999).values) for n in range(8))
    several = [len(cuts.pick(words, Always(n / 8), longest).values) for n in range(8)]
    assert max(several) == longest > len(TOKENIZER.encode("lowest"))


def test_korean_letters_are_cut_like_any_others() -> None:
    letters = train_tokenizer(LINES, TextConfig(vocabulary=400, jamo=True))
    texts = ["나는 어제 영화를 봤다. 🐎 학생", "the lowest"]
    cuts = WordCutter(letters, 0.5, 1)
    words = cuts.read(ids_of(texts, letters), 4)
    for seed in range(5):
        found = cuts.pick(words, np.random.default_rng(seed), 10**6)
        lists = [found.values[found.begin[i] : found.begin[i + 1]].tolist() for i in range(len(texts))]
        assert letters.decode_many(lists) == texts
        assert lists != letters.encode_many(texts)
