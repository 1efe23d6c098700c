"""`jumok demo` on few dates and for a moment: the whole way, without a terminal."""

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.test_process import train_events
from tests.comparison.dates import few_dates

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.cli.demo import row, table

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]
ARCHS = ("rnn", "luong", "transformer")
NAMES = ("RNN, one fixed vector", "RNN + Luong attention", "Transformer")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(autouse=True)
def few(made: Path, monkeypatch: pytest.MonkeyPatch, forked_children: None) -> None:
    few_dates(made, monkeypatch)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the first demo said, once it was run."""
    return {}


@pytest.fixture
def first(made: Path, few: None, told: dict[str, Any], call: Call, capsys: Captured) -> Any:
    """One demo for all tests that need one that has ended: what it said."""
    if not told:
        assert call(*words(made, "--no-serve")) == 0
        told["all"] = capsys.readouterr()
    return told["all"]


def words(made: Path, *more: object) -> tuple[object, ...]:
    return ("demo", "--out", made / "demo", *more)


@pytest.mark.slow
def test_ctrl_c_saves_and_ends_all_three(
    made: Path, call: Call, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_dates(made, monkeypatch, steps=10**6)
    out, children = made / "endless", list[int]()
    logs = [out / arch / "metrics.jsonl" for arch in ARCHS]

    over = threading.Event()

    def interrupt_once_all_train() -> None:
        while not all(log.exists() and '"type": "train"' in log.read_text() for log in logs):
            if over.wait(0.01):  # it has failed: the signal would end the tests instead
                return
        children.extend(int((log.parent / ".lock").read_text()) for log in logs)
        os.kill(os.getpid(), signal.SIGINT)

    watch = threading.Thread(target=interrupt_once_all_train, daemon=True)
    watch.start()
    try:
        assert call("demo", "--out", out, "--no-serve") == 130
    finally:
        over.set()
        watch.join()
    said = capsys.readouterr()
    assert said.out == ""
    assert "SIGINT: finishing the step and saving" in said.err
    assert said.err.endswith("stopped; run the same command again to go on\n")
    assert len(set(children)) == 3
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    for arch in ARCHS:  # no update is lost, although no save was due: the next sitting goes on from it
        assert max(checkpoint_folders(out / arch)) == max(train_events(out / arch))


@pytest.mark.slow
def test_the_tables_and_again(made: Path, first: Any, call: Call, capsys: Captured) -> None:
    out = made / "demo"
    assert "each     6 updates · the same data and tokens\n" in first.err
    assert "encoder  rnn and luong read the source in both directions, with the same encoder\n" in first.err
    assert "note     all train at once, one thread each" in first.err
    for number, name in enumerate(NAMES, start=1):
        assert f"{number} of 3: {name}\n" in first.err
    lines = first.out.splitlines()
    assert lines[0] == "exact match in % on 12 unseen dates: all, and by characters of the source"
    assert re.fullmatch(r" +exact( +\d+–\d+){3} +updates +training +parameters", lines[1])
    assert [line[:22].rstrip() for line in lines[2:5]] == list(NAMES)
    for line in lines[2:5]:
        assert re.fullmatch(r".{22}( +[\d.]+){4} +[\d,]+ +\d+s +[\d,]+", line)
    assert lines[5] == ""
    for line, name in zip(lines[6:9], NAMES, strict=True):  # six updates teach nothing
        assert line == f"{name} has not learned to read even the shortest third: 0 % of it are right."
    assert lines[9].startswith("This run does not show what attention changes: RNN, one fixed vector reads")
    assert [line for line in lines if line.startswith("where ")] == [
        "where RNN + Luong attention looked, for each token it wrote",
        "where Transformer looked, for each token it wrote",
    ]
    assert "\x1b" not in first.out
    assert f'next:   jumok translate -m {out / "transformer"} "2024년 3월 5일"' in first.err
    assert f"report: {out / 'report.html'}" in first.err
    assert (out / "report.html").is_file()
    for arch in ARCHS:
        assert (out / arch / "eval" / "dates-cjk-test.json").is_file()

    trained = {arch: train_events(out / arch) for arch in ARCHS}
    assert call(*words(made, "--no-serve")) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert "1 of 3: RNN, one fixed vector is done already" in second.err
    assert {arch: train_events(out / arch) for arch in ARCHS} == trained

    assert call(*words(made, "-q")) == 0
    quiet = capsys.readouterr()
    assert quiet.out.splitlines() == lines[:5]
    assert quiet.err == ""

    assert call(*words(made, "--json")) == 0
    rows = json.loads(capsys.readouterr().out)  # and it ended: nothing is served
    assert [one["arch"] for one in rows] == list(ARCHS)
    keys = {"arch", "exact", "exact_ci95", "by_length", "falls", "updates", "training_s", "parameters"}
    for one in rows:
        assert set(one) == keys
        assert len(one["by_length"]) == 3
        assert one["updates"] == max(trained[one["arch"]])


@pytest.mark.usefixtures("first")
def test_a_folder_of_something_else_is_refused(made: Path, call: Call, capsys: Captured) -> None:
    assert call("demo", "--time-limit", "9s", "--out", made / "demo") == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: the experiment in {made / 'demo'} was started with budget=")
    assert "repeat the first command to go on, or choose another --out" in err
    other = made / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    assert call("demo", "--out", other) == 2
    assert capsys.readouterr().err.startswith(f"error: {other} is not empty and holds no experiment\n")


def test_a_model_that_fails_is_named(
    made: Path, call: Call, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = {"message": "the process was killed by SIGKILL", "where": "", "hint": ""}

    def conduct(experiment: Any, callbacks: Any, *, at_once: int) -> dict[str, Any]:
        assert at_once == 3
        return {entry.name: {"status": "failed", "error": error} for entry in experiment.entries}

    monkeypatch.setattr("jumok.comparison.conduct.conduct", conduct)
    assert call("demo", "--out", made / "failed", "--no-serve") == 1
    caught = capsys.readouterr()
    assert caught.out == ""
    assert "error: 3 of 3 entries did not end well\n" in caught.err
    assert "rnn: the process was killed by SIGKILL\n" in caught.err


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The server without the waiting: it starts, says so, and Ctrl-C comes at once."""
    kept: dict[str, Any] = {}

    def run(app: Any, settings: Any, sock: socket.socket, ready: Callable[[], None], _: Any) -> int:
        kept.update(services=app.state.services, port=sock.getsockname()[1])
        ready()
        for one in threading.enumerate():
            if one.name == "browser":
                one.join(10)
        return 130

    monkeypatch.setattr("jumok.server.serve.serve", run)
    monkeypatch.setattr("webbrowser.open", lambda address: kept.update(opened=address) or True)
    return kept


