"""The loop's decisions, with work that only takes notes."""

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TrainingConfig
from jumok.data.sampler import Cursor
from jumok.errors import DataError, RunError
from jumok.training.loop import UNREAD, Event, Outcome, Reason, Validation, Window, fit, look_first
from jumok.training.schedule import learning_rate
from jumok.training.state import LoopState
from jumok.training.step import StepNumbers, StepResult

EPOCH = 7  # batches


@dataclass
class Notes:
    """Work that remembers what was asked of it. A step takes one second of its own clock."""

    scores: dict[int, float] = field(default_factory=dict)  # by step; others score by their number
    skips: frozenset[int] = frozenset()
    full_disk: dict[int, str] = field(default_factory=dict)  # error code of a save, by step
    parts: dict[int, int] = field(default_factory=dict)  # micro-batches needed from a step on
    stop_at: int | None = None
    slow_validation: float = 0.0
    now: float = 100.0
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    saved: list[LoopState] = field(default_factory=list)
    closed: bool = False

    def batches(self, state: LoopState) -> Generator[tuple[Cursor, Cursor], None, None]:
        here = state.cursor
        try:
            while True:
                last = here.position == EPOCH - 1
                after = Cursor(here.epoch + 1, 0) if last else Cursor(here.epoch, here.position + 1)
                yield here, after
                here = after
        finally:
            self.closed = True

    def step(self, batch: Cursor, state: LoopState, lr: float) -> tuple[StepResult, int]:
        step = state.step + 1
        self.calls.append(("step", step, batch.epoch, batch.position, round(lr, 12)))
        self.now += 1
        bad = step in self.skips
        loss = float("nan") if bad else 1 / step
        numbers = torch.tensor([loss, loss, 0.5, bad], dtype=torch.float64)
        return StepResult(numbers, 30, 3), self.parts.get(step, state.parts)

    def validate(self, state: LoopState) -> Validation:
        self.calls.append(("validate", state.step))
        self.now += self.slow_validation
        score = self.scores.get(state.step, float(state.step))
        return Validation(score, -score, {"loss": -score, "bleu": score})

    def save(self, state: LoopState, *, best: bool) -> None:
        self.calls.append(("save", state.step, best))
        if state.step in self.full_disk:
            raise RunError("No space left on device", code=self.full_disk[state.step])
        self.saved.append(state)

    def log(self, event: Event) -> None:
        self.events.append(event)
        self.calls.append(("log", event["type"], event["step"], event.get("loss")))

    def asked(self, *what: str) -> list[tuple[Any, ...]]:
        return [call for call in self.calls if call[0] in what]

    def of_type(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]


def config(**changes: Any) -> TrainingConfig:
    given = {
        "max_steps": 10,
        "log_every": 4,
        "validate_every": 5,
        "save_every": 5,
        "warmup": 2,
        "patience": 0,
    }
    return TrainingConfig(**given | changes)


def run(notes: Notes, settings: TrainingConfig, state: LoopState | None = None) -> Outcome:
    steps = notes.calls

    def interrupted() -> bool:
        return notes.stop_at is not None and bool(steps) and last_step(steps) >= notes.stop_at

    return fit(notes, settings, state or LoopState(), clock=lambda: notes.now, interrupted=interrupted)


def last_step(calls: list[tuple[Any, ...]]) -> int:
    return max((call[1] for call in calls if call[0] == "step"), default=0)


def test_it_steps_logs_validates_and_saves_on_time() -> None:
    notes = Notes()
    outcome = run(notes, config(max_steps=10, log_every=4, validate_every=5, save_every=3))
    assert outcome.reason == "max_steps"
    assert outcome.state.step == 10
    assert [step for _, step, *_ in notes.asked("step")] == list(range(1, 11))
    assert notes.asked("validate") == [("validate", 5), ("validate", 10)]
    assert notes.asked("save") == [
        ("save", 3, False),
        ("save", 5, True),
        ("save", 6, False),
        ("save", 9, False),
        ("save", 10, True),
    ]
    assert [event["step"] for event in notes.of_type("train")] == [1, 2, 4, 8]
    assert [event["step"] for event in notes.of_type("valid")] == [5, 10]


def test_the_first_lines_come_early_and_then_one_for_so_many_steps() -> None:
    notes = Notes()
    run(notes, config(max_steps=120, log_every=50, validate_every=120, save_every=120))
    assert [event["step"] for event in notes.of_type("train")] == [1, 2, 5, 10, 20, 50, 100]


