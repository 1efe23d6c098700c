"""A run as people watch it: the live panel, and the plain lines of a log."""

import os
import pty
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from math import nan
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.run.conftest import quick_settings

from jumok.cli.shared import console
from jumok.cli.shared import panel as module
from jumok.cli.shared.panel import (
    Follow,
    Panel,
    count_of,
    figures_line,
    head,
    progress_line,
    spark,
    valid_lines,
)
from jumok.comparison.budget import Budget
from jumok.comparison.entry import ComparisonEntry
from jumok.config import ENDLESS
from jumok.progress import silent
from jumok.run.machine import look_at_machine
from jumok.run.prepare import reopen
from jumok.run.train import RunStart, TrainedRun
from jumok.training.state import LoopState

TRAIN: dict[str, Any] = {
    "type": "train",
    "step": 4200,
    "loss": 3.4124,
    "lr": 6.9e-4,
    "tokens_per_s": 6310.4,
    "grad_norm": 0.84,
    "elapsed_s": 662.0,
}
VALID: dict[str, Any] = {
    "type": "valid",
    "step": 4000,
    "loss": 3.51,
    "bleu": 12.8,
    "chrf": 35.0,
    "best": True,
    "samples": [{"src": "나는 어제 영화를 봤다.", "hyp": "I saw it.", "ref": "I saw a film.", "score": -1.0}]
    * 3,
}


def test_progress_by_steps() -> None:
    assert progress_line(TRAIN, 20_000, 0.0) == (
        f"step   4,200 / 20,000 {'━' * 6}{'─' * 22}  21%   11m02s left 41m30s"
    )


def test_progress_by_time_when_that_ends_first() -> None:
    line = progress_line(TRAIN, ENDLESS, 1324.0)
    assert line == f"step   4,200 {'━' * 14}{'─' * 14}  50%   11m02s / 22m04s left 11m02s"
    assert progress_line(TRAIN, 5_000, 1324.0) == (
        f"step   4,200 / 5,000 {'━' * 24}{'─' * 4}  84%   11m02s / 22m04s left 2m06s"
    )
    assert " 100%   " in progress_line(TRAIN | {"elapsed_s": 2000.0}, 10**6, 1324.0)


def test_figures() -> None:
    assert figures_line(TRAIN, [4.0, 3.0]) == "loss 3.412 █▁   lr 6.9e-04   6,310 tok/s   grad 0.84"


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ([], ""),
        ([2.0], "▁"),
        ([1.0, 1.0], "▁▁"),
        ([0.0, 7.0, 3.5], "▁█▅"),
        ([float(i) for i in range(8)], "▁▂▃▄▅▆▇█"),
        ([float(i) for i in range(800)], "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██"),
    ],
)
def test_spark_lines(values: list[float], bars: str) -> None:
    assert spark(values) == bars


def test_a_look_at_the_validation_set() -> None:
    rows = valid_lines(VALID)
    assert rows[0] == "valid @4,000   loss 3.510   BLEU 12.8   chrF 35.0   best ✓"
    assert rows[1:4] == ["  src  나는 어제 영화를 봤다.", "  hyp  I saw it.", "  ref  I saw a film."]
    assert len(rows) == 7  # two samples
    assert valid_lines({"step": 1, "loss": 2.0, "best": False}) == ["valid @1   loss 2.000   "]


def started(trained: TrainedRun, step: int = 0) -> RunStart:
    prepared = reopen(trained.folder / "data")
    machine = look_at_machine("cpu")
    return RunStart(trained.config, trained.folder, machine, 12_345, prepared, LoopState(step=step))


def test_few_tokens_are_counted_and_many_in_millions() -> None:
    assert [count_of(n) for n in (0, 1_594, 999_999, 1_000_000, 12_345_678)] == [
        *("0", "1,594", "999,999"),
        *("1.00 M", "12.35 M"),
    ]


