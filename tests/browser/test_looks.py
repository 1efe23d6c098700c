"""Korean and English, light and dark, wide and narrow."""

from contextlib import suppress

import pytest
from playwright.sync_api import Page, TimeoutError, expect
from tests.browser.conftest import Open
from tests.browser.screens import KOREAN, SCREENS, ready, settled
from tests.browser.test_access import EXTRA

LEFT_OVER = """async () => {
    const files = performance.getEntriesByType('resource').map(entry => entry.name);
    const korean = await (await fetch(files.find(name => name.includes('/words-ko-')))).json();
    const texts = files.filter(name => name.endsWith('.js')).map(async name => (await fetch(name)).text());
    const script = (await Promise.all(texts)).join('');
    const english = await (await fetch('/' + /words-en-\\w+\\.json/.exec(script)[0])).json();
    const words = new Set();
    for (const [file, table] of Object.entries(english))
        for (const [key, text] of Object.entries(table))
            if (/[a-z]{3}/i.test(text) && !text.includes('{') && korean[file][key] !== text) words.add(text);
    const keys = new RegExp(`^(${Object.keys(english).join('|')})\\\\.[a-z_0-9]+$`);
    const seen = [];
    const look = text => {
        const one = (text ?? '').trim();
        if (words.has(one) || keys.test(one)) seen.push(one);
    };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) look(walk.currentNode.data);
    for (const node of document.querySelectorAll('*'))
        for (const name of ['aria-label', 'title', 'placeholder', 'alt']) look(node.getAttribute(name));
    return [...new Set(seen)];
}"""
"""Messages on the page that are still English, and keys that have no message."""

WIDER = """() => {
    const room = document.documentElement.clientWidth;
    const wide = [...document.querySelectorAll('body *')]
        .filter(node => node.getBoundingClientRect().right > room + 1)
        .filter(node => !node.closest('.scroll, .sr, [popover]'))
        .slice(0, 3).map(node => node.outerHTML.slice(0, 120));
    return { over: document.documentElement.scrollWidth - room, wide };
}"""


def wider(page: Page) -> list[str]:
    """What makes the page wider than its window; pictures have a moment to follow."""
    with suppress(TimeoutError):
        page.wait_for_function(f"() => ({WIDER})().over <= 0")
    found = page.evaluate(WIDER)
    return [f"{found['over']} px too wide", *found["wide"]] if found["over"] > 0 else []


BELOW = """() => {
    const main = document.querySelector('main').getBoundingClientRect().bottom + scrollY;
    return document.documentElement.scrollHeight - Math.max(main, innerHeight);
}"""
"""How far a page can be scrolled beyond what it shows."""


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_no_page_is_longer_than_what_it_shows(opening: Open, size: tuple[int, int]) -> None:
    page = opening(viewport={"width": size[0], "height": size[1]})
    for screen, views in {**dict.fromkeys(SCREENS, ({},)), **EXTRA}.items():
        for view in views:
            shown = page.open(f"/{screen}", **{"m": "transformer", "s": KOREAN, **view})
            shown.locator("main figure, main article, main .card, main a, main button").first.wait_for()
            settled(shown)
            assert shown.evaluate(BELOW) < 120, f"{screen} {view}"


@pytest.mark.parametrize("screen", SCREENS)
def test_korean_is_complete_and_narrow_windows_do_not_scroll_sideways(opening: Open, screen: str) -> None:
    web = opening(locale="ko-KR", viewport={"width": 390, "height": 844})
    page = web.open(f"/{screen}", m="transformer", s=KOREAN)
    ready(page, screen)
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    assert page.evaluate(LEFT_OVER) == []
    assert wider(page) == []
    page.set_viewport_size({"width": 320, "height": 700})
    settled(page)
    assert wider(page) == []
    for arch in ("rnn", "luong") if screen in ("attention", "inside", "translate") else ():
        page = web.open(f"/{screen}", m=arch, s=KOREAN)
        ready(page, screen)
        assert page.evaluate(LEFT_OVER) == []
        assert wider(page) == []


def test_the_drawer_fits_a_telephone(opening: Open) -> None:
    web = opening(viewport={"width": 390, "height": 844})
    page = web.open("/attention", m="transformer", s=KOREAN)
    ready(page, "attention")
    page.keyboard.press("w")
    page.locator(".drawer").wait_for()
    assert wider(page) == []
    box = page.locator(".drawer").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 391


def test_targets_are_large_enough(opening: Open) -> None:
    """24 pixels at least; links inside a line of text are as high as their line."""
    web = opening(viewport={"width": 390, "height": 844})
    for screen in ("translate", "attention", "beam"):
        page = web.open(f"/{screen}", m="transformer", s=KOREAN)
        ready(page, screen)
        small = page.locator("button:visible, select:visible, nav.rail a:visible").evaluate_all(
            """nodes => nodes.filter(node => {
                const box = node.getBoundingClientRect();
                return box.width > 0 && (box.height < 23.5 || box.width < 23.5);
            }).map(node => node.outerHTML.slice(0, 100))"""
        )
        assert small == []


def test_the_theme_is_chosen_and_remembered(opening: Open) -> None:
    page = opening().open("/attention", m="transformer", s=KOREAN)
    ready(page, "attention")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    pixel = "document.querySelector('.heatmap canvas').toDataURL().length"
    drawn = page.evaluate(pixel)
    page.get_by_role("button", name="Look and language").click()
    page.get_by_role("radio", name="dark").first.click()
    page.wait_for_function(f"light => {colour} !== light", arg=light)
    page.wait_for_function(f"drawn => {pixel} !== drawn", arg=drawn)  # pictures follow
    page.reload()
    ready(page, "attention")
    assert page.evaluate(colour) != light


def test_the_language_is_chosen_and_remembered(opening: Open) -> None:
    page = opening().open("/beam", m="transformer", s=KOREAN)
    ready(page, "beam")
    page.get_by_role("button", name="Look and language").click()
    page.get_by_role("radio", name="한국어").click()
    expect(page.locator("h1")).to_have_text("빔 탐색")
    page.reload()
    expect(page.locator("h1")).to_have_text("빔 탐색")


def test_reduced_motion_and_forced_colours(opening: Open) -> None:
    web = opening(forced_colors="active")
    page = web.open("/attention", m="transformer", s=KOREAN, q=1, j=1)
    ready(page, "attention")
    moving = """document.getAnimations()
        .filter(one => one.playState === 'running' && one.effect.getTiming().duration > 50).length"""
    assert page.evaluate(moving) == 0
    page.locator(".heatmap-grid").first.focus()
    outline = page.locator(".heatmap-grid").first.evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline != "none"