def test_early_looks_show_how_it_begins() -> None:
    notes, early = Notes(), config(max_steps=130, validate_every=60, save_every=200, early_looks=True)
    run(notes, early)
    assert [event["step"] for event in notes.of_type("valid")] == [10, 20, 50, 60, 120, 130]
    assert [step for _, step, _ in notes.asked("save")] == [10, 20, 50, 60, 120, 130]  # each was the best


def test_every_update_is_told() -> None:
    notes, told = Notes(), list[tuple[int, float, int]]()
    fit(
        notes,
        config(max_steps=3),
        LoopState(step=1, elapsed=7.0),
        clock=lambda: notes.now,
        interrupted=lambda: False,
        on_step=lambda state, tokens: told.append((state.step, state.elapsed, tokens)),
    )
    assert told == [(2, 8.0, 30), (3, 9.0, 30)]


def test_the_best_checkpoint_of_the_last_step_is_saved_once_and_stays_the_best() -> None:
    notes = Notes()
    run(notes, config(max_steps=10, validate_every=5, save_every=5))
    assert notes.asked("save") == [("save", 5, True), ("save", 10, True)]


def test_the_last_step_is_always_saved_and_validated() -> None:
    notes = Notes()
    outcome = run(notes, config(max_steps=7, validate_every=5, save_every=5))
    assert notes.asked("validate", "save")[-2:] == [("validate", 7), ("save", 7, True)]
    assert outcome.state.best_step == 7


def test_a_last_validation_that_is_no_better_saves_without_the_mark() -> None:
    notes = Notes(scores={5: 9.0, 7: 1.0})
    outcome = run(notes, config(max_steps=7))
    assert notes.asked("save") == [("save", 5, True), ("save", 7, False)]
    assert (outcome.state.best_step, outcome.state.since_best) == (5, 1)


def test_a_validation_is_logged_with_its_figures_and_whether_it_is_the_best() -> None:
    notes = Notes(scores={5: 3.0, 10: 2.0})
    run(notes, config())
    first, second = notes.of_type("valid")
    assert first == {"type": "valid", "step": 5, "epoch": 0, "loss": -3.0, "bleu": 3.0, "best": True}
    assert second == {"type": "valid", "step": 10, "epoch": 1, "loss": -2.0, "bleu": 2.0, "best": False}


def test_an_equal_score_is_no_better_one() -> None:
    notes = Notes(scores={5: 3.0, 10: 3.0})
    assert run(notes, config()).state.best_step == 5


def test_a_train_event_has_the_losses_in_full_digits_and_rates_over_its_window() -> None:
    notes = Notes()
    run(notes, config(max_steps=3, log_every=3))
    *_, event = notes.of_type("train")
    assert event == {
        "type": "train",
        "step": 3,
        "epoch": 0,
        "loss": 1 / 3,
        "nll": 1 / 3,
        "lr": learning_rate(3, 2 / 3, config(max_steps=3)),
        "grad_norm": 0.5,
        "tokens_per_s": 30.0,
        "sentences_per_s": 3.0,
        "skipped_steps": 0,
        "elapsed_s": 3.0,
    }


def test_rates_are_those_of_a_second() -> None:
    window = Window(100.0)
    for step in (1, 2):
        window.add(step, StepResult(torch.tensor([1.0, 1.0, 1.0, 0.0]), 60, 5))
    event = window.event(LoopState(), 1e-3, 104.0)
    assert (event["tokens_per_s"], event["sentences_per_s"]) == (30.0, 2.5)


def test_rates_do_not_count_the_time_of_a_validation() -> None:
    notes = Notes(slow_validation=1000.0)
    run(notes, config(log_every=1))
    assert {event["tokens_per_s"] for event in notes.of_type("train")} == {30.0}


def test_each_step_gets_the_rate_of_its_number() -> None:
    notes, settings = Notes(), config()
    run(notes, settings)
    rates = [lr for *_, lr in notes.asked("step")]
    expected = [learning_rate(step, (step - 1) / 10, settings) for step in range(1, 11)]
    assert rates == pytest.approx(expected)


