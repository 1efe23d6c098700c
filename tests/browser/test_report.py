"""The report of a comparison in a real browser: it opens from disk, alone, and shows what it has."""

import json
import math
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.comparison.sample import sample_report

from jumok.comparison.publish import report_page

SECTIONS = [
    *("summary", "table", "length", "learning", "speed", "growth", "attention", "beyond", "ablations"),
    *("examples", "settings"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("report"), sample_report(seeds=2))


def written(folder: Path, report: dict[str, Any]) -> Path:
    path = folder / "report.html"
    path.write_text(report_page(report), encoding="utf-8")
    return path


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide", "narrow"])
def opened(request: pytest.FixtureRequest, browser: Browser, file: Path) -> Iterator[Page]:
    width, scheme = request.param
    yield from watched(browser, file, viewport={"width": width, "height": 860}, color_scheme=scheme)


def watched(browser: Browser, file: Path, **look: Any) -> Iterator[Page]:
    """The file on show; a message, an error or a request to anywhere is a fault."""
    page = browser.new_page(**look, reduced_motion="reduce")
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda one: one.url.startswith(("file:", "data:", "blob:")) or faults.append(one.url))
    page.goto(file.as_uri())
    page.locator("footer").wait_for()
    yield page
    page.close()
    assert faults == []


def sections(page: Page) -> list[str | None]:
    return [one.get_attribute("id") for one in page.locator("section").all()]


def test_all_sections_are_there_in_order_and_linked(opened: Page) -> None:
    assert sections(opened) == SECTIONS
    links = opened.locator("nav a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    assert links == [f"#{id}" for id in SECTIONS]


def test_it_fits_its_window_and_every_figure_has_one_picture(opened: Page) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    figures = opened.locator("figure")
    assert figures.count() > 20
    for figure in figures.all():
        assert figure.locator(".chart svg[role=img]:visible").count() == 1
    outside = """() => [...document.querySelectorAll(".chart svg")].flatMap((svg) => {
        const box = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].filter((text) => {
            const at = text.getBoundingClientRect();
            return at.left < box.left - 3 || at.right > box.right + 12 || at.bottom > box.bottom + 3;
        }).map((text) => text.textContent);
    })"""
    assert opened.evaluate(outside) == []


def numbers_in(value: Any) -> Iterator[float]:
    """Every number of a report."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def test_every_value_with_an_interval_is_one_of_the_report(browser: Browser, file: Path) -> None:
    known = sorted(numbers_in(sample_report(seeds=2)))
    seen = 0
    for page in watched(browser, file):
        for cell in page.locator("table.data td").all_text_contents():
            if found := re.match(r"([−+\d.]+) \[([−+\d.]+), ([−+\d.]+)\]", cell):
                for number in (float(one.replace("−", "-")) for one in found.groups()):
                    assert any(math.isclose(number, one, abs_tol=0.0501) for one in known), cell
                    seen += 1
    assert seen > 100


def test_tables_stand_beside_figures(opened: Page) -> None:
    figure = opened.locator("#fig-length")
    figure.locator("[data-tool=table]").click()
    expect(figure.locator("table")).to_be_visible()
    heads = figure.locator("table th[scope=col]").all_text_contents()
    assert heads == ["source words", "sentences", *("rnn", "rnn-s2", "luong", "luong-s2"), *heads[-2:]]
    first = sample_report(seeds=2)["entries"][0]["quality"]["by_length"]["bins"][0]
    cell = figure.locator("tbody tr").first.locator("td").nth(1).text_content()
    assert cell == f"{first['value']:.1f} [{first['ci95'][0]:.1f}, {first['ci95'][1]:.1f}]"


def test_the_json_and_a_picture_can_be_saved(opened: Page, tmp_path: Path) -> None:
    with opened.expect_download() as download:
        opened.locator("#save").click()
    download.value.save_as(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == sample_report(seeds=2)
    opened.locator("#fig-quality [data-tool=export]").click()
    with opened.expect_download() as download:
        opened.get_by_role("menuitem", name="SVG").click()
    download.value.save_as(tmp_path / "figure.svg")
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert "rgb(" in svg
    assert "transformer-s2" in svg


def test_what_was_compared_and_what_failed_is_said_first(opened: Page) -> None:
    said = opened.locator("header").text_content() or ""
    assert "rnn, luong and transformer, trained on the same 48,003 pairs of dates" in said
    assert "71 s of training each, tested on 2,022 pairs." in said
    assert "Parameter counts are matched: the largest is 3.3 % above the smallest." in said
    banner = opened.locator("aside").text_content() or ""
    assert "1 of 9 models did not finish" in banner
    reason = "training: the loss is not finite at step 312 (lower training.lr)"
    assert f"transformer no-residual failed — {reason}" in banner


def test_a_mark_says_its_numbers_and_a_difference_is_marked(opened: Page) -> None:
    tip = opened.locator("#fig-quality .mark title").first.text_content() or ""
    assert tip == "rnn: exact match 60.2 [59.0, 61.5], 2,022 sentences"  # 60.25, rounded as the summary does
    assert opened.locator("#examples mark").all_text_contents() == ["May", "May"]
    assert opened.locator("#examples .ok").count() == 4


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"entries": [], "groups": [], "pairs": [], "slopes": [], "summary": ["Nothing."]}, SECTIONS[1:10]),
        ({"only": "rnn"}, ["ablations"]),
        ({"only": "transformer no-residual"}, SECTIONS[2:8] + ["examples"]),
    ],
)
def test_what_the_report_has_not_is_left_out(
    browser: Browser, tmp_path: Path, change: dict[str, Any], gone: list[str]
) -> None:
    report = sample_report() | change
    if only := report.pop("only", None):
        report |= {"entries": [one for one in report["entries"] if one["name"] == only]}
        report |= {"groups": [], "pairs": [], "slopes": []}
    for page in watched(browser, written(tmp_path, report)):
        assert sections(page) == [id for id in SECTIONS if id not in gone]


def test_a_long_summary_starts_with_a_few_sentences(browser: Browser, tmp_path: Path) -> None:
    report = sample_report() | {"summary": [f"Sentence {n}." for n in range(25)]}
    for page in watched(browser, written(tmp_path, report)):
        expect(page.locator("#summary li:visible")).to_have_count(8)
        page.get_by_text("17 more").click()
        expect(page.locator("#summary li:visible")).to_have_count(25)


def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    report = sample_report() | {"title": hostile, "summary": [hostile]}
    for page in watched(browser, written(tmp_path, report)):
        assert page.locator("h1").text_content() == hostile
        assert page.locator("img").count() == 0


def test_without_scripts_it_has_the_summary(browser: Browser, file: Path) -> None:
    page = browser.new_page()
    own = escape(file.read_text(encoding="utf-8"))
    page.set_content(f'<iframe sandbox srcdoc="{own}" width="900" height="900"></iframe>')  # runs no scripts
    inside = page.frame_locator("iframe").locator("noscript")
    inside.locator("table").wait_for()  # is visible
    assert inside.locator("li").all_inner_texts() == ["rnn falls with length.", "luong does not."]
    assert inside.locator("tbody tr").count() == 9
    page.close()
