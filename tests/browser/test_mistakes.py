"""Mistakes on the Quality screen: a pasted test set, its kinds, and the way to the why of each."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched
from tests.browser.screens import ISO, KOREAN, ready, settled, wait_for
from tests.browser.world import HOSTILE, HOSTILE_RUN

PAIRS = f"{KOREAN}\t{ISO}\n5. März 2024\t2024-05-03\nlonely\n{HOSTILE}\t{ISO}\n"


def found(page: Page) -> None:
    expect(page.get_by_role("heading", name=re.compile(r"\d+ of \d+ answers have mistakes"))).to_be_visible()
    settled(page)


@pytest.mark.parametrize("arch", ["transformer", "rnn"])
def test_pasted_pairs_are_told_apart_and_lead_to_their_why(web: Watched, arch: str) -> None:
    page = web.open("/quality", m=arch)
    page.get_by_role("tab", name="Mistakes").click()
    wait_for(page, v="mistakes")
    page.get_by_label("Source and reference").fill(PAIRS)
    expect(page.get_by_text("Line 3 has no second column")).to_be_visible()
    page.get_by_role("button", name=f"Find the mistakes of {arch}").click()
    found(page)
    expect(page.get_by_role("heading", name="2 of 3 answers have mistakes")).to_be_visible()
    page.get_by_role("button", name=re.compile("Out of place")).click()
    expect(page.get_by_role("heading", name="1 answer", exact=True)).to_be_visible()
    expect(page.locator(".cases .source")).to_contain_text("5. März 2024")
    expect(page.get_by_text("swapped or moved").last).to_be_visible()
    page.locator(".cases").get_by_role("link", name="Compare").click()
    ready(page, "compare")
    expect(page.locator(".compare-column .badge", has_text="wrong")).to_have_count(3)
    page.go_back()
    found(page)  # what was found is still there
    page.get_by_role("button", name=re.compile("Out of place")).click()
    page.locator(".cases").get_by_role("link", name="Attention").first.click()
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    wait_for(page, m=arch, v=None)


def test_a_stored_evaluation_says_that_it_has_kept_the_worst_only(web: Watched) -> None:
    page = web.open("/quality", v="mistakes", mi=f"{HOSTILE_RUN}:rnn")
    found(page)
    expect(page.get_by_text("only the answers that it kept")).to_be_visible()
    page.get_by_role("button", name=re.compile("Wrong word")).click()
    expect(page.get_by_text("Another word stands in its place.").last).to_be_visible()
    assert page.title() != "hacked"


def test_a_phone_has_room_for_mistakes_and_files_that_are_too_large_are_refused(opening: Open) -> None:
    page = opening(viewport={"width": 390, "height": 844}).open("/quality", v="mistakes")
    own = page.get_by_role("region", name="Your own test set")
    field = own.locator("input[type=file]")
    field.set_input_files({"name": "a.tsv", "mimeType": "text/plain", "buffer": b"a\tb\n" * 300_000})
    expect(own.get_by_role("alert")).to_contain_text("larger than")
    field.set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b'"May 5, 2024",2024-05-05\n'})
    expect(own.get_by_text("1 pair", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