def test_it_goes_through_epochs_in_order() -> None:
    notes = Notes()
    outcome = run(notes, config())
    places = [(epoch, position) for _, _, epoch, position, _ in notes.asked("step")]
    assert places == [(0, i) for i in range(EPOCH)] + [(1, i) for i in range(3)]
    assert outcome.state.cursor == Cursor(1, 3)


def test_patience_ends_the_run_after_so_many_validations_without_a_better_score() -> None:
    notes = Notes(scores={5: 1.0, 10: 4.0, 15: 3.0, 20: 2.0, 25: 9.0})
    outcome = run(notes, config(max_steps=100, patience=2))
    assert outcome.reason == "no_better"
    assert outcome.state.step == 20
    assert outcome.state.best_step == 10


def test_patience_counts_anew_after_every_better_score() -> None:
    """One worse look, a better one, two worse ones: with a patience of 2 the run ends at the last."""
    notes = Notes(scores={5: 1.0, 10: 0.5, 15: 2.0, 20: 1.5, 25: 1.0, 30: 9.0})
    outcome = run(notes, config(max_steps=100, patience=2))
    assert outcome.reason == "no_better"
    assert (outcome.state.step, outcome.state.best_step, outcome.state.since_best) == (25, 15, 2)


def test_patience_of_0_never_ends_a_run_early() -> None:
    notes = Notes(scores={step: -float(step) for step in range(100)})
    assert run(notes, config(max_steps=60, patience=0)).reason == "max_steps"


def test_a_time_limit_ends_the_run_after_the_step_that_reaches_it() -> None:
    notes = Notes()
    outcome = run(notes, config(max_steps=100, time_limit=6.5))
    assert outcome.reason == "time_limit"
    assert outcome.state.step == 7
    assert notes.asked("validate", "save")[-2:] == [("validate", 7), ("save", 7, True)]


def test_with_a_time_limit_the_schedule_ends_with_the_time() -> None:
    notes, settings = Notes(), config(max_steps=1000, time_limit=8, cooldown=0.5, schedule="constant")
    run(notes, settings)
    rates = [lr / settings.lr for *_, lr in notes.asked("step")]
    assert rates == pytest.approx([0.5, 1, 1, 1, 1, 0.75, 0.5, 0.25])


def test_time_of_earlier_sittings_counts() -> None:
    notes = Notes(now=5000.0)
    outcome = run(notes, config(max_steps=100, time_limit=10), LoopState(step=4, position=4, elapsed=7.0))
    assert outcome.state.step == 7
    assert outcome.state.elapsed == 10.0


def test_validation_takes_time_too() -> None:
    notes = Notes(slow_validation=100.0)
    assert run(notes, config(max_steps=100, time_limit=50)).state.step == 5


def test_a_signal_saves_at_once_without_a_validation() -> None:
    notes = Notes(stop_at=7)
    outcome = run(notes, config())
    assert outcome.reason == "signal"
    assert outcome.state.step == 7
    assert notes.asked("validate") == [("validate", 5)]
    assert notes.asked("save") == [("save", 5, True), ("save", 7, False)]


def test_a_signal_right_after_a_save_does_not_save_again() -> None:
    notes = Notes(stop_at=5)
    run(notes, config())
    assert notes.asked("save") == [("save", 5, True)]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (LoopState(step=10), "max_steps"),
        (LoopState(step=3, elapsed=99.0), "time_limit"),
        (LoopState(step=3, since_best=2), "no_better"),
    ],
)
def test_a_finished_run_does_nothing_more(state: LoopState, reason: Reason) -> None:
    notes = Notes()
    outcome = run(notes, config(time_limit=50, patience=2), state)
    assert outcome == Outcome(state, reason)
    assert notes.calls == []


def test_parts_that_fit_in_memory_are_remembered() -> None:
    notes = Notes(parts={3: 2, 6: 4})
    assert run(notes, config()).state.parts == 4
    assert [state.parts for state in notes.saved] == [2, 4]


def test_a_skipped_step_is_told_and_counted() -> None:
    notes = Notes(skips=frozenset({3}))
    outcome = run(notes, config())
    (event,) = notes.of_type("notice")
    assert event == {
        "type": "notice",
        "step": 3,
        "level": "warning",
        "code": "nan_skipped",
        "message": "loss nan, gradient norm 0.5: no weight was changed",
    }
    assert outcome.state.skipped == (3,)
    after = notes.of_type("train")[2]
    assert (after["step"], after["skipped_steps"], after["loss"]) == (4, 1, 1 / 4)


