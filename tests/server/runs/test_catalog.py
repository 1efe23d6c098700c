"""Runs from their folders: complete, growing, broken off, or hardly runs at all."""

import json
import os
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import quick_settings, write_corpus

from jumok.checkpoint.folder import run_lock
from jumok.run.train import RunCallbacks, train
from jumok.server.runs.catalog import (
    Run,
    Runs,
    as_time,
    is_locked,
    is_showable,
    read_config,
    subfolders,
)
from jumok.server.runs.probes import read_probe

CONFIG = '[model]\narch = "luong"\n[training]\nmax_steps = 50\nmetric = "bleu"\n'


def write_run(folder: Path, events: list[dict[str, Any]] | bytes = b"", config: str | bytes = CONFIG) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.toml").write_bytes(config if isinstance(config, bytes) else config.encode())
    lines = (
        events if isinstance(events, bytes) else b"".join(json.dumps(one).encode() + b"\n" for one in events)
    )
    (folder / "metrics.jsonl").write_bytes(lines)
    return folder


def find(runs: Runs, name: str) -> Run:
    found = runs.find(name)
    assert found is not None
    return found


def test_runs_are_folders_with_settings_or_events_at_most_one_level_down(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "demo" / "rnn")
    write_run(tmp_path / "demo" / "deep" / "er")
    write_run(tmp_path / "a" / "inner")
    write_run(tmp_path / ".hidden")
    (tmp_path / "only-events").mkdir()
    (tmp_path / "only-events" / "metrics.jsonl").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    runs = Runs(tmp_path)
    assert sorted(runs.folders()) == ["a", "demo~rnn", "only-events"]
    assert runs.name_of(tmp_path / "demo" / "rnn" / "..") is None
    assert runs.name_of(tmp_path / "demo" / "." / "rnn") == "demo~rnn"
    assert find(runs, "demo~rnn").summary()["title"] == "demo/rnn"


@pytest.mark.parametrize(
    "name", ["b", "", ".", "..", "../a", "a/", "demo/rnn", "a\x00", "A", "~", "demo~", "a~."]
)
def test_names_are_looked_up_and_never_joined_to_a_path(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "runs" / "a")
    write_run(tmp_path / "runs" / "demo" / "rnn")
    assert Runs(tmp_path / "runs").find(name) is None


def test_a_folder_whose_own_name_has_the_sign_goes_first(tmp_path: Path) -> None:
    write_run(tmp_path / "demo" / "rnn")
    top = write_run(tmp_path / "demo~rnn")
    assert Runs(tmp_path).folders() == {"demo~rnn": top}


def test_without_a_folder_there_are_no_runs(tmp_path: Path) -> None:
    assert Runs(None).all() == Runs(tmp_path / "none").all() == []
    assert Runs(None).find("a") is None


def test_names_that_cannot_be_shown_are_left_out(tmp_path: Path) -> None:
    for name in (b"\xff\xfe", b"two\nlines", "좋다".encode()):
        (tmp_path / os.fsdecode(name)).mkdir()
    assert [folder.name for folder in subfolders(tmp_path)] == ["좋다"]
    assert not is_showable("\ud800")


def test_a_summary_says_how_a_run_stands(tmp_path: Path) -> None:
    write_run(
        tmp_path / "a",
        [
            {"type": "start"},
            {"type": "train", "step": 20, "loss": 1.0, "elapsed_s": 7.5},
            {"type": "checkpoint", "step": 20, "best": True, "metric": 12.5, "path": "p"},
            {"type": "end", "status": "completed", "reason": "max_steps"},
        ],
    )
    (found,) = [run.summary() for run in Runs(tmp_path).all()]
    assert found.pop("updated").endswith("Z")
    assert found == {
        "name": "a",
        "title": "a",
        "status": "completed",
        "reason": "max_steps",
        "arch": "luong",
        "step": 20,
        "max_steps": 50,
        "elapsed_s": 7.5,
        "time_limit": None,
        "best": {"metric": "bleu", "value": 12.5, "step": 20},
    }


@pytest.mark.parametrize(("steps", "shown"), [(1_000_000, None), (2000, 2000)])
def test_a_run_that_its_time_ends_has_no_last_step(steps: int, shown: int | None, tmp_path: Path) -> None:
    write_run(tmp_path / "a", [{"type": "start"}], f"[training]\nmax_steps = {steps}\ntime_limit = 90.0\n")
    (found,) = [run.summary() for run in Runs(tmp_path).all()]
    assert (found["max_steps"], found["time_limit"], found["elapsed_s"]) == (shown, 90.0, None)


@pytest.mark.parametrize("metric", ["loss", "per"])
def test_what_is_better_when_lower_is_shown_as_it_is(metric: str, tmp_path: Path) -> None:
    best = {"type": "checkpoint", "step": 3, "best": True, "metric": -2.5}
    write_run(tmp_path / "a", [best], f'[training]\nmetric = "{metric}"\n')
    write_run(tmp_path / "b", [best], "")
    first, second = (run.summary()["best"] for run in Runs(tmp_path).all())
    assert first == {"metric": metric, "value": 2.5, "step": 3}
    assert second == {"metric": "score", "value": -2.5, "step": 3}


