"""Training as it happens, from the files of a run; attention as it forms; quality by length."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Watched
from tests.browser.screens import params, ready, settled, wait_for, wait_to_hold
from tests.browser.world import append, train_event, valid_event


def test_curves_follow_a_run_that_is_being_written(web: Watched, runs: Path) -> None:
    live = runs / "live"
    append(live, train_event(21))
    page = web.open("/training", r="live")
    ready(page, "training")
    about = page.locator(".run.on .about")
    expect(about).to_contain_text(re.compile(r"\b21\b"))
    expect(page.locator(".run.on .status")).to_have_text(re.compile("running", re.IGNORECASE))
    curve = page.locator(".charts figure").first.locator("path.line").first
    drawn = curve.get_attribute("d")
    append(live, *(train_event(step) for step in range(22, 31)), valid_event(30, "뒤"))
    expect(about).to_contain_text(re.compile(r"\b30\b"))
    expect(curve).not_to_have_attribute("d", str(drawn))

    # a line that is cut short is no fault, and counts when the rest of it comes
    line = json.dumps(train_event(31)) + "\n"
    with (live / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(line[:40])
        file.flush()
        page.locator(".charts figure").first.locator("[data-tool=table]").click()
        expect(page.locator(".charts figure").first.locator("tbody tr").last).to_contain_text("30")
        file.write(line[40:])
    expect(about).to_contain_text(re.compile(r"\b31\b"))
    expect(page.locator("main [role=alert]")).to_have_count(0)

    page.get_by_role("tab", name="Samples").click()
    expect(page.locator(".story")).to_have_count(2)  # the sentence of the first validations, and the new one
    append(live, {"type": "end", "status": "completed", "reason": "done"})
    expect(page.locator(".run.on .status")).to_have_text(re.compile("completed|done|finished", re.IGNORECASE))


def test_runs_that_are_drawn_come_first_and_what_is_over_has_no_limit(web: Watched) -> None:
    page = web.open("/training", r="live")
    ready(page, "training")
    expect(page.locator(".run").first).to_have_attribute("aria-pressed", "true")
    for run in page.locator(".run").all():
        text = run.inner_text()
        assert re.search(r"step [\d,]+ of", text) is None or "completed" not in text


def test_a_run_that_is_not_shown_takes_no_colour(web: Watched) -> None:
    page = web.open("/training", r="live")  # a Transformer; another one stands before it in the list
    ready(page, "training")
    assert page.locator(".run").count() == 3
    expect(page.locator(".run.on")).to_have_class(re.compile(r"\bc1\b"))  # as everywhere on the page
    page.get_by_role("button", name=re.compile("luong")).click()
    expect(page.locator(".run.on")).to_have_count(2)
    classes = " ".join(str(one.get_attribute("class")) for one in page.locator(".run.on").all())
    assert sorted(set(re.findall(r"\bc\d\b", classes))) == ["c1", "c3"]


def test_notices_are_flags_on_the_curves(web: Watched) -> None:
    page = web.open("/training", r="live")
    ready(page, "training")
    expect(page.locator(".charts figure").first.locator("g.flag")).to_have_count(1)
    expect(page.locator(".notices li")).to_have_count(1)


def test_the_cursor_tells_exact_values(web: Watched) -> None:
    page = web.open("/training", r="live", sm="0")
    ready(page, "training")
    plot = page.locator(".charts figure").first.locator(".chart-plot")
    plot.focus()
    page.keyboard.press("Home")
    said = page.locator(".charts figure").first.locator("[aria-live=polite]")
    expect(said).to_contain_text("5.96")  # the loss of step 1


def test_attention_forms_along_the_slider(web: Watched) -> None:
    page = web.open("/training", r="demo~luong", v="emergence")
    title = page.locator("figure h2").first
    expect(title).to_contain_text(re.compile(r"\b6\b"))
    page.locator(".film input[type=range]").focus()
    page.keyboard.press("Home")
    wait_for(page, p="3")
    expect(title).to_contain_text(re.compile(r"\b3\b"))
    expect(page.locator(".film output")).to_contain_text("3")
    settled(page)
    expect(page.locator("figure .heatmap-grid").first).to_be_visible()


def test_a_length_opens_its_sentences_and_they_open_in_compare(web: Watched) -> None:
    page = web.open("/quality")
    ready(page, "quality")
    plot = page.locator(".chart-plot.picks").first
    plot.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    cases = page.locator(".cases li")
    expect(cases.first).to_be_visible()
    assert "bin" in params(page)
    scores = [float(text) for text in re.findall(r"chrF\D*([\d.]+)", cases.first.inner_text())]
    assert scores
    source = cases.first.locator(".source").inner_text().split("\n")[-1]
    reference = cases.first.locator("dd").first.inner_text()
    cases.first.get_by_role("link").click()
    page.wait_for_url("**/compare*")
    assert params(page)["s"] in source
    expect(page.locator("#compare-reference")).to_have_value(reference)


def test_quality_can_show_differences(web: Watched) -> None:
    page = web.open("/quality", me="chrf")
    ready(page, "quality")
    lines = page.locator("figure .series path.line")
    expect(lines).to_have_count(3)
    expect(page.locator("figure .series path.band")).not_to_have_count(0)
    page.locator("figure select").first.select_option(index=1)
    wait_to_hold(page, "vs")
    expect(page.locator("figure line.level").first).to_be_attached()