def test_the_loss_of_a_skipped_step_is_logged_as_it_was() -> None:
    notes = Notes(skips=frozenset({3}))
    run(notes, config(log_every=1))
    event = notes.of_type("train")[2]
    assert event["skipped_steps"] == 1
    assert isnan(event["loss"])
    assert isnan(event["nll"])


def test_three_skipped_steps_in_a_row_stop_the_run() -> None:
    notes = Notes(skips=frozenset({4, 6, 7, 8}))
    with pytest.raises(RunError) as caught:
        run(notes, config())
    assert str(caught.value) == (
        "the numbers stopped being finite: 4 steps skipped up to step 8\n"
        "  lower training.lr, lengthen training.warmup or set training.clip; the last checkpoint is good"
    )
    assert caught.value.code == "diverged"
    assert notes.asked("save") == [("save", 5, True)]
    assert last_step(notes.calls) == 8


# A GPU is asked for numbers only when someone is told of them.


@dataclass(frozen=True)
class Watched(StepResult):
    on_read: Callable[[], None]

    def read(self) -> StepNumbers:
        self.on_read()
        return super().read()


class GpuNotes(Notes):
    """Notes that also say when someone waits for a step's numbers."""

    def step(self, batch: Cursor, state: LoopState, lr: float) -> tuple[StepResult, int]:
        result, parts = super().step(batch, state, lr)
        on_read = partial(self.calls.append, ("read", state.step + 1))
        return Watched(result.numbers, result.tokens, result.sentences, on_read), parts


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.training.loop.reads_at_once", lambda result: False)


@pytest.mark.usefixtures("on_a_gpu")
def test_a_gpu_is_read_at_log_points_validations_saves_and_the_end() -> None:
    notes = GpuNotes()
    run(notes, config(max_steps=7, log_every=3, validate_every=5, save_every=2))
    order = [f"{call[0]} {call[1]}" for call in notes.calls if call[0] != "log" or call[1] == "train"]
    assert order == [
        *("step 1", "read 1", "log train"),
        *("step 2", "read 2", "log train", "save 2"),
        *("step 3", "read 3", "log train"),
        *("step 4", "read 4", "save 4"),
        *("step 5", "read 5", "validate 5", "save 5"),
        *("step 6", "read 6", "log train", "save 6"),
        *("step 7", "read 7", "validate 7", "save 7"),
    ]


@pytest.mark.usefixtures("on_a_gpu")
def test_a_gpu_is_never_far_behind_the_clock() -> None:
    notes = GpuNotes()
    rare, before = 10_000, 200  # steps until the lines are rare
    settings_of_run = config(
        max_steps=before + 2 * UNREAD + 1, log_every=rare, validate_every=rare, save_every=rare
    )
    run(notes, settings_of_run, LoopState(step=before))
    order = [call[:2] for call in notes.asked("step", "read")]
    assert order.index(("read", before + 1)) == order.index(("step", before + UNREAD)) + 1
    assert order.index(("read", before + UNREAD + 1)) == order.index(("step", before + 2 * UNREAD)) + 1


def test_a_score_that_is_no_number_is_never_the_best_for_long() -> None:
    notes = Notes(scores={5: float("nan"), 10: 1.0, 15: float("nan")})
    outcome = run(notes, config(max_steps=15))
    assert [event["best"] for event in notes.of_type("valid")] == [True, True, False]
    assert (outcome.state.best_score, outcome.state.best_step) == (1.0, 10)


def test_on_a_gpu_a_run_says_the_same_as_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of_run = config(max_steps=30, log_every=4, validate_every=6, save_every=5)
    at_once, late = Notes(), Notes()
    outcome = run(at_once, settings_of_run)
    monkeypatch.setattr("jumok.training.loop.reads_at_once", lambda result: False)
    assert run(late, settings_of_run) == outcome
    assert late.events == at_once.events
    assert late.saved == at_once.saved


