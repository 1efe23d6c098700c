"""Going on with another validation text: the old best score no longer stands in the way."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import AVERAGED
from jumok.run.rejudge import judged_anew, judged_by, set_average_aside
from jumok.run.train import TrainedRun
from jumok.settings import parse_config
from jumok.training.state import LoopState
from tests.run.conftest import quick_settings, write_corpus
from tests.run.test_train import events_of, go


def test_a_copied_run_on_new_data_is_compared_on_the_new_data(trained: TrainedRun, tmp_path: Path) -> None:
    """What once was the only way to teach a model more: the folder went on loading the untouched old step."""
    out = tmp_path / "run"
    shutil.copytree(trained.folder, out)
    shutil.copytree(load_model(out).folder, out / AVERAGED)  # an average with the best score of all
    new = write_corpus(tmp_path, pairs=300)
    (new / "train.tgt").write_text("".join(f"{n % 7}\n" for n in range(300)), encoding="utf-8")
    given = quick_settings(new, training__max_steps=12, training__metric="bleu")
    done = go(given, out, allow_data_change=True)
    valid = [event for event in events_of(out, "valid") if event["step"] >= 6]
    assert [event["step"] for event in valid][1:] == [6, 9, 12]  # the first is the one of before
    assert valid[1]["best"]
    (told,) = [event for event in events_of(out, "notice") if event["code"] == "judged_anew"]
    assert "no longer counts" in told["message"]
    assert "beginning with step 6 as it is" in told["message"]
    assert done.score == max(event["bleu"] for event in valid[1:])
    assert load_model(out).info["step"] in (6, 9, 12)
    assert (out / f"{AVERAGED}-before-step-6").is_dir()
    assert not (out / AVERAGED).exists()


def test_the_same_validation_text_keeps_the_best(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    given = dict(quick_settings(trained.folder.parent), **{"training.max_steps": 7})
    go(given, tmp_path / "run")
    assert not [event for event in events_of(tmp_path / "run", "notice") if event["code"] == "judged_anew"]


def test_fewer_sentences_are_another_validation(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    more = {"training.max_steps": 7, "training.valid_sentences": 3}
    go(dict(quick_settings(trained.folder.parent), **more), tmp_path / "run")
    assert [event["code"] for event in events_of(tmp_path / "run", "notice")] == ["judged_anew"]


@pytest.mark.parametrize(("metric", "score"), [("bleu", 15.15), ("loss", -15.15)])
def test_the_old_score_is_named(metric: str, score: float, trained: TrainedRun) -> None:
    from dataclasses import replace

    config = replace(trained.config, training=replace(trained.config.training, metric=metric))  # type: ignore[arg-type]
    assert judged_anew(LoopState(step=1200, best_score=score, best_step=1000), config) == (
        "the validation text is not the one that earlier scores are of; the best of before, "
        f"{metric} 15.15 at step 1,000, no longer counts. The best is now compared on the new text, "
        "beginning with step 1,200 as it is"
    )
    assert "of before" not in judged_anew(LoopState(step=5), config)


def test_a_run_without_an_average_has_none_to_set_aside(tmp_path: Path) -> None:
    set_average_aside(tmp_path, 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("metric", "score", "told"),
    [
        ("bleu", 31.25, "; the best of before, bleu 31.25 at step 12,000, no longer counts"),
        ("loss", -1.5, "; the best of before, loss 1.50 at step 12,000, no longer counts"),
        ("bleu", None, ""),
    ],
)
def test_what_no_longer_counts_is_said(metric: str, score: float | None, told: str) -> None:
    before = LoopState(step=13_000, best_score=score, best_step=12_000)
    assert judged_anew(before, parse_config({"training": {"metric": metric}})) == (
        f"the validation text is not the one that earlier scores are of{told}. The best is now compared on "
        "the new text, beginning with step 13,000 as it is"
    )


def test_scores_are_of_a_text_and_of_how_much_of_it_is_translated() -> None:
    prepared: Any = SimpleNamespace(valid=SimpleNamespace(fingerprint="ab"))
    assert judged_by(prepared, parse_config({"training": {"valid_sentences": 7}})) == "ab/7"
