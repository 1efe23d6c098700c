"""Certificates: what they count, when they fail, and that they cannot be had for nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from tests.decoding.conftest import TINY, untrained

from jumok.answers import Answer
from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import LoadedModel
from jumok.config import DecodingConfig
from jumok.decoding.batched import search
from jumok.decoding.jobs import Job, token_spellings
from jumok.errors import ConfigError, DataError, RunError
from jumok.export.parity import (
    USUAL,
    Sample,
    Thresholds,
    certificate,
    compare,
    failures,
    read_thresholds,
    shown,
    undecided,
)

TEXTS = ["5. März 2024", "1998년 3월 24일 화요일", "May 3, 2021", "5. März 2024"]
REFERENCES = [("2024-03-05",), ("1998-03-24",), ("2021-05-03",), ("2024-03-05",)]
SAMPLE = Sample("four dates", "0" * 64, TEXTS, REFERENCES)


@pytest.fixture(scope="module")
def dates() -> LoadedModel:
    return load_model(bundled()["transformer"])


def same(one: Answer) -> Answer:
    return one


@dataclass
class Echo:
    """Our own search as another program, that changes the answer to what it is told to."""

    loaded: LoadedModel
    change: Callable[[Answer], Answer] = same
    calls: int = 0

    def answer(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        self.calls += len(sources)
        config = DecodingConfig(beam=beam, length_penalty=length_penalty, max_len=max(limits))
        jobs = [Job(tuple(source)) for source in sources]
        found = search(self.loaded.model, jobs, config, token_spellings(self.loaded.tokenizers.target))
        return [self.change(best) for best, *_ in found]


def certify(loaded: LoadedModel, answerer: Echo, thresholds: Thresholds = USUAL["float32"]) -> dict:
    return certificate(loaded, compare(loaded, answerer, SAMPLE), SAMPLE, thresholds, {"format": "echo"})


def test_the_same_engine_agrees_with_itself(dates: LoadedModel) -> None:
    answerer = Echo(dates)
    result = certify(dates, answerer)
    assert result["passed"]
    assert result["failures"] == result["differences"] == []
    assert result["sentences"] == 4
    assert result["greedy"] == {"equal": 4, "share": 1.0, "token_agreement": 1.0}
    assert result["beam"] == {"width": 5, **result["greedy"]}
    assert result["bleu"] == {
        "reference": pytest.approx(100),
        "exported": pytest.approx(100),
        "difference": 0,
        "low": 0,
        "high": 0,
    }
    assert result["undecided"] == []
    assert result["largest_score_difference"] < 1e-5
    assert result["data"] == {"name": "four dates", "sha256": "0" * 64}
    assert result["schema"] == "jumok-certificate/1"
    assert result["model_fingerprint"] == dates.info["fingerprint"]
    assert answerer.calls == 6  # each different sentence once for each search


def test_scores_are_compared_per_token_whatever_the_text(dates: LoadedModel) -> None:
    tokens = len(dates.tokenizers.target.encode("2024-03-05")) + 1
    shifted = Echo(dates, lambda one: replace(one, log_probs=tuple(value + 0.05 for value in one.log_probs)))
    result = certify(dates, shifted)
    assert result["greedy"]["equal"] == 4
    assert result["largest_score_difference"] == pytest.approx(0.05, abs=1e-4)
    assert result["failures"] == ["scores differ by up to 0.05 per token, 0.001 may be"]
    # An answer of its own, with the right probability, is no difference of scores.
    other = Answer(tuple(dates.tokenizers.target.encode("2024-03-05")), (0.0,), finished=True)
    assert len(other.ids) + 1 == tokens
    comparison = compare(dates, Echo(dates, lambda one: replace(one, ids=other.ids)), SAMPLE)
    odd = next(pair for pair in comparison.greedy if pair.source == "May 3, 2021")
    assert odd.ours != odd.theirs.ids
    assert odd.score < -5  # by our own account this date is most improbable


def test_other_texts_fail_and_are_listed(dates: LoadedModel) -> None:
    cut = Echo(dates, lambda one: replace(one, ids=one.ids[:-1]))
    result = certify(dates, cut, Thresholds(equal=0.999, agreement=0.99, bleu=0.2))
    assert not result["passed"]
    assert result["greedy"]["equal"] == 0
    assert [fault.split(",")[0] for fault in result["failures"]] == [
        "0 of 4 greedy texts are equal",
        f"{result['greedy']['token_agreement']:.2%} of the tokens agree",
        f"BLEU differs by {result['bleu']['difference']:+.2f} (95 %: {result['bleu']['low']:+.2f} to "
        f"{result['bleu']['high']:+.2f})",
    ]
    assert result["differences"][0]["ours"] == "2024-03-05"
    assert result["differences"][0]["theirs"] == "2024-03-0"
    assert "theirs" in shown(result["differences"][0])


def scored(difference: float, low: float, high: float, sentences: int = 200) -> dict[str, Any]:
    """What a certificate knows when only BLEU differs."""
    same = {"equal": sentences, "share": 1.0, "token_agreement": 1.0}
    bleu = {"difference": difference, "low": low, "high": high}
    return {"sentences": sentences, "greedy": same, "beam": same, "largest_score_difference": 0, "bleu": bleu}


@pytest.mark.parametrize(
    ("score", "failure", "question"),
    [
        ((-0.23, -0.9, 0.4), "", "BLEU differs by -0.23 (95 %: -0.90 to +0.40), which may be chance: about "),
        ((-0.23, -0.4, -0.1), "BLEU differs by -0.23 (95 %: -0.40 to -0.10), 0.2 may be", ""),
        ((0.23, 0.1, 0.4), "BLEU differs by +0.23 (95 %: +0.10 to +0.40), 0.2 may be", ""),  # another model
        ((-0.2, -0.3, -0.1), "", ""),  # significant, and no more than it may be
        ((0.2, 0.1, 0.3), "", ""),
        ((-0.21, -0.5, 0.0), "", "BLEU differs by -0.21 (95 %: -0.50 to +0.00), which may be chance: about "),
        ((0.21, 0.0, 0.5), "", "BLEU differs by +0.21 (95 %: +0.00 to +0.50), which may be chance: about "),
    ],
)
def test_bleu_fails_only_where_it_differs_by_more_than_chance_and_more_than_it_may(
    score: tuple[float, float, float], failure: str, question: str
) -> None:
    result = scored(*score)
    assert failures(result, USUAL["int8"]) == [failure] * bool(failure)
    asked = undecided(result, USUAL["int8"])
    assert [one.startswith(question) for one in asked] == [True] * bool(question)
    assert failures(result, Thresholds()) == undecided(result, Thresholds()) == []


def test_it_says_how_many_sentences_would_tell() -> None:
    """An interval twice as wide as the difference needs four times the sentences."""
    [one] = undecided(scored(-0.5, -1.5, 0.5, sentences=200), USUAL["int8"])
    assert one.endswith("about 800 sentences would tell")
    [near] = undecided(scored(-0.5, -1.0, 0.0, sentences=200), USUAL["int8"])
    assert near.endswith("a few more sentences would tell")


def test_the_usual_thresholds() -> None:
    assert {
        "float32": Thresholds(equal=0.999, score=1e-3),
        "int8": Thresholds(agreement=0.95, bleu=0.2),
        "shortlist": Thresholds(agreement=0.9, bleu=0.2),
    } == {**USUAL}


@pytest.mark.parametrize(
    ("field", "words"), [("greedy", "of the tokens"), ("largest_score_difference", "scores")]
)
def test_at_a_threshold_it_passes_and_beyond_it_fails(field: str, words: str) -> None:
    at, beyond = scored(0, 0, 0), scored(0, 0, 0)
    limits = Thresholds(agreement=0.95, score=1e-3, equal=0.999)
    values = {"greedy": (0.95, 0.9499), "largest_score_difference": (1e-3, 1.001e-3)}[field]
    for result, value in zip((at, beyond), values, strict=True):
        changed = {**result["greedy"], "token_agreement": value} if field == "greedy" else value
        result[field] = changed
    assert failures(at, limits) == []
    [fault] = failures(beyond, limits)
    assert words in fault


def test_scores_of_the_beam_count(dates: LoadedModel) -> None:
    """The greedy answers have the right probability, those of the beam another."""

    class Doubtful(Echo):
        def answer(self, *args: Any, beam: int, **options: Any) -> list[Answer]:
            found = super().answer(*args, beam=beam, **options)
            off = 0.05 if beam > 1 else 0.0
            return [replace(one, log_probs=tuple(value + off for value in one.log_probs)) for one in found]

    comparison = compare(dates, Doubtful(dates), SAMPLE)
    assert max(pair.difference for pair in comparison.greedy) < 1e-4
    assert comparison.largest_difference == pytest.approx(0.05, abs=1e-4)
    result = certificate(dates, comparison, SAMPLE, USUAL["float32"], {})
    assert result["failures"] == ["scores differ by up to 0.05 per token, 0.001 may be"]


def test_without_references_bleu_asks_nothing(dates: LoadedModel) -> None:
    bare = replace(SAMPLE, references=())
    comparison = compare(dates, Echo(dates, lambda one: replace(one, ids=one.ids[:-1])), bare)
    result = certificate(dates, comparison, bare, Thresholds(bleu=0.2), {})
    assert "bleu" not in result
    assert "chrf" not in result
    assert result["passed"]


def test_blank_lines_count_for_nothing(dates: LoadedModel) -> None:
    mixed = Sample("mixed", "", ["", TEXTS[0], " \t"], [("x",), REFERENCES[0], ("y",)])
    assert len(compare(dates, Echo(dates), mixed).greedy) == 1
    with pytest.raises(DataError, match="nothing has no sentences to compare with"):
        compare(dates, Echo(dates), Sample("nothing", "", ["", " "]))


def test_numbers_that_are_not_finite_end_it(dates: LoadedModel) -> None:
    with pytest.raises(RunError, match="the exported model gave numbers that are not finite"):
        compare(dates, Echo(dates, lambda one: replace(one, log_probs=(float("nan"),))), SAMPLE)
    broken = untrained(TINY["transformer"])
    with torch.no_grad():
        broken.model.target_embedding.weight.fill_(float("nan"))
    with pytest.raises(RunError, match="the model itself gives numbers that are not finite"):
        compare(broken, Echo(broken), Sample("one", "", ["a man"]))


def test_progress_counts_the_sentences(dates: LoadedModel) -> None:
    seen: list[tuple[str, int, int | None]] = []
    compare(dates, Echo(dates), SAMPLE, lambda *one: seen.append(one))
    assert ("comparing, greedy", 0, 3) in seen
    assert seen[-1] == ("comparing, beam 5", 3, 3)


def test_thresholds_are_those_of_the_type_and_can_be_changed() -> None:
    assert read_thresholds("float32", []) == Thresholds(equal=0.999, score=1e-3)
    assert read_thresholds("int8", ["agreement=0.9", "bleu=none"]) == Thresholds(agreement=0.9)
    with pytest.raises(ConfigError, match="there is no threshold 'blue'\n  did you mean 'bleu'"):
        read_thresholds("int8", ["blue=1"])
    for text in ("x", "nan", "inf", ""):
        with pytest.raises(ConfigError, match=f"the threshold 'bleu={text}' has no number"):
            read_thresholds("int8", [f"bleu={text}"])