def test_the_head_says_what_is_trained_on_what(trained: TrainedRun) -> None:
    lines = head(started(trained))
    size = trained.model.tokenizers.source.size
    tokens = int(reopen(trained.folder / "data").train.target_lengths.sum())
    assert lines == [
        "run  luong · gru cells · 1+1 layers · width 16 · encoder in both directions · general score"
        " · tied output · 0.0 M parameters · cpu",
        f"data   train 280 pairs ({tokens:,} target tokens) · valid 20 · vocabulary {size} shared"
        " (of at most 300: the text has no more)",
        f"folder {trained.folder}",
    ]
    assert head(started(trained, step=1200))[-1] == "goes on after step 1,200"


def test_without_a_terminal_each_event_is_a_line(
    trained: TrainedRun, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Panel(quiet=False)) as panel:
        panel.start(started(trained))
        for event in (TRAIN, VALID, {"type": "end"}):
            panel.event(event)
    captured = capsys.readouterr()
    assert [line.split()[1] for line in captured.err.splitlines()[3:]] == ["train", "valid"]
    assert captured.out == ""
    with closing(Panel(quiet=True)) as panel:
        panel.start(started(trained))
        panel.event(TRAIN)
    assert capsys.readouterr().err == ""


def plain_text(screen: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen).replace("\r", "")


def test_the_live_panel(
    trained: TrainedRun, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "stderr_is_live", lambda: True)
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm-256color"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    panel = Panel(quiet=False)
    panel.start(started(trained))
    panel.event({"type": "start"})
    panel.event(TRAIN | {"loss": nan, "step": 1})  # every step of the window was skipped
    panel.event(TRAIN)
    panel.event({"type": "notice", "step": 2, "code": "x", "message": "one step was skipped"})
    panel.event(VALID)
    assert panel.live is not None
    panel.event({"type": "end"})
    assert panel.live is None  # the terminal is free again
    panel.close()
    captured = capsys.readouterr()
    screen = plain_text(captured.err)
    for text in (
        "step   4,200 / 6",
        "loss 3.412 ▁",
        "valid @4,000",
        "나는 어제 영화를 봤다.",
        "note  one step",
    ):
        assert text in screen
    assert captured.out == ""


def test_the_panel_moves_between_events(clock: list[float]) -> None:
    """Steps as they are taken, and the time also while a look at the validation set takes long."""
    panel = Panel(quiet=True)
    panel.follow(100, 0.0)
    assert panel.lines() == []
    clock[0] = 10.0
    panel.on_step(LoopState(step=20, elapsed=4.0), 30)
    assert panel.lines() == [progress_line({"step": 20, "elapsed_s": 4.0}, 100, 0.0)]
    clock[0] = 12.0
    assert panel.lines() == [progress_line({"step": 20, "elapsed_s": 6.0}, 100, 0.0)]
    panel.event(train(50))
    assert panel.lines()[0] == progress_line(train(50), 100, 0.0)
    assert panel.lines()[1].startswith("loss 2.000")


def test_the_panel_is_drawn_without_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "stderr_is_live", lambda: True)
    monkeypatch.setattr(module, "REFRESH", 100.0)
    drawn = Event()
    monkeypatch.setattr(module, "progress_line", lambda *now: (drawn.set(), "")[1])
    with closing(Panel(quiet=False)) as panel:
        panel.follow(100, 0.0)
        panel.on_step(LoopState(step=1, elapsed=1.0), 30)
        assert drawn.wait(60)


def test_a_panel_that_fails_leaves_the_terminal_alone(trained: TrainedRun) -> None:
    with pytest.raises(ValueError, match="broken"), closing(Panel(quiet=True)) as panel:
        raise ValueError("broken")
    assert panel.live is None


