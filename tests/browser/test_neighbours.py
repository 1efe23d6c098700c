"""The tab of states: what training had like each token, the map and its table, a model without an index."""

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched

TEXT = "5. März 2024"


def test_each_token_has_its_neighbours(web: Watched) -> None:
    page = web.open("/inside", tab="neighbours", m="transformer", s=TEXT)
    tokens = page.get_by_role("group", name="Token", exact=True).get_by_role("button")
    expect(tokens).to_have_count(11)  # 2024-03-05 and its end
    tokens.nth(6).click()
    expect(tokens.nth(6)).to_have_attribute("aria-pressed", "true")
    seen = page.get_by_role("figure", name="Seen in training").locator("li")
    expect(seen).to_have_count(6)
    expect(seen.first.locator("mark")).to_have_text("3")  # the month, in another language
    expect(seen.first).to_contain_text("2023-03-10")
    page.get_by_role("radio", name="Read").click()
    expect(tokens).to_have_count(11)
    expect(seen.first.locator("mark")).not_to_have_text("")


def test_the_map_says_what_a_dot_is_and_has_a_table(web: Watched) -> None:
    page = web.open("/inside", tab="neighbours", m="transformer", s=TEXT)
    figure = page.get_by_role("figure", name="Map of states")
    dots = figure.locator("circle")
    expect(dots).to_have_count(1200 + 11)
    dots.nth(0).hover(force=True)
    expect(figure.locator(".neighbours-at")).to_contain_text("→")
    figure.get_by_role("button", name="Show as a table").click()
    expect(figure.get_by_role("columnheader")).to_have_count(5)
    expect(figure.locator("tbody tr")).to_have_count(400)


def test_the_tab_that_is_open_is_seen_on_a_phone(opening: Open) -> None:
    page = opening(viewport={"width": 390, "height": 844}).open(
        "/inside", tab="neighbours", m="transformer", s=TEXT
    )
    expect(page.get_by_role("figure", name="Seen in training").locator("li")).to_have_count(6)
    tab = page.get_by_role("tab", name="Neighbours").bounding_box()
    assert tab
    assert 0 <= tab["x"] < tab["x"] + tab["width"] <= 390


@pytest.mark.parametrize("arch", ["rnn", "luong"])
def test_a_model_without_an_index_says_how_to_make_one(web: Watched, arch: str) -> None:
    page = web.open("/inside", tab="neighbours", m=arch, s=TEXT)
    expect(page.get_by_role("tabpanel")).to_contain_text("jumok neighbours -m MODEL")
