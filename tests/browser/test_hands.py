"""The model is changed where it is drawn: a ribbon dragged, a weight moved, taken back and made again."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Watched
from tests.browser.screens import KOREAN, ready, settled, wait_for, wait_to_hold
from tests.browser.test_what_if import ask, decoded, encoded
from tests.server.conftest import Running


def middle(path: Locator) -> tuple[float, float]:
    """The middle of a curve, on the screen."""
    x, y = path.evaluate(
        """path => {
            const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
            return [at.x, at.y];
        }"""
    )
    return x, y


def drag(page: Page, link: Locator, to: Locator) -> None:
    box = to.bounding_box()
    assert box
    page.mouse.move(*middle(link))
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    expect(page.locator(".ribbons .pull.aimed")).to_have_count(1)
    page.mouse.up()


@pytest.mark.parametrize(("arch", "source"), [("transformer", "2.2"), ("luong", None)])
def test_a_ribbon_dragged_to_another_token_moves_its_weight(
    web: Watched, arch: str, source: str | None
) -> None:
    page = web.open("/translate", m=arch, s=KOREAN, r=source)
    ready(page, "translate")
    drag(page, page.locator(".ribbons .hit").first, page.locator(".tokens").first.locator("[data-token='8']"))
    wait_to_hold(page, "w")
    (op,) = decoded(page)
    assert op["op"] == "set_row"
    assert op["kind"] == "cross"
    assert max(op["weights"], key=op["weights"].get) == "8"
    assert sum(op["weights"].values()) == pytest.approx(1, abs=0.01)
    settled(page)
    bar = page.locator(".edit-bar")
    expect(bar).to_contain_text("Choose where a token looks")
    expect(bar).to_contain_text("4")  # the token it was dragged to
    bar.get_by_role("button", name="Undo").click()
    wait_for(page, w=None)
    bar.get_by_role("button", name="Redo").click()
    wait_to_hold(page, "w")
    assert decoded(page) == [op]


def test_a_ribbon_let_go_anywhere_else_changes_nothing(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    x, y = middle(page.locator(".ribbons .hit").first)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 20, steps=3)
    expect(page.locator(".ribbons .pull")).to_have_count(1)
    page.mouse.up()
    expect(page.locator(".ribbons .pull")).to_have_count(0)
    wait_for(page, w=None)


def test_a_weight_is_moved_by_keys_and_the_row_stays_whole(web: Watched, site: Running) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=2, q=3, j=2)
    ready(page, "attention")
    bar = page.locator(".settable").get_by_role("slider").first
    name = bar.get_attribute("aria-label")
    assert name
    bar.press("Home")
    wait_to_hold(page, "w")
    (op,) = decoded(page)
    assert (op["op"], op["layer"], op["head"], op["q"]) == ("set_row", 1, 1, 3)
    assert sum(op["weights"].values()) == pytest.approx(1, abs=0.01)
    settled(page)
    expect(page.get_by_role("slider", name=name, exact=True)).to_be_focused()  # also after the new answer
    expect(page.get_by_role("heading", name=re.compile("Layer 2, head 2, changed"))).to_be_visible()
    own = ask(site, "transformer", [op])
    same = own["baseline"]["text"] == own["edited"]["text"]
    expected = "The answer is the same." if same else own["edited"]["text"]
    expect(page.locator(".edit-answers")).to_contain_text(expected)
    page.keyboard.press("End")
    page.wait_for_function("old => new URLSearchParams(location.search).get('w') !== old", arg=encoded(op))
    assert len(decoded(page)) == 1  # the row is set anew, not twice
    page.keyboard.press("Escape")
    page.locator("main h1").click()
    page.keyboard.press("Control+z")
    wait_to_hold(page, "w")
    assert decoded(page) == [op]
    page.keyboard.press("Control+z")
    wait_for(page, w=None)
    page.keyboard.press("Control+y")
    wait_to_hold(page, "w")


def test_an_edited_head_is_marked_wherever_it_is_drawn(web: Watched) -> None:
    silenced = encoded({"op": "mask_head", "kind": "cross", "layer": 1, "head": 1})
    page = web.open("/attention", m="transformer", s=KOREAN, l=2, h=2, w=silenced)
    ready(page, "attention")
    expect(page.get_by_role("heading", name="Layer 2, head 2, silenced")).to_be_visible()
    expect(page.get_by_role("option", name=re.compile("layer 2, head 2.*silenced"))).to_have_count(1)
    web.open("/inside", m="transformer", s=KOREAN, l=2, h=2, w=silenced)
    ready(page, "inside")
    expect(page.locator(".inside .badge", has_text="silenced")).to_be_visible()
    web.open("/translate", m="transformer", s=KOREAN, r="2.2", w=silenced)
    ready(page, "translate")
    expect(page.get_by_role("button", name="Links from")).to_contain_text("silenced")
    page.keyboard.press("w")
    page.locator(".whatif-sweep button").first.click()
    expect(page.locator(".whatif-sweep .crossed")).to_have_count(1)
