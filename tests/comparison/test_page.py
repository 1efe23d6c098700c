"""The whole page: its numbers are the report's, nothing in it is code of others, and nothing breaks it."""

import json
import math
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.comparison.page import SECTIONS, clean, report_page
from tests.comparison.reading import Reader, numbers_in, read_back
from tests.comparison.sample import sample_report

HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\u2028\x00\ud800"


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(sample_report(seeds=2))


@pytest.fixture(scope="module")
def found(page: str) -> Reader:
    return Reader(page)


def test_every_number_in_a_table_is_one_of_the_report(found: Reader) -> None:
    known = set(numbers_in(sample_report(seeds=2)))
    shown = found.all("data")
    assert len(shown) > 300
    for attributes, text in shown:
        value = float(attributes["value"])
        assert value in known
        read = read_back(text)
        if read is not None:
            assert math.isclose(read, value, rel_tol=0.006, abs_tol=0.06), (text, value)


def test_every_mark_of_a_figure_is_a_number_of_the_report(found: Reader) -> None:
    known = set(numbers_in(sample_report(seeds=2)))
    marks = [float(one["data-y"]) for one, _ in found.all("g") if "data-y" in one]
    assert len(marks) > 200
    assert set(marks) <= known


def test_the_report_is_inside(found: Reader) -> None:
    ((_, text),) = found.all("script", id="report")
    assert json.loads(text) == sample_report(seeds=2)


def test_all_sections_are_there_in_order_and_linked(found: Reader) -> None:
    ids = [one["id"] for one, _ in found.all("section")]
    assert ids == ["summary", *SECTIONS]
    targets = {one["id"] for _, one, _ in found.elements if "id" in one}
    links = [one["href"] for one, _ in found.all("a") if one["href"].startswith("#")]
    assert {link[1:] for link in links} <= targets


def test_ids_are_given_once_and_every_picture_is_named(found: Reader) -> None:
    ids = Counter(one["id"] for _, one, _ in found.elements if "id" in one)
    assert [id for id, times in ids.items() if times > 1] == []
    for svg, _ in found.all("svg"):
        assert svg["role"] == "img"
        assert ids[svg["aria-labelledby"]] == ids[svg["aria-describedby"]] == 1


def test_nothing_is_loaded_and_only_our_own_script_runs(page: str, found: Reader) -> None:
    assert [one.get("type", "script") for one, _ in found.all("script")] == ["application/json", "script"]
    assert not [
        one for _, one, _ in found.elements if "style" in one or any(name.startswith("on") for name in one)
    ]
    assert re.findall(r"https?://[^\s\"']+", page) == ["http://www.w3.org/2000/svg"]
    ((policy, _),) = [one for one in found.all("meta") if "http-equiv" in one[0]]
    assert "default-src 'none'" in policy["content"]
    assert "unsafe" not in policy["content"]


def test_failures_are_said_first(found: Reader) -> None:
    ((_, text),) = found.all("aside")
    assert "1 of 9 models did not finish" in text
    assert (
        "transformer no-residual failed — training: the loss is not finite at step 312 (lower training.lr)"
        in text
    )


def test_the_head_says_what_was_compared(found: Reader) -> None:
    ((_, text),) = found.all("header")
    assert "rnn, luong and transformer, trained on the same 48,003 pairs of dates" in text
    assert "71 s of training each, tested on 2,022 pairs." in text
    assert "Parameter counts are matched: the largest is 3.3 % above the smallest." in text


def replaced(value: Any, text: str) -> Any:
    """A report with a hostile text in place of every text; names stay different."""
    if isinstance(value, dict):
        return {key: inner if key == "group" else replaced(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, text) for inner in value]
    return f"{text}{value}" if isinstance(value, str) and value != "completed" else value


def test_hostile_texts_stay_texts() -> None:
    found = Reader(report_page(replaced(sample_report(), HOSTILE)))
    assert len(found.all("script")) == 2
    assert not found.all("img")
    assert not [one for _, one, _ in found.elements if "onerror" in one]
    assert "<script>alert(1)" in found.all("h1")[0][1]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a report."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


PLACES = places(sample_report(points=2))[1:]
WRONG = st.sampled_from(
    [None, math.nan, math.inf, -math.inf, 0, -7, 1e300, True, "", "text", [], {}, [None], [[]]]
)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), WRONG), min_size=1, max_size=6))
def test_no_field_however_wrong_breaks_the_page(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    report = sample_report(points=2)
    for path, value in changes:
        inner: Any = report
        for key in path[:-1]:
            try:
                inner = inner[key]
            except (KeyError, IndexError, TypeError):
                break
        else:
            if isinstance(inner, dict) or (isinstance(inner, list) and path[-1] < len(inner)):
                inner[path[-1]] = value
    text = report_page(report)
    assert not re.search(r'="[^"]*\b(nan|inf)\b', text.split("<main>")[1].split("</main>")[0])


@pytest.mark.parametrize("report", [{}, {"entries": []}, {"entries": None, "title": None}, {"entries": [{}]}])
def test_an_empty_report_is_a_page(report) -> None:
    assert Reader(report_page(report)).all("h1")


def test_one_entry_alone() -> None:
    report = sample_report()
    report |= {"entries": report["entries"][:1], "pairs": [], "groups": []}
    found = Reader(report_page(report))
    assert [one["id"] for one, _ in found.all("section")] == [
        "summary", *(id for id in SECTIONS if id != "ablations"),
    ]  # fmt: skip


def test_twenty_entries_fit_into_a_megabyte() -> None:
    report = sample_report(seeds=3, ablations=tuple(f"cut-{n}" for n in range(10)), points=200)
    assert len(report["entries"]) == 20
    assert len(report_page(report).encode()) < 1_000_000


def test_long_examples_are_the_first_to_go_from_the_json() -> None:
    report = sample_report()
    for entry in report["entries"][:3]:
        for n in range(12):
            text = {"source": "s" * 20_000, "reference": str(n), "hypothesis": entry["name"]}
            entry["quality"]["examples"].append(text)
    text = report_page(report)
    assert len(text.encode()) < 1_000_000
    inside = json.loads(Reader(text).all("script", id="report")[0][1])
    assert inside["left_out"] == ["examples"]
    assert inside["entries"][0]["quality"]["value"] == report["entries"][0]["quality"]["value"]


def test_numbers_that_json_has_not_become_null() -> None:
    assert clean({"a": [math.nan, 1.5, (math.inf,)], 3: "x"}) == {"a": [None, 1.5, [None]], "3": "x"}


def test_equal_reports_give_equal_pages(page: str) -> None:
    assert report_page(sample_report(seeds=2)) == page


def test_a_long_summary_starts_with_a_few_sentences() -> None:
    few, many = (
        {**sample_report(), "summary": [f"Sentence {n}." for n in range(count)]} for count in (10, 25)
    )
    ((_, text),) = Reader(report_page(few)).all("section", id="summary")
    assert "more" not in text
    ((_, text),) = Reader(report_page(many)).all("section", id="summary")
    assert all(f"Sentence {n}." in text for n in range(25))
    assert "17 more" in text
