"""The report of a comparison in a real browser: it opens from disk, alone, and shows what it has."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.comparison.sample import sample_report

from jumok.comparison.page import report_page


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_page(sample_report(seeds=2)), encoding="utf-8")
    return path


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide", "narrow"])
def opened(request: pytest.FixtureRequest, browser: Browser, file: Path) -> Iterator[Page]:
    width, scheme = request.param
    page = browser.new_page(
        viewport={"width": width, "height": 860}, color_scheme=scheme, reduced_motion="reduce"
    )
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda one: one.url.startswith(("file:", "data:", "blob:")) or faults.append(one.url))
    page.goto(file.as_uri())
    yield page
    page.close()
    assert faults == []


def test_it_fits_its_window_and_shows_each_picture_once(opened: Page) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for figure in opened.locator("figure").all():
        assert figure.locator("svg:visible").count() == 1
    outside = """() => {
        const charts = [...document.querySelectorAll("svg")].filter((svg) => svg.getClientRects().length);
        return charts.flatMap((svg) => {
            const box = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll("text")].filter((text) => !text.closest(".tip"));
            return texts.filter((text) => {
                const at = text.getBoundingClientRect();
                return at.left < box.left - 3 || at.right > box.right + 12 || at.bottom > box.bottom + 3;
            }).map((text) => text.textContent);
        });
    }"""
    assert opened.evaluate(outside) == []


def test_tables_open_without_a_script(opened: Page) -> None:
    twin = opened.locator("#fig-length details")
    twin.locator("summary").click()
    assert twin.locator("table").is_visible()


def test_the_json_and_a_picture_can_be_saved(opened: Page, tmp_path: Path) -> None:
    with opened.expect_download() as download:
        opened.locator("#save").click()
    download.value.save_as(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == sample_report(seeds=2)
    with opened.expect_download() as download:
        opened.locator("#fig-length .save").click()
    download.value.save_as(tmp_path / "figure.svg")
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert "rgb(" in svg
    assert 'class="tip"' not in svg


def test_a_mark_says_its_numbers_when_pointed_at(browser: Browser, file: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    page.goto(file.as_uri())
    mark = page.locator("#fig-quality svg.wide .mark").first
    assert not mark.locator(".tip").is_visible()
    mark.locator(".hit").hover()
    assert mark.locator(".tip").is_visible()
    value = sample_report(seeds=2)["entries"][0]["quality"]["value"]
    assert f"{value:.1f}" in mark.locator(".tip").text_content()
    page.close()