@pytest.mark.usefixtures("on_a_gpu")
def test_on_a_gpu_skips_are_told_with_their_own_numbers_at_the_next_reading() -> None:
    notes = Notes(skips=frozenset({2, 3}))
    run(notes, config(max_steps=4, log_every=4, validate_every=100, save_every=100))
    told = [call[1:3] for call in notes.calls if call[0] == "log" and call[1] in ("notice", "train")]
    assert told == [("train", 1), ("notice", 2), ("train", 2), ("notice", 3), ("train", 4)]
    assert notes.saved[-1].skipped == (2, 3)
    diverged = Notes(skips=frozenset({2, 3, 4}))
    with pytest.raises(RunError, match="3 steps skipped up to step 4"):
        run(diverged, config(max_steps=50, log_every=10, validate_every=100, save_every=100))
    assert last_step(diverged.calls) == 5  # noticed with the next line of the log
    assert diverged.saved == []


def test_the_batches_are_closed_however_the_run_ends() -> None:
    notes, broken = Notes(), Notes(skips=frozenset({1, 2, 3}))
    run(notes, config())
    with pytest.raises(RunError, match="3 steps skipped up to step 3"):
        run(broken, config())
    assert notes.closed
    assert broken.closed


def test_two_skipped_steps_in_a_row_do_not() -> None:
    notes = Notes(skips=frozenset({3, 4, 6, 7, 9, 10}))
    assert run(notes, config()).state.skipped == (3, 4, 6, 7, 9, 10)


def test_more_than_one_percent_of_the_last_thousand_stop_the_run() -> None:
    ten, eleven = frozenset(range(10, 1000, 100)), frozenset([*range(10, 1000, 100), 995])
    large = config(max_steps=1500, validate_every=1500, save_every=1500, log_every=500)
    assert len(run(Notes(skips=ten), large).state.skipped) == 10
    with pytest.raises(RunError, match="11 steps skipped up to step 995"):
        run(Notes(skips=eleven), large)


def test_skips_of_long_ago_are_forgotten() -> None:
    rare = frozenset(range(10, 4000, 110))  # never more than ten in a thousand
    large = config(max_steps=4000, validate_every=4000, save_every=4000, log_every=500)
    assert len(run(Notes(skips=rare), large).state.skipped) <= 10


@pytest.mark.parametrize("code", ["disk_full", "io_error"])
def test_a_save_that_fails_is_told_and_tried_again_at_the_next_interval(code: str) -> None:
    notes = Notes(full_disk={2: code, 4: code, 8: code})
    run(notes, config(save_every=2, validate_every=10, max_steps=10))
    assert [step for _, step, _ in notes.asked("save")] == [2, 4, 6, 8, 10]
    assert [state.step for state in notes.saved] == [6, 10]
    warnings = notes.of_type("notice")
    assert [(event["step"], event["level"], event["code"]) for event in warnings] == [
        (2, "warning", code),
        (4, "warning", code),
        (8, "warning", code),
    ]
    assert warnings[0]["message"] == "No space left on device"


def test_three_failed_saves_in_a_row_end_the_run() -> None:
    notes = Notes(full_disk=dict.fromkeys((2, 4, 6), "disk_full"))
    with pytest.raises(RunError, match="No space left on device") as caught:
        run(notes, config(save_every=2, validate_every=100))
    assert caught.value.code == "disk_full"
    assert last_step(notes.calls) == 6


def test_the_last_save_may_not_fail() -> None:
    notes = Notes(full_disk={10: "disk_full"})
    with pytest.raises(RunError, match="No space left on device"):
        run(notes, config())


def test_a_best_last_step_whose_save_failed_once_keeps_its_mark() -> None:
    class OneBadMoment(Notes):
        def save(self, state: LoopState, *, best: bool) -> None:
            if state.step == 10 and not any(call == ("save", 10, True) for call in self.calls):
                self.calls.append(("save", 10, best))
                raise RunError("No space left on device", code="disk_full")
            super().save(state, best=best)

    notes = OneBadMoment()
    run(notes, config())
    assert notes.asked("save") == [("save", 5, True), ("save", 10, True), ("save", 10, True)]
    assert [state.step for state in notes.saved] == [5, 10]


def test_other_errors_of_a_save_end_the_run_at_once() -> None:
    notes = Notes(full_disk={5: "non_finite"})
    with pytest.raises(RunError) as caught:
        run(notes, config())
    assert caught.value.code == "non_finite"
    assert last_step(notes.calls) == 5


def test_errors_of_the_work_pass_through() -> None:
    class Broken(Notes):
        def validate(self, state: LoopState) -> Validation:
            raise DataError("the validation file is gone")

    with pytest.raises(DataError, match="the validation file is gone"):
        run(Broken(), config())


