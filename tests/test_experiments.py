"""The experiments: what is planned, what is done already, and what a test of a model counts."""

import argparse
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from jumok.comparison.plan import ABLATIONS
from jumok.config import TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.decoding.translator import load
from jumok.models.build import build_model
from jumok.settings import check_given
from jumok.training.step import sides_of
from tests.processes import run_script

ROOT = Path(__file__).parent.parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("experiments")


def test_every_training_has_a_name_of_its_own_and_settings_that_work(script: Any) -> None:
    trainings = script.plan()
    assert len({one.name for one in trainings}) == len(trainings) == 3 * len(script.plan([1]))
    for one in trainings:
        assert check_given(dict(one.settings)).seed == one.seed


def test_every_ablation_of_compare_is_tried(script: Any) -> None:
    tried = [one.settings for one in script.plan([1])]
    for name, variants in ABLATIONS.items():
        for changes in variants.values():
            assert any(changes.items() <= {**defaults(), **one}.items() for one in tried), (name, changes)


def defaults() -> dict[str, Any]:
    return {"model.scaled": True, "training.teacher_forcing": 1.0, "training.rollout": False}


def test_models_that_are_compared_by_length_differ_in_the_model_alone(script: Any) -> None:
    rnn, luong, transformer = (
        {key: value for key, value in one.settings.items() if key not in ("model.arch", "training.lr")}
        for name in ("rnn", "luong", "transformer")
        for one in script.plan([1], [f"bottleneck/{name}"])
    )
    assert rnn == luong
    assert {key: rnn[key] for key in rnn if not key.startswith("model.")} == {
        key: transformer[key] for key in transformer if not key.startswith("model.")
    }


def test_the_first_seed_of_all_comes_before_the_second_and_long_ones_first(script: Any) -> None:
    order = [(one.seed, -one.cost) for one in script.plan()]
    assert order == sorted(order)
    assert [one.seed for one in script.plan([2, 1], ["bottleneck/rnn"])] == [1, 2]


def test_what_has_its_line_is_done_unless_it_was_cut_short_or_had_other_settings(
    script: Any, tmp_path: Path
) -> None:
    trainings, file = script.plan([1]), tmp_path / "results.jsonl"
    first, second, third = trainings[:3]
    script.keep(file, {"name": first.name, "settings": first.settings})
    script.keep(file, {"name": second.name, "settings": {**second.settings, "training.lr": 1.0}})
    with file.open("a") as lines:
        lines.write(json.dumps({"name": third.name, "settings": third.settings})[:-9])
    assert script.finished(file, trainings) == [first]
    script.keep(file, {"name": second.name, "settings": second.settings})  # takes the place of the other
    assert script.finished(file, trainings) == [first, second]
    assert len(file.read_text().splitlines()) == 2


def children(script: Any, monkeypatch: pytest.MonkeyPatch, code: str) -> list[str]:
    """In place of trainings, children that run this code; the names of those that were started."""
    started = []

    def start(training: Any, work: Path, updates: int) -> Any:
        started.append(training.name)
        line = {"name": training.name, "settings": training.settings, "seconds": 1, "scores": {"value": 1}}
        script.output_of(training, work).write_text(json.dumps(line) + "\n")
        (work / f"{script.file_name(training)}.log").write_text("no luck")
        return subprocess.Popen([sys.executable, "-c", code, training.name])

    monkeypatch.setattr(script, "start", start)
    monkeypatch.setattr(script, "prepare_data", lambda trainings, work: None)
    return started


