"""What a person sees while work goes on: bars on a terminal, plain lines in a log, nothing when quiet."""

import re
from types import SimpleNamespace

import pytest

from jumok.cli.shared import console
from jumok.cli.shared.console import (
    PlainLines,
    live_bars,
    progress_display,
    stamp,
    stderr_is_live,
    wants_colour,
)
from jumok.progress import silent

Captured = pytest.CaptureFixture[str]


def test_stamps_are_utc_to_the_second() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp())


@pytest.mark.parametrize(
    ("environment", "terminal", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_usual_rules(
    environment: dict[str, str],
    terminal: bool,  # noqa: FBT001
    colour: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(terminal) is colour


def test_a_dumb_terminal_is_not_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert stderr_is_live()
    monkeypatch.setenv("TERM", "dumb")
    assert not stderr_is_live()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    # Its own clock only: servers of other tests run in this process, and they live by the real one.
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def lines_of(captured: Captured) -> list[str]:
    return [line.split(" ", 1)[1] for line in captured.readouterr().err.splitlines()]


def test_a_plain_line_every_thirty_seconds_or_per_cent(clock: list[float], capsys: Captured) -> None:
    report = PlainLines()
    for done in range(0, 1001, 10):  # 10 a second, so 1 % a second
        report("reading", done, 1000)
        clock[0] += 1
    assert lines_of(capsys) == [
        "reading 300/1000 rate=10/s left=1m10s",
        "reading 600/1000 rate=10/s left=40s",
        "reading 900/1000 rate=10/s left=10s",
        "reading 1000/1000 rate=10/s",
    ]


def test_slow_work_waits_for_its_per_cent(clock: list[float], capsys: Captured) -> None:
    report = PlainLines()
    for done in range(0, 300, 2):  # half a per cent in 50 s
        report("reading", done, 400 * 2)
        clock[0] += 12.5
    texts = lines_of(capsys)
    assert all("rate=0/s" in text for text in texts)
    shares = [int(text.split()[1].split("/")[0]) / 800 for text in texts]
    assert all(after - before >= 0.01 for before, after in zip(shares, shares[1:], strict=False))


def test_work_of_unknown_size(clock: list[float], capsys: Captured) -> None:
    report = PlainLines()
    for done in (0, 500, 1000):
        report("reading", done, None)
        clock[0] += 31
    assert lines_of(capsys) == ["reading 500 rate=16/s", "reading 1000 rate=16/s"]


def test_quick_work_is_not_worth_a_line(clock: list[float], capsys: Captured) -> None:
    report = PlainLines()
    report("reading", 0, 10)
    clock[0] += 1
    report("reading", 10, 10)
    assert capsys.readouterr().err == ""


def test_the_same_kind_of_work_may_come_again(clock: list[float], capsys: Captured) -> None:
    report = PlainLines()
    for _ in range(2):
        report("encoding", 0, 100)
        clock[0] += 10
        report("encoding", 100, 100)
        report("encoding", 100, 100)  # said twice, shown once
        clock[0] += 1000
    assert lines_of(capsys) == ["encoding 100/100 rate=10/s"] * 2


def test_displays(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress_display(quiet=True) as report:
        assert report is silent
    monkeypatch.setattr(console, "stderr_is_live", lambda: False)
    with progress_display() as report:
        assert isinstance(report, PlainLines)


def test_bars_live_only_while_there_is_work(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    from rich.progress import Progress

    monkeypatch.setattr(console, "stderr_is_live", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    alive: list[bool] = []
    start, stop = Progress.start, Progress.stop
    monkeypatch.setattr(Progress, "start", lambda self: (alive.append(True), start(self))[1])
    monkeypatch.setattr(Progress, "stop", lambda self: (alive.append(False), stop(self))[1])
    with progress_display() as report:
        assert alive == []
        report("reading", 0, 20)
        report("encoding", 5, None)
        report("reading", 20, 20)
        assert alive == [True, True]  # encoding goes on
        report("encoding", 9, 9)
        assert alive == [True, True, False]
        report("reading", 20, 20)
    assert alive[-1] is False
    captured = capsys.readouterr()
    assert "reading" in captured.err
    assert "encoding" in captured.err
    assert "0/20" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", captured.err)
    assert captured.out == ""


def test_bars_stop_when_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.progress import Progress

    stopped: list[int] = []
    monkeypatch.setattr(Progress, "stop", lambda self: stopped.append(1))
    with pytest.raises(ValueError, match="broken"), live_bars():
        raise ValueError("broken")
    assert stopped
