"""One run of several corpora from end to end: it goes on where it stopped, and measures every direction."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.cli.main import cli
from jumok.errors import ConfigError
from jumok.explain.ops import mask_head
from jumok.model import Model, load
from jumok.run.train import RunCallbacks, RunRequest, run
from jumok.training.log import read_events
from tests.run.test_mixture import write

TINY = {
    "model.arch": "transformer",
    "model.width": 16,
    "model.heads": 2,
    "model.feedforward": 32,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "text.vocabulary": 320,
    "text.dropout": 0.1,
    "data.hold_out": 30,
    "data.max_length": 64,
    "training.batch_tokens": 600,
    "training.max_steps": 24,
    "training.warmup": 1,
    "training.validate_every": 8,
    "training.save_every": 8,
    "training.valid_sentences": 12,
    "decoding.max_len": 8,
}


def given(folder: Path) -> dict[str, Any]:
    pairs = write(folder, "de-en.tsv", range(1000, 1150), "de", "en")
    others = write(folder, "fr-en.tsv", range(1200, 1260), "fr", "en")
    text = write(folder, "news.en", range(3000, 3050), "en")
    corpora = [f"{pairs}:de-en:both:1", f"{others}:fr-en:3", f"{text}:en:denoise:0.5"]
    return TINY | {"data.corpora": corpora}


def trained(settings: dict[str, Any], out: Path, stop: int | None = None) -> bytes:
    """The weights at the end; with `stop` the run is stopped after so many steps, and goes on."""
    steps = [0]
    for last in (stop, None):
        callbacks = RunCallbacks(
            on_step=lambda state, tokens: steps.append(state.step),
            interrupted=lambda last=last: last is not None and steps[-1] >= last,  # type: ignore[misc]
        )
        run(RunRequest(given=settings, out=out, device="cpu"), callbacks)
        if stop is None:
            break
    newest = checkpoint_folders(out)
    return (newest[max(newest)] / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run, in `whole`."""
    made = tmp_path_factory.mktemp("several")
    trained(given(made), made / "whole")
    return made


def test_stopping_and_going_on_equals_never_having_stopped(folder: Path) -> None:
    whole = checkpoint_folders(folder / "whole")
    weights = (whole[max(whole)] / "model.safetensors").read_bytes()
    assert trained(given(folder), folder / "stopped", stop=11) == weights


def test_other_weights_are_another_run(folder: Path) -> None:
    settings = given(folder)
    settings["data.corpora"] = [
        *settings["data.corpora"][:2],
        settings["data.corpora"][2].replace("0.5", "2"),
    ]
    with pytest.raises(ConfigError, match=r"was started with data.corpora=\['"):
        run(RunRequest(given=settings, out=folder / "whole", device="cpu"), RunCallbacks())


def test_every_direction_is_measured(folder: Path) -> None:
    looks = [event for event in read_events(folder / "whole" / "metrics.jsonl") if event["type"] == "valid"]
    names = ["de→en", "en→de", "fr→en"]
    for look in looks:
        assert sorted(look["directions"]) == names
        each = [look["directions"][name] for name in names]
        assert look["chrf"] == pytest.approx(sum(one["chrf"] for one in each) / 3)
        assert all(one["loss"] > 0 for one in each)
    card = (folder / "whole" / "checkpoints" / "step-00000024" / "README.md").read_text(encoding="utf-8")
    best = json.loads((folder / "whole" / "checkpoints" / "step-00000024" / "config.json").read_text())
    assert 'model.translate("...", to="en")' in card
    if "directions" in best["info"]:
        assert "| fr→en |" in card


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder / "whole")


def test_the_model_is_asked_for_a_language(model: Model, folder: Path) -> None:
    assert [str(one) for one in model.directions] == ["de→en", "en→de", "fr→en"]
    words = ["translate", "-m", str(folder / "whole"), "--to", "de", "one two <2en> three"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0
    assert done.stdout.rstrip("\n") == model.translate("one two <2en> three", to="de").text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "this model translates into de, en: say which"),
        (["--to", "ko"], "to='ko': this model has no such language"),
        (["--to", "de", "--from", "fr"], "this model does not translate from fr into de"),
    ],
)
def test_what_is_missing_is_told(folder: Path, words: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CliRunner().invoke(
            cli, ["translate", "-m", str(folder / "whole"), *words, "one"], catch_exceptions=False
        )


def test_traced_translations_have_the_direction(model: Model) -> None:
    found = model.translate("one two", to="de", attention=True)
    assert found.text == model.translate("one two", to="de").text
    facing = model.towards("de")
    assert facing.gradients("one two", "eins zwei").to_dict()["target"] == "eins zwei"
    edited = model.edit(mask_head("cross", 0, 0)).towards("de")
    for one in (facing, edited):
        assert one.trace("one two").manifest["source"]["tokens"][0]["piece"] == "<2de>"


def test_evaluate_reports_each_direction(folder: Path) -> None:
    test = write(folder, "test.tsv", range(7000, 7010), "de", "en")
    words = ["evaluate", "-m", str(folder / "whole"), "--data", f"{test}:de-en:both", "--json"]
    done = CliRunner().invoke(cli, [*words, "--bootstrap", "0", "--metric", "chrf"])
    assert done.exit_code == 0
    names = [one["model"] for one in json.loads(done.stdout)["evaluations"]]
    assert names == ["whole de→en", "whole en→de"]
