"""A run in plain lines: what the command writes to a log, and `jumok.train` to a notebook or a terminal."""

import sys
from collections.abc import Mapping
from shlex import join
from typing import TYPE_CHECKING, Any

from jumok.config import ENDLESS, FALLING
from jumok.data.reader import CheckReport
from jumok.progress import duration
from jumok.run.plan import Plan
from jumok.settings import plain_word
from jumok.training.log import read_events

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
SPACING, MOST_APART = 0.25, 30.0  # of the time so far, and seconds, between two lines about training


def data_lines(report: CheckReport, given: Mapping[str, Any]) -> list[str]:
    """What `jumok check` would say in one line, and the command; nothing when there is nothing to say."""
    lines = [f"data: {part.note}" for part in report.parts if part.note]
    if summary := report.summary():
        lines.append(f"data: {summary}: {check_command(given)} shows more")
    return lines


def check_command(given: Mapping[str, Any]) -> str:
    """The `jumok check` for the data of these settings."""
    if corpora := given.get("data.corpora"):
        valid = [word for one in given.get("data.valid_corpora", ()) for word in ("--valid-data", one)]
        return f"jumok check {join([word for one in corpora for word in ('--data', one)] + valid)}"
    setting = {key.removeprefix("data."): str(value) for key, value in given.items() if value != ""}
    if "name" in setting:
        return f"jumok check --data {setting['name']}"
    words = [setting["source"], *([setting["target"]] if "target" in setting else [])]
    if "valid_source" in setting:
        words += ["--valid", setting["valid_source"], setting.get("valid_target", "")]
    for name in ("images", "columns"):
        words += [f"--{name}", setting[name]] if name in setting else []
    return f"jumok check {join(words)}"


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
        *(f"  {note}" for note in plan.notes),
        f"  about {duration(plan.seconds)}, at {plan.tokens_per_second:,.0f} tokens/s (a forecast)",
    ]


def share_done(event: Any, steps: int, limit: float) -> float:
    by_time: float = event["elapsed_s"] / limit if limit else 0.0
    by_steps: float = event["step"] / steps
    return min(1.0, max(by_time, by_steps))


def time_left(event: Any, share: float) -> str:
    return duration(event["elapsed_s"] * (1 - share) / max(share, 1e-9))


class SpacedLines:
    """Which lines of a log are worth reading: of training few, soon at first and then rarer; of the rest all.

    A line for each train event is for curves: a small model has dozens of them in a second.
    """

    def __init__(self) -> None:
        self.said: float | None = None  # when the last line about training was said, by the run's own clock

    def due(self, event: Any) -> bool:
        """Whether to say this event; it then counts as said."""
        if event["type"] != "train":
            return True
        now = event["elapsed_s"]
        if self.said is not None and 0 <= now - self.said < min(MOST_APART, SPACING * self.said):
            return False
        self.said = now
        return True


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
            scores += "".join(f" {key}={event[key]:.2f}" for key in event if key.startswith("kept_"))
            best = " best=true" if event.get("best") else ""
            each = "".join(
                f" {way}={one[name]:.2f}"
                for way, one in (event.get("directions") or {}).items()
                for name in [next((name for name in SCORES if name in one), "loss")]
            )
            return f"valid step={event['step']} loss={event['loss']:.3f}{scores}{each}{best}"
        case "notice":
            return f"notice step={event['step']} {event['code']}: {event['message']}"
    return None


def end_line(done: "TrainedRun") -> str:
    """How a run ended; of one that started from a model, what it scored before and scores now."""
    metric = done.config.training.metric
    reason = f"done: {REASONS[done.reason]} · {done.steps:,} steps · {duration(done.seconds)}"
    if done.score is None:
        return reason
    value = shown_score(metric, done.score)
    if done.start_score is None:
        return f"{reason} · best {metric} {value}"
    name = SCORES.get(metric, metric)
    kept = "".join(f" · kept pairs: {then:.1f}, now {now:.1f}" for then, now in kept_scores(done))
    return f"{reason} · before: {shown_score(metric, done.start_score)} {name}, after: {value} {name}{kept}"


def shown_score(metric: str, score: float) -> str:
    return f"{-score if metric in FALLING else max(0.0, score):.2f}"


def kept_scores(done: "TrainedRun") -> list[tuple[float, float]]:
    """What the start scored on old pairs that were held back, and what the best model does; if any were."""
    key = f"kept_{done.config.training.metric}"
    looks = [
        event
        for event in read_events(done.folder / "metrics.jsonl")
        if event.get("type") == "valid"
        and isinstance(event.get(key), int | float)
        and "averaged" not in event
    ]
    first = [look[key] for look in looks if look["step"] == 0]
    best = [look[key] for look in looks if look.get("best")]
    return [(first[-1], best[-1])] if first and best else []


def write_line(line: str) -> None:
    """One line to standard error, which a notebook shows, too."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def printing(given: Mapping[str, Any]) -> "RunCallbacks":
    """Callbacks that write what is wrong with the data, the plan, where the run is, and its events."""
    from jumok.run.train import RunCallbacks

    ends, spaced = {"steps": 1, "limit": 0.0}, SpacedLines()

    def on_data(report: CheckReport) -> None:
        for line in data_lines(report, given):
            write_line(line)

    def on_plan(plan: Plan) -> None:
        for line in plan_lines(plan):
            write_line(line)

    def on_start(start: Any) -> None:
        training, prepared = start.config.training, start.prepared
        ends.update(steps=training.max_steps, limit=training.time_limit)
        sizes = f"train {len(prepared.train):,} pairs · valid {len(prepared.valid):,}"
        write_line(f"{start.folder}: {start.config.model.arch} on {start.machine.device} · {sizes}")

    def on_event(event: Any) -> None:
        line = event_line(event, int(ends["steps"]), ends["limit"])
        if line and spaced.due(event):
            write_line(line)

    return RunCallbacks(on_data=on_data, on_plan=on_plan, on_start=on_start, on_event=on_event)
