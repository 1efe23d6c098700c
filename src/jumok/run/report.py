"""A run in plain lines: what the command writes to a log, and `jumok.train` to a notebook or a terminal."""

import sys
from typing import TYPE_CHECKING, Any

from jumok.config import ENDLESS, FALLING
from jumok.progress import duration
from jumok.run.plan import Plan
from jumok.settings import plain_word

if TYPE_CHECKING:
    from jumok.run.train import RunCallbacks, TrainedRun

REASONS = {
    "max_steps": "all steps are done",
    "time_limit": "the time is up",
    "no_better": "it no longer improves",
    "signal": "it was interrupted",
}
SCORES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact": "exact",
    "per": "PER",
    "rouge1": "ROUGE-1",
    "rougeL": "ROUGE-L",
}
"""Figures of a validation and how they are written; some runs have more of them than others."""


def plan_lines(plan: Plan, *, verbose: bool = False) -> list[str]:
    """What was chosen and why: one line per reason, or per setting with its full name."""
    values = {choice.key: plain_word(choice.value) for choice in plan.choices}
    rows = [(f"{choice.key} = {values[choice.key]}", choice.reason) for choice in plan.choices]
    if not verbose:
        groups: dict[str, list[str]] = {}
        for choice in plan.choices:
            groups.setdefault(choice.reason, []).append(f"{choice.key.split('.', 1)[1]} {values[choice.key]}")
        rows = [(" · ".join(group), reason) for reason, group in groups.items()]
    width = min(60, max((len(chosen) for chosen, _ in rows), default=0))
    return [
        "plan",
        *(f"  {chosen:<{width}}  {reason}" for chosen, reason in rows),
        f"  about {duration(plan.seconds)}, at {plan.tokens_per_second:,.0f} tokens/s (a forecast)",
    ]


def share_done(event: Any, steps: int, limit: float) -> float:
    by_time: float = event["elapsed_s"] / limit if limit else 0.0
    by_steps: float = event["step"] / steps
    return min(1.0, max(by_time, by_steps))


def time_left(event: Any, share: float) -> str:
    return duration(event["elapsed_s"] * (1 - share) / max(share, 1e-9))


def event_line(event: Any, steps: int, limit: float) -> str | None:
    """One line for an event of a run of so many steps, or of so many seconds; or none."""
    match event["type"]:
        case "train":
            left = time_left(event, share_done(event, steps, limit))
            last = "" if limit and steps == ENDLESS else f"/{steps}"
            passed = f"time={duration(event['elapsed_s'])}/{duration(limit)} " if limit else ""
            return (
                f"train step={event['step']}{last} {passed}loss={event['loss']:.3f} "
                f"lr={event['lr']:.1e} tok_s={event['tokens_per_s']:.0f} eta={left}"
            )
        case "valid":
            scores = "".join(f" {key}={event[key]:.2f}" for key in SCORES if event.get(key) is not None)
            best = " best=true" if event.get("best") else ""
            return f"valid step={event['step']} loss={event['loss']:.3f}{scores}{best}"
        case "notice":
            return f"notice step={event['step']} {event['code']}: {event['message']}"
    return None


def end_line(done: "TrainedRun") -> str:
    """How a run ended."""
    metric = done.config.training.metric
    value = 0.0 if done.score is None else -done.score if metric in FALLING else max(0.0, done.score)
    score = "" if done.score is None else f" · best {metric} {value:.2f}"
    return f"done: {REASONS[done.reason]} · {done.steps:,} steps · {duration(done.seconds)}{score}"


def write_line(line: str) -> None:
    """One line to standard error, which a notebook shows, too."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def printing() -> "RunCallbacks":
    """Callbacks that write the plan, where the run is, and a line for each event."""
    from jumok.run.train import RunCallbacks

    ends = {"steps": 1, "limit": 0.0}

    def on_plan(plan: Plan) -> None:
        for line in plan_lines(plan):
            write_line(line)

    def on_start(start: Any) -> None:
        training, prepared = start.config.training, start.prepared
        ends.update(steps=training.max_steps, limit=training.time_limit)
        sizes = f"train {len(prepared.train):,} pairs · valid {len(prepared.valid):,}"
        write_line(f"{start.folder}: {start.config.model.arch} on {start.machine.device} · {sizes}")

    def on_event(event: Any) -> None:
        if line := event_line(event, int(ends["steps"]), ends["limit"]):
            write_line(line)

    return RunCallbacks(on_plan=on_plan, on_start=on_start, on_event=on_event)
