"""After the last step: the mean of the last checkpoints, which is the run's model if it validates better."""

from dataclasses import replace

from jumok.checkpoint.checkpoints import average
from jumok.training.loop import Outcome
from jumok.training.state import LoopState
from jumok.training.work import RunWork


def averaged_if_better(work: RunWork, outcome: Outcome) -> Outcome:
    """The mean of the last checkpoints as the run's model, if it validates better than the best of them."""
    count = work.config.training.average
    if count < 2:
        return outcome
    score = work.world.first(lambda: score_of_average(work, outcome.state, count))
    state = (
        outcome.state
        if score is None
        else replace(outcome.state, best_score=score, best_step=outcome.state.step)
    )
    return replace(outcome, state=state)


def score_of_average(work: RunWork, state: LoopState, count: int) -> float | None:
    """What the mean of the last checkpoints scores if it is the best, and then it is kept; else None."""
    recent = work.checkpoints.recent(count)
    if len(recent) < 2:
        return None
    weights = average(recent)
    work.model.load_state_dict(weights, strict=False)  # the run has ended: its own weights are saved
    look = work.look()
    work.log({**look.event, "type": "valid", "step": state.step, "averaged": len(recent)})
    if state.best_score is not None and not look.score > state.best_score:  # also if it is no number
        return None
    better = replace(state, best_score=look.score, best_step=state.step)
    work.save_averaged(weights, better, len(recent))
    return look.score