def test_a_training_that_fails_is_told_and_tried_again_by_the_next_call(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(out=tmp_path / "results.jsonl", minutes=0, jobs=2, updates=0)
    trainings = script.plan([1], ["bottleneck"])
    started = children(script, monkeypatch, "import sys; sys.exit('luong' in sys.argv[1])")
    assert script.run_all(trainings, tmp_path, options) == 1
    assert "bottleneck/luong/1 FAILED: no luck" in capsys.readouterr().err
    assert len(started) == 3
    left = [one for one in trainings if one not in script.finished(options.out, trainings)]
    assert [one.name for one in left] == ["bottleneck/luong/1"]
    again = children(script, monkeypatch, "")
    assert script.run_all(left, tmp_path, options) == 0
    assert again == ["bottleneck/luong/1"]
    assert script.finished(options.out, trainings) == trainings


def test_when_the_time_is_over_what_still_runs_is_ended_and_counted(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, now = argparse.Namespace(out=tmp_path / "results.jsonl", minutes=8, jobs=2, updates=0), [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.append(now.pop() + 300))
    monkeypatch.setattr(script, "time", clock)  # its own: servers of other tests go by the process's
    started = children(script, monkeypatch, "import time; time.sleep(600)")
    assert script.run_all(script.plan([1], ["bottleneck"]), tmp_path, options) == 3
    assert len(started) == 2
    assert not options.out.exists()


def test_tokens_are_counted_after_right_and_after_wrong_ones(script: Any) -> None:
    # Right, right, wrong, right; and an answer that ends after one of two.
    found = script.written([([5, 6, 9, 8], [5, 6, 7, 8]), ([5], [5, 6])])
    assert found == {"free": 66.667, "after_right": 60.0, "after_wrong": 100.0, "seen_wrong": 1}


@pytest.mark.parametrize("kind", ["learned", "sinusoidal", "rotary"])
def test_shifted_positions_are_those_further_on(script: Any, kind: Any) -> None:
    torch.manual_seed(1)
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, width=8, heads=2, feedforward=8, positions=kind, max_positions=16
    )
    model: Any = build_model(config, 20, 20, shared=False).eval()
    source, target_in = sides_of(lay_pairs([[5, 6, 7]], [[8, 9]]))
    logits = model(source, target_in).logits()
    shifted = model.using(script.shifted_backend(4))(source, target_in).logits()
    if kind == "rotary":  # distances are all it knows
        torch.testing.assert_close(shifted, logits)
        return
    assert not torch.allclose(shifted, logits)
    if kind == "learned":  # the rows of a table that begins further on
        with torch.no_grad():
            for side in (model.source_positions, model.target_positions):
                side.table.copy_(side.table.roll(-4, 0))
        torch.testing.assert_close(shifted, model(source, target_in).logits())


def test_the_built_in_transformer_learned_places_of_the_target(script: Any) -> None:
    """What docs/experiments/positions.md shows with it."""
    source, date, shown = "Monday, June 5, 1916", "1916-06-05", {1: "196-06-05", 2: "19-06-05"}
    translator = load(ROOT / "src" / "jumok" / "trained" / "transformer", "cpu", engine="torch")

    def writes(shift: int, *sides: str) -> str:
        return script.moved(translator, shift, sides or script.SIDES).translate([source])[0].text  # type: ignore[no-any-return]

    assert {shift: writes(shift) for shift in (0, 1, 2)} == {0: date, **shown}
    assert {writes(shift, "source") for shift in (1, 2, 5)} == {date}
    for page in ("positions.md", "positions.ko.md"):
        text = (ROOT / "docs" / "experiments" / page).read_text("utf-8")
        assert all(f"`{words}`" in text for words in (source, date, *shown.values()))


@pytest.mark.slow
def test_an_experiment_runs_in_its_small_form(script: Any, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    words = ["--updates", 2, "--seeds", 1, "--jobs", 1, "--only", "forcing/0.5-rollout", "--out", out]
    done = run_script(ROOT / "benchmarks" / "experiments.py", *words)
    assert done.returncode == 0, done.stderr
    [line] = map(json.loads, out.read_text().splitlines())
    assert line["course"]["update"] == [1, 2]
    assert line["scores"]["n"] == sum(third["n"] for third in line["scores"]["thirds"])
    assert script.finished(out, script.plan([1], ["forcing/0.5-rollout"], updates=2))
