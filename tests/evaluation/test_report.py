"""Reports: schema eval/1, finite JSON, and comparisons on the same resamples."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, _bootstrap_resample

from jumok.errors import DataError
from jumok.evaluation import metrics
from jumok.evaluation.evaluate import Evaluation, score_texts
from jumok.evaluation.lengths import count_lengths
from jumok.evaluation.metrics import Metric, Statistics, bleu, chrf
from jumok.evaluation.mistakes import Pair, Scored, find_mistakes
from jumok.evaluation.report import (
    SEED,
    Significance,
    Speed,
    compare_evaluations,
    draw_table,
    interval,
    metric_of,
    paired_interval,
    paired_test,
    resampled,
    verdict,
)

REFERENCES = [f"the cat number {i} sat on mat {i % 7} ." for i in range(40)]
WORSE = [line.replace("cat", "dog") if i % 2 else line for i, line in enumerate(REFERENCES)]
BETTER = [line.replace("cat", "dog") if i % 9 == 0 else line for i, line in enumerate(REFERENCES)]
SOURCES = [f"고양이 {i} 번이 매트에 앉았다 " + "아주 " * (i % 20) for i in range(40)]


def test_the_dictionary_is_schema_eval_1() -> None:
    report = score_texts(BETTER, REFERENCES, SOURCES, name="mine", bootstrap=50)
    found = report.to_dict()
    assert list(found) == [
        "schema",
        "model",
        "data",
        "decode",
        "metrics",
        "length_ratio",
        "by_length",
        "train_length_histogram",
        "train_length_counted",
        "speed",
        "examples",
        "notes",
        "mistakes",
    ]
    assert (found["schema"], found["model"], found["speed"]) == ("eval/1", "mine", None)
    assert found["data"] == {"name": "test", "n": 40, "sha256": report.sha256}
    assert set(found["metrics"]["bleu"]) == {"value", "ci95", "signature"}
    assert "|bs:50|seed:12345|" in found["metrics"]["bleu"]["signature"]
    first = found["by_length"]["bins"][0]
    assert list(first) == [
        "lo",
        "hi",
        "n",
        "bleu",
        "bleu_ci95",
        "chrf",
        "chrf_ci95",
        "length_ratio",
        "thin",
        "examples",
    ]
    assert found["by_length"]["unit"] == "source_words"


def test_examples_carry_their_three_texts_and_a_score() -> None:
    report = score_texts(BETTER, REFERENCES, SOURCES, bootstrap=0).to_dict()
    named = [line for one in report["by_length"]["bins"] for line in one["examples"]]
    assert [example["line"] for example in report["examples"]] == named
    line = named[0]
    assert report["examples"][0] == {
        "line": line,
        "chrf": pytest.approx(chrf([BETTER[line]], [REFERENCES[line]]).value),
        "source": SOURCES[line],
        "reference": REFERENCES[line],
        "hypothesis": BETTER[line],
    }


def test_the_training_lengths_come_in_the_unit_of_the_bins() -> None:
    report = score_texts(BETTER, REFERENCES, SOURCES, bootstrap=0)
    known = replace(report, train_lengths=count_lengths(["나는 너를", "나는", "나는 너를"], pairs=30))
    assert report.to_dict()["train_length_histogram"] is None
    assert known.to_dict()["train_length_histogram"] == [[1, 1, 10], [2, 2, 20]]
    assert known.to_dict()["train_length_counted"] == 3
    without = replace(known, length_unit=None, bins=())
    assert without.to_dict()["train_length_histogram"] is None


def test_json_is_readable_and_never_holds_an_infinity() -> None:
    report = score_texts(["나는"], ["나는"], bootstrap=0)
    report = replace(report, metrics={"ppl": Metric("ppl", float("inf"), "s", (1.0, float("inf")))})
    text = report.to_json()
    assert json.loads(text)["metrics"]["ppl"] == {"value": None, "ci95": [1.0, None], "signature": "s"}
    assert "Infinity" not in text
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(report, decode={"temperature": float("nan")}).to_json()


def test_an_evaluation_is_shown_without_its_texts() -> None:
    told = repr(replace(report("mine", HALF), mistakes=find_mistakes([Pair("x", ("a",), "b")])))
    assert told.startswith("Evaluation(model='mine', data='test', sha256='")
    long = ("sources", "references", "hypotheses", "sentence_chrf", "mistakes", "statistics")
    assert not [name for name in long if f"{name}=" in told]


def test_neighbours_are_compared_on_the_same_resamples() -> None:
    reports = [
        score_texts(texts, REFERENCES, name=name, bootstrap=200)
        for name, texts in (("worse", WORSE), ("better", BETTER), ("perfect", REFERENCES))
    ]
    found = compare_evaluations(reports)
    assert [(one.baseline, one.system, one.metric) for one in found] == [
        ("worse", "better", "bleu"),
        ("worse", "better", "chrf"),
        ("better", "perfect", "bleu"),
        ("better", "perfect", "chrf"),
    ]
    delta, p = paired_test(bleu(WORSE, REFERENCES), bleu(BETTER, REFERENCES), 200)
    assert (found[0].delta, found[0].p, found[0].resamples) == (delta, p, 200)
    assert delta > 0
    assert p < 0.05


def test_only_metrics_measured_in_the_same_way_are_compared() -> None:
    plain = score_texts(WORSE, REFERENCES, metrics=["bleu", "wer"], bootstrap=20)
    chinese = score_texts(BETTER, REFERENCES, metrics=["bleu", "wer", "chrf"], language="zh", bootstrap=20)
    assert [one.metric for one in compare_evaluations([plain, chinese])] == ["wer"]


def test_two_are_compared_on_as_many_resamples_as_both_have() -> None:
    few, many = (score_texts(WORSE, REFERENCES, metrics=["exact"], bootstrap=count) for count in (7, 20))
    for pair in ([few, many], [many, few]):
        assert [one.resamples for one in compare_evaluations(pair)] == [7]


def test_without_resamples_there_is_no_verdict() -> None:
    plain, drawn = (score_texts(WORSE, REFERENCES, bootstrap=count) for count in (0, 20))
    assert compare_evaluations([plain, plain]) == compare_evaluations([plain, drawn]) == []


def test_different_test_sets_are_not_compared() -> None:
    one = score_texts(WORSE, REFERENCES, name="a", bootstrap=0)
    other = score_texts(WORSE[1:], REFERENCES[1:], name="b", bootstrap=0)
    with pytest.raises(DataError, match="b and a were evaluated on different test sets\n  sha256 "):
        compare_evaluations([one, other])


ROWS = [f"a b c {i} e" for i in range(40)]
SHORT = ["w " * (5 if i < 35 else 15) for i in range(40)]
HALF = [line if i % 2 else "x" for i, line in enumerate(ROWS)]


def report(name: str, texts: list[str], bootstrap: int = 20) -> Evaluation:
    return score_texts(texts, ROWS, SHORT, metrics=["exact", "wer"], name=name, bootstrap=bootstrap)


def test_one_system() -> None:
    lines = draw_table([report("mine", ROWS, bootstrap=0)]).split("\n")
    assert lines == [
        "model   exact   WER     1–10    11–20",
        "mine    100.0   0.0   100.0    100.0*",
        "exact by source words   * fewer than 30 sentences",
        "exact  nrefs:1|case:mixed|space:strip",
        "WER    nrefs:1|case:mixed|unit:word",
    ]


def test_several_systems_with_intervals_speed_and_a_verdict() -> None:
    half = report("half", HALF)
    whole = replace(report("주목", ROWS), speed=Speed(10.0, 1234.5, 4.0))
    lines = draw_table([half, whole], compare_evaluations([half, whole])).split("\n")
    assert lines[0].split() == ["model", "exact", "95", "%", "WER", "tok/s", "1–10", "11–20"]
    assert lines[1].split()[:2] == ["half", "50.0"]
    assert "–" in lines[1].split()
    assert lines[2].split() == ["주목", "100.0", "[100.0,", "100.0]", "0.0", "1,234", "100.0", "100.0*"]
    assert lines[1].index("50.0") + len("50.0") == lines[0].index("exact") + len("exact")
    assert lines[4] == "주목 vs half: +50.0 exact, p = 0.048 (20 resamples)"
    assert len(lines) == 7  # table, legend, verdict, two signatures


def test_a_whole_table() -> None:
    """The words of a missed word, and of a kind, whose fault it is; at most five words, most missed first."""
    wrong = [Pair("x", ("a b c d e f",), "z y"), Pair("x", ("f a",), "f"), Pair("x", ("f",), "f f")]
    told = find_mistakes([replace(one, answer_score=Scored(-1, 1), reference_score=Scored(-n, 1))
                          for n, one in enumerate(wrong)])  # fmt: skip
    half = replace(report("half", HALF), mistakes=told)
    whole = replace(report("whole", ROWS), speed=Speed(10.0, 1234.5, 4.0))
    assert draw_table([half, whole], compare_evaluations([half, whole])).split("\n") == [
        "model   exact             95 %    WER   tok/s     1–10    11–20",
        "half     50.0     [40.0, 60.0]   50.0       –    48.6     60.0*",
        "whole   100.0   [100.0, 100.0]    0.0   1,234   100.0    100.0*",
        "exact by source words   * fewer than 30 sentences",
        "whole vs half: +50.0 exact, p = 0.048 (20 resamples)",
        "exact  nrefs:1|bs:20|seed:12345|case:mixed|space:strip",
        "WER    nrefs:1|bs:20|seed:12345|case:mixed|unit:word",
        "half: 3 of 3 answers have mistakes",
        "  words: repeated 1, wrong 2, omitted 5",
        "  answers: 2 by the model, 1 by the search",
        "  missed: a 2 of 2, f 1 of 3, b 1 of 1, c 1 of 1, d 1 of 1",
    ]


def test_a_column_of_a_wide_script_is_as_wide_as_it_looks() -> None:
    lines = draw_table([report("주목", ROWS, bootstrap=0), report("mine", HALF, bootstrap=0)]).split("\n")
    assert lines[1].startswith("주목    100.0")
    assert lines[2].startswith("mine     50.0")


def test_without_thin_bins_there_is_no_legend_for_the_star() -> None:
    sources = ["w " * 12] * 40
    text = draw_table([score_texts(HALF, ROWS, sources, metrics=["exact"], bootstrap=0)])
    assert "*" not in text
    assert "exact by source words" in text


def test_without_sources_there_are_no_bins() -> None:
    text = draw_table([score_texts(HALF, ROWS, metrics=["exact"], name="n", bootstrap=0)])
    assert text.split("\n")[:2] == ["model   exact", "n        50.0"]
    assert "by source" not in text


def test_a_verdict_says_which_how_far_and_how_likely() -> None:
    comparison = Significance("bleu", "rnn-attn", "transformer", 3.51, 1 / 1001, 1000)
    assert verdict(comparison) == "transformer vs rnn-attn: +3.5 BLEU, p = 0.001 (1,000 resamples)"
    assert verdict(replace(comparison, delta=-0.26)).startswith("transformer vs rnn-attn: -0.3 BLEU")


def test_answers_chosen_among_draws_say_so() -> None:
    decode = {"mbr": 64, "utility": "rouge1", "temperature": 0.65, "seed": 42}
    drawn = replace(report("mine", HALF, bootstrap=0), speed=Speed(10.0, 1234.5, 4.0), decode=decode)
    assert "mine: 64 draws by rouge1, temperature 0.65, seed 42" in draw_table([drawn]).split("\n")


def test_mistakes_are_told_in_lines_and_what_there_is_none_of_has_no_line() -> None:
    pairs = [Pair("the cat", ("a cat",), "a dog"), Pair("the cat", ("a cat",), "a cat")]
    for asked, told in (
        (pairs, ["mine: 1 of 2 answers have mistakes", "  words: wrong 1", "  missed: cat 1 of 2"]),
        (pairs[1:], ["mine: 0 of 1 answers have mistakes"]),
    ):
        evaluation = replace(report("mine", HALF, bootstrap=0), mistakes=find_mistakes(asked))
        lines = draw_table([evaluation]).split("\n")
        place = lines.index(told[0])
        assert [line for line in lines[place:] if line.startswith(("mine:", "  "))] == told


VOCABULARY = [f"w{i}" for i in range(40)]


def system(references: list[str], share: float, seed: int) -> list[str]:
    """References with this share of their words exchanged."""
    draw = random.Random(seed)
    return [" ".join("x" if draw.random() < share else w for w in line.split()) for line in references]


@pytest.fixture(scope="module")
def references() -> list[str]:
    draw = random.Random(7)
    return [" ".join(draw.choices(VOCABULARY, k=draw.randint(3, 15))) for _ in range(120)]


def test_resamples_are_sacrebleus(references: list[str]) -> None:
    hypotheses, theirs = system(references, 0.2, 1), BLEU()
    counts = theirs._extract_corpus_statistics(hypotheses, [references])
    seed, scores = _bootstrap_resample(counts, theirs, 200)
    assert seed == str(SEED)
    ours = resampled(metrics.bleu(hypotheses, references), 200)
    np.testing.assert_allclose(ours, [score.score for score in scores], rtol=1e-5)


def test_the_interval_and_signature_are_sacrebleus(references: list[str]) -> None:
    hypotheses, theirs = system(references, 0.2, 1), BLEU()
    score = theirs.corpus_score(hypotheses, [references], n_bootstrap=200)
    ours = metric_of(metrics.bleu(hypotheses, references), 200)
    assert ours.ci95 is not None
    assert (ours.ci95[1] - ours.ci95[0]) / 2 == pytest.approx(score._ci, rel=1e-4)
    assert ours.ci95[0] < ours.value < ours.ci95[1]
    assert ours.signature == str(theirs.get_signature())


def test_the_interval_leaves_out_one_in_forty_on_either_side() -> None:
    assert interval(np.arange(1000.0)[::-1]) == (25, 974)
    assert interval(np.array([3.0])) == (3, 3)


def test_without_resamples_there_is_no_interval(references: list[str]) -> None:
    statistics = metrics.exact(references, references)
    assert metric_of(statistics, 0) == metrics.Metric("exact", 100, statistics.signature, None)


@pytest.mark.parametrize("shares", [(0.3, 0.1), (0.2, 0.21), (0.1, 0.3)])
def test_the_paired_test_is_sacrebleus(references: list[str], shares: tuple[float, float]) -> None:
    first, second = (system(references, share, seed) for seed, share in enumerate(shares))
    test = PairedTest(
        [("first", first), ("second", second)],
        {"bleu": BLEU(), "chrf": CHRF(word_order=2)},
        [references],
        test_type="bs",
        n_samples=300,
    )
    _, results = test()
    for name, measure in (("bleu", metrics.bleu), ("chrf", metrics.chrf)):
        baseline, result = next(column for key, column in results.items() if key.lower().startswith(name[:3]))
        delta, p = paired_test(measure(first, references), measure(second, references), 300)
        assert delta == pytest.approx(result.score - baseline.score)
        assert p == pytest.approx(result.p_value, abs=1e-9)


def test_a_system_against_itself_is_no_evidence(references: list[str]) -> None:
    statistics = metrics.chrf(system(references, 0.2, 0), references)
    assert paired_test(statistics, statistics, 100) == (0, 1)


def test_only_differences_beyond_the_one_that_was_found_count() -> None:
    """On resamples that differ by 0 and 2 in turn the mean is 1, and 2 is as far above it as was found."""

    def score(sums: np.ndarray) -> np.ndarray:
        return np.arange(len(sums)) % 2 * 2.0 if sums.ndim == 2 else np.array(1.0)

    system = Statistics("mean", np.ones((3, 1)), score, "")
    baseline = Statistics("mean", np.ones((3, 1)), lambda sums: 0 * sums[..., 0], "")
    assert paired_test(baseline, system, 4) == (1.0, 0.2)


def test_swapping_the_systems_only_turns_the_sign(references: list[str]) -> None:
    first, second = (
        metrics.edit_rate("wer", system(references, share, 3), references) for share in (0.2, 0.3)
    )
    there, back = paired_test(first, second, 100), paired_test(second, first, 100)
    assert there == (-back[0], back[1])
    assert there[0] > 0


def test_a_paired_interval_is_that_of_the_differences_on_the_same_resamples() -> None:
    """As sacrebleu draws: of two systems that differ in one sentence the rest is no noise."""
    generator = np.random.default_rng(3)
    rows = generator.integers(0, 9, size=(50, 1)).astype(float)
    better = rows.copy()
    better[7] += 5

    def mean(values: np.ndarray) -> Statistics:
        return Statistics("mean", values, lambda sums: sums[..., 0] / 50, "")

    difference, low, high = paired_interval(mean(rows), mean(better), 200)
    draws = resampled(mean(better), 200) - resampled(mean(rows), 200)
    assert difference == pytest.approx(0.1)
    assert (low, high) == interval(draws)
    assert low == 0  # the sentence is missing from more than one resample in forty
    assert 0.1 < high <= 0.5
    assert paired_interval(mean(rows), mean(rows), 50) == (0, 0, 0)
