"""Metrics: equal to sacrebleu where it has them, equal to numbers worked out by hand where it has not."""

import math
import random
import time
from collections.abc import Sequence
from typing import get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from jumok.config import FALLING, TrainingConfig
from jumok.errors import ConfigError, DataError
from jumok.evaluation import metrics
from jumok.evaluation.metrics import common_subsequence, edit_distance

SENTENCES = st.lists(
    st.sampled_from(["the", "cat", "sat", "on", "Mat", ",", "고양이", "나는", "."]), max_size=12
)
TEXTS = SENTENCES.map(" ".join)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)


def noisy(seed: int, lines: int, words: int = 12) -> tuple[list[str], list[str]]:
    """Hypotheses that are references with a quarter of the words exchanged."""
    random.seed(seed)
    vocabulary = [f"w{i}" for i in range(50)]
    references = [[random.choice(vocabulary) for _ in range(words)] for _ in range(lines)]
    hypotheses = [[w if random.random() < 0.75 else "x" for w in line] for line in references]
    return [" ".join(line) for line in hypotheses], [" ".join(line) for line in references]


@settings(max_examples=100, deadline=None)
@given(pairs=PAIRS)
def test_bleu_chrf_and_ter_are_sacrebleus(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [list(side) for side in zip(*pairs, strict=True)]
    for ours, theirs in (
        (metrics.bleu(hypotheses, references), BLEU()),
        (metrics.bleu(hypotheses, references, lowercase=True), BLEU(lowercase=True)),
        (metrics.chrf(hypotheses, references), CHRF(word_order=2)),
        (metrics.chrf(hypotheses, references, word_order=0), CHRF()),
        (metrics.ter(hypotheses, references), TER()),
    ):
        assert ours.value == pytest.approx(theirs.corpus_score(hypotheses, [references]).score, abs=1e-9)
        assert ours.signature == str(theirs.get_signature())


def test_the_signature_names_every_choice() -> None:
    one = ["a b c d"]
    assert metrics.bleu(one, one).value == pytest.approx(100)  # with a single run of four words
    assert metrics.bleu(one, one).signature.startswith(
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2."
    )
    assert "|nw:2|" in metrics.chrf(one, one).signature
    assert "tok:zh" in metrics.bleu(one, one, tokenize="zh").signature
    assert "case:lc" in metrics.measure("bleu-lc", one, one).signature


def test_already_tokenized_text_does_not_make_sacrebleu_complain(caplog: pytest.LogCaptureFixture) -> None:
    metrics.bleu(["a b ."] * 120, ["a b ."] * 120)
    assert caplog.records == []


def test_the_tokenizer_follows_the_language_when_it_is_installed() -> None:
    assert metrics.bleu_tokenizer("en") == ("13a", "")
    assert metrics.bleu_tokenizer("zh") == ("zh", "")


def test_a_missing_tokenizer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ko_mecab.MeCab", None)
    assert metrics.bleu_tokenizer("ko") == (
        "13a",
        "BLEU used the tokenizer 13a: ko-mecab is not installed (pip install 'sacrebleu[ko]')",
    )


def test_exact_match_ignores_only_white_space_at_the_ends() -> None:
    statistics = metrics.exact(["a b ", "a  b", "A b", ""], ["a b", "a b", "a b", ""])
    assert statistics.rows[:, 0].tolist() == [1, 0, 0, 1]
    assert statistics.value == 50


def test_word_error_rate_by_hand() -> None:
    # one substitution in four words, one insertion against one word: 2 edits, 5 words
    assert metrics.edit_rate("wer", ["a b x d", "e f"], ["a b c d", "e"]).value == 40


def test_phoneme_error_rate_counts_symbols_and_exact_match_counts_lines() -> None:
    hypotheses, references = ["K AE1 T", "D AO1"], ["K AE1 T", "D AO1 G"]
    assert metrics.edit_rate("per", hypotheses, references).value == pytest.approx(100 / 6)
    assert 100 - metrics.exact(hypotheses, references).value == 50  # a dictionary's "word error rate"


def test_character_error_rate_takes_a_run_of_white_space_as_one_character() -> None:
    assert metrics.edit_rate("cer", ["ab  cd "], ["ab cx"]).value == 20
    assert metrics.edit_rate("cer", ["나는"], ["나도"]).value == 50


@pytest.mark.parametrize("name", ["wer", "cer", "per", "ter"])
def test_an_empty_reference_is_right_only_for_an_empty_hypothesis(name: str) -> None:
    assert metrics.measure(name, [""], [""]).value == 0
    assert metrics.measure(name, ["a"], [""]).value == 100


def test_rouge_by_hand() -> None:
    # "the cat sat" / "the cat ate the mouse": 2 common words, 1 common bigram, common subsequence of 2
    names = ("rouge1", "rouge2", "rougeL")
    one, two, longest = (metrics.rouge(name, ["The cat sat."], ["the cat ate the mouse"]) for name in names)
    assert [one.name, two.name, longest.name] == ["rouge1", "rouge2", "rougeL"]
    assert one.value == pytest.approx(100 * 2 * 2 / (3 + 5))
    assert two.value == pytest.approx(100 * 2 * 1 / (2 + 4))
    assert longest.value == pytest.approx(100 * 2 * 2 / (3 + 5))


def test_rouge_counts_a_repeated_word_as_often_as_both_sides_have_it() -> None:
    assert metrics.rouge("rouge1", ["the the the"], ["the cat the"]).value == pytest.approx(100 * 2 / 3)


def test_rouge_l_respects_order_and_averages_over_sentences() -> None:
    order = metrics.rouge("rougeL", ["a b c d", ""], ["d c b a", "x"])
    assert order.value == pytest.approx(100 * (1 / 4 + 0) / 2)


def test_perplexity_weighs_sentences_by_their_tokens() -> None:
    statistics = metrics.perplexity([2 * math.log(0.5), math.log(0.125)], [2, 1])
    assert statistics.value == pytest.approx(2 ** (5 / 3))
    assert statistics.signature == "nrefs:1|unit:token"


def test_a_hopeless_perplexity_is_infinite_without_a_warning() -> None:
    assert metrics.perplexity([-1e6], [1]).value == math.inf


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(TEXTS.filter(bool), min_size=1, max_size=5))
def test_a_text_is_perfect_against_itself(texts: list[str]) -> None:
    for name in metrics.LABELS:
        if name in {
            "ppl",
            "bleu",
            "bleu-lc",
            "rouge1",
            "rouge2",
            "rougeL",
        }:  # these need a few words to reach 100
            continue
        perfect = 0.0 if name in metrics.LOWER_IS_BETTER else 100.0
        assert metrics.measure(name, texts, texts).value == pytest.approx(perfect)


