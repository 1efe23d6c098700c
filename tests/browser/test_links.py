"""The address is the state: it survives a round trip, back and forward work, a bad link says what is bad."""

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched
from tests.browser.screens import GERMAN, KOREAN, ready, settled, wait_for

VIEWS = {
    "attention": {
        "m": "transformer",
        "s": KOREAN,
        "k": "enc_self",
        "l": "1",
        "h": "3",
        "q": "2",
        "u": "words",
    },
    "inside": {"m": "luong", "s": KOREAN, "stage": "4", "q": "3", "j": "2"},
    "beam": {"m": "rnn", "s": GERMAN, "b": "3", "n": "4"},
    "translate": {"m": "transformer", "s": KOREAN, "q": "3", "r": "max"},
    "compare": {"s": KOREAN, "ms": "rnn,transformer", "u": "words"},
    "training": {"r": "live", "x": "time", "y": "log"},
    "quality": {"me": "chrf", "bin": "1"},
}


CONTENT = "() => document.querySelector('main').innerText.replace(/[\\d.,]+ ms/g, 'ms')"
"""What the main part says, without what differs from call to call: times."""


@pytest.mark.parametrize("screen", VIEWS)
def test_a_copied_link_shows_the_same_view(opening: Open, screen: str) -> None:
    first = opening()
    page = first.open(f"/{screen}", **VIEWS[screen])
    ready(page, screen)
    page.locator("[data-tool=link]").first.click()
    expect(page.locator(".toast")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    second = opening()
    second.page.goto(link)
    ready(second.page, screen)
    settled(page)
    second.page.wait_for_function(f"shown => ({CONTENT})() === shown", arg=page.evaluate(CONTENT))
    expect(second.page.locator(".banner")).to_have_count(0)


def test_acts_make_history_and_hover_does_not(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN)
    ready(page, "attention")
    before = page.evaluate("history.length")
    page.get_by_role("tab", name="Encoder self").click()
    wait_for(page, k="enc_self")
    page.locator(".heatmap-grid").first.hover()
    assert page.evaluate("history.length") == before + 1
    page.locator("nav.rail a", has_text="Beam").click()
    ready(page, "beam")
    page.go_back()
    ready(page, "attention")
    wait_for(page, k="enc_self")
    page.go_back()
    wait_for(page, k=None)
    expect(page.get_by_role("tab", name="Cross")).to_have_attribute("aria-selected", "true")
    page.go_forward()
    wait_for(page, k="enc_self")
    expect(page.get_by_role("tab", name="Encoder self")).to_have_attribute("aria-selected", "true")


def test_a_sentence_in_the_bar_is_kept_from_screen_to_screen(web: Watched) -> None:
    page = web.open("/inside", m="luong", s=KOREAN)
    ready(page, "inside")
    page.locator("header input[data-input]").fill(GERMAN)
    page.keyboard.press("Enter")
    wait_for(page, s=GERMAN)
    page.locator("nav.rail a", has_text="Translate").click()
    expect(page.locator("textarea")).to_have_value(GERMAN)
    expect(page.locator(".translate-output")).to_contain_text("2024-03-05")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"m": "no-such-model"}, "no-such-model"),
        ({"m": "transformer", "w": "garbage!"}, "cannot be read"),
        ({"m": "transformer", "w": "e30"}, "cannot be read"),
        ({"m": "transformer", "f": "0123456789ab"}, "has changed"),
        ({"m": "transformer", "l": "99"}, "99"),
        ({"m": "transformer", "h": "99"}, "99"),
        ({"m": "transformer", "k": "sideways"}, "sideways"),
        ({"m": "luong", "k": "enc_self"}, "enc_self"),
    ],
)
def test_a_bad_link_says_what_is_wrong_and_shows_the_rest(
    web: Watched, params: dict[str, str], said: str
) -> None:
    for screen in ("attention", "inside") if "l" in params else ("attention",):
        page = web.open(f"/{screen}", s=KOREAN, **params)
        expect(page.locator(".banner")).to_contain_text(said)
        ready(page, screen)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"b": "99"}, "16"),
        ({"w": "W3sib3AiOiJmbHkifV0"}, "mask_head"),
        ({"w": "W3sib3AiOiJtYXNrX2hlYWQifV0"}, "kind"),
    ],
)
def test_the_server_is_quoted_on_what_it_refuses(web: Watched, params: dict[str, str], said: str) -> None:
    """A beam of 99; an operation that does not exist; one without its fields."""
    web.allow("status of 4")
    page = web.open("/attention", m="transformer", s=KOREAN, **params)
    expect(page.locator("main [role=alert]").first).to_contain_text(said)


def test_paths_that_are_no_screen(web: Watched) -> None:
    web.allow("status of 404")
    response = web.page.goto(f"{web.url}/no/such/screen")
    assert response is not None
    assert response.status == 404
    page = web.open("/t/0123456789abcdef")
    expect(page.locator(".toast")).to_be_visible()
    ready(page, "translate")
