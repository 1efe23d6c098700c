"""One run from two files to a model folder, as a Python user meets it."""

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jumok
from jumok.checkpoint.manifest import checkpoint_folders, verify_folder
from jumok.errors import ConfigError
from jumok.run.corpora import open_corpora
from jumok.run.folder import RunFolder
from jumok.run.train import (
    Plan,
    RunCallbacks,
    RunRequest,
    RunSetup,
    RunStart,
    TrainedRun,
    default_folder,
    run,
    train,
)
from jumok.settings import nest, parse_config, read_toml
from jumok.training.distributed import World
from tests.run.conftest import quick_settings, tiny_settings

Events = list[dict[str, Any]]


def events_of(folder: Path, kind: str = "") -> Events:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [event for event in lines if not kind or event["type"] == kind]


def go(given: dict[str, Any], out: Path, **more: Any) -> TrainedRun:
    callbacks = more.pop("callbacks", RunCallbacks())
    return run(RunRequest(given=given, out=out, device="cpu", **more), callbacks)


# What a finished run leaves.


def test_the_events_have_their_fields(trained: TrainedRun) -> None:
    events = events_of(trained.folder)
    assert [event["type"] for event in events[:2]] == ["start", "train"]
    assert events[-1]["type"] == "end"
    fields = {
        "start": "time run config_sha256 params device dtype data versions seed resumed_from",
        "train": "step epoch loss nll ppl lr grad_norm tokens_per_s sentences_per_s skipped_steps mem_bytes "
        "elapsed_s",
        "valid": "step loss ppl bleu bleu_signature chrf samples best",
        "checkpoint": "step path best metric",
        "end": "status reason best",
    }
    for event in events:
        assert set(fields[event["type"]].split()) <= event.keys(), event["type"]
        assert event["time"].endswith("Z")
    assert [event["step"] for event in events_of(trained.folder, "train")] == list(range(1, 7))
    assert [event["step"] for event in events_of(trained.folder, "valid")] == [3, 6]
    left_out = {"blank": 0, "too_long": 0}
    assert events[0]["data"] == {"train": 280, "valid": 20, "left_out": left_out, "cut": 0}
    assert (events[-1]["status"], events[-1]["reason"]) == ("completed", "max_steps")
    for event in events_of(trained.folder, "checkpoint"):
        assert event["path"].startswith("checkpoints/step-0000000")


def test_losses_are_logged_in_full_digits(corpus: Path, tmp_path: Path) -> None:
    seen: Events = []
    done = go(quick_settings(corpus), tmp_path / "run", callbacks=RunCallbacks(on_event=seen.append))  # type: ignore[arg-type]
    logged = [event["loss"] for event in events_of(done.folder, "train")]
    assert logged == [event["loss"] for event in seen if event["type"] == "train"]
    assert any(len(repr(loss)) > 14 for loss in logged)


def test_samples_and_curves_are_files(trained: TrainedRun) -> None:
    samples = [json.loads(line) for line in (trained.folder / "samples.jsonl").read_text().splitlines()]
    assert [one["step"] for one in samples] == [3, 6]
    assert set(samples[0]["samples"][0]) == {"src", "ref", "hyp", "score"}
    assert list((trained.folder / "tensorboard").glob("events.out.tfevents.*"))


def test_the_configuration_is_complete_and_reads_back(trained: TrainedRun) -> None:
    assert parse_config(nested := read_nested(trained.folder / "config.toml")) == trained.config
    assert {"model", "text", "data", "image", "start", "training", "decoding", "seed"} == nested.keys()
    start = events_of(trained.folder, "start")[0]
    assert start["seed"] == trained.config.seed


def read_nested(path: Path) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_the_run_folder_is_a_model(trained: TrainedRun) -> None:
    one, other = trained.model, jumok.load(trained.folder)
    assert one.translate("123456").text == other.translate("123456").text
    for folder in checkpoint_folders(trained.folder).values():
        assert verify_folder(folder) == []
        assert jumok.load(folder).info["parameters"] == one.info["parameters"]


def test_a_finished_run_is_not_trained_again(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "copy")
    again = go(quick_settings(trained.folder.parent), tmp_path / "copy")
    assert (again.steps, again.reason, again.score) == (trained.steps, "max_steps", trained.score)
    new = events_of(tmp_path / "copy")[len(events_of(trained.folder)) :]
    assert [event["type"] for event in new] == ["start", "end"]
    assert new[0]["resumed_from"] == 6


def test_a_finished_run_may_go_on_with_more_steps(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "copy")
    more = go(quick_settings(trained.folder.parent, training__max_steps=8), tmp_path / "copy")
    assert more.steps == 8
    assert [event["step"] for event in events_of(more.folder, "train")][-2:] == [7, 8]


