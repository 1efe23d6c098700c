"""axe finds nothing serious on any screen, in either theme."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Open
from tests.browser.screens import KOREAN, SCREENS, ready, settled

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
IN_CI = os.environ.get("CI") == "true"  # where a missing tool is a failure, not a reason to skip
needs_axe = pytest.mark.skipif(not AXE.exists() and not IN_CI, reason="axe-core comes with npm ci in web/")
EXTRA = {
    "inside": ({"tab": "layers"}, {"tab": "positions"}, {"tab": "recurrence", "m": "luong"}),
    "training": ({"v": "samples"}, {"v": "emergence"}),
    "quality": ({"bin": "1"},),
}
"""More views of a screen, by parameters."""


def findings(page: Page, *, colours: bool = False) -> list[str]:
    """What axe calls serious or critical, with its first elements; `colours` looks at nothing else."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if colours:
        options["runOnly"] = ["color-contrast"]
    report: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}, {one['impact']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
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
