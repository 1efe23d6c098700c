"""The mean of models' weights: exact, whole on disk, and refused where there is none."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import LINES, TINY, untrained

from jumok.checkpoint.averaging import AverageReport, average_models, cosine, info_of, rounded
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import verify_folder
from jumok.checkpoint.model import save_model
from jumok.config import ModelConfig, TextConfig
from jumok.decoding.translator import load
from jumok.errors import ConfigError, ModelError, RunError
from jumok.text.tokenizer import Tokenizers, train_tokenizer


def make(place: Path, seed: int, model: ModelConfig = TINY["transformer"], **about: Any) -> Path:
    """A sibling: the same start, moved a little by its seed."""
    loaded = untrained(model)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.add_(0.05 * seed * torch.randn_like(parameter))
    tokenizers = about.pop("tokenizers", loaded.tokenizers)
    info = {"step": seed, "score": 2.0, "license": "cc0-1.0", **about}
    return save_model(place, loaded.model.state_dict(), loaded.config, tokenizers, info)


@pytest.fixture(scope="module")
def siblings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("siblings")
    return [make(place / f"s{seed}", seed) for seed in range(1, 4)]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_model(folder).model.state_dict()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.lists(st.integers(0, 2), min_size=2, max_size=5))
def test_every_tensor_is_the_mean_in_any_order(
    siblings: list[Path], tmp_path: Path, chosen: list[int]
) -> None:
    out = tmp_path / "mean"
    report = average_models([siblings[n] for n in chosen], out, overwrite=True)
    found, parts = weights(out), [weights(siblings[n]) for n in chosen]
    for name, tensor in found.items():
        wanted = torch.stack([part[name].double() for part in parts]).mean(0).float()
        torch.testing.assert_close(tensor, wanted, atol=1e-7, rtol=1e-6)
    assert report.members == tuple(f"s{n + 1}" for n in chosen)
    assert report.alike
    assert verify_folder(out) == []
    average_models([siblings[n] for n in sorted(chosen)], tmp_path / "sorted", overwrite=True)
    for name, tensor in weights(tmp_path / "sorted").items():
        torch.testing.assert_close(tensor, found[name], atol=1e-7, rtol=1e-6)


def test_the_mean_of_a_model_with_itself_is_that_model_bit_for_bit(
    siblings: list[Path], tmp_path: Path
) -> None:
    average_models([siblings[0]] * 3, tmp_path / "same")
    before = weights(siblings[0])
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(tmp_path / "same").items())
    text = "a man rides a horse."
    assert load(tmp_path / "same").translate(text).text == load(siblings[0]).translate(text).text


def test_progress_counts_the_models(siblings: list[Path], tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    average_models(siblings, tmp_path / "mean", progress=lambda *report: told.append(report))
    assert told == [("averaging", done, 3) for done in (1, 2, 3)]


def test_the_card_says_what_it_is_made_of(siblings: list[Path], tmp_path: Path) -> None:
    other = make(tmp_path / "other", 2, license="mit")
    average_models([siblings[0], other], tmp_path / "mean")
    info = load(tmp_path / "mean").info
    marks = [load(folder).info["fingerprint"] for folder in (siblings[0], other)]
    assert info["averaged"] == [
        {"name": "s1", "fingerprint": marks[0]},
        {"name": "other", "fingerprint": marks[1]},
    ]
    assert {"step", "score", "license"}.isdisjoint(info)  # of one model, or not the same in both
    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    assert f"| mean_of | s1 ({marks[0][:12]}), other ({marks[1][:12]}) |" in card


def test_models_that_were_trained_apart_are_told(siblings: list[Path], tmp_path: Path) -> None:
    loaded = untrained(TINY["transformer"])
    torch.manual_seed(77)
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    apart = save_model(tmp_path / "apart", loaded.model.state_dict(), loaded.config, loaded.tokenizers, {})
    report = average_models([siblings[0], apart], tmp_path / "mean")
    assert abs(report.likeness) < 0.2
    assert not report.alike
    assert report.to_dict()["alike"] is False
    same = {"a": torch.eye(3).double().numpy()}
    assert cosine(same, same) == pytest.approx(1.0)


def refusal(*models: Path, out: Path) -> str:
    with pytest.raises(ModelError) as caught:
        average_models(models, out)
    assert not out.exists()
    return str(caught.value)


def test_other_shapes_are_refused(siblings: list[Path], tmp_path: Path) -> None:
    hint = "\n  average checkpoints of one run or models fine-tuned from one; others can be an ensemble: -m "
    wide = make(tmp_path / "wide", 1, replace(TINY["transformer"], feedforward=40))
    assert refusal(siblings[0], wide, out=tmp_path / "mean") == (
        f"{siblings[0]} and {wide} cannot be averaged: model.feedforward is 32 in one and 40 in the other"
        f"{hint}{siblings[0]}+{wide}"
    )
    rnn = make(tmp_path / "rnn", 1, TINY["rnn"])
    assert "model.arch is transformer in one and rnn in the other" in refusal(
        siblings[0], rnn, out=tmp_path / "mean"
    )


def test_other_tensors_are_refused_although_the_settings_are_the_same(
    siblings: list[Path], tmp_path: Path
) -> None:
    loaded, tensors = load_model(siblings[0]), weights(siblings[1])
    name = next(iter(tensors))
    for number, changed in enumerate(
        (tensors | {name: tensors[name][:-1]}, {**tensors, "more": torch.ones(2)})
    ):
        other = save_model(tmp_path / f"{number}", changed, loaded.config, loaded.tokenizers, {})
        said = refusal(siblings[0], other, out=tmp_path / "mean")
        assert said.startswith(f"{siblings[0]} and {other} cannot be averaged: in the second ")
        assert ("more" if number else name) in said.split("\n")[0]


def test_other_vocabularies_are_refused(siblings: list[Path], tmp_path: Path) -> None:
    other = train_tokenizer([line.replace("a", "b") for line in LINES], TextConfig(vocabulary=330))
    strange = make(tmp_path / "strange", 1, tokenizers=Tokenizers(other, other))
    text = refusal(siblings[0], strange, out=tmp_path / "mean")
    assert "their vocabularies differ: 330 target tokens with SHA-256 " in text
    assert text.endswith(
        f" and 330 target tokens with SHA-256 {other.fingerprint[:12]}…\n"
        "  average checkpoints of one run or models fine-tuned from one"  # an ensemble is no way out
    )


def test_dropout_is_no_part_of_the_shape(siblings: list[Path], tmp_path: Path) -> None:
    other = make(tmp_path / "dropped", 1, replace(TINY["transformer"], dropout=0.4))
    assert average_models([siblings[0], other], tmp_path / "mean").tensors > 10


def test_an_int8_folder_is_refused(tmp_path: Path) -> None:
    from jumok.export.model import export_model

    export_model("demo/transformer", "native", tmp_path / "int8", type="int8", sentences=5)
    assert refusal(Path("demo/transformer"), tmp_path / "int8", out=tmp_path / "mean").startswith(
        "int8 is an int8 folder: its weights are rounded, and their mean would be of no use"
    )


def test_nothing_is_written_over(siblings: list[Path], tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine", encoding="utf-8")
    for overwrite, message in (
        (False, "exists\n  choose another folder, or add --over"),
        (True, "is not a mo"),
    ):
        with pytest.raises(ConfigError, match=message):
            average_models(siblings, tmp_path / "taken", overwrite=overwrite)
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["mine.txt"]
    with pytest.raises(ConfigError, match="is one of the models\n  choose another folder for their mean"):
        average_models(siblings, siblings[1], overwrite=True)
    with pytest.raises(ConfigError, match="there is nothing to average\n  name two or more model folders"):
        average_models(siblings[:1], tmp_path / "mean")
    with pytest.raises(ModelError, match="there is no model folder /no/such"):
        average_models([siblings[0], "/no/such"], tmp_path / "mean")


def test_likeness_is_the_cosine_of_all_matrices_together() -> None:
    """Biases and gains, which are near a constant in every model, say nothing."""
    one = {"a": np.array([[3.0, 0.0]]), "b": np.array([[0.0], [4.0]]), "bias": np.array([9.0, 9.0])}
    other = {
        "a": np.array([[3.0, 4.0]], np.float32),
        "b": np.array([[0.0], [0.0]], np.float32),
        "bias": np.array([-9.0, 9.0], np.float32),
    }
    assert cosine(one, other) == pytest.approx(9 / (5 * 5))
    assert cosine(one, {**other, "a": np.zeros((1, 2), np.float32)}) == 1.0  # nothing to compare
    assert cosine({"bias": one["bias"]}, other) == 1.0


@pytest.mark.parametrize(("likeness", "alike"), [(0.5, True), (0.4999, False), (-1.0, False)])
def test_weights_with_a_cosine_of_a_half_are_alike(likeness: float, *, alike: bool) -> None:
    report = AverageReport(Path("a/mean"), ("x", "y"), 3, 40, likeness)
    assert report.to_dict() == {
        **{"folder": "a/mean", "members": ("x", "y"), "tensors": 3, "numbers": 40},
        **{"likeness": likeness, "alike": alike},
    }


def test_the_least_alike_is_told_whichever_it_is(siblings: list[Path], tmp_path: Path) -> None:
    pairs = [average_models([siblings[0], other], tmp_path / other.name).likeness for other in siblings[1:]]
    assert pairs[1] < pairs[0] < 1  # the third went further
    report = average_models([siblings[n] for n in (0, 2, 0)], tmp_path / "three")
    assert report.likeness == pytest.approx(pairs[1])
    state = weights(siblings[0])
    assert (report.tensors, report.numbers) == (len(state), sum(one.numel() for one in state.values()))


def test_a_mean_that_is_no_number_is_not_saved() -> None:
    assert rounded("a", np.array([0.1])).dtype == np.float32
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(RunError, match="a has numbers that are not finite\n  nothing was saved"):
            rounded("a", np.array([1.0, wrong]))


def test_what_all_say_alike_is_said_of_the_mean() -> None:
    said: list[dict[str, Any]] = [
        {"license": "mit", "metric": "bleu", "step": 5, "score": 1.0, "best": True, "parameters": 3},
        {"license": "mit", "metric": "chrf", "step": 5, "score": 1.0, "best": True, "parameters": 3, "x": 1},
    ]
    for info, mark in zip(said, "ab", strict=True):
        info["fingerprint"] = mark * 64
    members: list[Any] = [SimpleNamespace(info=info) for info in (*said, {"license": "mit"})]
    assert info_of(["one", "two", "three"], members) == {
        "license": "mit",
        "averaged": [
            {"name": "one", "fingerprint": "a" * 64},
            {"name": "two", "fingerprint": "b" * 64},
            {"name": "three", "fingerprint": ""},
        ],
        "mean_of": f"one ({'a' * 12}), two ({'b' * 12}), three ()",
    }
