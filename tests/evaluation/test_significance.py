"""Bootstrap intervals and paired tests, held to sacrebleu's own."""

import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, _bootstrap_resample

from jumok.evaluation import metrics
from jumok.evaluation.significance import SEED, interval, metric_of, paired_test, resampled

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


def test_swapping_the_systems_only_turns_the_sign(references: list[str]) -> None:
    first, second = (
        metrics.edit_rate("wer", system(references, share, 3), references) for share in (0.2, 0.3)
    )
    there, back = paired_test(first, second, 100), paired_test(second, first, 100)
    assert there == (-back[0], back[1])
    assert there[0] > 0
