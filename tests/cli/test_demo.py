"""`jumok demo` on few dates and for a moment: the whole way, without a terminal."""

import json
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.run.dates import few_dates

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(autouse=True)
def few(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_dates(made, monkeypatch)


def test_the_whole_demo_and_again(made: Path, call: Call, capsys: Captured) -> None:
    words = ("demo", "--time-limit", "0.1s", "--out", made / "whole")
    assert call(*words, "--no-serve") == 0
    first = capsys.readouterr()
    lines = first.out.splitlines()
    assert lines[0] == "exact match in % on 12 unseen dates: all, and by characters of the source"
    names = ["RNN, one fixed vector", "RNN + Luong attention", "Transformer"]
    assert [line[:22].rstrip() for line in lines[2:5]] == names
    for line in lines[2:5]:
        assert re.fullmatch(r".{22}( +[\d.]+){4} +[\d,]+ +\d+s +[\d,]+", line)
    assert [line for line in lines if line.startswith("where ")] == [
        "where RNN + Luong attention looked, for each token it wrote",
        "where Transformer looked, for each token it wrote",
    ]
    assert "\x1b" not in first.out
    for number, name in enumerate(names, start=1):
        assert f"\n{number} of 3: {name}\n" in first.err
    assert "valid step=" in first.err
    assert f'next: jumok translate -m {made / "whole" / "transformer"} "5. März 2024"' in first.err

    assert call(*words, "--no-serve") == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert "valid step=" not in second.err
    assert "translating" not in second.err

    assert call(*words, "-q") == 0
    quiet = capsys.readouterr()
    assert quiet.out.splitlines() == lines[:5]
    assert quiet.err == ""

    assert call(*words, "--json") == 0
    rows = json.loads(capsys.readouterr().out)  # and it ended: nothing is served
    assert [one["arch"] for one in rows] == ["rnn", "luong", "transformer"]
    for one in rows:
        assert set(one) == {
            "arch",
            "exact",
            "exact_ci95",
            "by_length",
            "parameters",
            "training_s",
            "sentences_per_s",
        }
        assert len(one["by_length"]) == 3


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The server without the waiting: it starts, says so, and Ctrl-C comes at once."""
    kept: dict[str, Any] = {}

    def run(app: Any, settings: Any, sock: socket.socket, ready: Callable[[], None]) -> int:
        kept.update(services=app.state.services, port=sock.getsockname()[1])
        ready()
        for one in threading.enumerate():
            if one.name == "browser":
                one.join(10)
        return 130

    monkeypatch.setattr("jumok.server.serve.serve", run)
    monkeypatch.setattr("webbrowser.open", lambda address: kept.update(opened=address) or True)
    return kept


def test_it_ends_by_serving_the_explorer_on_what_it_trained(
    made: Path, served: dict[str, Any], call: Call, capsys: Captured
) -> None:
    words = ("demo", "--time-limit", "0.1s", "--out", made / "demo")
    with socket.create_server(("127.0.0.1", 0)) as taken:  # so it takes the next
        port = taken.getsockname()[1]
        assert call(*words, "--port", port) == 130
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


def test_no_browser(made: Path, served: dict[str, Any], call: Call, capsys: Captured) -> None:
    words = ("demo", "--time-limit", "0.1s", "--out", made / "demo", "--port", "0")
    assert call(*words, "--no-open") == 130
    assert "opened" not in served
    assert "explorer   http://127.0.0.1:" in capsys.readouterr().out


def test_without_the_extra_it_ends_after_the_tables(
    made: Path, call: Call, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("jumok.cli.serve.find_spec", lambda name: None)
    assert call("demo", "--time-limit", "0.1s", "--out", made / "demo") == 0
    err = capsys.readouterr().err
    needs = "fastapi, starlette, uvicorn, h11, prometheus_client"
    assert f"no explorer: the server needs {needs}; pip install 'jumok[serve]'" in err


def test_a_bad_time(made: Path, call: Call, capsys: Captured) -> None:
    assert call("demo", "--time-limit", "soon", "--out", made / "none") == 2
    assert capsys.readouterr().err.startswith("error: --time-limit=soon is no time\n")
    assert not (made / "none").exists()
