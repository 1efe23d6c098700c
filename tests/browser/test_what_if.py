"""Interventions from the page: what they do, that the address holds them, that one key takes them back."""

import base64
import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Watched
from tests.browser.screens import ISO, KOREAN, params, ready, settled, wait_for, wait_to_hold
from tests.server.conftest import Running

EVERY_HEAD = {"op": "mask_head", "kind": "cross", "layer": "*", "head": "*"}


def encoded(*ops: dict[str, Any]) -> str:
    plain = json.dumps(ops, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(plain).decode().rstrip("=")


def decoded(page: Page) -> list[dict[str, Any]]:
    text = params(page)["w"]
    found: list[dict[str, Any]] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


def ask(site: Running, model: str, ops: list[dict[str, Any]]) -> dict[str, Any]:
    with site.client() as client:
        body = {"model": model, "text": KOREAN, "interventions": ops}
        answer: dict[str, Any] = client.post("/v1/what-if", json=body).raise_for_status().json()
    return answer


def neediest(site: Running) -> tuple[int, int]:
    """Layer and head of cross-attention, from 0, without which the translation is least likely."""
    with site.client() as client:
        body = {"model": "transformer", "text": KOREAN, "kinds": ["cross"]}
        found = client.post("/v1/sweep", json=body, headers={"Accept": "application/json"}).raise_for_status()
    rows = found.json()["kinds"]["cross"]
    value, layer, head = min((value, i, j) for i, row in enumerate(rows) for j, value in enumerate(row))
    assert value < -0.1
    return layer, head


def test_a_head_is_masked_from_its_menu(web: Watched, site: Running) -> None:
    layer, head = neediest(site)
    page = web.open("/attention", m="transformer", s=KOREAN, l=layer + 1, h=head + 1)
    ready(page, "attention")
    page.locator(".attention-row [aria-haspopup=menu]").click()
    page.get_by_role("menuitem").first.click()
    wait_to_hold(page, "w")
    assert decoded(page) == [{"op": "mask_head", "kind": "cross", "layer": layer, "head": head}]
    outcome = page.locator(".drawer .whatif-outcome")
    expect(outcome).to_be_visible()
    settled(page)
    own = ask(site, "transformer", decoded(page))
    texts, facts = (one.locator("dd").all_inner_texts() for one in outcome.locator("dl").all())
    assert texts == [own["baseline"]["text"], own["edited"]["text"]]
    score, change = (float(one) for one in re.findall(r"[-+]?\d+\.\d+", facts[0].replace("−", "-")))
    assert score == pytest.approx(own["edited"]["score"], abs=0.006)
    assert change == pytest.approx(own["edited"]["score"] - own["baseline"]["score"], abs=0.006)
    old = float(re.findall(r"[-+]?\d+\.\d+", facts[2].replace("−", "-"))[0])
    assert old == pytest.approx(own["baseline_logprob_under_edit"], abs=0.006)
    assert old < -0.05

    page.locator("main h1").click()
    page.keyboard.press("0")
    wait_for(page, w=None)
    expect(page.locator(".drawer .whatif-ops")).to_have_count(0)
    page.go_back()
    wait_to_hold(page, "w")
    expect(page.locator(".drawer .whatif-ops li")).to_have_count(1)


def test_a_link_is_cut_from_its_cell(web: Watched, site: Running) -> None:
    page = web.open("/attention", m="luong", s=KOREAN, q=3, j=3)
    ready(page, "attention")
    page.locator(".attention-row [aria-haspopup=menu]").click()
    page.get_by_role("menuitem", name=re.compile("cut", re.IGNORECASE)).click()
    wait_to_hold(page, "w")
    (op,) = decoded(page)
    assert (op["op"], op["q"], op["k"]) == ("mask_edge", [3], [3])
    ready(page, "attention")
    expect(page.locator(".drawer .whatif-outcome")).to_be_visible()
    cell = page.locator("figure .heatmap-grid [role=gridcell]").first
    expect(cell).to_contain_text("0.00")  # what was cut has no weight left


def test_the_address_holds_the_interventions(web: Watched, site: Running) -> None:
    own = ask(site, "transformer", [EVERY_HEAD])
    assert own["edited"]["text"] != ISO
    page = web.open("/translate", m="transformer", s=KOREAN, w=encoded(EVERY_HEAD))
    ready(page, "translate")
    expect(page.locator(".translate-text")).to_have_text(own["edited"]["text"])
    page.keyboard.press("0")
    expect(page.locator(".translate-text")).to_have_text(ISO)


@pytest.mark.parametrize(
    ("arch", "op"),
    [
        ("rnn", {"op": "bridge", "mode": "zero"}),
        ("transformer", {"op": "positions", "mode": "none", "side": "source"}),
        ("transformer", {"op": "no_scale", "kind": "cross"}),
        ("luong", {"op": "force_prefix", "text": "2024"}),
        ("rnn", {"op": "ban", "text": ["1"]}),
    ],
)
def test_every_architecture_can_be_changed(
    web: Watched, site: Running, arch: str, op: dict[str, Any]
) -> None:
    own = ask(site, arch, [op])
    page = web.open("/beam", m=arch, s=KOREAN, w=encoded(op))
    ready(page, "beam")
    page.keyboard.press("w")
    outcome = page.locator(".drawer .whatif-outcome")
    expect(outcome.locator("dl").first.locator("dd").last).to_have_text(
        own["edited"]["text"] or re.compile(".")
    )
    expect(page.locator(".drawer .whatif-bad")).to_have_count(0)


def test_an_intervention_is_added_in_the_drawer(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=KOREAN)
    ready(page, "translate")
    page.keyboard.press("w")
    drawer = page.locator(".drawer")
    drawer.locator("[aria-haspopup=menu]").first.click()
    page.get_by_role(
        "menuitem", name=re.compile("^silence|^mask|^switch off|head", re.IGNORECASE)
    ).first.click()
    drawer.locator(".btn.primary").click()
    wait_to_hold(page, "w")
    assert decoded(page)[0]["op"] in ("mask_head", "scale_head")
    expect(drawer.locator(".whatif-outcome")).to_be_visible()


def test_what_the_model_cannot_do_is_said_at_the_intervention(web: Watched) -> None:
    web.allow("status of 422")
    page = web.open("/translate", m="rnn", s=KOREAN, w=encoded(EVERY_HEAD))
    expect(page.locator("main [role=alert]")).to_contain_text("attention")
    page.keyboard.press("w")
    expect(page.locator(".drawer").get_by_text(re.compile("attention")).first).to_be_visible()


def test_a_sweep_fills_its_grid(web: Watched) -> None:
    page = web.open("/attention", m="transformer", s=KOREAN)
    ready(page, "attention")
    page.keyboard.press("w")
    page.locator(".whatif-sweep button").first.click()
    grid = page.locator(".whatif-sweep .heatmap-grid")
    expect(grid).to_be_visible()
    expect(page.locator(".whatif-sweep progress")).to_have_count(0)
    assert grid.get_attribute("aria-rowcount") == "6"  # two layers of three kinds
