"""The training loop: decides when to step, log, validate, save and stop. How comes in as callables.

It opens no file and knows no model, so its test needs neither; whoever wants another loop copies this page.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from jumok.config import TrainingConfig
from jumok.data.sampler import Cursor
from jumok.errors import RunError
from jumok.training.schedule import learning_rate
from jumok.training.state import LoopState
from jumok.training.step import StepResult

Event = Mapping[str, Any]
SKIPS_IN_A_ROW = 3
SKIPS_WINDOW, SKIPS_SHARE = 1000, 0.01
SAVES_IN_A_ROW = 3


@dataclass(frozen=True)
class Validation:
    """One look at the validation set: the score that decides, the loss that breaks ties, all figures."""

    score: float  # higher is better
    loss: float
    event: Event


class Work(Protocol):
    """How the loop's decisions are carried out."""

    def batches(self, cursor: Cursor) -> Iterator[tuple[NDArray[Any], Cursor]]: ...
    def step(self, rows: NDArray[Any], state: LoopState, lr: float) -> tuple[StepResult, int]: ...
    def validate(self, state: LoopState) -> Validation: ...
    def save(self, state: LoopState, *, best: bool) -> None: ...
    def log(self, event: Event) -> None: ...


Reason = Literal["max_steps", "time_limit", "no_better", "signal"]


@dataclass(frozen=True)
class Outcome:
    """Where the loop ended and why."""

    state: LoopState
    reason: Reason


def fit(
    work: Work,
    config: TrainingConfig,
    state: LoopState,
    *,
    clock: Callable[[], float],
    interrupted: Callable[[], bool],
) -> Outcome:
    """Train from `state` until the steps, the time or the patience run out, or someone interrupts."""
    began = clock() - state.elapsed
    window = Window(clock())
    failed_saves, first, saved = 0, state.step, state

    def share_done() -> float:
        by_time = state.elapsed / config.time_limit if config.time_limit else 0.0
        return max(by_time, state.step / config.max_steps)

    def save(state: LoopState) -> int:
        try:
            work.save(state, best=state.is_best)
        except RunError as error:
            if error.code not in ("disk_full", "io_error") or failed_saves + 1 >= SAVES_IN_A_ROW:
                raise
            work.log(notice(state.step, "warning", error.code, str(error)))
            return failed_saves + 1
        return 0

    reason: Reason | None = None
    for rows, cursor in work.batches(state.cursor):
        if reason := stop_reason(state, config, interrupted):
            break
        lr = learning_rate(state.step + 1, share_done(), config)
        result, parts = work.step(rows, state, lr)
        state = replace(state.at(cursor), step=state.step + 1, parts=parts, elapsed=clock() - began)
        state = after_skip(state, result, work.log)
        window.add(result)
        if state.step % config.log_every == 0 and window.tokens:
            work.log(window.event(state, lr, clock()))
            window = Window(clock())
        better, saved_due = False, state.step % config.save_every == 0
        if state.step % config.validate_every == 0:
            state, better = validated(work, state)
            state = replace(state, elapsed=clock() - began)
            window = Window(clock())
        if better or saved_due:
            failed_saves = save(state)
            saved = saved if failed_saves else state
    assert reason is not None  # the batches never end
    if state.step > first and reason != "signal" and state.step % config.validate_every:
        state, _ = validated(work, state)
    if state != saved:
        work.save(state, best=state.is_best)  # there is no next time: a failure ends the run
    return Outcome(state, reason)


def stop_reason(state: LoopState, config: TrainingConfig, interrupted: Callable[[], bool]) -> Reason | None:
    """Why not to take another step."""
    if interrupted():
        return "signal"
    if state.step >= config.max_steps:
        return "max_steps"
    if config.time_limit and state.elapsed >= config.time_limit:
        return "time_limit"
    if config.patience and state.since_best >= config.patience:
        return "no_better"
    return None


def validated(work: Work, state: LoopState) -> tuple[LoopState, bool]:
    """The state after a look at the validation set, and whether it is the best so far."""
    look = work.validate(state)
    # Early on every BLEU is 0: the loss then decides, so that a slow start is not taken for a standstill.
    before = None if state.best_score is None else (state.best_score, -(state.best_loss or 0.0))
    better = before is None or (look.score, -look.loss) > before
    if better:
        state = replace(state, best_score=look.score, best_loss=look.loss, best_step=state.step, since_best=0)
    else:
        state = replace(state, since_best=state.since_best + 1)
    work.log({**look.event, "type": "valid", "step": state.step, "epoch": state.epoch, "best": better})
    return state, better


def after_skip(state: LoopState, result: StepResult, log: Callable[[Event], None]) -> LoopState:
    """Remember a skipped step, and stop a run that skips too many."""
    if not result.skipped:
        return state
    recent = tuple(step for step in state.skipped if step > state.step - SKIPS_WINDOW)
    state = replace(state, skipped=(*recent, state.step))
    what = f"loss {result.loss}, gradient norm {result.grad_norm}: no weight was changed"
    log(notice(state.step, "warning", "nan_skipped", what))
    in_a_row = state.skipped[-SKIPS_IN_A_ROW:] == tuple(
        range(state.step - SKIPS_IN_A_ROW + 1, state.step + 1)
    )
    if in_a_row or len(state.skipped) > SKIPS_SHARE * SKIPS_WINDOW:
        raise RunError(
            f"the numbers stopped being finite: {len(state.skipped)} steps skipped up to step {state.step}",
            hint="lower training.lr, lengthen training.warmup or set training.clip; "
            "the last checkpoint is good",
            code="diverged",
        )
    return state


def notice(step: int, level: str, code: str, message: str) -> Event:
    return {"type": "notice", "step": step, "level": level, "code": code, "message": message}


class Window:
    """Sums over the steps since the last log line."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.loss = self.nll = self.grad_norm = nan
        self.tokens = self.sentences = self.skipped = 0

    def add(self, result: StepResult) -> None:
        self.skipped += result.skipped
        self.loss, self.nll, self.grad_norm = result.loss, result.nll, result.grad_norm
        self.tokens += result.tokens
        self.sentences += result.sentences

    def event(self, state: LoopState, lr: float, now: float) -> Event:
        """The last step's loss in full digits, and rates over the whole window."""
        seconds = max(now - self.began, 1e-9)
        return {
            "type": "train",
            "step": state.step,
            "epoch": state.epoch,
            "loss": self.loss,
            "nll": self.nll,
            "lr": lr,
            "grad_norm": self.grad_norm,
            "tokens_per_s": round(self.tokens / seconds, 1),
            "sentences_per_s": round(self.sentences / seconds, 1),
            "skipped_steps": self.skipped,
            "elapsed_s": round(state.elapsed, 3),
        }