def age(folder: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(folder / "metrics.jsonl", (then, then))


@pytest.mark.parametrize("status", ["completed", "stopped", "failed"])
def test_an_end_decides(tmp_path: Path, status: str) -> None:
    write_run(tmp_path / "a", [{"type": "start"}, {"type": "end", "status": status}])
    assert find(Runs(tmp_path), "a").summary()["status"] == status


def test_without_an_end_signs_of_life_decide(tmp_path: Path) -> None:
    folder, runs = (
        write_run(tmp_path / "a", [{"type": "end", "status": "odd"}, {"type": "start"}]),
        Runs(tmp_path),
    )

    def status() -> str:
        return str(find(runs, "a").summary()["status"])

    age(folder, 90)
    assert status() == "running"
    age(folder, 150)
    assert status() == "unknown"
    with run_lock(folder):
        assert status() == "running"
        assert is_locked(folder)
    assert status() == "unknown"


def test_looking_at_a_lock_does_not_take_it(tmp_path: Path) -> None:
    stop, refused = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            is_locked(tmp_path)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(100):
            with run_lock(tmp_path):
                pass
    except Exception as error:
        refused.append(error)
    finally:
        stop.set()
        watcher.join()
    assert not refused


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("7: FLOCK  ADVISORY  WRITE 4321 08:01:{inode} 0 EOF", True),
        ("7: POSIX  ADVISORY  WRITE 4321 08:01:{inode} 0 EOF", False),
        ("7: FLOCK  ADVISORY  WRITE 4322 08:01:{inode} 0 EOF", False),
        ("7: FLOCK  ADVISORY  WRITE 4321 08:01:1{inode} 0 EOF", False),
        ("7: FLOCK", False),
        ("", False),
    ],
)
def test_a_lock_is_that_of_the_process_which_wrote_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, *, held: bool
) -> None:
    lock = tmp_path / ".lock"
    lock.write_text("4321\n", encoding="ascii")
    (tmp_path / "locks").write_text(f"odd\n{line.format(inode=lock.stat().st_ino)}\n", encoding="ascii")
    monkeypatch.setattr("jumok.server.runs.catalog.LOCKS", tmp_path / "locks")
    assert is_locked(tmp_path) is held
    lock.write_text("4321" + " " * 61, encoding="ascii")  # no trainer writes so much
    assert not is_locked(tmp_path)


def test_a_system_that_tells_no_locks_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_lock(tmp_path):
        monkeypatch.setattr("jumok.server.runs.catalog.LOCKS", tmp_path / "none")
        assert not is_locked(tmp_path)


