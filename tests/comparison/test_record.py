"""What a run's log says of its training."""

import json
from pathlib import Path
from typing import Any

from jumok.checkpoint.bundled import RECORDS
from jumok.comparison.record import training_record


def moment(seconds: float) -> str:
    return f"2026-01-01T00:{int(seconds) // 60:02d}:{seconds % 60:06.3f}+00:00"


def start(at: float, resumed: int | None = None) -> dict[str, Any]:
    return {"type": "start", "time": moment(at), "params": 1234, "resumed_from": resumed}


def train(at: float, step: int, elapsed: float, rate: float = 100.0) -> dict[str, Any]:
    figures = {"tokens_per_s": rate, "elapsed_s": elapsed, "mem_bytes": 1000 + step}
    return {"type": "train", "time": moment(at), "step": step} | figures


def valid(at: float, step: int, exact: float) -> dict[str, Any]:
    return {"type": "valid", "time": moment(at), "step": step, "loss": 1 / step, "exact": exact}


def end(at: float, status: str = "completed") -> dict[str, Any]:
    return {"type": "end", "time": moment(at), "status": status, "reason": "max_steps"}


def written(folder: Path, events: list[dict[str, Any]], torn: str = "") -> Path:
    (folder / "config.toml").write_text('seed = 1\n[training]\nmetric = "exact"\n', encoding="utf-8")
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (folder / "metrics.jsonl").write_text(lines + torn, encoding="utf-8")
    return folder


def test_curves_have_a_point_for_each_validation(tmp_path: Path) -> None:
    events = [start(0), train(10, 50, 10.0), valid(12, 50, 40.0), train(22, 100, 22.0), valid(24, 100, 60.0)]
    record = training_record(written(tmp_path, [*events, end(24)]))
    assert record["status"] == "completed"
    assert record["curves"] == {
        "step": [50, 100],
        "elapsed_s": [12.0, 24.0],
        "tokens": [1000, 2000],
        "loss": [0.02, 0.01],
        "score": [40.0, 60.0],
    }
    assert (record["steps"], record["train_s"], record["tokens"]) == (100, 24.0, 2000)
    assert record["parameters"] == 1234
    assert record["settings"] == {"seed": 1, "training.metric": "exact"}


def test_speed_leaves_validation_out(tmp_path: Path) -> None:
    events = [start(0), train(10, 50, 10.0), valid(50, 50, 40.0), train(60, 100, 60.0, rate=300.0)]
    record = training_record(written(tmp_path, events))
    assert record["train_tokens_per_s"] == 200.0
    assert record["process_peak_bytes"] == 1100


def test_what_was_repeated_after_a_crash_counts_once(tmp_path: Path) -> None:
    before = [start(0), train(10, 50, 10.0), valid(10, 50, 40.0), train(20, 100, 20.0), valid(20, 100, 41.0)]
    after = [start(40, resumed=50), train(50, 100, 20.0), valid(50, 100, 60.0), end(50)]
    record = training_record(written(tmp_path, [*before, *after]))
    assert record["curves"]["step"] == [50, 100]
    assert record["curves"]["score"] == [40.0, 60.0]
    assert record["tokens"] == 2000


def test_a_whole_record_is_rounded_where_it_is_read(tmp_path: Path) -> None:
    events = [start(0), train(10.25, 50, 10.12344, rate=99.57), valid(12.5, 50, 40.0), end(13, "diverged")]
    assert training_record(written(tmp_path, events)) == {
        "status": "diverged",
        "settings": {"seed": 1, "training.metric": "exact"},
        "parameters": 1234,
        "steps": 50,
        "train_s": 12.373,
        "tokens": 1021,
        "curves": {"step": [50], "elapsed_s": [12.373], "tokens": [1021], "loss": [0.02], "score": [40.0]},
        "train_tokens_per_s": 99.6,
        "process_peak_bytes": 1050,
    }


def test_a_folder_of_settings_alone_tells_them(tmp_path: Path) -> None:
    record = training_record(written(tmp_path, [{"type": "note"}, {"time": moment(3)}, start(5)]))
    assert record == {
        "status": "stopped",
        "settings": {"seed": 1, "training.metric": "exact"},
        "parameters": 1234,
        "steps": 0,
        "train_s": 0.0,
        "tokens": None,
        "curves": {name: [] for name in ("step", "elapsed_s", "tokens", "loss", "score")},
        "train_tokens_per_s": None,
        "process_peak_bytes": None,
    }


def test_a_killed_run_has_a_record_up_to_its_last_whole_line(tmp_path: Path) -> None:
    record = training_record(written(tmp_path, [start(0), train(10, 50, 10.0)], torn='{"type": "tra'))
    assert (record["status"], record["steps"]) == ("stopped", 50)
    assert record["curves"]["step"] == []


def test_steps_behind_the_last_line_of_the_log_are_counted_at_its_rate(tmp_path: Path) -> None:
    record = training_record(written(tmp_path, [start(0), train(10, 50, 10.0), valid(12, 60, 1.0)]))
    assert record["tokens"] == 1200


def test_steps_between_the_last_line_and_the_checkpoint_are_counted_after_a_kill(tmp_path: Path) -> None:
    before = [start(0), train(10, 50, 10.0)]
    after = [start(40, resumed=75), train(50, 100, 25.0), end(50)]
    record = training_record(written(tmp_path, [*before, *after]))
    assert record["tokens"] == 1000 + 500 + 1000  # the log lost 25 steps at 20 tokens


def test_a_run_that_goes_on_counts_from_its_last_line(tmp_path: Path) -> None:
    before = [start(0), train(10, 50, 10.0), train(20, 100, 20.0)]
    record = training_record(written(tmp_path, [*before, start(40, resumed=100), valid(43, 100, 9.0)]))
    assert (record["curves"]["elapsed_s"], record["tokens"]) == ([23.0], 2000)


def test_a_run_too_short_for_a_line_has_no_count_of_tokens(tmp_path: Path) -> None:
    record = training_record(written(tmp_path, [start(0), valid(2, 3, 1.0), end(2)]))
    assert (record["steps"], record["train_s"]) == (3, 2.0)
    assert (record["steps"], record["tokens"], record["curves"]["tokens"]) == (3, None, [None])


def test_a_folder_without_a_run_has_an_empty_record(tmp_path: Path) -> None:
    record = training_record(tmp_path)
    assert (record["status"], record["steps"], record["parameters"]) == ("stopped", 0, None)
    assert record["train_tokens_per_s"] is None


def test_the_log_of_a_real_run() -> None:
    record = training_record(RECORDS / "luong")
    assert record["status"] == "completed"
    assert record["parameters"] == 107_264
    assert record["steps"] == 11_644
    assert record["curves"]["score"][-1] == 100.0
    rising = record["curves"]["elapsed_s"]
    assert rising == sorted(rising)
    assert 440 < record["train_s"] < 442
    assert 800 < record["tokens"] / record["steps"] < 1000  # a batch holds 1,000 with its padding
