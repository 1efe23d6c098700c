"""The training loop: decides when to step, log, validate, save and stop. How comes in as callables.

It opens no file and knows no model, so its test needs neither; whoever wants another loop copies this page.

Reading a number from a GPU means to wait. So what a step gives is read when someone is told of it: with
a line of the log, a validation or a checkpoint. On a CPU there is nothing to wait for: all is read at once.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Literal, Protocol, TypeVar

from jumok.config import TrainingConfig
from jumok.data.sampler import Cursor
from jumok.errors import RunError
from jumok.training.schedule import learning_rate
from jumok.training.state import LoopState
from jumok.training.step import StepNumbers, StepResult

Event = Mapping[str, Any]
B = TypeVar("B")  # what one update reads; the loop only hands it on
SKIPS_IN_A_ROW = 3
SKIPS_WINDOW, SKIPS_SHARE = 1000, 0.01
SAVES_IN_A_ROW = 3
UNREAD = 64  # steps at most that a GPU is behind: the clock, and who interrupts, are those of the host
FIRST_LOOK = 10  # the first of the early looks at the validation set


@dataclass(frozen=True)
class Validation:
    """One look at the validation set: the score that decides, the loss that breaks ties, all figures."""

    score: float  # higher is better
    loss: float
    event: Event


class Work(Protocol[B]):
    """How the loop's decisions are carried out."""

    def batches(self, state: LoopState) -> Generator[tuple[B, Cursor], None, None]: ...
    def step(self, batch: B, state: LoopState, lr: float) -> tuple[StepResult, int]: ...
    def validate(self, state: LoopState) -> Validation: ...
    def save(self, state: LoopState, *, best: bool) -> None: ...
    def log(self, event: Event) -> None: ...


OnStep = Callable[[LoopState, int], None]
Reason = Literal["max_steps", "time_limit", "no_better", "signal"]


@dataclass(frozen=True)
class Outcome:
    """Where the loop ended and why."""

    state: LoopState
    reason: Reason


def fit(
    work: Work[B],
    config: TrainingConfig,
    state: LoopState,
    *,
    clock: Callable[[], float],
    interrupted: Callable[[], bool],
    on_step: OnStep = lambda state, tokens: None,
) -> Outcome:
    """Train from `state` until the steps, the time or the patience run out, or someone interrupts.

    `on_step` hears of every update, and of the tokens in it; it waits for nothing.
    """
    began = clock() - state.elapsed
    window = Window(clock())
    failed_saves, first, saved = 0, state.step, state
    reason: Reason | None = None
    with closing(work.batches(state)) as batches:
        for batch, cursor in batches:
            if reason := stop_reason(state, config, interrupted):
                break
            lr = learning_rate(state.step + 1, share_done(state, config), config)
            result, parts = work.step(batch, state, lr)
            state = replace(state.at(cursor), step=state.step + 1, parts=parts, elapsed=clock() - began)
            window.add(state.step, result)
            on_step(state, result.tokens)
            log_due, validation_due = is_due(state.step, config.log_every), looks_at(state.step, config)
            save_due = state.step % config.save_every == 0
            behind = reads_at_once(result) or len(window.unread) >= UNREAD
            if log_due or validation_due or save_due or behind:
                state = after_reading(state, window, work.log)
            if log_due and window.tokens:
                work.log(window.event(state, lr, clock()))
                window = Window(clock())
            better = False
            if validation_due:
                state, better = validated(work, state)
                state = replace(state, elapsed=clock() - began)
                window = Window(clock())
            if better or save_due:
                failed_saves = save(work, state, failed_saves)
                saved = saved if failed_saves else state
    assert reason is not None  # the batches never end
    state = after_reading(state, window, work.log)
    if state.step > first and reason != "signal" and not looks_at(state.step, config):
        state, _ = validated(work, state)
    if state != saved:
        work.save(state, best=state.is_best)  # there is no next time: a failure ends the run
    return Outcome(state, reason)


def is_due(step: int, every: int) -> bool:
    """Every so many steps, and before that after 1, 2, 5, 10, 20, … of them: early on the most happens."""
    return step % every == 0 or (step < every and str(step).rstrip("0") in ("1", "2", "5"))


def looks_at(step: int, config: TrainingConfig) -> bool:
    """Whether the validation set is looked at after this step."""
    if config.early_looks and step >= FIRST_LOOK:
        return is_due(step, config.validate_every)
    return step % config.validate_every == 0


