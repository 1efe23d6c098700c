"""The demo's three runs, on few dates and for a moment."""

from pathlib import Path
from typing import Any

import pytest

from jumok.config import ARCHS
from jumok.run.demo import Contestant, look_inside, train_three
from jumok.run.train import RunCallbacks
from tests.run.dates import few_dates


@pytest.fixture(autouse=True)
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_dates(tmp_path, monkeypatch)


def test_three_models_are_trained_tested_and_looked_into(tmp_path: Path) -> None:
    seen: list[str] = []

    def callbacks_for(arch: str) -> RunCallbacks:
        seen.append(arch)
        return RunCallbacks()

    first = train_three(tmp_path / "demo", callbacks_for, seconds=0.1)
    assert seen == [one.arch for one in first] == list(ARCHS)
    for one in first:
        assert one.run.reason == "time_limit"
        assert one.evaluation["data"]["n"] == 12
        assert len(one.evaluation["by_length"]["bins"]) == 3
        assert one.parameters > 0
    assert [attention_of(one) for one in first] == [False, True, True]

    steps: list[Any] = []
    again = train_three(tmp_path / "demo", lambda arch: RunCallbacks(on_event=steps.append), seconds=0.1)
    assert [dict(one.evaluation) for one in again] == [dict(one.evaluation) for one in first]
    assert {event["type"] for event in steps} == {"start", "end"}  # nothing was trained
    for one in again:
        assert (tmp_path / "demo" / one.arch / "eval" / "dates-test.json").is_file()


def attention_of(contestant: Contestant) -> bool:
    text, attention = look_inside(contestant, "5. März 2024")
    assert isinstance(text, str)
    return attention is not None


def test_another_model_is_tested_again(tmp_path: Path) -> None:
    before = train_three(tmp_path / "demo", lambda arch: RunCallbacks(), seconds=0.05)[0]
    after = train_three(tmp_path / "demo", lambda arch: RunCallbacks(), seconds=0.3)[0]
    assert after.run.steps > before.run.steps
    assert after.evaluation["fingerprint"] == after.model.info["fingerprint"]


def test_an_interrupted_demo_ends_early(tmp_path: Path) -> None:
    stop = RunCallbacks(interrupted=lambda: True)
    found = train_three(
        tmp_path / "demo", lambda arch: stop if arch == "luong" else RunCallbacks(), seconds=0.05
    )
    assert [one.arch for one in found] == ["rnn"]
