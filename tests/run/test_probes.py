"""Probes: the attention behind the model's own output, in files that never get in the way of training."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from jumok.checkpoint.checkpoints import Checkpoints
from jumok.decoding.translator import Translator
from jumok.errors import RunError
from jumok.explain.capture import capture
from jumok.explain.tensors import atlas
from jumok.run.compute import make_learner
from jumok.run.prepare import Prepared, reopen
from jumok.run.probes import probe_bytes, thin_out, write_probe
from jumok.run.train import TrainedRun, train
from jumok.text.tokenizer import EOS
from jumok.training.state import Learner, LoopState
from jumok.training.work import RunWork
from tests.run.conftest import quick_settings, write_corpus


@pytest.fixture(scope="module")
def prepared(trained: TrainedRun) -> Prepared:
    return reopen(trained.folder / "data")


@pytest.fixture(scope="module")
def model(trained: TrainedRun) -> Translator:
    return trained.model


def work_of(
    learner: Learner, prepared: Prepared, trained: TrainedRun, folder: Path, log_to: list[Any]
) -> RunWork:
    return RunWork(
        learner=learner,
        prepared=prepared,
        config=trained.config,
        checkpoints=Checkpoints(folder),
        device=torch.device("cpu"),
        autocast=None,
        log_to=log_to,
        write_probe=write_probe,
    )


def test_training_leaves_a_probe_of_each_validation(trained: TrainedRun) -> None:
    events = [json.loads(line) for line in (trained.folder / "metrics.jsonl").read_text().splitlines()]
    named = [event["probe"] for event in events if event["type"] == "valid"]
    assert named == ["probes/step-0000003.safetensors", "probes/step-0000006.safetensors"]
    assert sorted(file.name for file in (trained.folder / "probes").iterdir()) == [
        "step-0000003.safetensors",
        "step-0000006.safetensors",
    ]


def test_a_probe_holds_the_weights_of_the_model_s_own_output(
    trained: TrainedRun, prepared: Prepared, model: Translator
) -> None:
    file = trained.folder / "probes" / "step-0000006.safetensors"
    with safe_open(file, framework="numpy") as opened:
        metadata = opened.metadata()
    about = json.loads(metadata["probe"])
    assert metadata["format"] == "probes/1"
    assert about["step"] == 6
    tensors = load_file(file)
    assert set(tensors) == {"0", "1", "2", "seal"}
    # The run's model is its best checkpoint, which may be that of another step: take the last one's weights.
    learner = make_learner(
        trained.config, prepared, torch.device("cpu"), Checkpoints(trained.folder).newest()
    )
    model = work_of(learner, prepared, trained, trained.folder, []).translator
    model.model.eval()
    for number, sentence in enumerate(about["sentences"]):
        source, _ = prepared.valid_pairs[number]
        answer = model.translate(source, beam=1)
        assert sentence["text"] == answer.text
        ids = [token.id for token in answer.tokens if token.id != EOS]
        (one,) = capture(
            model.model, [model.tokenizers.source.encode(source)], [ids], ended=[answer.finished]
        )
        shape = tensors[str(number)].shape
        assert shape == one.weights["cross"].shape
        assert shape[2:] == (len(sentence["target"]), len(sentence["source"]))
        difference = tensors[str(number)].astype(int) - atlas(one.weights["cross"]).astype(int)
        assert np.abs(difference).max() <= 1  # a batch of three rounds otherwise than one alone


def test_a_model_without_attention_leaves_no_probe(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 60)
    done = train(out=tmp_path / "run", overrides=quick_settings(corpus, model__arch="rnn"), device="cpu")
    assert not (done.folder / "probes").exists()
    events = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
    assert all("probe" not in event for event in events)


def test_sentences_that_the_model_cannot_take_whole_are_left_out(model: Translator) -> None:
    long = "9" * (model.config.data.max_length + 1)
    answers = [replace(model.translate("12"), source=text) for text in (long, "", "34")]
    assert probe_bytes(1, model, answers[:2]) is None
    data = probe_bytes(1, model, answers)
    assert data is not None
    assert b'\\"sentence\\": 2' in data
    assert b'\\"sentence\\": 0' not in data


@pytest.mark.parametrize("trouble", ["a file in the way", "the disk is full", "no memory"])
def test_trouble_with_a_probe_is_a_notice_and_not_the_end(
    trouble: str, trained: TrainedRun, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise RunError("the disk is full: cannot save it", code="disk_full")

    def no_memory(*args: Any, **options: Any) -> None:
        raise torch.OutOfMemoryError("no room")

    if trouble == "a file in the way":
        (tmp_path / "probes").touch()
    elif trouble == "the disk is full":
        monkeypatch.setattr("jumok.run.probes.replace_file", full)
    else:
        monkeypatch.setattr("jumok.run.probes.capture", no_memory)
    events: list[Any] = []
    checkpoints = Checkpoints(trained.folder)
    learner = make_learner(trained.config, prepared, torch.device("cpu"), checkpoints.newest())
    work = work_of(learner, prepared, trained, tmp_path, [events.append])
    look = work.validate(LoopState(step=9))
    assert "probe" not in look.event
    assert look.event["samples"]
    (only,) = events
    assert (only["type"], only["step"], only["level"]) == ("notice", 9, "warning")
    said = {
        "a file in the way": ("io_error", "cannot keep the attention of step 9: File exists"),
        "the disk is full": ("disk_full", "the disk is full: cannot save it"),
        "no memory": ("out_of_memory", "no memory for the attention of step 9"),
    }
    assert (only["code"], only["message"]) == said[trouble]


def test_a_probe_draws_no_random_number(model: Translator, tmp_path: Path) -> None:
    answers = model.translate(["12", "345"])
    before = torch.get_rng_state()
    assert write_probe(tmp_path, 2_000, model, answers) == "probes/step-0002000.safetensors"
    assert torch.equal(torch.get_rng_state(), before)


def test_of_many_probes_every_second_one_goes_but_never_the_ends(tmp_path: Path) -> None:
    for step in range(200):
        (tmp_path / f"step-{step:07d}.safetensors").touch()
    (tmp_path / "mine.txt").touch()
    thin_out(tmp_path)
    assert len(list(tmp_path.glob("step-*"))) == 200
    (tmp_path / "step-0000777.safetensors").touch()
    thin_out(tmp_path)
    kept = sorted(int(file.stem[5:]) for file in tmp_path.glob("step-*"))
    assert kept == [*range(0, 200, 2), 777]
    assert (tmp_path / "mine.txt").exists()
