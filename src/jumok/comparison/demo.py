"""The demo: `jumok compare` on dates that a fixed vector can learn, all at once, told by thirds of length.

All three have the same pairs, tokens, updates and number of parameters, and the two recurrent ones the same
encoder: what is left to differ is attention.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jumok.checkpoint.folder import replace_file
from jumok.comparison.bins import hopeless, wilson
from jumok.comparison.budget import Budget
from jumok.comparison.entry import ComparisonEntry
from jumok.comparison.experiment import ComparisonRequest, Experiment, open_experiment
from jumok.comparison.measure import TESTED
from jumok.comparison.plan import choose_budget
from jumok.comparison.report import slope_of
from jumok.comparison.summary import joined
from jumok.config import Arch
from jumok.decoding.translator import Translator
from jumok.evaluation.evaluate import score_texts
from jumok.explain.attention import Attention, attention_of
from jumok.progress import Progress, silent
from jumok.seals import sealed, unsealed

DATA = "dates-cjk"
GIVEN: Mapping[str, Any] = {"data.name": DATA}  # the rest is in `plan.TUNED`
AT_ONCE = 3  # all side by side, one thread each: two cores are busy until the last has ended
READS = 50.0  # percent right from which a model is said to read the shortest third

# Long, with weekdays and times: what the fixed vector has to squeeze in.
SENTENCE = "1998년 3월 24일 화요일 오후 8시 35분부터 1998년 11월 9일 월요일 오전 7시 12분까지"


def open_demo(
    out: Path, *, seconds: float | None = None, seed: int | None = None, progress: Progress = silent
) -> Experiment:
    """The three of the demo, planned or read back; `seconds` trains each for so long instead of so often."""
    given = dict(GIVEN) | ({} if seed is None else {"seed": seed})
    budget = choose_budget({"seconds": Budget("time", seconds) if seconds else None}, given)
    experiment = open_experiment(ComparisonRequest(out=out, given=given, budget=budget), progress)
    return replace(experiment, options=replace(experiment.options, growth=False, focus=False))


@dataclass(frozen=True)
class ThirdsResult:
    """How often a model is right on the test: on all of it, and on each third by length, shortest first."""

    arch: Arch
    n: int
    exact: float
    ci95: tuple[float, float]
    thirds: Sequence[Mapping[str, Any]]  # lo, hi, n, value, ci95
    falls: bool | None
    """From the shortest third to the longest, as `slope_of` tells it; None: the figures leave it open."""

    @property
    def short(self) -> Mapping[str, Any]:
        return self.thirds[0]

    @property
    def long(self) -> Mapping[str, Any]:
        return self.thirds[-1]


def by_thirds(out: Path, entry: ComparisonEntry) -> ThirdsResult:
    """What an entry's answers to the test are worth, also kept as an evaluation in its run folder."""
    folder = out / entry.folder
    tested = unsealed(json.loads((folder / TESTED).read_bytes()))
    found = score_texts(
        tested["hypotheses"],
        tested["references"],
        tested["sources"],
        metrics=("exact",),
        bins="thirds",
        name=entry.name,
        data=tested["data"],
    ).to_dict()
    (folder / "eval").mkdir(exist_ok=True)
    kept = json.dumps(sealed(found), ensure_ascii=False).encode()
    replace_file(folder / "eval" / f"{DATA}-test.json", kept)
    thirds = [
        {
            **{key: part[key] for key in ("lo", "hi", "n")},
            "value": part["exact"],
            "ci95": wilson(part["exact"] * part["n"] / 100, part["n"]),
            "thin": False,
            "beyond": False,
        }
        for part in found["by_length"]["bins"]
    ]
    row = {"name": entry.name, "quality": {"by_length": {"bins": thirds}}}
    slope = slope_of(row, lower=False)
    whole = found["metrics"]["exact"]["value"]
    return ThirdsResult(
        arch=entry.arch,
        n=found["data"]["n"],
        exact=whole,
        ci95=wilson(whole * found["data"]["n"] / 100, found["data"]["n"]),
        thirds=thirds,
        falls=slope["falls"] if slope else None,
    )


def verdict(results: Sequence[ThirdsResult], names: Mapping[Arch, str]) -> list[str]:
    """What the figures say of each, and whether together they show what the notes claim; in sentences."""
    return [*(f"{names[one.arch]} {course(one)}." for one in results), conclusion(results, names)]


def course(one: ThirdsResult) -> str:
    """From the shortest third to the longest."""
    short, long = (f"{part['value']:.0f} %" for part in (one.short, one.long))
    if hopeless(one.short, lower=False) or (one.short["value"] < READS and not one.falls):
        return f"has not learned to read even the shortest third: {short} of it are right"
    if one.falls and one.short["value"] < READS:
        return f"falls from {short} to {long}, and reads less than half of the shortest third"
    if one.falls:
        return f"reads {short} of the shortest third and {long} of the longest: it falls with length"
    if one.falls is False:
        return f"reads {short} of the shortest third and {long} of the longest: no fall is seen"
    return f"reads {short} of the shortest third and {long} of the longest: too near to tell a fall"


def conclusion(results: Sequence[ThirdsResult], names: Mapping[Arch, str]) -> str:
    """The claim, if this run shows it; else what is missing."""
    fixed = next((one for one in results if one.arch == "rnn"), None)
    looking = [one for one in results if one.arch != "rnn"]
    if fixed is None or not looking:
        missing = ["it takes one with attention and one without"]
    else:
        missing = [
            *lacks_fall(fixed, names),
            *(why for one in looking for why in lacks_lead(one, fixed, names)),
        ]
    if missing or fixed is None:
        return f"This run does not show what attention changes: {joined(missing)}."
    also = [
        f"{names[one.arch]} fell, too, but less: by {fall(one):.0f} points" for one in looking if one.falls
    ]
    if also:
        by = f"{names[fixed.arch]} by {fall(fixed):.0f}"
        return f"So one fixed vector loses what a long date says. {joined(also)}, {by}."
    return (
        "So one fixed vector holds a short date and loses a long one; with attention, length hardly matters."
    )


def fall(one: ThirdsResult) -> float:
    """Points of exact match between the shortest third and the longest."""
    return float(one.short["value"] - one.long["value"])


def lacks_fall(fixed: ThirdsResult, names: Mapping[Arch, str]) -> Iterator[str]:
    """Why a fixed vector that should read the short and lose the long does not."""
    if fixed.short["value"] < READS:
        yield f"{names[fixed.arch]} reads too little"
    elif not fixed.falls:
        yield f"{names[fixed.arch]} does not fall"


def lacks_lead(one: ThirdsResult, fixed: ThirdsResult, names: Mapping[Arch, str]) -> Iterator[str]:
    """Why one with attention is not above the fixed vector where sources are long."""
    if one.long["ci95"][0] <= fixed.long["ci95"][1]:
        yield f"{names[one.arch]} is not better on the longest third"
    elif one.falls and fall(one) >= fall(fixed):
        yield f"{names[one.arch]} falls by {fall(one):.0f} points, as far as {names[fixed.arch]}"


def look_inside(model: Translator, sentence: str = SENTENCE) -> tuple[str, Attention | None]:
    """What a model makes of a sentence, and where it looked; None for the one that cannot look."""
    answer = model.translate(sentence)
    return answer.text, attention_of(model.model, model.tokenizers, sentence, answer.text)