@settings(max_examples=50, deadline=None)
@given(pairs=PAIRS)
def test_lower_cased_bleu_is_the_bleu_of_lower_cased_text(pairs: list[tuple[str, str]]) -> None:
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    upper = [[text.upper() for text in side] for side in sides]
    lower = [[text.lower() for text in side] for side in upper]
    one, other = metrics.measure("bleu-lc", *upper), metrics.measure("bleu", *lower)
    assert one.value == other.value


@settings(max_examples=30, deadline=None)
@given(pairs=PAIRS, seed=st.integers(0, 99))
def test_the_order_of_sentences_does_not_matter(pairs: list[tuple[str, str]], seed: int) -> None:
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    for name in ("bleu", "chrf", "wer", "rougeL", "exact"):
        values = [
            metrics.measure(name, [a for a, _ in some], [b for _, b in some]).value
            for some in (pairs, shuffled)
        ]
        assert values[0] == pytest.approx(values[1])


def test_a_selection_scores_like_the_sentences_alone() -> None:
    hypotheses, references = noisy(0, lines=20)
    few = (3, 4, 11)
    for name in ("bleu", "chrf", "ter", "cer"):
        alone = metrics.measure(name, [hypotheses[i] for i in few], [references[i] for i in few])
        assert metrics.measure(name, hypotheses, references).select(few).value == pytest.approx(alone.value)


def test_five_thousand_sentences_take_seconds() -> None:
    hypotheses, references = noisy(1, lines=5000, words=30)
    began = time.process_time()
    metrics.edit_rate("wer", hypotheses, references)
    metrics.edit_rate("cer", hypotheses, references)
    assert time.process_time() - began < 10


def test_names_are_spelled_out_once() -> None:
    assert metrics.check_names(["bleu", "rouge", "chrf++", "bleu"]) == (
        "bleu",
        "rouge1",
        "rouge2",
        "rougeL",
        "chrf",
    )


def test_an_unknown_metric_offers_the_nearest() -> None:
    with pytest.raises(ConfigError, match="unknown metric 'blue'\n  did you mean 'bleu'?"):
        metrics.check_names(["blue"])
    with pytest.raises(ConfigError, match="no metric was named\n  known: bleu, bleu-lc, chrf"):
        metrics.check_names([])


def test_unequal_and_empty_lists_are_refused() -> None:
    with pytest.raises(DataError, match="2 hypotheses cannot be scored against 1 references"):
        metrics.measure("bleu", ["a", "b"], ["a"])
    with pytest.raises(DataError, match="there are no sentences to score"):
        metrics.measure("bleu", [], [])


def test_perplexity_of_plain_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="perplexity needs a model, not only its output"):
        metrics.measure("ppl", ["a"], ["a"])


SEVERAL = [
    "bleu",
    "bleu-lc",
    "chrf",
    "chrf-char",
    "ter",
    "exact",
    "wer",
    "cer",
    "per",
    "rouge1",
    "rouge2",
    "rougeL",
]


