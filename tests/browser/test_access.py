"""axe finds nothing serious and nothing against WCAG 2.2 AA on any screen, in either theme."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.screens import KOREAN, SCREENS, ready, settled
from tests.server.conftest import Running

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
IN_CI = os.environ.get("CI") == "true"  # where a missing tool is a failure, not a reason to skip
needs_axe = pytest.mark.skipif(not AXE.exists() and not IN_CI, reason="axe-core comes with npm ci in web/")
EXTRA = {
    "translate": ({"m": None, "s": None}, {"s": "나는 어제 영화를 봤다."}, {"q": "2"}, {"m": "rnn"}),
    "map": ({"m": "rnn"}, {"m": "luong"}, {"z": "2"}, {"z": "3", "j": "2"}),
    "inside": (
        {"tab": "layers"},
        {"tab": "positions"},
        {"tab": "recurrence", "m": "luong"},
        {"tab": "neighbours"},
        {"tab": "neighbours", "m": "rnn"},
    ),
    "training": ({"v": "samples"}, {"v": "emergence"}, {"new": "1"}),
    "quality": ({"bin": "1"}, {"v": "mistakes", "mi": "<b>run:rnn"}),
}
"""More views of a screen, by parameters; without model and sentence it is that of a first visit."""
AA = {"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"}


def findings(page: Page, *, colours: bool = False) -> list[str]:
    """What breaks WCAG 2.2 AA, or is serious or critical, with its first elements; `colours`: those alone."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    options: dict[str, Any] = {
        "resultTypes": ["violations"],
        "rules": {"target-size": {"enabled": True}},
    }
    if colours:
        options["runOnly"] = ["color-contrast"]
    report: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}, {one['impact']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in report["violations"]
        if one["impact"] in ("serious", "critical") or AA.intersection(one["tags"])
        for node in one["nodes"][:3]
    ]


def in_both_themes(page: Page) -> list[str]:
    """Of a light page all findings; of the same page in the dark its colours; nothing else changes."""
    found = findings(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += findings(page, colours=True)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found


@needs_axe
@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_serious(opening: Open, screen: str) -> None:
    web = opening(bypass_csp=True)
    page = web.open(f"/{screen}", m="transformer", s=KOREAN)
    ready(page, screen)
    found = in_both_themes(page)
    for more in EXTRA.get(screen, ()):
        page = web.open(f"/{screen}", **{"m": "transformer", "s": KOREAN, **more})
        page.locator("main figure, main article, main .card").first.wait_for()
        settled(page)
        found += in_both_themes(page)
    assert found == []


@needs_axe
def test_axe_finds_nothing_serious_where_models_are_trained(school: Running, opening: Open) -> None:
    """The form as it is, and with a line that has no second column."""
    page = opening(school.url, bypass_csp=True).open("/training", new="1")
    expect(page.get_by_role("heading", name="Train a model on your own pairs")).to_be_visible()
    settled(page)
    assert in_both_themes(page) == []
    page.get_by_label("Pairs: source, tab, target").fill("eins\tone\nzwei")
    expect(page.locator("main")).to_contain_text("line 2")
    assert in_both_themes(page) == []


@needs_axe
def test_axe_finds_nothing_serious_in_what_opens(opening: Open) -> None:
    """The drawer, a menu, the list of keys, a locked cell and its table."""
    web = opening(bypass_csp=True)
    page = web.open("/attention", m="transformer", s=KOREAN, q=2, j=1)
    ready(page, "attention")
    page.keyboard.press("w")
    page.locator(".drawer").wait_for()
    page.locator("[data-tool=table]").first.click()
    found = findings(page)
    page.keyboard.press("m")
    page.locator("[role=menu]").wait_for()
    found += findings(page)
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    page.locator("[role=menu]").wait_for()
    found += findings(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    assert found + findings(page) == []


CONTRAST = """() => {
    const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const over = (ink, alpha, back) => [0, 1, 2].map((c) => ink[c] * alpha + back[c] * (1 - alpha));
    const light = (rgb) => {
        const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = rgb.map((c) => linear(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
            if (a > 0.99 && r !== undefined) return [r, g, b];
        }
        return [255, 255, 255];
    };
    const faults = [];
    for (const text of document.querySelectorAll("main svg text")) {
        const [style, said] = [getComputedStyle(text), text.textContent.trim()];
        if (!text.getBoundingClientRect().width || said === "" || style.visibility === "hidden") continue;
        const [r, g, b, a = 1] = parse(style.fill);
        let alpha = a * Number(style.fillOpacity || 1);
        for (let at = text; at; at = at.parentElement) alpha *= Number(getComputedStyle(at).opacity || 1);
        if (alpha < 0.02) continue;
        const back = behind(text.closest("svg").parentElement);
        const [x, y] = [light(over([r, g, b], alpha, back)), light(back)].sort((m, n) => n - m);
        const ratio = (x + 0.05) / (y + 0.05);
        if (ratio < 4.5) faults.push(`${said.slice(0, 9)} ${ratio.toFixed(2)} ${text.classList}`);
    }
    return [...new Set(faults)].slice(0, 8);
}"""
"""Texts of drawings whose colour is too near to what they stand on; axe looks at none of them."""

DRAWN = {
    "attention": ({}, {"v": "flow"}),
    "inside": ({}, {"tab": "positions"}),
    "beam": ({},),
    "compare": ({},),
    "training": ({},),
    "quality": ({},),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_drawings_stands_out(opening: Open, scheme: str) -> None:
    web = opening(color_scheme=scheme)
    found = []
    for screen, views in DRAWN.items():
        for view in views:
            page = web.open(f"/{screen}", m="transformer", s=KOREAN, **view)
            page.locator("main svg text").first.wait_for()
            settled(page)
            found += [f"{screen} {view}: {one}" for one in page.evaluate(CONTRAST)]
    assert found == []
