"""The mean of the last checkpoints: kept if it is better, and then what the run stands for."""

from pathlib import Path

from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import AVERAGED
from tests.run.conftest import quick_settings
from tests.run.test_train import events_of, go


def test_an_average_that_is_better_is_the_runs_model(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = go(quick_settings(corpus, training__average=2, training__metric="loss"), out)
    (look,) = [event for event in events_of(out, "valid") if "averaged" in event]
    best = min(event["loss"] for event in events_of(out, "valid") if "averaged" not in event)
    assert look["averaged"] == 2
    assert (out / AVERAGED).is_dir() == (look["loss"] < best)
    assert done.score == -min(look["loss"], best)
    assert load_model(out).info["score"] == -done.score


def test_a_run_that_wants_none_makes_none(corpus: Path, tmp_path: Path) -> None:
    go(quick_settings(corpus), tmp_path / "run")
    assert not [event for event in events_of(tmp_path / "run", "valid") if "averaged" in event]
    assert not (tmp_path / "run" / AVERAGED).exists()
