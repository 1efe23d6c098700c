"""The comparison in the terminal."""

from pathlib import Path
from typing import Any

import pytest
from tests.comparison.experiments import FACTS, answers, entry, failed, longer_than, measured

from jumok.cli.views.comparison import comparison_text
from jumok.comparison.report import build_report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out: Path = tmp_path_factory.mktemp("experiment")
    rnn, luong, broken = entry("rnn"), entry("luong"), entry("transformer")
    found = {
        "rnn": measured(out, rnn, answers(longer_than(10)), trained_to=22),
        "luong": measured(out, luong, answers([1, 2]), trained_to=22),
        "transformer": failed("no \x1b[2Jmemory"),
    }
    return build_report(out, [rnn, luong, broken], found, FACTS)  # type: ignore[arg-type]


def test_a_row_for_each_model(report: dict[str, Any]) -> None:
    lines = comparison_text(report).splitlines()
    assert lines[:2] == ["made up", "exact on 240 pairs of made up test"]
    heads = [line.split() for line in lines if line.startswith("model")]
    assert heads[0] == ["model", "exact", "95", "%", "chrf", "parameters", "steps", "training"]
    rnn = next(line.split() for line in lines if line.startswith("rnn"))
    assert rnn[:2] == ["rnn", "33.3"]
    assert rnn[-3:] == ["1,000", "100", "9s"]
    transformer = next(line.split() for line in lines if line.startswith("transformer"))
    assert transformer[:2] == ["transformer", "failed"]


def test_speed_and_memory(report: dict[str, Any]) -> None:
    lines = comparison_text(report).splitlines()
    place = next(i for i, line in enumerate(lines) if "tok/s" in line)
    assert lines[place + 1].split() == ["rnn", "1.00", "k", "100", "2.0", "4.0", "20.0", "kB", "5.00", "kB"]


def test_quality_by_length_marks_what_is_past_training(report: dict[str, Any]) -> None:
    text = comparison_text(report)
    assert "exact by source characters   + past the lengths of training" in text
    row = next(line for line in text.split("exact by")[1].splitlines() if line.startswith("rnn"))
    values = row.split()
    first = report["entries"][0]["quality"]["by_length"]["bins"][0]
    assert values[1] == f"{first['value']:.1f}"
    assert values[-1] == "0.0+"


def test_other_bins_have_a_table_of_their_own(tmp_path: Path) -> None:
    entries = [entry("rnn"), entry("luong")]
    found = {
        one.name: measured(tmp_path, one, answers([]), trained_to=22 if one.arch == "rnn" else 12)
        for one in entries
    }
    report = build_report(tmp_path, entries, found, FACTS)
    heads = [line for line in comparison_text(report).splitlines() if line.startswith("model")][2:]
    for head, one in zip(heads, report["entries"], strict=True):
        assert len(head.split()) == 1 + len(one["quality"]["by_length"]["bins"])


def test_pairs_and_summary(report: dict[str, Any]) -> None:
    text = comparison_text(report, width=60)
    p = report["pairs"][0]["p"]
    assert f"luong vs rnn  +65.8 exact  p = {p:.3f}" in text
    joined = " ".join(text.split())
    for sentence in report["summary"]:
        assert "\x1b" in sentence or sentence in joined
    assert max(map(len, text.split("\n\n")[-1].splitlines())) <= 60


def test_what_a_failure_says_cannot_command_the_terminal(report: dict[str, Any]) -> None:
    assert "\x1b[2J" not in comparison_text(report)


def test_several_seeds_have_a_table(tmp_path: Path) -> None:
    entries = [entry("rnn", seed=seed, several=True) for seed in (1, 2)]
    found = {one.name: measured(tmp_path, one, answers(range(60 * one.seed))) for one in entries}
    text = comparison_text(build_report(tmp_path, entries, found, FACTS))
    lines = text.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("over seeds"))
    assert lines[place + 1].split() == ["rnn", "62.5", "50.0", "75.0", "1,", "2"]


def test_an_experiment_without_a_result(tmp_path: Path) -> None:
    text = comparison_text(build_report(tmp_path, [entry("rnn")], {}, FACTS))
    assert "rnn    stopped" in text
    assert "No model was trained and tested to its end." in text


def test_without_a_measured_speed_there_is_no_table_of_speeds(report: dict[str, Any]) -> None:
    entries = [one | {"speed": None, "memory": None} for one in report["entries"]]
    text = comparison_text({**report, "entries": entries})
    assert "tok/s" in comparison_text(report)
    assert "tok/s" not in text


def test_sentences_fill_a_hundred_columns_and_no_more(report: dict[str, Any]) -> None:
    text = comparison_text({**report, "summary": ["word " * 20 + "a " * 200]})
    assert max(map(len, text.split("\n\n")[-1].splitlines())) in (99, 100)
    text = comparison_text({**report, "summary": ["x" * 101]})
    assert text.splitlines()[-2:] == ["x" * 100, "x"]
