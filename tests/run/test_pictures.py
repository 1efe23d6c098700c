"""A run on pictures from a folder to captions: training, going on, the folder, and the commands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from jumok.checkpoint.manifest import verify_folder
from jumok.checkpoint.model import unpack
from jumok.cli.main import main
from jumok.data.picture_store import PictureStore
from jumok.data.reader import survey
from jumok.errors import ConfigError, DataError
from jumok.images.patches import PatchReader
from jumok.run.corpora import open_corpora
from jumok.run.machine import Machine
from jumok.run.plan import make_plan
from jumok.run.prepare import reopen
from jumok.run.train import RunCallbacks, RunRequest, TrainedRun, run
from jumok.settings import nest, parse_config
from jumok.training.updates import packs, sorting_lengths
from tests.data.pictures import write_pictures
from tests.run.conftest import TINY

CPU = Machine("cpu", "CPU", 2, 8 * 2**30, bf16=False, gflops=50.0)
GPU = Machine("cuda", "GPU", 8, 80 * 2**30, bf16=True, gflops=700_000.0)


def settings(folder: Path, arch: str = "transformer", **more: Any) -> dict[str, Any]:
    """Settings of a run of a second, on the pictures of `write_pictures`."""
    return {
        "data.images": str(folder / "images"),
        "data.source": str(folder / "captions.tsv"),
        "data.hold_out": 8,
        "image.size": 8,
        "image.patch": 4,
        "image.shift": 1,
        "model.arch": arch,
        "text.vocabulary": 300,
        "training.batch_tokens": 300,
        "training.max_steps": 8,
        "training.warmup": 1,
        "training.log_every": 1,
        "training.validate_every": 4,
        "training.save_every": 2,
        "training.threads": 1,
        "decoding.max_len": 8,
        **TINY[arch],
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def go(given: dict[str, Any], out: Path, callbacks: RunCallbacks | None = None, **more: Any) -> TrainedRun:
    return run(RunRequest(given=given, out=out, device="cpu", **more), callbacks or RunCallbacks())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    write_pictures(folder, 48)
    return folder


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    return go(settings(folder), tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize("arch", ["rnn", "luong"])
def test_every_architecture_reads_pictures(folder: Path, tmp_path: Path, arch: str) -> None:
    done = go(settings(folder, arch, training__max_steps=2), tmp_path / arch)
    assert done.steps == 2
    model = done.model
    assert model.translate(str(folder / "images" / "0.png")).source.endswith("0.png")


def test_a_model_folder_says_that_it_reads_pictures(trained: TrainedRun) -> None:
    model = trained.model
    assert model.info["source"] == "image"
    assert model.info["image"] == {"size": 8, "patch": 4}
    best = Path(trained.folder / "checkpoints").glob("step-*")
    for one in best:
        assert list(verify_folder(one)) == []
        assert json.loads((one / "source_images.json").read_text()) == {
            "format": "jumok-patches/1",
            "size": 8,
            "patch": 4,
        }
        assert json.loads((one / "config.json").read_text())["source"] == "image"
        assert 'pipeline_tag: "image-to-text"' in (one / "README.md").read_text()


def test_a_path_and_a_data_url_give_the_same_caption(trained: TrainedRun, folder: Path) -> None:
    model, path = trained.model, str(folder / "images" / "3.png")
    reader = model.tokenizers.source
    url = reader.decode(reader.encode(path))
    one, other = model.translate([path, url])
    assert one.text == other.text
    assert model.score(path, "a red square 0").score == model.score(url, "a red square 0").score
    assert model.translate("").text == ""
    with pytest.raises(DataError, match="no such picture"):
        model.translate(str(folder / "none.png"))


def test_the_validation_picks_pairs_that_training_never_sees(trained: TrainedRun) -> None:
    prepared = reopen(trained.folder / "data")
    assert isinstance(prepared.train, PictureStore)
    assert (len(prepared.train), len(prepared.valid)) == (40, 8)
    assert prepared.train.shift is None
    assert prepared.lengths is None
    source, target = sorting_lengths(prepared.train)
    assert set(source.tolist()) == {4}
    assert len(set(target.tolist())) == 1


def test_a_stopped_run_goes_on_as_if_it_never_had(trained: TrainedRun, folder: Path, tmp_path: Path) -> None:
    seen: list[int] = []

    def stop_at(step: int) -> Callable[[], bool]:
        return lambda: bool(seen) and seen[-1] >= step

    for step in (3, 5, 100):
        seen.clear()
        callbacks = RunCallbacks(
            on_event=lambda event: seen.append(event.get("step", 0)), interrupted=stop_at(step)
        )
        go(settings(folder), tmp_path / "run", callbacks)
    newest = [sorted((one / "checkpoints").glob("step-*"))[-1] for one in (trained.folder, tmp_path / "run")]
    assert newest[0].name == newest[1].name
    weights = [unpack((one / "model.safetensors").read_bytes(), one) for one in newest]
    assert weights[0].keys() == weights[1].keys()
    assert all(weights[0][name].equal(weights[1][name]) for name in weights[0])


def test_movement_changes_what_is_learned(trained: TrainedRun, folder: Path, tmp_path: Path) -> None:
    go(settings(folder, image__shift=0), tmp_path / "still")
    newest = [
        sorted((one / "checkpoints").glob("step-*"))[-1] for one in (trained.folder, tmp_path / "still")
    ]
    moved, still = (unpack((one / "model.safetensors").read_bytes(), one) for one in newest)
    assert not moved["source_embedding.project.weight"].equal(still["source_embedding.project.weight"])


def test_other_pictures_are_other_data(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "set")
    given = settings(tmp_path / "set", training__max_steps=2)
    go(given, tmp_path / "run")
    shutil.copy(tmp_path / "set" / "images" / "0.png", tmp_path / "set" / "images" / "1.png")
    with pytest.raises(DataError, match="the data"):
        go(given | {"training.max_steps": 4}, tmp_path / "run")


def test_the_plan_for_pictures(folder: Path) -> None:
    given = {key: value for key, value in settings(folder).items() if key.startswith(("data.", "image."))}
    found = survey(open_corpora(parse_config(nest(given), "x")).train)
    assert found.source_characters == 0
    assert found.source_words == 0
    for machine in (CPU, GPU):
        plan = make_plan(given, found, machine)
        reasons = {choice.key: choice.reason for choice in plan.choices}
        assert plan.config.training.batches == ("packed" if machine.gpu else "sorted")
        assert "training.batches" in reasons
        assert not plan.config.text.shared
        assert plan.config.text.dropout == 0
        assert plan.config.decoding.max_len == plan.config.data.max_length


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"text.shared": True}, "text.shared=true cannot work: the sources are pictures"),
        ({"text.dropout": 0.1}, "text.dropout=0.1 cannot work: the sources are pictures"),
        ({"data.name": "dates", "data.source": ""}, "--data and --images exclude each other"),
        ({"image.patch": 3}, "image.patch=3 cannot work"),
    ],
)
def test_what_cannot_work_is_refused(
    folder: Path, tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    given = {key: value for key, value in (settings(folder) | more).items() if value != ""}
    with pytest.raises(ConfigError, match=message):
        go(given, tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.parametrize("arch", TINY)
def test_pictures_train_in_a_fixed_room_and_go_on(arch: str, folder: Path, tmp_path: Path) -> None:
    """Packed, as a GPU does it: several epochs, the last update of each filled up with empty batches."""
    given = settings(folder, arch, training__batches="packed", training__accumulate=3, data__max_length=20)
    whole = go(given, tmp_path / "whole")
    steps: list[int] = []
    stop = RunCallbacks(
        on_event=lambda event: steps.append(event["step"]) if event["type"] == "train" else None,
        interrupted=lambda: len(steps) == 3,
    )
    assert go(given, tmp_path / "broken", stop).reason == "signal"
    broken = go(given, tmp_path / "broken")
    assert (whole.steps, broken.steps) == (8, 8)
    one, other = (last_weights(done.folder) for done in (whole, broken))
    assert all(one[name].equal(other[name]) for name in one)
    assert whole.model.translate(str(folder / "images" / "0.png")).source.endswith("0.png")


@pytest.mark.parametrize("arch", TINY)
def test_pictures_in_a_fixed_room_and_in_exact_batches_learn_the_same(
    arch: str, folder: Path, tmp_path: Path
) -> None:
    """Two updates, each of all pairs and without dropout: only their order differs."""
    losses = []
    for batches in ("sorted", "packed"):
        given = settings(
            folder,
            arch,
            training__batches=batches,
            training__batch_tokens=4000,
            training__max_steps=2,
            model__dropout=0.0,
            training__metric="loss",
        )
        done = go(given, tmp_path / batches)
        lines = (done.folder / "metrics.jsonl").read_text().splitlines()
        events = [event for event in map(json.loads, lines) if event["type"] == "train"]
        losses.append([event[name] for event in events for name in ("loss", "grad_norm")])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def last_weights(folder: Path) -> dict[str, Any]:
    newest = sorted((folder / "checkpoints").glob("step-*"))[-1]
    return unpack((newest / "model.safetensors").read_bytes(), newest)


def test_a_gpu_packs_pictures_too() -> None:
    config = parse_config(nest({"data.images": "x"}), "x")
    assert packs(config, torch.device("cuda"))
    assert not packs(config, torch.device("cpu"))


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def test_the_commands_read_pictures(
    trained: TrainedRun, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    model = str(trained.folder)
    assert call("translate", "-m", model, "images/0.png", "images/1.png") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert call("translate", "-m", model, "images/none.png") == 3
    assert "no such picture" in capsys.readouterr().err
    words = ["-s", "captions.tsv", "--images", "images", "--metric", "exact", "--bootstrap", "0", "--json"]
    assert call("evaluate", "-m", model, *words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["metrics"]["exact"]["value"] >= 0
    assert call("check", "captions.tsv", "--images", "images") == 0
    assert "48 pairs" in capsys.readouterr().out
    assert call("check", "captions.tsv", "--images", "images", "--fix") == 2


def test_a_built_in_set_of_pictures_comes_with_the_package() -> None:
    from jumok.data.builtin import builtin_corpus, builtin_info

    info = builtin_info("emoji-captions")
    reader = PatchReader(32, 8)
    for split, size in info.sizes.items():
        pairs = list(builtin_corpus(info.name, split).pairs())
        assert len(pairs) == size
        assert len(reader.encode(pairs[0][0])) == 16
