"""`jumok demo` on few dates and for a moment: the whole way, without a terminal."""

import json
import re
from collections.abc import Callable
from pathlib import Path

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
    assert call("demo", "--time-limit", "0.1s", "--out", made / "demo") == 0
    first = capsys.readouterr()
    lines = first.out.splitlines()
    assert lines[0] == "exact match in % on 12 unseen dates: all, and by characters of the source"
    names = ["RNN, one fixed vector", "RNN + Luong attention", "Transformer"]
    assert [line[:22].rstrip() for line in lines[2:5]] == names
    for line in lines[2:5]:
        assert re.fullmatch(r".{22}( +[\d.]+){4} +[\d,]+ +\d+s +[\d,]+", line)
    assert [line for line in lines if line.startswith("where ")] == [
        "where RNN + Luong attention looked, for each piece it wrote",
        "where Transformer looked, for each piece it wrote",
    ]
    assert "\x1b" not in first.out
    for number, name in enumerate(names, start=1):
        assert f"\n{number} of 3: {name}\n" in first.err
    assert "valid step=" in first.err
    assert f'next: jumok translate -m {made / "demo" / "transformer"} "5. März 2024"' in first.err

    assert call("demo", "--time-limit", "0.1s", "--out", made / "demo") == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert "valid step=" not in second.err
    assert "translating" not in second.err

    assert call("demo", "--time-limit", "0.1s", "--out", made / "demo", "-q") == 0
    quiet = capsys.readouterr()
    assert quiet.out.splitlines() == lines[:5]
    assert quiet.err == ""

    assert call("demo", "--time-limit", "0.1s", "--out", made / "demo", "--json", "-q") == 0
    rows = json.loads(capsys.readouterr().out)
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


def test_a_bad_time(made: Path, call: Call, capsys: Captured) -> None:
    assert call("demo", "--time-limit", "soon", "--out", made / "none") == 2
    assert capsys.readouterr().err.startswith("error: --time-limit=soon is no time\n")
    assert not (made / "none").exists()
