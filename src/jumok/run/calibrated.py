"""The last thing a run does: its model learns from the validation set how sure it may be of its words."""

from typing import Any

from jumok.decoding.translator import load
from jumok.errors import Error
from jumok.evaluation.calibrate import calibrate_sets
from jumok.text.marks import is_question
from jumok.training.by_direction import facing, grouped
from jumok.training.loop import notice
from jumok.training.step import is_out_of_memory
from jumok.training.work import RunWork

MOST = 1000
"""Validation sentences that are looked at: more take longer and change little."""


def calibrate_run(work: RunWork, step: int) -> None:
    """Calibrate the model that the run stands for. What goes wrong is a notice: the model itself is saved.

    A validation set that is too small to learn from is left alone, without a word.
    """
    work.world.first(lambda: calibrate_best(work, step))


def calibrate_best(work: RunWork, step: int) -> None:
    pairs = work.prepared.valid_pairs[:MOST]
    ways = work.ways(len(pairs))
    options: dict[str, Any] = {"long": "cut"} if any(is_question(source) for source, _ in pairs) else {}
    try:
        translator = load(work.checkpoints.run, str(work.device))
        sets = [
            (facing(translator, way), [pairs[i][0] for i in places], [pairs[i][1] for i in places])
            for way, places in grouped(ways).items()
        ]
        calibrate_sets(sets, **options)
    except Error as error:
        if error.code != "too_few":
            work.log(notice(step, "warning", error.code, f"confidence is not calibrated: {error.message}"))
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        work.log(notice(step, "warning", "out_of_memory", "confidence is not calibrated: out of memory"))
