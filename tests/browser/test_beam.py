"""The tree of the search ends in the translation, and its nodes lead on from there."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched
from tests.browser.screens import ARCHS, ISO, KOREAN, params, ready, settled, wait_for, wait_to_hold
from tests.server.conftest import Running


@pytest.mark.parametrize("arch", ARCHS)
def test_the_chosen_path_is_the_translation(web: Watched, site: Running, arch: str) -> None:
    with site.client() as client:
        body = {"model": arch, "texts": [KOREAN]}
        text = client.post("/v1/translate", json=body).raise_for_status().json()["results"][0]["text"]
    page = web.open("/beam", m=arch, s=KOREAN)
    ready(page, "beam")
    path = page.locator(".node.best text:not(.figure)").all_text_contents()
    assert "".join(path).replace("␣", "") == f"<s>{text}</s>"
    expect(page.locator(".beam-answers .best bdi")).to_have_text(text)
    norms = [float(one.replace("−", "-")) for one in page.locator(".beam-answers .num").all_inner_texts()]
    assert norms == sorted(norms, reverse=True)


def test_a_node_leads_on(web: Watched) -> None:
    page = web.open("/beam", m="transformer", s=KOREAN)
    ready(page, "beam")
    pruned = page.locator(".node.pruned").first
    pruned.dispatch_event("click")
    wait_to_hold(page, "n")
    panel = page.locator(".beam-panel")
    expect(panel.locator("dl dd").first).to_be_visible()
    settled(page)
    panel.get_by_role("button", name=re.compile("force|from here", re.IGNORECASE)).click()
    wait_to_hold(page, "px")
    prefix = params(page)["px"]
    ready(page, "beam")
    expect(page.locator(".beam-answers .best bdi")).to_have_text(re.compile("^" + re.escape(prefix)))
    assert not ISO.startswith(prefix)


def test_another_width_searches_again_and_keeps_the_old_tree(web: Watched) -> None:
    page = web.open("/beam", m="luong", s=KOREAN)
    ready(page, "beam")
    slider = page.locator(".beam-slide input").first
    slider.focus()
    page.keyboard.press("Home")
    wait_for(page, b="1")
    expect(page.locator("figure h2").first).to_contain_text(re.compile("greedy", re.IGNORECASE))
    expect(page.locator(".beam-ghost-key")).to_be_visible()
    expect(page.locator(".beam-answers li")).to_have_count(1)


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_it_opens_on_the_answer_and_nothing_is_too_small_or_cut(opening: Open, size: tuple[int, int]) -> None:
    page = opening(viewport={"width": size[0], "height": size[1]}).open("/beam", m="luong", s=KOREAN)
    ready(page, "beam")
    frame = page.locator(".beam-scroll").bounding_box()
    first = page.locator(".node.best").nth(1).bounding_box()
    assert frame
    assert first
    assert frame["x"] <= first["x"] < frame["x"] + frame["width"] - first["width"]
    assert frame["y"] <= first["y"] < frame["y"] + frame["height"] - first["height"]
    page.get_by_role("button", name="Fit").click()
    settled(page)
    heights = page.locator(".node text").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 8
    page.locator(".node.best").nth(3).dispatch_event("click")
    expect(page.locator(".beam-panel dl dd").first).to_be_visible()
    settled(page)
    cut = page.locator(".beam-panel :is(dd, dt, td, .num)").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).length"
    )
    assert cut == 0
    zoom, shown = page.locator(".beam-zoom").bounding_box(), page.locator(".beam-scroll").bounding_box()
    assert zoom
    assert shown
    assert zoom["y"] + zoom["height"] <= shown["y"] + 1  # it covers no node


def test_a_token_that_is_not_the_likeliest_is_explained(web: Watched) -> None:
    text = "23.9.1971–28.4.1972"
    page = web.open("/translate", m="rnn", s=text, q=13)
    ready(page, "translate")
    candidates = page.locator(".candidate")
    assert candidates.nth(0).inner_text().startswith("8")
    expect(page.locator(".candidate.on")).to_contain_text("7")
    told = "The likeliest token here is another one."
    expect(page.locator(".translate-aside")).to_contain_text(told)
    web.open("/translate", m="rnn", s=text, q=0)
    ready(page, "translate")
    expect(page.locator(".translate-aside")).not_to_contain_text(told)
