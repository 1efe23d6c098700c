"""The model that a run starts from: what comes with it, what is refused, and rows for new tokens."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import content_fingerprint, verify_folder
from jumok.config import DataConfig, TextConfig
from jumok.errors import ConfigError, ModelError
from jumok.export.model import export_model
from jumok.run.prepare import grown_tokenizers
from jumok.run.start import (
    CURVE,
    START,
    StartModel,
    check_source,
    grown_weights,
    inherited,
    kept_descent,
    kept_start,
    read_start,
    table_side,
    write_start,
)
from jumok.run.train import TrainedRun
from jumok.settings import nest, parse_config
from jumok.text.growth import parts_of
from jumok.text.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from jumok.text.tokenizer_form import TokenizerForm


def test_a_run_gives_its_best_model_and_its_curve(trained: TrainedRun) -> None:
    start = read_start(str(trained.folder))
    assert start.name == "run"
    assert start.config == load_model(trained.folder).config
    assert [look["step"] for look in start.curve] == [3, 6]
    assert {"loss", "bleu", "best"} <= start.curve[0].keys()
    (only,) = start.descent
    assert only["name"] == "run"
    assert only["sha256"] == content_fingerprint(start.loaded.folder)
    assert only["data"] == "train.src + train.tgt"
    checkpoint = read_start(str(start.loaded.folder))
    assert checkpoint.name == f"run/{start.loaded.folder.name}"
    assert checkpoint.curve == []


def test_settings_come_with_the_weights(trained: TrainedRun) -> None:
    start = read_start(str(trained.folder))
    theirs = inherited({"model.arch": "luong", "model.dropout": 0.5, "model.width": 16}, start)
    assert theirs["model.width"] == 16
    assert theirs["text.vocabulary"] == 300
    assert "model.dropout" not in theirs
    assert not [key for key in theirs if key.startswith(("training.", "data.", "start."))]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"model.arch": "transformer"},
            "--from FOLDER is a luong, and --arch transformer asks for another\n"
            "  leave --arch out: architecture and shapes come with the weights",
        ),
        (
            {"model.width": 32},
            "model.width=32 contradicts --from FOLDER: it has model.width=16\n"
            "  leave it out, and --preset too: shapes and tokenizer come with the weights; "
            "--extend-vocabulary adds tokens",
        ),
        (
            {"model.heads": 2},
            "model.heads=2 contradicts --from FOLDER: it has no such setting\n"
            "  leave it out, and --preset too: shapes and tokenizer come with the weights; "
            "--extend-vocabulary adds tokens",
        ),
        (
            {"text.vocabulary": 9000},
            "text.vocabulary=9000 contradicts --from FOLDER: it has text.vocabulary=300\n"
            "  leave it out, and --preset too: shapes and tokenizer come with the weights; "
            "--extend-vocabulary adds tokens",
        ),
    ],
)
def test_wishes_that_contradict_the_weights_are_refused(
    given: dict[str, Any], message: str, trained: TrainedRun
) -> None:
    with pytest.raises(ConfigError) as caught:
        inherited(given, read_start(str(trained.folder)))
    assert str(caught.value) == message.replace("FOLDER", str(trained.folder))


def test_pictures_and_text_are_not_the_same(trained: TrainedRun) -> None:
    start = read_start(str(trained.folder))
    config = parse_config(nest({"data.name": "emoji-captions", "start.model": "a"}))
    with pytest.raises(ConfigError) as caught:
        check_source(start, config)
    assert str(caught.value) == (
        f"--from {trained.folder} reads text, and the sources of the data are pictures\n"
        "  start from another model, or give other data"
    )
    check_source(start, parse_config(nest({"data.name": "dates", "start.model": "a"})))


def test_merges_cannot_be_left_out_of_a_tokenizer_that_is_not_ours(trained: TrainedRun) -> None:
    class Foreign(Tokenizer):
        """Reads as ours and is made otherwise."""

    start, foreign = read_start(str(trained.folder)), Foreign(TokenizerForm(("a",), (), "bpe"))
    start = replace(start, loaded=replace(start.loaded, tokenizers=Tokenizers(foreign, foreign)))
    with pytest.raises(ConfigError) as caught:
        check_source(start, parse_config(nest({"start.model": "a", "text.dropout": 0.1})))
    assert str(caught.value) == (
        f"text.dropout=0.1 cannot work: the tokenizer of --from {trained.folder} comes from another toolkit\n"
        "  set text.dropout to 0"
    )


def test_weights_of_int8_are_too_coarse(tmp_path: Path) -> None:
    export_model("demo/transformer", "native", tmp_path / "int8", type="int8", sentences=5)
    with pytest.raises(ModelError) as caught:
        read_start(str(tmp_path / "int8"))
    assert str(caught.value) == (
        f"{tmp_path / 'int8'} has int8 weights, which are too coarse to learn on from\n"
        f"  {tmp_path / 'int8'}\n  start from the model that it was made from"
    )
    with pytest.raises(ModelError, match="there is no model folder"):
        read_start(str(tmp_path / "nothing"))


def test_the_start_is_kept_in_the_run(trained: TrainedRun, tmp_path: Path) -> None:
    start = read_start(str(trained.folder))
    write_start(tmp_path, start, trained.config, start.tokenizers)
    assert verify_folder(tmp_path / START) == []
    kept, model = kept_start(tmp_path), dict(start.loaded.model.named_parameters())
    assert kept.keys() == model.keys()
    assert all(torch.equal(kept[name], model[name]) for name in kept)
    assert kept_descent(tmp_path) == start.descent
    curve = json.loads((tmp_path / START / CURVE).read_bytes())
    assert curve["name"] == "run"
    assert curve["looks"] == start.curve
    assert kept_descent(tmp_path / "elsewhere") == []
    again = read_start(str(tmp_path / START))  # a start is a model, and has parents itself
    assert [one["name"] for one in again.descent] == ["start", "run"]


def test_a_start_that_was_damaged_is_refused(trained: TrainedRun, tmp_path: Path) -> None:
    start = read_start(str(trained.folder))
    write_start(tmp_path, start, trained.config, start.tokenizers)
    file = tmp_path / START / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\0")
    with pytest.raises(ModelError, match="model.safetensors was changed: SHA-256"):
        kept_start(tmp_path)
    shutil.rmtree(tmp_path / START)
    with pytest.raises(ModelError, match="MANIFEST.json is missing"):
        kept_start(tmp_path)


def test_rows_of_new_tokens_are_the_mean_of_their_parts(trained: TrainedRun) -> None:
    loaded = read_start(str(trained.folder)).loaded
    grown = grown_tokenizers(loaded.tokenizers, lambda: iter([("größer", "über")] * 9), 12)
    assert loaded.tokenizers.target.size < grown.target.size <= loaded.tokenizers.target.size + 12
    before, after = dict(loaded.model.named_parameters()), grown_weights(loaded, grown)
    old, new = loaded.tokenizers.target, grown.target
    for name, tensor in after.items():
        count = len(before[name])
        torch.testing.assert_close(tensor[:count], before[name].detach())
        if not table_side(name):
            assert len(tensor) == count
            continue
        for row, parts in zip(tensor[count:], parts_of(old, new), strict=True):
            torch.testing.assert_close(row, before[name].detach()[parts].mean(0))
    assert {name for name in after if len(after[name]) > len(before[name])} == {"target_embedding.weight"}


def test_each_side_grows_by_its_own_text() -> None:
    config = TextConfig(vocabulary=300, kind="char")
    both = Tokenizers(train_tokenizer(["ab"], config), train_tokenizer(["cd"], config))
    grown = grown_tokenizers(both, lambda: iter([("ax", "cy")]), 5)
    assert isinstance(grown.source, Tokenizer)
    assert grown.source.pieces([both.source.size]) == ["x"]
    assert grown.target.pieces([both.target.size]) == ["y"]


def test_tables_are_told_by_their_names() -> None:
    assert table_side("source_embedding.weight") == "source"
    assert {table_side(name) for name in ("target_embedding.weight", "output.weight", "logits_bias")} == {
        "target"
    }
    assert table_side("decoder.0.cross.output.linear.weight") == ""


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("runs/de-en", "de-en"),
        ("runs/de-en/checkpoints/step-00000012", "de-en/step-00000012"),
        ("demo/luong", "demo/luong"),
        ("models/demo/", "demo"),
    ],
)
def test_a_start_is_called_by_its_run_and_tells_what_it_descends_from(asked: str, name: str) -> None:
    def descent(data: dict[str, str], **info: Any) -> list[dict[str, Any]]:
        config = SimpleNamespace(data=DataConfig(**data))
        return StartModel(asked, cast("Any", SimpleNamespace(info=info, config=config))).descent

    here = {"name": name, "sha256": "ab"}
    assert descent({}, fingerprint="ab", score=None) == [here]
    before = [{"name": "first"}]
    info: dict[str, Any] = {"fingerprint": "ab", "step": 0, "metric": "bleu", "score": 1.5, "best": True}
    found = descent({"name": "dates", "source": "x/a.de", "target": "y/a.en"}, **info, descends_from=before)
    about = {"step": 0, "metric": "bleu", "score": 1.5, "data": "dates + a.de + a.en"}
    assert found == [here | about, *before]
    assert descent({}, fingerprint="ab", descends_from="not a list") == [here]
