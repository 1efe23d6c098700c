"""The tree of the search ends in the translation, and its nodes lead on from there."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Watched
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
