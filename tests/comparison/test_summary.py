"""Sentences that figures carry, and none that they do not."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumok.comparison.report import build_report
from jumok.comparison.summary import allowance, encoders, joined, summarise
from jumok.config import ARCHS, Arch
from jumok.settings import Flat
from tests.comparison.experiments import FACTS, answers, entry, failed, longer_than, measured

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


def test_models_that_score_nothing_are_not_compared(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    for one in report["entries"]:
        if one["quality"]:
            one["quality"]["value"] = 0.0
    first, *rest = summarise(report)
    assert first == "Nothing was learned: every model scores 0. Train longer."
    assert rest
    assert not any(" than " in one or "falls" in one or "p = " in one for one in rest)
    report["metric"]["lower_is_better"] = True
    assert summarise(report)[0] != first, "an error rate of 0 is perfect"


def test_the_summary_of_a_whole_experiment(whole: dict[str, Any]) -> None:
    luong, transformer, ablation = (f"{pair['p']:.3f}" for pair in whole["pairs"])
    ends = "; ".join(f"{slope['entry']} {interval(slope, 'short')} to {interval(slope, 'long')}"
                     for slope in whole["slopes"][:3])  # fmt: skip
    assert ends.startswith("rnn 100.0 [93.6, 100.0] to 0.0 [0.0, 5.7]; luong ")
    assert summarise(whole) == [
        "rnn falls with length, luong and transformer show no fall. From sources of 1–7 to 23–30 characters, "
        f"exact match: {ends}.",
        f"luong is better than rnn: exact match 99.2 against 33.3, p = {luong}.",
        "transformer and luong do not differ beyond chance: "
        f"exact match 99.6 against 99.2, p = {transformer}.",
        "transformer no-norm failed: the loss is not finite.",
        "Worse, in exact match: transformer no-scale 66.7 against 99.6 of transformer (model.scaled=false, "
        f"p = {ablation}).",
        "transformer trains fastest, 4,000 tokens/s, and rnn slowest, 1,000.",
        "From 64 to 128 tokens a pass of transformer takes 4.0 times the FLOPs, 4.0 times the time and 4.0 "
        "times the memory; of rnn 2.0, 2.0 and 2.0 times.",
        "The largest weight of a step's attention to the source is, on average, 0.78 in luong (1.0 of 4.1 "
        "possible bits of entropy).",
        "Of the influence on a token this much comes from near places, within a fifth of the length: 60 % in "
        "transformer (evenly 35 %).",
        "4 models were trained on 1,000 pairs, each for 100 steps, and tested on 240 pairs.",
        "Their parameter counts lie within 0.0 % of each other.",
        "Each was trained once: how far another seed would come is not measured.",
    ]


def interval(slope: dict[str, Any], end: str) -> str:
    low, high = slope[end]["ci95"]
    return f"{slope[end]['value']:.1f} [{low:.1f}, {high:.1f}]"


def test_no_claim_where_chance_could_have_made_it(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["pairs"][0]["p"] = report["pairs"][2]["p"] = 0.05
    assert not sentences(report, "luong is better")
    assert sentences(report, "luong and rnn do not differ beyond chance")
    assert not sentences(report, "Worse")
    assert sentences(report, "No difference beyond chance, in exact match: transformer no-scale")


def test_what_was_not_tested_is_no_difference(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["pairs"] = []
    assert not sentences(report, "Better")
    assert not sentences(report, "Worse, in")
    (said,) = sentences(report, "No difference beyond chance")
    assert said.endswith("transformer no-scale against transformer (not tested).")


@pytest.mark.parametrize(
    ("falls", "text"),
    [
        ([True, False, None], "rnn falls with length, luong shows no fall, for transformer it is open. "),
        ([True, True, False], "rnn and luong fall with length, transformer shows no fall. "),
        ([False, False, False], "rnn, luong and transformer show no fall with length. "),
        ([None, None, None], "For rnn, luong and transformer it is open whether it falls with length. "),
    ],
)
def test_who_falls_with_length(whole: dict[str, Any], falls: list[bool | None], text: str) -> None:
    report = copy.deepcopy(whole)
    for slope, verdict in zip(report["slopes"], falls, strict=False):
        slope["falls"] = verdict
    assert sentences(report, text + "From sources of 1–7 to 23–30 characters, exact match: rnn ")


def test_slopes_without_intervals_say_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    for slope in report["slopes"]:
        slope |= {"falls": None, "ci95": None}
    assert not [one for one in summarise(report) if "length" in one and "influence" not in one]


def test_speeds_that_differ_by_little_say_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    for rate, said in ((1249.0, 0), (1250.0, 1)):  # the others train at 1,000
        report["entries"][2]["speed"]["train_tokens_per_s"] = rate
        assert len(sentences(report, "transformer trains")) == said


def test_costs_that_grow_alike_say_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["entries"][2]["growth"] = growth(1)
    assert not sentences(report, "From")


def test_growth_is_told_at_lengths_that_all_have(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    for values in report["entries"][0]["growth"].values():
        values.append(1e9)  # a length that the Transformer's positions do not reach
    assert sentences(report, "From") == sentences(whole, "From")


def test_an_even_influence_says_nothing(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["entries"][2]["influence"]["share"] = NEAR["even"]
    assert not sentences(report, "Of the influence")


def test_lower_is_better_turns_the_words(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["metric"] |= {"name": "per", "label": "PER", "lower_is_better": True}
    assert sentences(report, "luong is worse than rnn: PER 99.2 against 33.3")


def test_a_budget_that_was_not_used_up(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    report["budget"] |= {"kind": "time", "value": 70.0}
    assert sentences(report, "4 models were trained on 1,000 pairs, each for at most 70 seconds, ")
    report["budget"] |= {"kind": "flops", "value": 2e15}
    assert sentences(report, "4 models were trained on 1,000 pairs, each for at most 2e+15 FLOPs, ")


@pytest.mark.parametrize(
    ("wrong", "word"), [(20, "Worse past the lengths"), (99, "No worse past the lengths")]
)
def test_past_the_lengths_of_training(tmp_path: Path, wrong: int, word: str) -> None:
    one = entry("transformer")
    found = measured(tmp_path, one, answers(longer_than(wrong)), trained_to=20)
    report = build_report(tmp_path, [one], {one.name: found}, FACTS)
    (sentence,) = (text for text in report["summary"] if text.startswith(word))
    assert "over 20 characters, 100.0 [" in sentence


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
    if wrong == 12:  # the length sentence is about both seeds, and only where they agree
        (length,) = (one for one in report["summary"] if "From sources of" in one)
        assert length.startswith("rnn and luong show no fall with length. ")
        assert length.count(" to ") == 1 + 4


def test_ablations_of_several_seeds_share_a_sentence(tmp_path: Path) -> None:
    plain = [entry("transformer", seed=seed, several=True) for seed in (1, 2)]
    changed = [replace(one, name=f"{one.name} no-scale", group="no-scale", changes={"model.scaled": False})
               for one in plain]  # fmt: skip
    found = {one.name: measured(tmp_path, one, answers([])) for one in plain}
    found |= {one.name: measured(tmp_path, one, answers(range(60 * one.seed))) for one in changed}
    report = build_report(tmp_path, [*plain, *changed], found, FACTS)
    assert (
        "Worse, in exact match: transformer no-scale 62.5 against 100.0 of transformer (model.scaled=false, "
        "every seed)." in report["summary"]
    )


def test_joined() -> None:
    assert [joined("a"), joined("ab"), joined("abc")] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("both", "said"),
    [
        ((True, True), "rnn and luong read the source in both directions, with the same encoder"),
        ((False, False), "rnn and luong read the source in one direction, with the same encoder"),
        (
            (False, True),
            "rnn reads the source in one direction and luong reads the source in both directions, so the "
            "encoder is part of their difference",
        ),
        ((None, True), ""),  # of a version that did not say
    ],
)
def test_the_encoders_of_the_recurrent_ones(both: tuple[bool | None, ...], said: str) -> None:
    named = dict(zip(ARCHS, both, strict=False))
    settings: dict[Arch, Flat] = {
        arch: {} if one is None else {"model.bidirectional": one} for arch, one in named.items()
    } | {"transformer": {}}
    assert encoders(settings) == said
    assert encoders({"rnn": settings["rnn"], "transformer": {}}) == ""


def test_the_report_says_what_the_encoders_are_and_an_old_one_opens(whole: dict[str, Any]) -> None:
    report = copy.deepcopy(whole)
    before = summarise(report)  # its settings say nothing of encoders
    assert not [one for one in before if "the source in" in one]
    for one in report["entries"]:
        if one["arch"] != "transformer":
            one["settings"]["model.bidirectional"] = True
    after = summarise(report)
    [told] = [one for one in after if one not in before]
    assert told == "rnn and luong read the source in both directions, with the same encoder."


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [("time", 600.0, "600 seconds"), ("steps", 1800, "1,800 updates"), ("flops", 1e15, "1e+15 FLOPs")],
)
def test_what_each_may_spend(kind: str, value: float, said: str) -> None:
    assert allowance({"kind": kind, "value": value}) == said
