"""A page that stays open while the server goes, comes back, forgets, or is overtaken by the typist."""

import pytest
from playwright.sync_api import Route, expect
from tests.browser.conftest import LIMITS, Open, Watched, settings_for
from tests.browser.screens import GERMAN, KOREAN, OF_A_MODEL, ready, wait_for
from tests.server.conftest import serving

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits

GONE = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE", "Failed to load resource")


def test_the_page_goes_on_when_the_server_is_back(opening: Open, trio: dict[str, Translator]) -> None:
    with serving(trio, settings_for(trio)) as first:
        web = opening(first.url)
        web.allow(*GONE)
        page = web.open("/attention", m="transformer", s=KOREAN)
        ready(page, "attention")
        before = page.locator("figure h2").first.inner_text()
    page.locator(".heatmap-grid").first.focus()
    page.keyboard.press("]")
    wait_for(page, h="2")
    banner = page.locator(".banner")
    expect(banner).to_contain_text("does not answer")
    expect(banner).to_have_attribute("role", "alert")
    with serving(trio, settings_for(trio, port=first.port)):
        expect(banner).to_have_count(0)
        ready(page, "attention")
        expect(page.locator("figure h2").first).not_to_have_text(before)
        page.locator("nav.rail a", has_text="Translate").click()
        expect(page.locator(".translate-output")).to_contain_text("1998-03-24")
        page.close()


def test_a_page_opened_while_the_server_is_away_says_so(opening: Open, trio: dict[str, Translator]) -> None:
    """The document is there, its data is not: each screen says it and offers another try."""
    with serving(trio, settings_for(trio)) as server:
        web = opening(server.url)
        web.allow(*GONE)
        page = web.page
        page.route("**/v1/**", lambda route: route.abort())
        for screen in (*OF_A_MODEL, "training", "quality"):
            web.open(f"/{screen}", m="rnn", s=KOREAN)
            expect(page.locator(".banner")).to_be_visible()
            expect(page.locator("main [role=alert]").first).to_be_visible()
        page.unroute("**/v1/**")
        expect(page.locator(".banner")).to_have_count(0)
        page.close()


def test_a_forgotten_trace_is_asked_for_again(opening: Open, trio: dict[str, Translator]) -> None:
    small = Limits(heartbeat_s=LIMITS.heartbeat_s, drain_s=LIMITS.drain_s, traces=1)
    with serving(trio, settings_for(trio, small)) as server:
        web = opening(server.url)
        web.allow("status of 404")
        page = web.open("/attention", m="transformer", s=KOREAN, l=1, h=1)
        ready(page, "attention")
        with server.client() as client:
            client.post("/v1/trace", json={"model": "rnn", "text": GERMAN}).raise_for_status()
        with page.expect_request(lambda request: request.url.endswith("/v1/trace")):
            page.locator(".heatmap-grid").first.focus()
            page.keyboard.press("]")
        wait_for(page, h="2")
        ready(page, "attention")
        expect(page.locator("main [role=alert], .banner")).to_have_count(0)
        expect(page.locator("figure h2").first).to_contain_text("head 2")
        page.close()


def test_typing_on_cancels_the_older_request(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    held: list[Route] = []
    page.route("**/v1/translate/stream", lambda route: held.append(route), times=1)
    with page.expect_request("**/v1/translate/stream"):
        page.locator("textarea").fill("5. M")
    page.locator("textarea").fill(GERMAN)
    expect(page.locator(".translate-output")).to_contain_text("2024-03-05")
    assert [route.request.failure for route in held] == ["net::ERR_ABORTED"]


@pytest.mark.parametrize(
    ("status", "code", "said"), [(429, "queue_full", "busy"), (504, "deadline", "too long")]
)
def test_a_server_with_too_much_to_do(web: Watched, status: int, code: str, said: str) -> None:
    web.allow(f"status of {status}")
    page = web.page
    problem = {"type": "about:blank", "title": "x", "status": status, "detail": "later", "code": code}
    page.route("**/v1/trace", lambda route: route.fulfill(status=status, json=problem))
    web.open("/attention", m="luong", s=KOREAN)
    alert = page.locator("main [role=alert]")
    expect(alert).to_contain_text(said)
    page.unroute("**/v1/trace")
    alert.get_by_role("button").click()
    ready(page, "attention")