# The Python interface.


def test_train_takes_files_or_a_set_and_a_configuration_file(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        '[model]\narch = "rnn"\nwidth = 16\n[training]\nmax_steps = 2\nvalidate_every = 2\n'
        "[decoding]\nmax_len = 4\n[text]\nvocabulary = 300\n"
    )
    done = jumok.train(
        tmp_path / "small.toml",
        source=corpus / "train.src",
        target=corpus / "train.tgt",
        out=tmp_path / "run",
        preset="tiny",
        overrides={"training.lr": 2e-3},
        device="cpu",
    )
    assert isinstance(done, jumok.TrainedRun)
    assert (done.config.model.arch, done.config.model.width) == ("rnn", 16)  # the file beats the preset
    assert (done.config.training.lr, done.steps) == (2e-3, 2)
    assert done.model.translate("12").source == "12"


def test_defaults_need_two_files_and_nothing_else(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plans: list[Plan] = []
    starts: list[RunStart] = []
    done = train(
        source="train.src",
        target="train.tgt",
        overrides={"training.max_steps": 2, "decoding.max_len": 4},
        callbacks=RunCallbacks(on_plan=plans.append, on_start=starts.append),
    )
    assert done.folder == Path("runs/train")
    assert plans[0].config == done.config
    assert starts[0].parameters == done.model.info["parameters"]
    assert starts[0].state.step == 0
    stored = read_toml(done.folder / "config.toml")
    for choice in plans[0].choices:
        assert stored[choice.key] == choice.value


def test_the_default_folder_says_what_was_trained() -> None:
    assert default_folder({"data.name": "dates", "model.arch": "rnn"}) == Path("runs/dates-rnn")
    assert default_folder({"data.source": "a/multi.tsv.gz"}) == Path("runs/multi")
    two_files = {"data.source": "a/train.en.gz", "data.target": "a/train.de"}
    assert default_folder(two_files) == Path("runs/en-de")
    assert default_folder(two_files | {"model.arch": "rnn"}) == Path("runs/en-de-rnn")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"trainin.lr": 1}, "unknown setting 'trainin.lr'\n  your settings\n  did you mean 'training.lr'?"),
        ({"training.lr": "fast"}, "training.lr='fast': "),
        ({"model.arch": "gpt"}, "unknown architecture 'gpt'"),
        ({"model.width": -10}, "model.width=-10 cannot work"),
    ],
)
def test_mistakes_leave_nothing_behind(
    overrides: dict[str, Any], message: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        go(quick_settings(corpus) | overrides, tmp_path / "run")
    assert message in str(caught.value)
    assert not RunFolder(tmp_path / "run").exists


# How a run ends.


def test_an_interrupted_run_goes_on_with_identical_losses(corpus: Path, tmp_path: Path) -> None:
    given = quick_settings(corpus)
    whole = go(given, tmp_path / "whole")
    steps: list[int] = []
    callbacks = RunCallbacks(
        on_event=lambda event: steps.append(event["step"]) if event["type"] == "train" else None,
        interrupted=lambda: len(steps) == 4,
    )
    stopped = go(given, tmp_path / "broken", callbacks=callbacks)
    assert (stopped.reason, stopped.steps) == ("signal", 4)
    assert events_of(stopped.folder)[-1]["status"] == "stopped"
    go(given, tmp_path / "broken")
    losses = [
        [(event["step"], event["loss"]) for event in events_of(folder, "train")]
        for folder in (whole.folder, stopped.folder)
    ]
    assert losses[0] == losses[1]
    best = [[event["loss"] for event in events_of(tmp_path / name, "valid")] for name in ("whole", "broken")]
    assert best[0] == best[1]


def test_the_time_limit_ends_the_run(corpus: Path, tmp_path: Path) -> None:
    given = quick_settings(corpus, training__time_limit=0.2, training__max_steps=10**6)
    done = go(given | {"training.warmup": 5}, tmp_path / "run")
    assert done.reason == "time_limit"
    assert 0 < done.steps < 10**5
    assert done.seconds >= 0.2
    assert events_of(done.folder)[-1]["reason"] == "time_limit"
    assert done.score is not None


def test_patience_ends_the_run(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.training.work.RunWork.valid_loss", lambda self, *_: 3.0)
    given = quick_settings(
        corpus,
        training__max_steps=50,
        training__validate_every=1,
        training__patience=2,
        training__metric="loss",
    )
    done = go(given, tmp_path / "run")
    assert (done.reason, done.steps) == ("no_better", 3)


def test_the_best_checkpoint_is_the_one_of_least_loss(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([5.0, 2.0, 4.0, 6.0])
    monkeypatch.setattr("jumok.training.work.RunWork.valid_loss", lambda self, *_: next(losses))
    given = quick_settings(
        corpus,
        training__max_steps=4,
        training__validate_every=1,
        training__save_every=1,
        training__metric="loss",
    )
    done = go(given, tmp_path / "run")
    assert done.score == -2.0
    assert done.model.info["step"] == 2
    assert sorted(checkpoint_folders(done.folder)) == [2, 3, 4]  # the best, and the newest two


def test_a_failure_is_the_last_event(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("something else broke")

    monkeypatch.setattr("jumok.training.updates.train_step", fail)
    with pytest.raises(RuntimeError, match="something else broke"):
        go(quick_settings(corpus), tmp_path / "run")
    end = events_of(tmp_path / "run")[-1]
    assert (end["type"], end["status"], end["reason"]) == ("end", "failed", "RuntimeError")


# What this machine, or this number of processes, cannot do.


def test_a_notice_says_that_bf16_is_missing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.run.train.lacks_bf16", lambda config, machine: True)
    done = go(quick_settings(corpus, training__max_steps=2), tmp_path / "run")
    (notice,) = events_of(done.folder, "notice")
    assert (notice["code"], notice["level"]) == ("no_bf16", "info")
    assert notice["message"] == "CPU does not compute bf16: training in fp32, which is slower"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {},
            "training.shard=true shares the weights out over processes, and there is one\n"
            "  start several with `torchrun --nproc-per-node N -m jumok train …`, or leave it out",
        ),
        (
            {"training__batches": "packed"},
            "training.batches=packed and training.shard=true exclude each other\n"
            "  leave training.batches at auto: shared-out weights read batches of like lengths",
        ),
    ],
)
def test_sharing_the_weights_out_needs_processes(
    more: dict[str, Any], message: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        go(quick_settings(corpus, training__shard=True, **more), tmp_path / "run")
    assert str(caught.value) == message
    assert not RunFolder(tmp_path / "run").exists


def test_the_plan_counts_the_processes(tmp_path: Path) -> None:
    request = RunRequest(given={}, out=tmp_path)
    opening = RunSetup(request, RunCallbacks(), World(size=3, device="cpu"), ExitStack())
    assert (opening.machine.device, opening.machine.processes) == ("cpu", 3)


def test_a_run_waits_for_its_variants_before_it_gives_up_its_lock(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may still be in the making when it ends early, and nothing may be written after that."""
    waited = list[str]()

    class Variants:
        """Those of prepared data, whose number is known when all are made."""

        def __len__(self) -> int:
            waited.append("here")
            return 0

    config = parse_config(nest(quick_settings(corpus)))
    monkeypatch.setattr("jumok.run.train.prepare", lambda *_, **__: SimpleNamespace(variants=Variants()))
    with ExitStack() as held:
        request = RunRequest(given={}, out=tmp_path)
        setup = RunSetup(request, RunCallbacks(), World(size=1, device="cpu"), held)
        setup.prepare(config, open_corpora(config), None, None, None)
        assert not waited
    assert waited == ["here"]


@pytest.mark.gpu
@pytest.mark.parametrize("batches", ["sorted", "packed"])
def test_a_gpu_trains_and_goes_on(batches: str, corpus: Path, tmp_path: Path) -> None:
    given = tiny_settings("transformer", corpus) | {
        "model.width": 32,  # heads of 16, which the kernels know
        "training.batches": batches,
        "training.max_steps": 8,
        "training.warmup": 1,
        "training.log_every": 4,
        "training.validate_every": 8,
        "training.save_every": 4,
    }
    run(RunRequest(given=given, out=tmp_path / "whole", device="cuda"), RunCallbacks())
    steps: list[int] = []
    callbacks = RunCallbacks(
        on_event=lambda event: steps.append(event["step"]) if event["type"] == "train" else None,
        interrupted=lambda: steps[-1:] == [4],
    )
    run(RunRequest(given=given, out=tmp_path / "broken", device="cuda"), callbacks)
    run(RunRequest(given=given, out=tmp_path / "broken", device="cuda"), RunCallbacks())
    whole, broken = (events_of(tmp_path / name, "train") for name in ("whole", "broken"))
    assert [event["step"] for event in whole] == [event["step"] for event in broken] == [1, 2, 4, 8]
    assert [event["loss"] for event in broken] == pytest.approx([event["loss"] for event in whole], rel=1e-2)