BROKEN: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "garbage": (b"\x00\xff\n\xfe{}\n[]\n3\n" * 50, b"\xff\xfe = ["),
    "torn": (b'{"type": "train", "step": 1, "loss": 2.0}\n{"type": "tra', b'[model]\narch = "lu'),
    "huge": (b'{"type": "notice", "message": "' + b"x" * 3_000_000 + b'"}\n', b"a = 1\n" * 300_000),
    "odd": (
        b'{"type": "train", "step": 1, "loss": NaN, "elapsed_s": "x"}\n'
        b'{"type": "valid", "step": 2, "samples": [{}]}\n',
        b'model = 3\ntraining = [1]\nlr = nan\nwhen = 2020-01-01\n"\\ud7ff" = inf\n',
    ),
    "nested": (
        b'{"type": "train", "step": 1, "loss": ' + b"[" * 5000 + b"]" * 5000 + b"}\n",
        b"a = " + b"[" * 3000,
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_folders_are_runs_all_the_same(tmp_path: Path, kind: str) -> None:
    events, config = BROKEN[kind]
    write_run(tmp_path / "a", events, config)
    run = find(Runs(tmp_path), "a")
    details = run.details()
    assert json.loads(json.dumps(details, allow_nan=False)) == details
    assert details["status"] == "running"
    assert details["step"] == {"torn": 1, "odd": 2}.get(kind)
    assert run.series(["train.loss", "no.such"], 100)["no.such"] == {"step": [], "elapsed_s": [], "value": []}
    assert details["probes"] == []


def test_a_folder_that_vanishes_is_no_error(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", [{"type": "train", "step": 4, "loss": 1.0}])
    run = find(Runs(tmp_path), "a")
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert run.details()["updated"] is None
    assert read_config(folder) == {}


def test_settings_that_were_changed_since_the_run_began_are_not_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", config="[model]\nwidth = 16\n")
    right = sha256((folder / "config.toml").read_bytes()).hexdigest()
    for noted, shown in (({"config_sha256": right}, True), ({"config_sha256": "0" * 64}, False), ({}, True)):
        (folder / "run.json").write_text(json.dumps(noted), encoding="utf-8")
        assert read_config(folder) == ({"model": {"width": 16}} if shown else {})


def test_all_that_is_told_of_a_run(tmp_path: Path) -> None:
    one = {"src": "a", "ref": "b", "hyp": "c", "score": -0.5}
    folder = write_run(
        tmp_path / "demo" / "rnn",
        [
            {"type": "valid", "step": 30, "loss": 2.0, "elapsed_s": 4, "samples": [one]},
            {"type": "valid", "step": 20, "loss": 3.0, "samples": [one]},
            {"type": "notice", "step": 30, "level": "warning", "code": "x", "message": "m"},
            {"type": "end", "status": "failed", "reason": "disk"},
        ],
        config='[model]\narch = 3\n[training]\nmax_steps = "x"\nmetric = 4\ntime_limit = 0\n',
    )
    os.utime(folder / "metrics.jsonl", (86400.25, 86400.25))
    assert find(Runs(tmp_path), "demo~rnn").details() == {
        "name": "demo~rnn",
        "title": "demo/rnn",
        "status": "failed",
        "reason": "disk",
        "arch": None,
        "step": 30,
        "max_steps": None,
        "elapsed_s": 4.0,
        "time_limit": None,
        "best": None,
        "updated": "1970-01-02T00:00:00.250Z",
        "config": {"model": {"arch": 3}, "training": {"max_steps": "x", "metric": 4, "time_limit": 0}},
        "series": ["valid.loss"],
        "notices": [{"step": 30, "level": "warning", "code": "x", "message": "m"}],
        "samples": [{"step": 20, "samples": [one]}, {"step": 30, "samples": [one]}],
        "probes": [],
        "start": None,
        "offset": (folder / "metrics.jsonl").stat().st_size,
    }


def test_curves_have_at_least_four_points_and_those_that_are_not_there_none(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [{"type": "train", "step": n, "loss": n % 5, "elapsed_s": n} for n in range(9)])
    empty: dict[str, list[Any]] = {"step": [], "elapsed_s": [], "value": []}
    found = find(Runs(tmp_path), "a").series(["train.loss", "loss", "train.loss", "train.x", "test.loss"], 1)
    assert list(found) == ["train.loss", "loss", "train.x", "test.loss"]
    assert found["loss"] == found["train.x"] == found["test.loss"] == empty
    assert found["train.loss"]["step"] == [0, 4, 5, 8]
    assert found["train.loss"]["value"] == [0, 4, 0, 3]


def test_times_that_no_calendar_has_are_shown_as_the_first() -> None:
    assert as_time(0) == "1970-01-01T00:00:00.000Z" == as_time(1e30)


def test_a_real_run_is_read_while_it_is_written(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 60)
    runs, seen = Runs(tmp_path / "runs"), []

    def look(event: Any) -> None:
        details = find(runs, "luong").details()
        curve = find(runs, "luong").series(["train.loss"], 1000)["train.loss"]
        seen.append((event["type"], details["status"], curve["step"]))

    given = quick_settings(corpus, training__log_every=1)
    done = train(
        out=tmp_path / "runs" / "luong", overrides=given, device="cpu", callbacks=RunCallbacks(on_event=look)
    )
    trained = [steps for kind, _, steps in seen if kind == "train"]
    assert trained == [list(range(1, step + 1)) for step in range(1, 7)]
    assert {status for kind, status, _ in seen if kind != "end"} == {"running"}
    assert seen[-1][:2] == ("end", "completed")

    details = find(runs, "luong").details()
    assert (details["arch"], details["step"], details["max_steps"]) == ("luong", 6, 6)
    assert details["best"]["step"] in (3, 6)
    assert details["best"]["metric"] == done.config.training.metric
    assert {"train.loss", "train.lr", "train.grad_norm", "valid.loss", "valid.bleu"} <= set(details["series"])
    assert [one["step"] for one in details["samples"]] == [3, 6]
    assert len(details["samples"][0]["samples"]) == 3
    assert details["probes"] == [3, 6]
    assert details["offset"] == (done.folder / "metrics.jsonl").stat().st_size
    assert details["config"]["model"]["width"] == 16
    probe = read_probe(done.folder, 6)
    assert probe is not None
    assert [len(one["shape"]) for one in probe["sentences"]] == [4, 4, 4]
    assert [one["text"] for one in probe["sentences"]] == [
        one["hyp"] for one in details["samples"][1]["samples"]
    ]


def test_runs_of_several_folders_are_shown_and_the_first_folder_goes_first(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    mine = write_run(first / "a")
    write_run(second / "a")
    theirs = write_run(second / "b")
    assert Runs(first, None, second).folders() == {"a": mine, "b": theirs}
    assert Runs(first, first).folders() == {"a": mine}
    assert Runs(None).folders() == {}
