"""Every screen for every architecture shows its data; no picture is without table, link and export."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import ARCHS, KOREAN, OF_A_MODEL, OF_FILES, SCREENS, ready, settled
from tests.server.conftest import serving

from jumok.decoding.translator import Translator

TABS = {"inside": ("Positions", "Recurrence"), "training": ("Samples", "Emergence")}
"""Views of a screen besides the first."""


CASES = [
    *((screen, arch) for screen in OF_A_MODEL for arch in ARCHS),
    *((screen, None) for screen in OF_FILES),
]


@pytest.mark.parametrize(("screen", "arch"), CASES)
def test_every_screen_shows_every_architecture(web: Watched, screen: str, arch: str | None) -> None:
    page = web.open(f"/{screen}", m=arch, s=KOREAN if arch else None)
    ready(page, screen)
    expect(page.locator("main [role=alert], .banner")).to_have_count(0)
    for tab in TABS.get(screen, ()):
        page.get_by_role("tab", name=re.compile(tab, re.IGNORECASE)).click()
        expect(page.get_by_role("tabpanel")).to_contain_text(re.compile(r"\w{4}"))
        settled(page)


@pytest.mark.parametrize(
    "screen", [screen for screen in SCREENS if screen not in ("documents", "learn", "docs")]
)
def test_every_picture_has_a_table_a_link_and_an_export(web: Watched, screen: str) -> None:
    asked = KOREAN if screen == "chat" else None  # an empty conversation has an empty table
    page = web.open(f"/{screen}", m="transformer" if screen in OF_A_MODEL else None, s=asked)
    ready(page, screen)
    figures = page.locator("figure.figure")
    count = figures.count()
    assert count >= 1
    for tool in ("table", "link", "export"):
        expect(page.locator(f"figure.figure [data-tool={tool}]")).to_have_count(count)
    outside = page.locator("main canvas, main svg[role=img]").evaluate_all(
        """nodes => nodes.filter(node => !node.closest('figure, .thumbs'))
            .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    for n in range(count):
        one = figures.nth(n)
        one.locator("[data-tool=table]").click()
        table = one.locator("table").first
        expect(table.locator("th").first).to_be_attached()
        assert table.locator("td").count() >= 1
    page.locator("[data-tool=link]").first.click()
    expect(page.locator(".toast")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{web.url}/{screen}")


def test_the_first_run_shows_commands(opening: Open) -> None:
    """A server without any model cannot be started by hand, but a page may meet one."""
    web = opening()
    web.page.route("**/v1/models", lambda route: route.fulfill(json={"models": []}))
    for screen in OF_A_MODEL:
        page = web.open(f"/{screen}")
        expect(page.locator(".first code")).to_have_count(3)
        expect(page.locator(".first code").first).to_have_text("jumok demo")


def test_one_model_alone_has_every_screen(opening: Open, trio: dict[str, Translator]) -> None:
    """Nothing to compare with, no runs, no evaluations: still something to read everywhere."""
    alone = {"rnn": trio["rnn"]}
    with serving(alone, settings_for(alone)) as lonely:
        web = opening(lonely.url)
        for screen in SCREENS:
            page = web.open(f"/{screen}")
            expect(page.locator("main h1").first).to_be_visible()
            settled(page)
            expect(page.locator("main [role=alert], .banner")).to_have_count(0)
            assert len(page.locator("main").inner_text()) > 60


def test_the_page_may_load_nothing_from_elsewhere(web: Watched) -> None:
    response = web.page.goto(web.url)
    assert response is not None
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    text = response.text()
    assert "<style" not in text
    assert re.findall(r"<script(?![^>]*\ssrc=)", text) == []
    assert re.findall(r"\s(?:style|on\w+)=", text) == []
    ready(web.page, "translate")
    origins = {re.match(r"\w+:(?://[^/]+)?", request.url)[0] for request in web.requests}  # type: ignore[index]
    assert origins <= {web.url, "data:"}


def test_a_foreign_request_fails_a_test(opening: Open) -> None:
    """The watch itself works: a request to elsewhere and an error are seen."""
    web = opening()
    page = web.open("/learn")
    page.evaluate("fetch('http://example.invalid/x').catch(() => console.error('gone'))")
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => { throw new Error('thrown') })")
    with pytest.raises(AssertionError, match="Content Security Policy"):
        web.check()
    web.allow(".*")
