"""axe finds nothing serious on any screen, in either theme."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Open
from tests.browser.screens import KOREAN, SCREENS, ready

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
EXTRA = {
    "inside": ({"tab": "positions"}, {"tab": "recurrence", "m": "luong"}),
    "training": ({"v": "samples"}, {"v": "emergence"}),
    "quality": ({"bin": "1"},),
}
"""More views of a screen, by parameters."""


def findings(page: Page) -> list[str]:
    """What axe calls serious or critical, with the first element of each."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    report: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {node['html'][:160]} {node['any'][0]['message'] if node['any'] else ''}"
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is installed by npm ci in web/")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_serious(opening: Open, screen: str, theme: str) -> None:
    web = opening(color_scheme=theme, bypass_csp=True)
    page = web.open(f"/{screen}", m="transformer", s=KOREAN)
    ready(page, screen)
    found = findings(page)
    for more in EXTRA.get(screen, ()):
        page = web.open(f"/{screen}", **{"m": "transformer", "s": KOREAN, **more})
        page.locator("main figure, main article, main .card").first.wait_for()
        found += findings(page)
    assert found == []


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is installed by npm ci in web/")
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
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    assert found + findings(page) == []
