"""The report as the page reads it."""

import pytest

from jumok.comparison.view import View, at, ends, fields, items, names, word
from tests.comparison.sample import sample_report


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, {"a": None}, {"a": 3}])
def test_a_missing_field_is_none_and_no_error(value) -> None:
    assert at(value, "a", "b") is None
    assert at(value, "b", 0) is None
    assert items(value, "a", "b") == []
    assert fields(value, "a", "b") == {}
    assert word(value, "a", "b", other="–") == "–"


def test_a_field_is_found() -> None:
    value = {"a": [{"b": 0}]}
    assert at(value, "a", 0, "b") == 0
    assert at(value, "a", 1, "b") is None
    assert word(value, "a", 0, "b") == "0"


def test_an_interval_has_two_ends_in_order() -> None:
    assert ends([1, 2]) == (1, 2)
    assert ends([2, 1]) == ends([1]) == ends(None) == ends([None, 2]) == (None, None)


def test_the_story_is_about_the_plain_entries() -> None:
    view = View(sample_report(seeds=2))
    assert len(view.lineage) == 6
    assert [one["group"] for one in view.ablations] == ["no-scale", "positions-none", "no-residual"]
    assert [view.tone(one) for one in view.lineage] == [0, 0, 1, 1, 2, 2]
    assert [view.label(one) for one in view.lineage] == [
        "rnn",
        "rnn",
        "luong",
        "luong",
        "transformer",
        "transformer",
    ]
    assert view.seeded
    assert names(view, view.lineage) == "rnn, luong and transformer"
    assert [one["name"] for one in view.firsts()] == ["rnn", "luong", "transformer"]


def test_an_ablation_knows_its_plain_entry_and_its_test() -> None:
    view = View(sample_report())
    base = view.base(view.ablations[0])
    assert base is not None
    assert base["name"] == "transformer"
    pair = view.pair("transformer", "transformer no-scale")
    assert pair is not None
    assert pair["delta"] == 1.5
    assert view.pair("rnn", "transformer") is None


def test_the_words_of_the_metric() -> None:
    view = View(sample_report())
    assert (view.metric_title, view.metric_axis) == ("Exact match", "exact match in %, higher is better")
    assert view.most == 100
    per = View({"metric": {"name": "per", "label": "PER", "lower_is_better": True}})
    assert (per.metric_axis, per.most) == ("PER, lower is better", None)
    assert View({}).metric_label == "quality"
