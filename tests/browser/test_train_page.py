"""Training from the page by its visible labels: pasted pairs, a run to watch, and a model to explore."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.screens import ready
from tests.server.conftest import Running

WORDS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "rot": "red", "blau": "blue"}
PAIRS = [f"{a} {b} {c}\t{WORDS[a]} {WORDS[b]} {WORDS[c]}" for a in WORDS for b in WORDS for c in WORDS][:200]
BOX = "Pairs: source, tab, target"


def paste(box: Locator, text: str) -> None:
    """At once: a driver that types takes minutes for a megabyte."""
    box.evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input', {bubbles: true})); }", text
    )


def form(page: Page) -> None:
    page.get_by_role("button", name="Train a model").click()
    expect(page.get_by_role("heading", name="Train a model on your own pairs")).to_be_visible()


def test_two_hundred_pasted_pairs_become_a_model_to_explore(school: Running, opening: Open) -> None:
    """The fifth task of a first visit, from the first page on."""
    web = opening(school.url)
    page = web.open("/")
    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Training").click()
    form(page)
    page.get_by_label(BOX).fill("\n".join(PAIRS))
    expect(page.get_by_text("200 pairs")).to_be_visible()
    expect(page.get_by_text("nothing wrong")).to_be_visible()
    page.get_by_role("radio", name="RNN with attention").click()
    page.get_by_label("Train for").select_option(label="60 minutes")
    page.get_by_role("button", name="Train", exact=True).click()
    player = page.get_by_role("region", name="The run of this page")
    expect(player).to_contain_text("page-luong")
    expect(player).to_contain_text("left")
    curve = page.locator(".charts figure").first.locator("path.line").first
    expect(curve).to_be_attached(timeout=120_000)
    assert " of 1,000,000" not in page.inner_text("main")

    # closed and opened again: it goes on, and is found
    page.close()
    page = opening(school.url).open("/training", r="page-luong")
    player = page.get_by_role("region", name="The run of this page")
    expect(player.get_by_role("button", name="Pause")).to_be_visible()
    form(page)
    expect(page.get_by_text("only one at a time")).to_be_visible()
    page.get_by_role("button", name="Back to the runs").click()
    page.get_by_role("tab", name="Samples").click()
    expect(page.locator(".story").first).to_be_visible(timeout=120_000)
    page.get_by_role("tab", name="Emergence").click()
    expect(page.locator("figure .heatmap-grid").first).to_be_visible(timeout=120_000)
    player.get_by_role("button", name="Pause").click()
    expect(player.get_by_role("button", name="Go on")).to_be_visible(timeout=120_000)
    player.get_by_role("button", name="Stop and explore").click()
    player.get_by_role("link", name="Explore page-luong").click(timeout=120_000)
    ready(page, "translate")
    assert "m=page-luong" in page.url
    assert page.locator("textarea").input_value() in {line.split("\t")[0] for line in PAIRS}


@pytest.mark.parametrize("locale", ["en-GB", "ko"])
def test_what_is_wrong_with_the_pairs_is_said_with_line_numbers(
    school: Running, opening: Open, locale: str
) -> None:
    page = opening(school.url, locale=locale, viewport={"width": 390, "height": 844}).open("/training", new=1)
    start = page.locator(".train-form .btn.primary")
    page.locator(".train-form textarea").fill("a\tb\nc\nd\te\tf")
    line = page.locator(".findings .error")
    expect(line).to_contain_text("line 2, 3" if locale == "en-GB" else "2, 3번째 줄")
    expect(start).to_be_disabled()
    page.locator(".train-form [role=radio]").nth(1).click()
    boxes = page.locator(".train-form textarea")
    boxes.nth(0).fill("eins\nzwei\ndrei")
    boxes.nth(1).fill("one\ntwo")
    expect(line).to_contain_text("different lengths" if locale == "en-GB" else "줄 수가 다릅니다")
    expect(line).to_contain_text("line 3" if locale == "en-GB" else "3번째 줄")
    expect(start).to_be_disabled()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_table_in_the_first_box_is_two_columns_and_a_megabyte_is_taken(
    school: Running, opening: Open
) -> None:
    page = opening(school.url).open("/training", new=1)
    page.get_by_role("radio", name="Two boxes").click()
    many = "\n".join(f"Satz Nummer {n} von vielen\tsentence number {n} of many" for n in range(20_000))
    paste(page.get_by_label("Sources, one a line"), many)
    expect(page.get_by_label(BOX)).to_be_visible()
    expect(page.get_by_text("20,000 pairs")).to_be_visible()
    paste(page.get_by_label(BOX), f"{'x' * 1000}\t{'y' * 1000}\n" * 2_200)
    expect(page.locator(".trainer-bad")).to_have_text(
        "This has 4.4 MB; at most 4.2 MB can be trained on here."
    )
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_disabled()


def test_a_server_that_does_not_train_says_why(opening: Open) -> None:
    page = opening().open("/training")  # one that was told no folder
    form_button = page.get_by_role("button", name="Train a model")
    form_button.click()
    expect(page.get_by_text("This server trains no models for you.")).to_be_visible()


def test_without_torch_the_page_says_the_line(
    school: Running, opening: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.server.trainer.routes.has_torch", lambda: False)
    page = opening(school.url).open("/training", new=1)
    expect(page.get_by_text("pip install 'jumok[train]'")).to_be_visible()
