import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tests.importing.conftest import Make

from jumok.errors import ConfigError, ThresholdError
from jumok.importing.certify import ImportThresholds, compare_one, import_failures, read_import_thresholds
from jumok.importing.model import import_model

RESULT = {
    "sentences": 10, "equal": 9, "same_tokens": 10, "largest_logit_difference": 0.5,
    "largest_score_difference": 1e-6,
}  # fmt: skip


def test_each_threshold_that_is_missed_is_said() -> None:
    assert import_failures(RESULT, ImportThresholds()) == [
        "logits differ by up to 0.5, 0.001 may be",
        "9 of 10 answers are preferred by both, 99.9% must be",
    ]
    none = read_import_thresholds({"logits": "none", "equal": 0.9})
    assert import_failures(RESULT, none) == []
    worse = {**RESULT, "same_tokens": 1, "largest_score_difference": float("nan")}
    assert [fault.split()[0] for fault in import_failures(worse, none)] == ["scores", "1"]


def test_thresholds_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ConfigError, match="there is no threshold 'logit'\n  did you mean 'logits'"):
        read_import_thresholds({"logit": 1})
    with pytest.raises(ConfigError, match="the threshold equal='much' has no number\n  write equal=0.5"):
        read_import_thresholds({"equal": "much"})


def test_a_model_that_is_not_the_original_is_noticed(
    brought: Make, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waves in the wrong order are the mistake that one would make."""
    monkeypatch.setattr("jumok.importing.bart_family.reordered", lambda tensors, order: tensors)
    with pytest.raises(ThresholdError, match="logits differ by up to"):
        import_model(brought("marian"), tmp_path / "ours", source=lines)


class Said:
    """An original that says these probabilities, its numbers being ours backwards."""

    def __init__(self, rows: list[list[float]] | None, score: float = 0.0) -> None:
        self.rows, self.score = rows, score
        self.asked: list[tuple[list[int], list[int]]] = []

    def logits(self, source: list[int], target: list[int]) -> np.ndarray[Any, Any] | None:
        self.asked.append((source, target))
        return None if self.rows is None else np.log(np.array(self.rows))[:, ::-1] + 3

    def scores(self, source: list[int], target: list[int]) -> list[float]:
        return [self.score]


OURS = [[0.1, 0.2, 0.5, 0.2], [0.1, 0.2, 0.1, 0.6]]


def compared(said: Said, monkeypatch: pytest.MonkeyPatch) -> tuple[float | None, float, bool]:
    """Of the answer 2, 3 to the source 2, where all tokens but 1 are known to both."""
    monkeypatch.setattr("jumok.importing.certify.our_logits", lambda *_: np.log(np.array(OURS)) + 3)
    rows = SimpleNamespace(source_rows=np.array([3, 2, 1, 0]), target_rows=np.array([3, -1, 1, 0]))
    return compare_one(cast(Any, None), cast(Any, rows), cast(Any, said), [2], [2, 3])


def test_logits_and_scores_are_compared_where_both_know_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    same = Said(OURS)
    assert compared(same, monkeypatch) == (0, pytest.approx(0, abs=1e-12), True)
    assert same.asked == [([1], [3, 1])]
    largest, score, agrees = compared(Said([[0.1, 0.1, 0.6, 0.2], [0.1, 0.2, 0.1, 0.6]]), monkeypatch)
    assert largest == pytest.approx(math.log(0.6 / 0.5))  # what only ours knows does not count
    assert score == pytest.approx(math.log(0.6 / 0.5) / 2)  # by token, of two
    assert agrees
    _, score, agrees = compared(Said([[0.1, 0.2, 0.5, 0.2], [0.1, 0.2, 0.4, 0.3]]), monkeypatch)
    assert score == pytest.approx(math.log(0.6 / 0.3) / 2)
    assert not agrees


def test_of_an_original_that_tells_no_logits_the_scores_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    own = math.log(0.5) + math.log(0.6)
    assert compared(Said(None, own - 0.01), monkeypatch) == (None, pytest.approx(0.005), True)
    assert compared(Said(None, own + 0.03), monkeypatch) == (None, pytest.approx(0.015), False)
