"""Agreement for all pairs at once is that of each pair, and the best draw is the one that has most."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from tests.decoding.conftest import TINY, untrained

from jumok.answers import Answer
from jumok.config import Utility
from jumok.decoding import mbr
from jumok.decoding.jobs import make_request
from jumok.decoding.mbr import (
    by_agreement,
    chrf_between,
    expected_utilities,
    overlaps,
    rouge1_between,
)
from jumok.decoding.translator import Translator
from jumok.evaluation.metrics import rouge
from jumok.text.tokenizer import EOS

CHRF2 = CHRF(word_order=2)
WORDS = st.sampled_from(
    ["a", "man", "man,", "(dog)", "…", "!", "e\u0301", "é", "나는", "고양이", "12", "İ", ""]
)
TEXT = st.one_of(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=20))
DRAWS = st.lists(TEXT, min_size=1, max_size=7)
SOURCES = ["a man", "the dog sees a man!", "나는 영화를", "one two three"]
both = pytest.mark.parametrize("utility", ["chrf", "rouge1"])


def plain(utility: Utility, one: str, other: str) -> float:
    """How well a text agrees with another, by the metrics that evaluation has."""
    if utility == "chrf":
        return CHRF2.sentence_score(one, [other]).score / 100
    found = rouge("rouge1", [one], [other])
    return float(found.score(found.rows)[0]) / 100


def plain_means(utility: Utility, texts: list[str]) -> list[float]:
    """By two loops; a text agrees with itself, whatever the metric says of one without a word."""
    return [
        sum(1 if one == other else plain(utility, one, other) for other in texts) / len(texts)
        for one in texts
    ]


@both
@settings(max_examples=150, deadline=None)
@given(texts=DRAWS)
def test_every_pair_has_the_utility_of_the_plain_metric(utility: Utility, texts: list[str]) -> None:
    found = (chrf_between if utility == "chrf" else rouge1_between)(texts)
    assert found.shape == (len(texts), len(texts))
    for row, one in zip(found.tolist(), texts, strict=True):
        assert row == pytest.approx([plain(utility, one, other) for other in texts], abs=1e-9)


@both
@settings(max_examples=60, deadline=None)
@given(texts=DRAWS, data=st.data())
def test_the_mean_is_that_of_two_loops_in_any_order(utility: Utility, texts: list[str], data) -> None:
    means = expected_utilities(texts, utility)
    assert means == pytest.approx(plain_means(utility, texts), abs=1e-9)
    order = data.draw(st.permutations(range(len(texts))))
    shuffled = expected_utilities([texts[i] for i in order], utility)
    assert shuffled == pytest.approx([means[i] for i in order], abs=1e-12)


@both
@given(text=TEXT, count=st.integers(1, 5))
def test_draws_that_are_all_one_text_agree_fully(utility: Utility, text: str, count: int) -> None:
    assert expected_utilities([text] * count, utility) == pytest.approx([1.0] * count)


@both
@pytest.mark.parametrize("text", ["👍", "?!", ""])
def test_a_text_without_words_may_win(utility: Utility, text: str) -> None:
    *many, one = expected_utilities([text] * 9 + ["ok then"], utility)
    assert min(many) > one


@given(rows=st.lists(st.lists(st.integers(0, 4), max_size=9), min_size=1, max_size=6))
def test_overlaps_count_repeated_items_as_often_as_both_have_them(rows: list[list[int]]) -> None:
    assert overlaps(rows).tolist() == [
        [sum(min(one.count(x), other.count(x)) for x in range(5)) for other in rows] for one in rows
    ]


def test_of_equals_the_most_probable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums in another order differ in their last digits, which must not choose."""
    first, second = (0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)
    assert first > second
    monkeypatch.setattr(mbr, "expected_utilities", lambda texts, utility: [0.25, second, first])
    draws = [Answer((one,), (-1.0, -1.0), finished=True) for one in (1, 2, 3)]
    found = by_agreement(lambda many: [str(one) for one in many], "rouge1", draws)
    assert [one.ids for one in found] == [(2,), (3,), (1,)]


def drawn(translator: Translator, text: str, **options) -> list[Answer]:
    """All draws for a text, the most probable first."""
    request = make_request(translator.config.decoding, {"sample": True, **options})
    [[job]] = translator.jobs([text], request)
    engine = translator._engine.to_torch()
    [(_, [answers])] = engine.answers([job], request, translator.explained)
    return answers


@both
@pytest.mark.parametrize("text", SOURCES)
def test_the_answer_is_the_draw_with_the_highest_mean(translator, text: str, utility: Utility) -> None:
    options = {"seed": 3, "temperature": 0.4}
    draws = drawn(translator, text, n_best=9, **options)
    texts = [translator.tokenizers.target.decode(one.ids) for one in draws]
    means = [round(one, 9) for one in plain_means(utility, texts)]
    best = draws[means.index(max(means))]
    found = translator.translate(text, mbr=9, utility=utility, **options)
    assert tuple(token.id for token in found.tokens if token.id != EOS) == best.ids
    assert found.score == pytest.approx(best.score, abs=1e-4)


@both
def test_several_answers_differ_and_agree_less_and_less(translator, utility: Utility) -> None:
    for text in SOURCES:
        texts = [translator.tokenizers.target.decode(one.ids) for one in drawn(translator, text, n_best=8)]
        means = dict(zip(texts, plain_means(utility, texts), strict=True))
        found = [one.text for one in translator.translate(text, mbr=8, utility=utility, n_best=5).hypotheses]
        assert len(found) == len(set(found)) == min(5, len(set(texts)))
        ranks = [means[one] for one in found]
        assert ranks == pytest.approx(sorted(means.values(), reverse=True)[: len(found)], abs=1e-9)


def test_a_folder_that_says_mbr_is_asked_so_unless_a_call_names_another_way() -> None:
    usual, plain_one = (
        Translator(untrained(TINY["luong"], mbr=6, seed=7)),
        Translator(untrained(TINY["luong"])),
    )
    for text in SOURCES:
        assert usual.translate(text) == plain_one.translate(text, mbr=6, seed=7)
        assert usual.translate(text, beam=1) == plain_one.translate(text, beam=1)
        assert usual.translate(text, sample=True) == plain_one.translate(text, sample=True, seed=7)
        assert usual.translate(text, mbr=0) == plain_one.translate(text)