def look_first(
    work: Work[B], state: LoopState, clock: Callable[[], float], *, is_start: bool = True
) -> LoopState:
    """The state once its weights, as they are, have been validated and saved as the best so far.

    What comes later is compared with that: a model that was taught something new is never worse than it was.
    `is_start`: at step 0 they are those of a model that had learned something.
    """
    began = clock() - state.elapsed
    state, _ = validated(work, state)
    state = replace(state, elapsed=clock() - began)
    if is_start and state.step == 0:
        state = replace(state, start_score=state.best_score)
    work.save(state, best=True)
    return state


def share_done(state: LoopState, config: TrainingConfig) -> float:
    """How much of the run is over, from 0 to 1."""
    by_time = state.elapsed / config.time_limit if config.time_limit else 0.0
    return max(by_time, state.step / config.max_steps)


def reads_at_once(result: StepResult) -> bool:
    """Whether reading costs nothing."""
    return not result.numbers.is_cuda


def save(work: Work[B], state: LoopState, failed: int) -> int:
    """Save; how many saves in a row have failed now. A full disk may have room again at the next."""
    try:
        work.save(state, best=state.is_best)
    except RunError as error:
        if error.code not in ("disk_full", "io_error") or failed + 1 >= SAVES_IN_A_ROW:
            raise
        work.log(notice(state.step, "warning", error.code, str(error)))
        return failed + 1
    return 0


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


def validated(work: Work[B], state: LoopState) -> tuple[LoopState, bool]:
    """The state after a look at the validation set, and whether it is the best so far."""
    look = work.validate(state)
    # Early on every BLEU is 0: the loss then decides, so that a slow start is not taken for a standstill.
    # Nothing is greater than a score that is no number, so such a one does not count.
    counts = state.best_score is not None and not isnan(state.best_score)
    before = (state.best_score, -(state.best_loss or 0.0)) if counts else None
    better = before is None or (look.score, -look.loss) > before
    if better:
        state = replace(state, best_score=look.score, best_loss=look.loss, best_step=state.step, since_best=0)
    else:
        state = replace(state, since_best=state.since_best + 1)
    work.log({**look.event, "type": "valid", "step": state.step, "epoch": state.epoch, "best": better})
    return state, better


def after_reading(state: LoopState, window: "Window", log: Callable[[Event], None]) -> LoopState:
    """The state once the steps that nobody has read yet are read; what they have to tell is told."""
    for step, read in window.read():
        if read.skipped:
            state = after_skip(state, step, read, log)
    return state


def after_skip(state: LoopState, step: int, read: StepNumbers, log: Callable[[Event], None]) -> LoopState:
    """Remember a skipped step, and stop a run that skips too many."""
    recent = tuple(one for one in state.skipped if one > step - SKIPS_WINDOW)
    state = replace(state, skipped=(*recent, step))
    what = f"loss {read.loss}, gradient norm {read.grad_norm}: no weight was changed"
    log(notice(step, "warning", "nan_skipped", what))
    in_a_row = state.skipped[-SKIPS_IN_A_ROW:] == tuple(range(step - SKIPS_IN_A_ROW + 1, step + 1))
    if in_a_row or len(state.skipped) > SKIPS_SHARE * SKIPS_WINDOW:
        raise RunError(
            f"the numbers stopped being finite: {len(state.skipped)} steps skipped up to step {step}",
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
        self.last = StepNumbers(nan, nan, nan, skipped=False)
        self.unread: list[tuple[int, StepResult]] = []
        self.tokens = self.sentences = self.skipped = 0

    def add(self, step: int, result: StepResult) -> None:
        self.unread.append((step, result))
        self.tokens += result.tokens
        self.sentences += result.sentences

    def read(self) -> list[tuple[int, StepNumbers]]:
        """The steps since the last reading, by number; on a GPU this waits until they are done."""
        steps = [(step, result.read()) for step, result in self.unread]
        self.unread.clear()
        self.skipped += sum(read.skipped for _, read in steps)
        self.last = steps[-1][1] if steps else self.last
        return steps

    def event(self, state: LoopState, lr: float, now: float) -> Event:
        """The last step's loss in full digits, and rates over the whole window."""
        seconds = max(now - self.began, 1e-9)
        return {
            "type": "train",
            "step": state.step,
            "epoch": state.epoch,
            "loss": self.last.loss,
            "nll": self.last.nll,
            "lr": lr,
            "grad_norm": self.last.grad_norm,
            "tokens_per_s": round(self.tokens / seconds, 1),
            "sentences_per_s": round(self.sentences / seconds, 1),
            "skipped_steps": self.skipped,
            "elapsed_s": round(state.elapsed, 3),
        }
