"""A model that copies and chooses among draws, in the explorer: where it points, and how it searches."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import settled
from tests.decoding.conftest import COPYING, untrained
from tests.server.conftest import Running, serving

from jumok.decoding.translator import Translator
from jumok.model import Model

TEXT = "a man sees two dogs"


@pytest.fixture(scope="module")
def copier(trio: dict[str, Translator]) -> Iterator[Running]:
    """A server with an untrained model that copies, and a trained one that does not."""
    models = {"copying": Model(untrained(COPYING, mbr=6, beam=3)), "plain": trio["transformer"]}
    with serving(models, settings_for(models)) as found:
        yield found


@pytest.fixture
def seen(opening: Open, copier: Running) -> Watched:
    return opening(url=copier.url)


def test_where_a_model_points_and_how_much_it_copies(seen: Watched, copier: Running) -> None:
    page = seen.open("/attention", m="copying", s=TEXT, k="copy")
    settled(page)
    expect(page.get_by_role("tab", name="Copy")).to_have_attribute("aria-selected", "true")
    with copier.client() as client:
        trace = client.post("/v1/trace", json={"model": "copying", "text": TEXT}).json()
    page.locator(".attention .heatmap-grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    share = trace["steps"][0]["copied"]
    expect(page.locator("dt", has_text="Copied").locator("xpath=following-sibling::dd[1]")).to_have_text(
        f"{100 * share:.0f} %"
    )


def test_a_model_that_does_not_copy_has_no_such_attention(seen: Watched) -> None:
    page = seen.open("/attention", m="plain", s="5. März 2024", k="copy")
    settled(page)
    expect(page.get_by_role("tab", name="Cross")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tab", name="Copy")).to_have_count(0)


def test_draws_are_the_usual_way_and_any_beam_is_another(seen: Watched) -> None:
    page = seen.open("/translate", m="copying", s=TEXT)
    settled(page)
    way = page.get_by_label("Beam")
    expect(way.locator("option:checked")).to_have_text("6 draws")
    way.select_option("3")
    settled(page)
    asked = [json.loads(one.post_data or "{}") for one in seen.requests if "/stream" in one.url]
    assert [one.get("beam") for one in asked] == [None, 3]
    expect(page.locator(".translate-speed")).to_contain_text("per token")


def test_ribbons_show_what_was_copied(seen: Watched) -> None:
    page = seen.open("/translate", m="copying", s=TEXT)
    settled(page)
    expect(page.get_by_role("button", name="Links from")).to_contain_text("what was copied")
    expect(page.get_by_text("as wide as the share of a token that was copied")).to_be_visible()
    page.goto(f"{page.url}&r=mean")
    settled(page)
    expect(page.get_by_role("button", name="Links from")).to_contain_text("mean of the last layer")


def test_the_tree_of_such_a_model_is_that_of_its_beam(seen: Watched) -> None:
    page = seen.open("/beam", m="copying", s=TEXT)
    settled(page)
    expect(page.get_by_text("Search with beam 3")).to_be_visible()