@pytest.mark.parametrize("name", SEVERAL)
def test_one_reference_in_a_list_is_one_reference(name: str) -> None:
    hypotheses, references = noisy(2, lines=12)
    plain = metrics.measure(name, hypotheses, references)
    listed = metrics.measure(name, hypotheses, [(text,) for text in references])
    assert plain.rows.tolist() == listed.rows.tolist()
    assert plain.signature == listed.signature
    assert plain.signature.startswith("nrefs:1|")


@pytest.mark.parametrize("name", SEVERAL)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 99))
def test_another_reference_never_makes_a_sentence_worse(name: str, seed: int) -> None:
    hypotheses, references = noisy(seed, lines=4)
    others = noisy(seed + 1000, lines=4)[1]
    one = metrics.measure(name, hypotheses, references)
    two = metrics.measure(name, hypotheses, list(zip(references, others, strict=True)))
    assert two.signature.startswith("nrefs:2|")
    if name in {"bleu", "bleu-lc", "ter"}:  # whose lengths are those of all references together
        return
    before, after = one.score(one.rows), two.score(two.rows)
    gain = before - after if name in metrics.LOWER_IS_BETTER else after - before
    assert (gain >= -1e-9).all()


def test_several_references_are_counted_by_sacrebleu() -> None:
    hypotheses, first = noisy(0, lines=20)
    second = [text if i % 3 else None for i, text in enumerate(noisy(9, lines=20)[1])]
    both = [(a,) if b is None else (a, b) for a, b in zip(first, second, strict=True)]
    for name, theirs in (("bleu", BLEU()), ("chrf", CHRF(word_order=2)), ("ter", TER())):
        found = metrics.measure(name, hypotheses, both)
        assert found.value == pytest.approx(theirs.corpus_score(hypotheses, [first, second]).score)
        assert found.signature == str(theirs.get_signature())
        assert found.signature.startswith("nrefs:var|")


def test_the_best_reference_counts() -> None:
    references = [("K AE T", "K AA T"), ("D AO G", "D AA G Z")]
    hypotheses = ["K AA T", "D AA G"]
    assert metrics.exact(hypotheses, references).value == 50
    assert metrics.edit_rate("per", hypotheses, references).rows.tolist() == [
        [0, 3],
        [1, 4],
    ]  # a quarter is less than a third
    # three edits of four symbols are less than one of one
    assert metrics.edit_rate("per", ["K"], [("T", "K AE T S")]).rows.tolist() == [[3, 4]]
    assert metrics.edit_rate("cer", ["abc"], [("xbc", "abd", "abc")]).value == 0
    for name, texts in (
        ("rouge1", ("c d", "a c")),
        ("rouge2", ("a c b", "x a b")),
        ("rougeL", ("c d", "a c")),
    ):
        for order in (texts, texts[::-1]):
            found = metrics.rouge(name, ["a b"], [order])
            assert found.value == pytest.approx(200 / 3 if name == "rouge2" else 50)
            assert found.signature.startswith("nrefs:2|")


def test_training_looks_at_metrics_that_exist() -> None:
    names = set(get_args(get_type_hints(TrainingConfig)["metric"])) - {"loss"}
    assert names <= set(metrics.LABELS)
    assert names & metrics.LOWER_IS_BETTER == FALLING - {"loss"}


WORDS = st.lists(st.sampled_from("abcd"), max_size=70)


def slow_edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        above, row = row, [i]
        for j, b in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def slow_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    row = [0] * (len(second) + 1)
    for a in first:
        above, row = row, [0]
        for j, b in enumerate(second, start=1):
            row.append(above[j - 1] + 1 if a == b else max(above[j], row[-1]))
    return row[-1]


@pytest.mark.parametrize(
    ("first", "second", "edits", "common"),
    [
        ("kitten", "sitting", 3, 4),
        ("", "abc", 3, 0),
        ("abc", "", 3, 0),
        ("", "", 0, 0),
        ("같은 말", "같은 말", 0, 4),
    ],
)
def test_values_counted_by_hand(first: str, second: str, edits: int, common: int) -> None:
    assert edit_distance(first, second) == edits
    assert common_subsequence(first, second) == common


@settings(max_examples=200, deadline=None)
@given(first=WORDS, second=WORDS)
def test_the_bits_agree_with_the_tables(first: list[str], second: list[str]) -> None:
    assert edit_distance(first, second) == slow_edit_distance(first, second) == edit_distance(second, first)
    assert common_subsequence(first, second) == slow_common_subsequence(first, second)


@settings(max_examples=50, deadline=None)
@given(first=WORDS, second=WORDS, third=WORDS)
def test_the_distance_is_a_metric(first: list[str], second: list[str], third: list[str]) -> None:
    assert (edit_distance(first, second) == 0) == (first == second)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(second, third)
