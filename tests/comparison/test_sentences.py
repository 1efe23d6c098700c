"""What carries a sentence of a comparison: figures on both sides of each limit."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jumok.comparison.summary import beyond, growths, influences, outcome, setting, sizes, speeds


def bin_of(value: float, low: float, high: float, **marks: bool) -> dict[str, Any]:
    return {"value": value, "ci95": [low, high], "thin": False, "beyond": False, **marks}


def row(name: str, *bins: dict[str, Any], **more: Any) -> dict[str, Any]:
    by_length = {"unit": "source_words", "trained_to": 30, "bins": list(bins)}
    plain = {"name": name, "arch": name, "group": "plain", "quality": {"by_length": by_length}}
    return {**plain, "speed": None, "growth": None, "influence": None, **more}


def told(write: Callable[[Any], Iterator[str]], *rows: dict[str, Any], lower: bool = False) -> list[str]:
    return list(write({"metric": {"label": "BLEU", "lower_is_better": lower}, "entries": list(rows)}))


def test_some_are_worse_past_training_and_some_are_not() -> None:
    """Intervals that only touch tell nothing; bins of few sentences and of nothing to lose are left out."""
    before, past = bin_of(90, 85, 95), {"beyond": True}
    thin = bin_of(1, 0, 2, thin=True, beyond=True)
    rows = [
        row("a", bin_of(99, 98, 99), before, bin_of(80, 70, 84.9, **past), bin_of(0, 0, 1, **past)),
        row("b", before, thin, bin_of(80, 70, 85, **past), bin_of(99, 99, 99, thin=True)),
        row("c", before, bin_of(98, 95, 99, **past)),
        row("better", before, bin_of(98, 95.1, 99, **past)),
        row("hopeless", bin_of(1, 0, 2), bin_of(0, 0, 1, **past)),
        row("seen", before),
        row("unseen", bin_of(0, 0, 1, **past)),
        {"name": "failed", "quality": None},
    ]
    below = "90.0 [85.0, 95.0] just below"
    assert told(beyond, *rows) == [
        f"Worse past the lengths of training, in BLEU: a 80.0 [70.0, 84.9] over 30 words, {below}.",
        "No worse past them, as far as the intervals tell: "
        f"b 80.0 [70.0, 85.0] over 30 words, {below}; c 98.0 [95.0, 99.0] over 30 words, {below}.",
    ]
    assert told(beyond, rows[2]) == [
        "No worse past the lengths of training, as far as the intervals tell, in BLEU: "
        f"c 98.0 [95.0, 99.0] over 30 words, {below}."
    ]
    assert told(beyond, rows[0], rows[3], lower=True) == [
        f"Worse past the lengths of training, in BLEU: better 98.0 [95.1, 99.0] over 30 words, {below}."
    ]


def test_who_decodes_fastest_is_told_like_who_trains_fastest() -> None:
    def timed(name: str, trains: float | None, decodes: float) -> dict[str, Any]:
        return row(name, speed={"train_tokens_per_s": trains, "sentences_per_s": decodes})

    rows = [timed("rnn", 1000, 50), timed("luong", 1100, 40), timed("transformer", 1200, 45)]
    assert told(speeds, *rows) == ["rnn decodes fastest, 50 sentences/s, and luong slowest, 40."]
    assert told(speeds, *rows, timed("fourth", 1250, 99)) == [
        "fourth trains fastest, 1,250 tokens/s, and rnn slowest, 1,000; "
        "fourth decodes fastest, 99 sentences/s, and luong slowest, 40."
    ]
    assert told(speeds, rows[0]) == []
    assert told(speeds, timed("rnn", None, 50), timed("luong", 1100, 50)) == []


@pytest.mark.parametrize(("steep", "said"), [(209, 0), (211, 1)])  # a tenth of a factor of two is 210
def test_growths_must_differ_by_a_tenth(steep: float, said: int) -> None:
    flat = {"lengths": [1, 64, 128], "flops": [1, 100, 200], "ms": [1, 2, 6], "bytes": [1, 2, 8]}
    rows = [row("rnn", growth=flat), row("luong", growth=flat | {"flops": [1, 100, steep]})]
    assert (
        told(growths, *rows)
        == [
            f"From 64 to 128 tokens a pass of luong takes {steep / 100:.1f} times the FLOPs, 3.0 times the "
            "time and 4.0 times the memory; of rnn 2.0, 3.0 and 4.0 times."
        ]
        * said
    )
    short = {key: values[:1] for key, values in flat.items()}
    assert told(growths, rows[0], row("luong", growth=short)) == []


@pytest.mark.parametrize(("share", "said"), [(0.49, 0), (0.5, 1)])  # a quarter more than 40 %
def test_influence_of_near_places_must_be_a_quarter_above_an_even_share(share: float, said: int) -> None:
    found = {"distance": [0.05, 0.19, 0.2], "share": [0.1, share - 0.1, 1 - share], "even": [0.2, 0.2, 0.6]}
    assert (
        told(influences, row("rnn", influence=found), row("luong", influence={"even": []}))
        == [
            "Of the influence on a token this much comes from near places, within a fifth of the length: "
            "50 % in rnn (evenly 40 %)."
        ]
        * said
    )


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((1000, 1049), "Their parameter counts lie within 4.9 % of each other."),
        (
            (1000, 1051),
            "Their parameter counts differ: luong has 1,051 and rnn 1,000, so size is part of every "
            "difference.",
        ),
        ((1000, None), ""),
    ],
)
def test_sizes_within_a_twentieth_are_alike(counts: tuple[int | None, ...], said: str) -> None:
    rows = [row(name, parameters=count) for name, count in zip(("rnn", "luong"), counts, strict=True)]
    assert sizes({"entries": rows}) == said


@pytest.mark.parametrize(
    ("lower", "delta", "p", "found"),
    [
        (False, 1.0, 0.049, (1, "p = 0.049")),
        (False, -1.0, 0.049, (-1, "p = 0.049")),
        (True, 1.0, 0.049, (-1, "p = 0.049")),  # more errors
        (True, -1.0, 0.049, (1, "p = 0.049")),
        (True, -1.0, 0.05, (0, "p = 0.050")),
    ],
)
def test_what_a_change_does_to_one_seed(
    *, lower: bool, delta: float, p: float, found: tuple[int, str]
) -> None:
    pairs = [{"before": "x", "after": "b", "p": 0.0, "delta": 9.0}]
    pairs += [{"before": "a", "after": "b", "p": p, "delta": delta}]
    report = {"metric": {"lower_is_better": lower}, "pairs": pairs}
    assert outcome(report, {"entries": ["a"]}, {"entries": ["b"], "seeds": [1]}) == found
    assert outcome(report, {"entries": ["b"]}, {"entries": ["a"], "seeds": [1]}) == (0, "not tested")


@pytest.mark.parametrize(
    ("after", "found"),
    [((4, 6), (1, "every seed")), ((3, 6), (0, "the seeds overlap")), ((1, 1.9), (-1, "every seed"))],
)
def test_what_a_change_does_to_every_seed(after: tuple[float, float], found: tuple[int, str]) -> None:
    """The seeds of the other lie between 2 and 3."""
    ours = {"min": after[0], "max": after[1], "seeds": [1, 2]}
    theirs = {"min": 2, "max": 3}
    for lower, kind in ((False, found[0]), (True, -found[0])):
        assert outcome({"metric": {"lower_is_better": lower}}, theirs, ours) == (kind, found[1])


def test_one_model_of_data_that_nobody_counted() -> None:
    """A budget counts as used up when every entry that was tested has used it up."""
    one = row("rnn", steps=100, settings={})
    one["quality"]["n"] = 240
    report = {
        "entries": [one, {"group": "plain", "quality": None}],
        "groups": [{"seeds": [1, 2]}],
        "data": {},
    }
    for value, most in ((100, ""), (101, "at most ")):
        said = setting(report | {"budget": {"kind": "steps", "value": value}})
        assert list(filter(None, said)) == [
            f"One model was trained, each for {most}{value} steps, and tested on 240 pairs."
        ]
