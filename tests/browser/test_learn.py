"""The book: every chapter there is, in both languages, both looks and both sizes, by keyboard."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import STATIC, Open, Watched
from tests.browser.screens import ready, settled

from jumok.server.pages.page import STATIC as BUILT

BOOK: dict[str, Any] = json.loads(((STATIC or BUILT) / "learn.json").read_text(encoding="utf-8"))
CHAPTERS: list[dict[str, Any]] = BOOK["chapters"]
IDS = [chapter["id"] for chapter in CHAPTERS]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_every_chapter_leads_to_real_screens(web: Watched, chapter: dict[str, Any]) -> None:
    page = web.open(f"/learn/{chapter['id']}")
    links = page.locator("a.learn-try")
    expect(links).to_have_count(len(chapter["views"]))
    for target in links.evaluate_all("nodes => nodes.map(node => node.getAttribute('href'))"):
        web.open(target)
        expect(page.locator(".lesson")).to_be_visible()
        ready(page, target.split("/")[1].split("?")[0])
        expect(page.locator("main [role=alert], .banner")).to_have_count(0)


def drawn(page: Page, chapter: dict[str, Any]) -> None:
    """Wait until every figure of a chapter is drawn."""
    expect(page.locator(".learn-beside figure.figure")).to_have_count(len(chapter["figures"]))
    settled(page)


def answer_wrongly(page: Page) -> None:
    """By keyboard: the number field gets an absurd number; of the options the first is chosen."""
    form = page.locator(".learn-question form")
    if form.locator("input[type=text]").count():
        form.locator("input[type=text]").focus()
        page.keyboard.type("-987654")
    else:
        form.locator("input[type=radio]").first.focus()
        page.keyboard.press("Space")
    form.locator("button[type=submit]").focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)
def test_a_chapter_draws_its_figures_and_marks_its_question(opening: Open, chapter: dict[str, Any]) -> None:
    page = opening().open(f"/learn/{chapter['id']}")
    drawn(page, chapter)
    answer_wrongly(page)
    expect(page.locator(".learn-mark p")).to_be_visible()