def test_a_run_on_a_real_terminal(corpus: Path) -> None:
    """Everything a terminal gets during a run: bars are gone before the panel is drawn."""
    master, slave = pty.openpty()
    given = quick_settings(corpus, training__max_steps=3)
    words = [f"{key}={value}" for key, value in given.items()]
    command = [sys.executable, "-m", "jumok", "train", "--out", str(corpus / "run")]
    process = subprocess.Popen(
        command + [part for word in words for part in ("--set", word)],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "OMP_NUM_THREADS": "1"},
    )
    os.close(slave)
    screen = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other side has ended
            break
        if not part:
            break
        screen += part
    out, _ = process.communicate(timeout=60)
    os.close(master)
    assert (process.returncode, out) == (0, b"")
    text = plain_text(screen.decode())
    assert "plan\n" in text
    assert "step       3 / 3 " in text
    assert "valid @3" in text
    assert text.rstrip().endswith('"…"')
    panel_begins = text.index("step  ")
    assert "reading" not in text[panel_begins:]
    assert "encoding" not in text[panel_begins:]


Captured = pytest.CaptureFixture[str]
SETTINGS = {"training.max_steps": 100, "training.time_limit": 0.0}
ENTRIES = [ComparisonEntry(name=name, arch="rnn", settings=SETTINGS) for name in ("rnn", "rnn-s1", "rnn-s2")]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only the test moves."""
    now = [0.0]
    # Its own clock only: servers of other tests run in this process, and they live by the real one.
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def train(step: int) -> dict[str, Any]:
    figures = {"loss": 2.0, "lr": 1e-3, "tokens_per_s": 10.0, "grad_norm": 1.0, "elapsed_s": step / 2}
    return {"type": "train", "step": step, **figures}


def test_a_line_for_each_entry_and_the_time_that_is_left(clock: list[float], capsys: Captured) -> None:
    with closing(Follow(ENTRIES, Budget("steps", 100), silent, [], quiet=False)) as shown:
        watch = shown.callbacks
        watch.on_end(1, ENTRIES[0], {"error": None})
        watch.on_entry(2, ENTRIES[1])
        assert shown.left() == ""  # nobody knows yet
        clock[0] = 30.0
        watch.on_event(2, train(50))
        assert shown.left() == "about 1m30s left for all"
        clock[0] = 80.0
        watch.on_end(2, ENTRIES[1], {"status": "failed", "error": {"message": "it diverged"}})
        watch.on_entry(3, ENTRIES[2])
        watch.on_end(3, ENTRIES[2], {"error": None})
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "1 of 3: rnn is done already"
    assert said[1:3] == ["", "2 of 3: rnn-s1"]
    assert "Z train step=50/100 loss=2.000" in said[3]
    assert said[4] == "rnn-s1: failed: it diverged"
    assert said[5:] == ["", "3 of 3: rnn-s2 · about 1m20s left for all"]


def test_several_at_once_are_told_apart(clock: list[float], capsys: Captured) -> None:
    names = {"rnn": "RNN, one fixed vector"}
    options: dict[str, Any] = {"quiet": False, "at_once": 2, "names": names}
    with closing(Follow(ENTRIES, Budget("steps", 100), silent, [], **options)) as shown:
        watch = shown.callbacks
        watch.on_entry(1, ENTRIES[0])
        watch.on_entry(2, ENTRIES[1])
        clock[0] = 30.0
        watch.on_event(1, train(50))
        watch.on_event(2, train(25))
        # 60 s for 75 updates of one, 80 s for each; 0.5 + 0.75 + 1 of them are left, two side by side
        assert shown.left() == "about 1m30s left for all"
        watch.on_end(1, ENTRIES[0], {"error": None})
        watch.on_entry(3, ENTRIES[2])
        assert list(shown.panels) == [2, 3]
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == ["", "1 of 3: RNN, one fixed vector", "2 of 3: rnn-s1"]
    assert "Z rnn train step=50/100" in said[3]
    assert "Z rnn-s1 train step=25/100" in said[4]


def test_a_budget_of_time_tells_the_time_at_once(clock: list[float]) -> None:
    timed = [
        replace(one, settings={"training.max_steps": ENDLESS, "training.time_limit": 60.0}) for one in ENTRIES
    ]
    shown = Follow(timed, Budget("time", 60), silent, [], quiet=True)
    shown.begin(1, timed[0])
    assert shown.left() == "about 3m00s left for all"
    shown.event(1, train(120))
    assert shown.left() == "about 2m00s left for all"


def test_a_terminal_shows_it_below_the_panels(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for name in ("jumok.cli.shared.panel", console.__name__):
        monkeypatch.setattr(f"{name}.stderr_is_live", lambda: True)
    flag: list[int] = []
    with closing(Follow(ENTRIES, Budget("time", 100), silent, flag, quiet=False, at_once=2)) as shown:
        shown.callbacks.on_entry(1, ENTRIES[0])
        shown.callbacks.on_entry(2, ENTRIES[1])
        shown.callbacks.on_event(1, train(50))
        shown.callbacks.on_event(1, VALID)
        lines = shown.lines()
        assert [lines[0], lines[-2], lines[-1]] == ["rnn", "rnn-s1", "about 2m05s left for all"]
        assert lines[1].startswith("step      50 / 100 ")
        assert lines[3] == "valid @4,000   loss 3.510   BLEU 12.8   chrF 35.0   best ✓"
        assert len(lines) == 6  # without samples: three panels fit on a small screen
        shown.callbacks.on_event(2, {"type": "end"})
        assert shown.live is not None  # the other goes on
        assert not shown.callbacks.interrupted()
        flag.append(2)
        assert shown.callbacks.interrupted()
    assert shown.live is None
    assert "1 of 3: rnn" in capsys.readouterr().err


def test_quiet_is_quiet(clock: list[float], capsys: Captured) -> None:
    with closing(Follow(ENTRIES, Budget("steps", 100), silent, [], quiet=True)) as shown:
        shown.callbacks.on_end(1, ENTRIES[0], {"error": None})
        shown.callbacks.on_entry(2, ENTRIES[1])
        shown.callbacks.on_event(2, train(1))
        shown.callbacks.on_end(2, ENTRIES[1], {"status": "failed", "error": {"message": "it diverged"}})
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_each_direction_and_old_pairs_have_their_figures() -> None:
    event = {
        **{"step": 4000, "loss": 3.51, "exact": 50.0, "per": None, "kept_bleu": 1.25},
        "directions": {"de→en": {"loss": 1.5, "chrf": 40.0, "bleu": 20.25}, "en→de": {}},
        "samples": [{"src": "a" * 120, "hyp": "b" * 120, "ref": "c" * 120}],
    }
    assert valid_lines(event) == [
        "valid @4,000   loss 3.510   exact 50.0   kept bleu 1.2",
        "  de→en   loss 1.500   BLEU 20.2   chrF 40.0",
        "  en→de   loss nan   ",
        *(f"  {name}  {letter * 100}" for name, letter in (("src", "a"), ("hyp", "b"), ("ref", "c"))),
    ]


def test_the_head_tells_of_pairs_left_out_and_of_both_vocabularies(trained: TrainedRun) -> None:
    class Pairs(list[int]):
        target_lengths = SimpleNamespace(sum=lambda: 2_500_000)
        left_out: ClassVar = {"too long": 1_000, "blank": 5}
        cut = 1_200

    begins = (
        "data   train 1,500 pairs (2.50 M target tokens, 1,005 left out, 1,200 sources cut) · valid 1,001"
    )
    no_more = " (of at most 300: the text has no more)"
    pictures = SimpleNamespace(places=49)
    for source, target, more, ends in (
        (900, 250, {}, "900 + 250"),
        (299, 298, {}, f"299 + 298{no_more}"),
        (900, 250, {"pictures": pictures}, f"250, 49 patches a picture{no_more}"),
        (299, 299, {"shared": True}, f"299 shared{no_more}"),
        (300, 300, {"shared": True}, "300 shared"),
    ):
        sizes = {"source": SimpleNamespace(size=source), "target": SimpleNamespace(size=target)}
        tokenizers = SimpleNamespace(**sizes | {"shared": False, "pictures": None} | more)
        prepared: Any = SimpleNamespace(train=Pairs([0] * 1_500), valid=[0] * 1_001, tokenizers=tokenizers)
        assert head(replace(started(trained), prepared=prepared))[1] == f"{begins} · vocabulary {ends}"