@pytest.mark.usefixtures("first")
def test_it_ends_by_serving_the_explorer_on_what_it_trained(
    made: Path, served: dict[str, Any], call: Call, capsys: Captured
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:  # so it takes the next
        port = taken.getsockname()[1]
        assert call(*words(made, "--port", port)) == 130
    out, err = capsys.readouterr()
    address = f"http://127.0.0.1:{served['port']}/"
    assert served["port"] > port
    assert out.endswith(f"explorer   {address}\n")
    assert "models     transformer · luong · rnn     ready in " in err
    assert served["opened"] == address
    services = served["services"]
    assert list(services.models) == ["transformer", "luong", "rnn"]
    assert services.settings.runs == made / "demo"
    assert {one.run for one in services.settings.about.values()} == {"rnn", "luong", "transformer"}


@pytest.mark.usefixtures("first")
def test_no_browser(made: Path, served: dict[str, Any], call: Call, capsys: Captured) -> None:
    assert call(*words(made, "--port", "0", "--no-open")) == 130
    assert "opened" not in served
    assert "explorer   http://127.0.0.1:" in capsys.readouterr().out


def test_a_bad_time(made: Path, call: Call, capsys: Captured) -> None:
    assert call("demo", "--time-limit", "soon", "--out", made / "none") == 2
    assert capsys.readouterr().err.startswith("error: --time-limit=soon is no time\n")
    assert not (made / "none").exists()


def test_the_table_of_a_demo_and_its_rows() -> None:
    def part(lo: int, hi: int, value: float) -> dict[str, Any]:
        return {"lo": lo, "hi": hi, "value": value, "ci95": [value - 1, value + 1]}

    results: Any = [
        SimpleNamespace(
            **{"arch": arch, "exact": exact, "ci95": [exact - 2, exact + 2], "falls": exact < 50, "n": 1_500},
            thirds=[part(4, 9, exact), part(10, 14, exact / 2), part(15, 40, exact / 4)],
        )
        for arch, exact in (("rnn", 40.0), ("luong", 99.5))
    ]
    entries = [
        {"steps": 1_800, "train_s": 61.0, "parameters": 107_264},
        {"steps": 12_000, "train_s": 9.4, "parameters": 1_234_567},
    ]
    rows = [row(one, entry) for one, entry in zip(results, entries, strict=True)]
    assert rows[0] == {
        **{"arch": "rnn", "exact": 40.0, "exact_ci95": [38.0, 42.0], "falls": True},
        "by_length": [
            {"characters": [4, 9], "exact": 40.0, "ci95": [39.0, 41.0]},
            {"characters": [10, 14], "exact": 20.0, "ci95": [19.0, 21.0]},
            {"characters": [15, 40], "exact": 10.0, "ci95": [9.0, 11.0]},
        ],
        **{"updates": 1_800, "training_s": 61.0, "parameters": 107_264},
    }
    assert (
        table(rows, results)
        == """\
exact match in % on 1,500 unseen dates: all, and by characters of the source
                       exact   4–9  10–14  15–40  updates  training  parameters
RNN, one fixed vector   40.0  40.0   20.0   10.0    1,800     1m01s     107,264
RNN + Luong attention   99.5  99.5   49.8   24.9   12,000        9s   1,234,567"""
    )
