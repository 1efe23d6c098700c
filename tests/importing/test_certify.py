from pathlib import Path

import pytest
from tests.importing.conftest import Make

from jumok.errors import ConfigError, ThresholdError
from jumok.importing.certify import ImportThresholds, import_failures, read_import_thresholds
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
