"""Scores compare only on one validation text: what becomes of the best when a run goes on with another."""

import os
from pathlib import Path

from jumok.checkpoint.manifest import AVERAGED
from jumok.config import FALLING, RunConfig
from jumok.run.prepare import Prepared
from jumok.training.state import LoopState


def judged_by(prepared: Prepared, config: RunConfig) -> str:
    """What the scores of a run are of: the validation text, and how much of it is translated."""
    return f"{prepared.valid.fingerprint}/{config.training.valid_sentences}"


def judged_anew(before: LoopState, config: RunConfig) -> str:
    """What a run says that goes on with another validation text."""
    metric, score = config.training.metric, before.best_score
    was = ""
    if score is not None:
        value = -score if metric in FALLING else score
        was = f"; the best of before, {metric} {value:.2f} at step {before.best_step:,}, no longer counts"
    return (
        f"the validation text is not the one that earlier scores are of{was}. The best is now compared on "
        f"the new text, beginning with step {before.step:,} as it is"
    )


def set_average_aside(run: Path, step: int) -> None:
    """An average of checkpoints was the best on the old text: it is kept under another name."""
    if (run / AVERAGED).is_dir():
        os.rename(run / AVERAGED, run / f"{AVERAGED}-before-step-{step}")
