"""The page without a mouse: type, go, walk through a matrix, lock, step through heads, open what there is."""

import re

from playwright.sync_api import Page, expect
from tests.browser.conftest import Watched
from tests.browser.screens import GERMAN, KOREAN, SCREENS, params, ready, settled, wait_for, wait_to_hold

MOST_TABS = 80


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until what the selector names has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{MOST_TABS} tabs do not lead to {selector}")


def said(page: Page) -> str:
    return page.locator(".heatmap [aria-live=polite]").first.inner_text()


def test_type_translate_and_walk_through_attention(web: Watched) -> None:
    page = web.open("/", m="transformer")
    ready(page, "translate")
    page.keyboard.press("/")
    expect(page.locator("textarea")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type(GERMAN)
    expect(page.locator(".translate-output")).to_contain_text("2024-03-05")
    wait_for(page, s=GERMAN)
    page.keyboard.press("Escape")

    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/attention?*")
    grid = ready(page, "attention").first
    tab_to(page, ".heatmap-grid")
    expect(grid).to_be_focused()
    page.keyboard.press("Control+Home")
    expect(page.locator(".heatmap [aria-live=polite]").first).to_have_text(
        re.compile(r"0\.\d\d, rank \d+ of \d+, layer \d+")
    )
    first = said(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    settled(page)
    expect(page.locator(".heatmap [aria-live=polite]").first).not_to_have_text(first)
    cell = page.locator("#" + str(grid.get_attribute("aria-activedescendant")))
    expect(cell).to_have_attribute("aria-colindex", "2")
    expect(cell).to_have_text(said(page), use_inner_text=True)
    page.keyboard.press("End")
    columns = str(grid.get_attribute("aria-colcount"))
    expect(cell).to_have_attribute("aria-colindex", columns)

    page.keyboard.press("Enter")
    wait_for(page, q="1", j=str(int(columns) - 1))
    expect(cell).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    wait_for(page, q=None, j=None)

    layer = params(page).get("l")
    page.keyboard.press("]")
    wait_for(page, h="2")
    page.keyboard.press("[")
    wait_for(page, h="1")
    page.keyboard.press("PageUp")
    page.wait_for_function("layer => new URLSearchParams(location.search).get('l') !== layer", arg=layer)


def test_keys_of_the_figure_and_the_shell(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN)
    ready(page, "attention")
    page.keyboard.press("Shift+T")
    expect(page.locator("figure table th").first).to_be_visible()
    page.keyboard.press("Shift+T")
    expect(page.locator("figure .heatmap-grid")).to_be_visible()
    page.keyboard.press("e")
    menu = page.locator("[role=menu]")
    expect(menu).to_be_visible()
    expect(menu.locator("[role=menuitem]").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(page.locator("[data-tool=export]").first).to_be_focused()
    page.keyboard.press("l")
    expect(page.locator(".toast")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    expect(page.locator("dialog kbd").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).not_to_be_visible()
    page.keyboard.press("w")
    expect(page.locator(".drawer")).to_be_visible()
    page.keyboard.press("w")
    expect(page.locator(".drawer")).to_have_count(0)
    page.keyboard.press("m")
    expect(page.locator("[role=menuitemradio][aria-checked=true]")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    wait_for(page, m="rnn")


def test_every_screen_has_its_key(web: Watched) -> None:
    page = web.open("/", m="luong", s=KOREAN)
    ready(page, "translate")
    for key, screen in zip("maicbhorqldt", (*SCREENS[1:], SCREENS[0]), strict=True):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/{screen}*")
        here = page.locator("nav.rail a[aria-current=page]")
        expect(here).to_have_attribute("href", re.compile(f"^/{screen}"))
        settled(page)


def test_typing_is_not_taken_for_a_key(web: Watched) -> None:
    page = web.open("/attention", m="luong", s=KOREAN)
    ready(page, "attention")
    page.keyboard.press("/")
    expect(page.locator("header input[data-input]")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("?wm0 ga")
    expect(page.locator("dialog")).not_to_be_visible()
    page.keyboard.press("Enter")
    wait_for(page, s="?wm0 ga")
    ready(page, "attention")
    assert "/attention" in page.url


def test_inside_and_beam_step_with_comma_and_point(web: Watched) -> None:
    page = web.open("/inside", m="transformer", s=KOREAN)
    ready(page, "inside")
    page.keyboard.press(".")
    wait_for(page, stage="2")
    page.keyboard.press(",")
    wait_for(page, stage=None)
    page = web.open("/beam", m="transformer", s=KOREAN)
    ready(page, "beam")
    page.keyboard.press(",")
    wait_to_hold(page, "q")
    tab_to(page, "[role=tree]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".beam-frame [aria-live=polite]")).not_to_be_empty()
    page.keyboard.press("Enter")
    wait_to_hold(page, "n")


def test_the_focus_is_always_seen(web: Watched) -> None:
    """Each stop of the tab key has an outline, and none is outside of the window."""
    page = web.open("/attention", m="transformer", s=KOREAN)
    ready(page, "attention")
    seen = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            """() => {
                const node = document.activeElement;
                const [style, box] = [getComputedStyle(node), node.getBoundingClientRect()];
                const inside = node === document.body || (box.right > 0 && box.left < innerWidth);
                const [outline, width] = [style.outlineStyle, parseFloat(style.outlineWidth)];
                return { name: node.outerHTML.slice(0, 60), outline, width, inside };
            }"""
        )
        seen.add(stop["name"])
        assert stop["inside"], stop
        if not stop["name"].startswith("<body"):
            assert stop["outline"] != "none", stop
            assert stop["width"] >= 1, stop
    assert len(seen) > 15
