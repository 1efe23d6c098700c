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


def test_the_whole_text_of_a_comparison() -> None:
    """Rows of a model that was measured, one that was not timed, and one that failed."""
    speed = {
        "ms_per_sentence": {"median": 2.25, "p95": 4.0},
        "train_tokens_per_s": None,
        "sentences_per_s": 1234.5,
    }
    memory = {"train_peak_bytes": None, "decode_peak_bytes": 1500}
    bins = [
        {"lo": 1, "hi": 1, "value": 50.0, "thin": False, "beyond": False},
        {"lo": 2, "hi": 9, "value": None, "thin": True, "beyond": False},
        {"lo": 10, "hi": 20, "value": 1.25, "thin": True, "beyond": True},
    ]
    metrics = {"bleu": {"value": 30.0}, "chrf": {"value": 55.55}, "exact": {}}
    quality = {
        "value": 30.0,
        "ci95": [28.0, 32.04],
        "metrics": metrics,
        "by_length": {"unit": "source_words", "bins": bins},
    }
    short = {"unit": "source_words", "bins": bins[:1]}
    entries: list[dict[str, Any]] = [
        {"name": "rnn", "quality": quality, "parameters": 12345, "steps": 1000, "train_s": 61.0}
        | {"speed": speed, "memory": memory},
        {
            "name": "luong",
            "quality": {**quality, "ci95": None, "by_length": short},
            "parameters": None,
            "steps": 0,
        }
        | {
            "train_s": 0.0,
            "speed": speed | {"train_tokens_per_s": 2500},
            "memory": memory | {"train_peak_bytes": 7},
        },
        {"name": "transformer", "status": "failed", "quality": None, "speed": None, "memory": None},
    ]
    report = {
        **{"title": "A comparison", "data": {"test": 1200, "test_name": "test.en"}, "entries": entries},
        "metric": {"name": "bleu", "label": "BLEU"},
        "pairs": [{"after": "luong", "before": "rnn", "delta": -0.04, "p": 0.0405}],
        "groups": [
            {"label": "rnn", "seeds": [1, 2], "mean": 30.0, "min": 29.5, "max": 30.5},
            {"label": "luong", "seeds": [1], "mean": 1.0, "min": 1.0, "max": 1.0},
        ],
        "summary": ["One sentence.", "Another."],
    }
    assert (
        comparison_text(report)
        == """\
A comparison
BLEU on 1,200 pairs of test.en

model          BLEU          95 %  chrf  exact  parameters  steps  training
rnn            30.0  [28.0, 32.0]  55.5      –      12,345  1,000     1m01s
luong          30.0                55.5      –           –      0        0s
transformer  failed                   –      –           –      –         –

model  train tok/s  sent/s  ms/sent  p95  train mem  decode mem
rnn              –   1,234      2.2  4.0          –     1.50 kB
luong       2.50 k   1,234      2.2  4.0        7 B     1.50 kB

BLEU by source words   * few sentences   + past the lengths of training
model      1  2–9  10–20
rnn    50.0    –*   1.2+
model      1
luong  50.0

luong vs rnn  -0.0 BLEU  p = 0.041

over seeds  mean  least  most  seeds
rnn         30.0   29.5  30.5  1, 2

One sentence.
Another."""
    )
