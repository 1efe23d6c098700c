"""What a person sees of an experiment: which entry, how far, and how long all will take."""

from types import SimpleNamespace
from typing import Any

import pytest

from jumok.cli.shared import console, follow
from jumok.cli.shared.follow import Follow
from jumok.comparison.budget import Budget
from jumok.comparison.entry import ComparisonEntry
from jumok.progress import silent

Captured = pytest.CaptureFixture[str]
SETTINGS = {"training.max_steps": 100, "training.time_limit": 0.0}
ENTRIES = [ComparisonEntry(name=name, arch="rnn", settings=SETTINGS) for name in ("rnn", "rnn-s1", "rnn-s2")]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only the test moves."""
    now = [0.0]
    # Its own clock only: servers of other tests run in this process, and they live by the real one.
    monkeypatch.setattr(follow, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def train(step: int) -> dict[str, Any]:
    figures = {"loss": 2.0, "lr": 1e-3, "tokens_per_s": 10.0, "grad_norm": 1.0, "elapsed_s": step / 2}
    return {"type": "train", "step": step, **figures}


def test_a_line_for_each_entry_and_the_time_that_is_left(clock: list[float], capsys: Captured) -> None:
    with Follow(ENTRIES, Budget("steps", 100), silent, [], quiet=False) as shown:
        watch = shown.callbacks
        watch.on_end(1, ENTRIES[0], {"error": None})
        watch.on_entry(2, ENTRIES[1])
        assert shown.left(0.0) == ""  # nobody knows yet
        clock[0] = 30.0
        assert shown.left(0.5) == "about 1m30s left for all"
        watch.on_event(train(50))
        clock[0] = 80.0
        watch.on_end(2, ENTRIES[1], {"status": "failed", "error": {"message": "it diverged"}})
        watch.on_entry(3, ENTRIES[2])
        watch.on_end(3, ENTRIES[2], {"error": None})
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "1 of 3: rnn is done already"
    assert said[1:3] == ["", "2 of 3: rnn-s1"]
    assert "train step=50/100 loss=2.000" in said[3]
    assert said[4] == "rnn-s1: failed: it diverged"
    assert said[5:] == ["", "3 of 3: rnn-s2 · about 1m20s left for all"]


def test_a_budget_of_time_tells_the_time_at_once(clock: list[float]) -> None:
    shown = Follow(ENTRIES, Budget("time", 60), silent, [], quiet=True)
    shown.begin(1, ENTRIES[0])
    assert shown.left(0.0) == "about 3m00s left for all"
    assert shown.left(1.0) == "about 2m00s left for all"


def test_a_terminal_shows_it_below_the_panel(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for module in ("jumok.cli.shared.panel", console.__name__):
        monkeypatch.setattr(f"{module}.stderr_is_live", lambda: True)
    flag: list[int] = []
    with Follow(ENTRIES, Budget("time", 100), silent, flag, quiet=False) as shown:
        shown.callbacks.on_entry(1, ENTRIES[0])
        shown.callbacks.on_event(train(50))
        assert shown.panel is not None
        assert shown.panel.lines()[-1] == "about 4m10s left for all"
        assert not shown.callbacks.interrupted()
        flag.append(2)
        assert shown.callbacks.interrupted()
    assert shown.panel is None
    assert "1 of 3: rnn" in capsys.readouterr().err


def test_quiet_is_quiet(clock: list[float], capsys: Captured) -> None:
    with Follow(ENTRIES, Budget("steps", 100), silent, [], quiet=True) as shown:
        shown.callbacks.on_end(1, ENTRIES[0], {"error": None})
        shown.callbacks.on_entry(2, ENTRIES[1])
        shown.callbacks.on_event(train(1))
        shown.callbacks.on_end(2, ENTRIES[1], {"status": "failed", "error": {"message": "it diverged"}})
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
