"""A class: a link that fixes model, text and screen, its questions, and the panel that makes it."""

import base64
import json
import re

from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched
from tests.browser.screens import ISO, KOREAN, params, ready, settled, wait_for, wait_to_hold

QUESTION = "Which token wrote the month? <b>Look.</b>"


def path(*stops: tuple[str, str, str]) -> str:
    plain = json.dumps(["Lesson 1", *stops], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(plain).decode().rstrip("=")


TWO = path(
    (f"/attention?m=transformer&s={KOREAN}&l=2&h=2", QUESTION, "3"),
    (f"/translate?m=rnn&s={KOREAN}", "Does it look at all?", ""),
)


def test_a_step_fixes_model_text_and_screen_and_leaves_the_rest_free(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=2, teach=TWO, step=1)
    ready(page, "attention")
    card = page.get_by_role("region", name="Lesson 1", exact=True)
    expect(card).to_contain_text("Step 1 of 2")
    expect(card).to_contain_text(QUESTION)
    expect(card.get_by_text("3", exact=True)).to_be_hidden()
    card.get_by_text("Show the answer").click()
    expect(card.get_by_text("3", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation", name="Screens")).to_have_count(0)
    expect(page.get_by_label("Sentence", exact=True)).not_to_be_editable()
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") > 17
    page.get_by_role("link", name="See influence instead").click()  # leads elsewhere: it stays
    page.get_by_role("button", name="Silence this head").click()  # a head can be tried
    wait_to_hold(page, "w")
    expect(page).to_have_url(re.compile("/attention"))
    card.get_by_role("link", name="Next").click()
    wait_for(page, m="rnn", step="2", w=None)
    ready(page, "translate")
    expect(page.get_by_label("Source text")).not_to_be_editable()
    expect(card).to_contain_text("Does it look at all?")
    card.get_by_role("link", name="Back").click()
    wait_for(page, m="transformer", step="1")
    page.go_back()
    card.get_by_role("link", name="Go on by yourself").click()
    wait_for(page, teach=None, step=None)
    expect(page.get_by_role("navigation", name="Screens")).to_be_visible()


def test_a_teacher_makes_the_link_in_the_page(opening: Open) -> None:
    page = opening().open("/translate", m="luong", s=KOREAN)
    ready(page, "translate")
    page.get_by_role("button", name="Keys and help").click()
    page.get_by_role("button", name="For a class").click()
    panel = page.get_by_role("complementary", name="For a class")
    panel.get_by_label("Title").fill("Dates")
    panel.get_by_role("button", name="Add this view").click()
    panel.get_by_label("Question").fill(QUESTION)
    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Attention").click()
    ready(page, "attention")
    panel.get_by_role("button", name="Add this view").click()
    page.reload()  # what was made so far is kept
    page.get_by_role("button", name="Keys and help").click()
    page.get_by_role("button", name="For a class").click()
    expect(panel.get_by_label("Question")).to_have_count(2)
    panel.get_by_role("button", name="Copy the link for the class").click()
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto(link)
    ready(page, "translate")
    card = page.get_by_role("region", name="Dates", exact=True)
    expect(card).to_contain_text(QUESTION)
    expect(page.locator(".translate-text")).to_have_text(ISO)
    card.get_by_role("link", name="Next").click()
    ready(page, "attention")
    assert params(page)["m"] == "luong"


def test_a_path_that_cannot_be_read_says_so(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN, teach="nonsense")
    expect(page.get_by_text("The path in this link cannot be read")).to_be_visible()


def test_one_figure_stands_alone(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=2, alone="cross-2.2")
    expect(page.locator(".attention figure .heatmap-grid")).to_be_visible()
    settled(page)
    for hidden in (".topbar", ".rail", ".attention-heads", ".attention-row", ".figure-tools", "main h1"):
        expect(page.locator(hidden).first).to_be_hidden()