def plain(calls: list[tuple[Any, ...]]) -> list[str]:
    """Calls in a form in which two losses that are not numbers are equal."""
    return [repr(call) for call in calls]


settings_of_runs = st.fixed_dictionaries(
    {
        "max_steps": st.integers(6, 40),
        "log_every": st.integers(1, 7),
        "validate_every": st.integers(1, 30),
        "early_looks": st.booleans(),
        "save_every": st.integers(1, 9),
        "patience": st.integers(0, 3),
        "time_limit": st.sampled_from([0.0, 25.0]),
        "schedule": st.sampled_from(["noam", "inverse_sqrt", "cosine", "constant"]),
    }
)
some_scores = st.dictionaries(st.integers(1, 40), st.floats(-5, 5), max_size=40)
some_skips = st.sets(st.integers(1, 13).map(lambda n: 3 * n), max_size=5).map(frozenset)


@settings(max_examples=60, deadline=None)
@given(given_settings=settings_of_runs, scores=some_scores, skips=some_skips, data=st.data())
def test_going_on_from_any_saved_state_gives_the_same_calls(
    given_settings: dict[str, Any], scores: dict[int, float], skips: frozenset[int], data: st.DataObject
) -> None:
    """A kill loses what came after the last save; the run that goes on repeats it exactly."""
    unbroken = Notes(scores=scores, skips=skips, slow_validation=0.5)
    outcome = run(unbroken, config(**given_settings))
    state = data.draw(st.sampled_from(unbroken.saved))
    at = unbroken.calls.index(("save", state.step, state.is_best))
    resumed = Notes(scores=scores, skips=skips, slow_validation=0.5, now=1e6)
    state = LoopState.from_dict(json.loads(json.dumps(state.to_dict())))
    resumed_outcome = run(resumed, config(**given_settings), state)
    later = plain(unbroken.calls)[at + 1 :]
    if state.step == outcome.state.step:  # only the last validation may be left out: the run had ended
        assert resumed.calls == []
    else:
        assert plain(resumed.calls) == later
        assert resumed_outcome == outcome


@settings(max_examples=40, deadline=None)
@given(given_settings=settings_of_runs, scores=some_scores, stop=st.integers(1, 40))
def test_a_signal_and_going_on_equals_never_having_stopped(
    given_settings: dict[str, Any], scores: dict[int, float], stop: int
) -> None:
    unbroken = Notes(scores=scores)
    outcome = run(unbroken, config(**given_settings))
    first = Notes(scores=scores, stop_at=stop)
    stopped = run(first, config(**given_settings))
    if stopped.reason != "signal":
        assert first.calls == unbroken.calls
        return
    second = Notes(scores=scores, now=1e6)
    ended = run(second, config(**given_settings), first.saved[-1])
    extra = ("save", stopped.state.step, stopped.state.is_best)
    joined = [call for call in first.calls if call != extra] + [
        call for call in second.calls if call != extra
    ]
    if stopped.state.step < outcome.state.step:
        assert joined == [call for call in unbroken.calls if call != extra]
        assert ended == outcome


def test_a_start_is_validated_and_saved_before_the_first_step() -> None:
    notes = Notes(scores={0: 8.0, 5: 6.0, 10: 7.0}, slow_validation=3.0)
    state = look_first(notes, LoopState(), lambda: notes.now)
    assert notes.calls == [("validate", 0), ("log", "valid", 0, -8.0), ("save", 0, True)]
    assert (state.best_score, state.best_step, state.start_score, state.elapsed) == (8.0, 0, 8.0, 3.0)
    outcome = run(notes, config(), state)
    assert outcome.state.best_step == 0  # nothing was better than the start
    assert outcome.state.best_score == outcome.state.start_score == 8.0
    assert [call for call in notes.asked("save") if call[2]] == [("save", 0, True)]


def test_a_first_look_at_weights_that_learned_nothing_is_no_start() -> None:
    notes = Notes(scores={0: 1.0})
    state = look_first(notes, LoopState(), lambda: notes.now, is_start=False)
    assert (state.best_score, state.start_score) == (1.0, None)


def test_a_look_in_the_middle_is_no_start() -> None:
    notes = Notes()
    state = look_first(notes, LoopState(step=7, elapsed=5.0), lambda: notes.now)
    assert (state.best_score, state.best_step, state.start_score) == (7.0, 7, None)
    assert notes.asked("save") == [("save", 7, True)]
