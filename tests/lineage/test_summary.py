"""Sentences that figures carry, and none that they do not."""

import copy
from pathlib import Path
from typing import Any

import pytest

from jumok.lineage.report import build_report
from jumok.lineage.summary import summarise
from tests.lineage.experiments import FACTS, answers, entry, failed, longer_than, measured

ATTENTION = {"entropy_bits": 1.04, "max_entropy_bits": 4.1, "sharpness": 0.78, "by_layer": [[1.04]]}
NEAR = {"distance": [0.1, 0.3, 0.5], "share": [0.6, 0.3, 0.1], "even": [0.35, 0.35, 0.3], "sentences": 3}


def growth(power: int) -> dict[str, Any]:
    lengths = [64, 128]
    values = [float(n**power) for n in lengths]
    return {"lengths": lengths, "ms": values, "bytes": values, "flops": values}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out: Path = tmp_path_factory.mktemp("experiment")
    rnn, luong, transformer = (entry(arch) for arch in ("rnn", "luong", "transformer"))
    ablation, broken = entry("transformer", "no-scale"), entry("transformer", "no-norm")
    found = {
        "rnn": measured(out, rnn, answers(longer_than(10)), growth=growth(1)),
        "luong": measured(out, luong, answers([1, 2]), attention={"kinds": {"cross": ATTENTION}}),
        "transformer": measured(out, transformer, answers([1]), growth=growth(2), influence=NEAR),
        "transformer no-scale": measured(out, ablation, answers(range(0, 240, 3))),
        "transformer no-norm": failed("the loss is not finite."),
    }
    found["transformer"]["speed"]["train_tokens_per_s"] = 4000.0
    entries = [rnn, luong, transformer, ablation, broken]
    return build_report(out, entries, found, FACTS)  # type: ignore[arg-type]


def sentences(report: dict[str, Any], start: str) -> list[str]:
    return [one for one in summarise(report) if one.startswith(start)]


def test_the_summary_of_a_whole_experiment(whole: dict[str, Any]) -> None:
    luong, transformer, ablation = (f"{pair['p']:.3f}" for pair in whole["pairs"])
    falling = whole["slopes"][0]
    low, high = falling["long"]["ci95"]
    assert summarise(whole)[:6] == [
        "4 models were trained on 1,000 pairs, each for 100 steps, and tested on 240 pairs.",
        "Their parameter counts lie within 0.0 % of each other.",
        f"luong is better than rnn: exact match 99.2 against 33.3, p = {luong}.",
        "Between transformer and luong there is no difference that chance could not make: "
        f"exact match 99.6 against 99.2, p = {transformer}.",
        f"rnn falls with length: exact match is 100.0 [{falling['short']['ci95'][0]:.1f}, 100.0] for sources "
        f"of 1–7 characters and 0.0 [{low:.1f}, {high:.1f}] for 23–30; the intervals do not overlap.",
        summarise(whole)[5],
    ]
    assert sentences(whole, "luong shows no fall with length: exact match is ")
    assert sentences(whole, "Lost in") == [
        "Lost in exact match from the shortest sources to the longest: "
        f"rnn 100.0, luong {-whole['slopes'][1]['change'] + 0:.1f}, transformer "
        f"{-whole['slopes'][2]['change'] + 0:.1f}."
    ]
    assert sentences(whole, "transformer no-scale") == [
        f"transformer no-scale is worse than transformer: exact match 66.7 against 99.6, p = {ablation} "
        "(model.scaled=false)."
    ]
    assert sentences(whole, "transformer trains") == [
        "transformer trains fastest, 4,000 tokens/s, and rnn slowest, 1,000 tokens/s."
    ]
    assert sentences(whole, "From 64") == [
        "From 64 to 128 pieces a pass grows, transformer by 4.0 in FLOPs, 4.0 in time and 4.0 in memory; rnn "
        "by 2.0 in FLOPs, 2.0 in time and 2.0 in memory."
    ]
    assert sentences(whole, "Over the source") == [
        "Over the source luong spreads a step's attention by 1.0 of 4.1 possible bits; its largest weight is "
        "0.78 on average."
    ]
    assert sentences(whole, "In transformer") == [
        "In transformer 60 % of a token's influence comes from near places (within a fifth of the length); "
        "evenly it would be 35 %."
    ]
    assert summarise(whole)[-2:] == [
        "Each was trained once: how far another seed would come is not measured.",
        "transformer no-norm failed: the loss is not finite.",
    ]


def test_no_claim_where_chance_could_have_made_it(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["pairs"][0]["p"] = 0.05
    assert not sentences(report, "luong is better")
    assert sentences(report, "Between luong and rnn there is no difference")


def test_no_fall_where_intervals_touch_or_are_missing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["slopes"][0]["falls"] = None
    assert not sentences(report, "rnn falls")
    assert not sentences(report, "rnn shows")
    assert not sentences(report, "Lost in")


def test_better_at_long_sources(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    slope = report["slopes"][0]
    slope |= {"short": slope["long"], "long": slope["short"], "change": 100.0, "falls": False}
    assert sentences(report, "rnn does not fall with length, it is better at long sources")


def test_speeds_that_differ_by_little_say_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["entries"][2]["speed"]["train_tokens_per_s"] = 1200.0
    assert not sentences(report, "transformer trains")


def test_costs_that_grow_alike_say_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["entries"][2]["growth"] = growth(1)
    assert not sentences(report, "From")


def test_an_even_influence_says_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["entries"][2]["influence"]["share"] = NEAR["even"]
    assert not sentences(report, "In transformer")


def test_lower_is_better_turns_the_words(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["metric"] |= {"name": "per", "label": "PER", "lower_is_better": True}
    assert sentences(report, "luong is worse than rnn: PER 99.2 against 33.3")


def test_a_budget_that_was_not_used_up(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["budget"] |= {"kind": "time", "value": 70.0}
    assert "each for at most 70 seconds" in summarise(report)[0]
    report["budget"] |= {"kind": "flops", "value": 2e15}
    assert "each for at most 2e+15 FLOPs" in summarise(report)[0]


@pytest.mark.parametrize(("wrong", "word"), [(20, "breaks past its training lengths"), (99, "holds past")])
def test_past_the_lengths_of_training(tmp_path: Path, wrong: int, word: str) -> None:
    one = entry("transformer")
    found = measured(tmp_path, one, answers(longer_than(wrong)), trained_to=20)
    report = build_report(tmp_path, [one], {one.name: found}, FACTS)
    (sentence,) = (text for text in report["summary"] if word in text)
    assert "past the 20 characters seen in training" in sentence


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (12, "luong is better than rnn with every seed: exact match 97.5 against 62.5 on average."),
        (100, "The seeds of luong and rnn overlap: exact match 79.2 against 62.5 on average."),
    ],
)
def test_several_seeds_must_agree(tmp_path: Path, wrong: int, text: str) -> None:
    counts = {"rnn-s1": 120, "rnn-s2": 60, "luong-s1": 0, "luong-s2": wrong}
    entries = [entry(arch, seed=seed, several=True) for arch in ("rnn", "luong") for seed in (1, 2)]
    found = {one.name: measured(tmp_path, one, answers(range(counts[one.name]))) for one in entries}
    report = build_report(tmp_path, entries, found, FACTS)
    assert text in report["summary"]
    assert not any("trained once" in one for one in report["summary"])
