"""The Map: every architecture from its pieces to the token; played, zoomed into, opened in Inside."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import ARCHS, KOREAN, params, ready, settled, wait_for
from tests.browser.test_images import PICTURES
from tests.decoding.conftest import COPYING, untrained
from tests.explain.seeing import seeing
from tests.server.conftest import Running, serving

import jumok
from jumok.decoding.translator import Translator
from jumok.model import Model
from jumok.server.settings import ModelNotes

PAINTED = """canvas => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) if (data[i]) count++;
    return count;
}"""
STEPS = {"rnn": 5, "luong": 9, "transformer": 10}
"""Boxes of one step of decoding, and the token that ends it."""


def shown(watched: Watched, **address: Any) -> Page:
    page = watched.open("/map", **{"s": KOREAN, **address})
    ready(page, "map")
    return page


def painted(page: Page, n: int) -> int:
    """Pixels that hold something on one of the three canvases."""
    return int(page.locator(".map-stage > canvas").nth(n).evaluate(PAINTED))


def said(page: Page) -> str:
    return page.locator(".map-say").inner_text()


@pytest.mark.parametrize("arch", ARCHS)
def test_every_architecture_is_drawn_with_its_own_parts(web: Watched, arch: str) -> None:
    page = shown(web, m=arch, q=4)
    names = page.locator(".map-box").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    own = {"rnn": "One vector", "luong": "Context", "transformer": "Cross-attention"}[arch]
    assert any(own in name for name in names)
    assert any("Cross-attention" in name for name in names) == (arch == "transformer")
    assert painted(page, 0) > 5000
    assert painted(page, 1) > 2000
    assert "is written" in said(page)
    expect(page.locator(".map figcaption")).to_have_count(0)  # nothing is left out


@pytest.mark.parametrize("arch", ARCHS)
def test_stages_follow_each_other_and_tell_what_happens(web: Watched, arch: str) -> None:
    page = shown(web, m=arch, q=4, ph=0)
    stage = page.locator(".map-stage")
    stage.focus()
    told = [said(page)]
    for _ in range(STEPS[arch] - 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("old => document.querySelector('.map-say').innerText !== old", arg=told[-1])
        told.append(said(page))
    assert "is written" in told[-1]
    wait_for(page, q="4", ph=None)
    page.keyboard.press("ArrowRight")
    wait_for(page, q="5", ph="0")
    page.keyboard.press("ArrowUp")
    wait_for(page, q="4", ph=None)


def test_what_is_said_are_the_models_numbers(web: Watched) -> None:
    page = shown(web, m="transformer", q=4, ph=5)
    trace = jumok.load("demo/transformer", "cpu").trace(KOREAN)
    cross = trace.attention.cross
    assert cross is not None
    row = np.asarray(cross.weights)[1].mean(0)[4]
    names = [token["text"].strip() for token in trace.manifest["source"]["tokens"]]
    found = re.search(r"most at “(.+)” \((0\.\d\d)\)", said(page))
    assert found is not None
    assert found[1] == names[int(row.argmax())]
    assert float(found[2]) == pytest.approx(row.max(), abs=0.02)  # ribbons are of 52 shades
    page.locator("[data-tool=table]").click()
    cells = (
        page.locator(".map figure table tr", has_text="Decoder 2, Cross-attention")
        .locator("td")
        .all_inner_texts()
    )
    assert cells[0] == names[int(row.argmax())]


def test_playing_writes_token_after_token_and_ends(opening: Open) -> None:
    """With as little motion as possible stages change too, without what is between them."""
    web = opening()
    page = shown(web, m="rnn", q=8, sp=4)
    last = jumok.load("demo/rnn", "cpu").trace(KOREAN).manifest["target"]["tokens"][-1]["i"]
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    wait_for(page, q=str(last))
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert "ends the answer" in said(page)


def test_motion_moves_and_holds_still_when_paused(opening: Open) -> None:
    web = opening(reduced_motion="no-preference")
    page = shown(web, m="transformer", q=3)
    assert painted(page, 2) == 0
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"() => ({PAINTED})(document.querySelectorAll('.map-stage > canvas')[2]) > 50")
    page.get_by_role("button", name="Pause").click()
    settled(page)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    held = painted(page, 2)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert painted(page, 2) == held


def test_one_step_for_all_screens(web: Watched) -> None:
    page = shown(web, m="transformer", q=6)
    rail = page.locator("nav.rail")
    for screen in ("attention", "inside"):
        rail.locator(f"a[href^='/{screen}']").click()
        ready(page, screen)
        expect(page.locator(".scrubber output")).to_contain_text("7 / 11")
    rail.locator("a[href^='/beam']").click()
    ready(page, "beam")
    expect(page.locator(".beam-player output")).to_contain_text("7")
    page.get_by_role("button", name="Step back").click()
    wait_for(page, q="5")
    rail.locator("a[href^='/map']").click()
    ready(page, "map")
    expect(page.locator(".scrubber output")).to_contain_text("6 / 11")


def test_every_box_opens_inside(web: Watched) -> None:
    page = shown(web, m="transformer", q=4)
    hrefs = page.locator(".map-box").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert len(hrefs) == 14
    assert all(href.startswith("/inside?") for href in hrefs)
    page.get_by_role("link", name="Decoder 2, Cross-attention: open in Inside").focus()
    page.keyboard.press("Enter")
    ready(page, "inside")
    assert params(page).items() >= {"k": "cross", "l": "2", "q": "4"}.items()
    page.go_back()
    ready(page, "map")
    page.get_by_role("link", name="Encoder 1, FFN: open in Inside").focus()
    page.keyboard.press("Enter")
    ready(page, "inside")
    expect(page.locator(".layers-list [aria-current]")).to_contain_text("h = max(0, x W_1 + b_1)")


def test_from_the_whole_to_one_product(web: Watched) -> None:
    page = shown(web, m="transformer", q=4)
    page.get_by_role("button", name="Zoom in on Decoder 2").focus()
    page.keyboard.press("Enter")
    wait_for(page, z="1", k="cross", l="2")
    page.locator(".map-heads").nth(1).get_by_role("button", name="Head 3").click()
    wait_for(page, z="2", h="3")
    expect(page.locator(".map-motion canvas")).to_be_visible()
    page.get_by_role("button", name="One cell").click()
    wait_for(page, z="3")
    expect(page.locator(".sum .total").first).to_be_visible()
    page.get_by_role("button", name="Whole model").click()
    wait_for(page, z=None)
    ready(page, "map")


@pytest.mark.parametrize("arch", ARCHS)
def test_a_number_of_a_strip_says_how_it_was_made(web: Watched, arch: str) -> None:
    strip = "decoder.1.ffn.out" if arch == "transformer" else "decoder.1.recurrence.out"
    page = shown(web, m=arch, q=4, c=f"{strip}~3~7")
    panel = page.get_by_role("region", name="How one number is made")
    expect(panel.locator(".inside-line b").first).to_be_visible()
    value = panel.locator("b").first.inner_text()
    panel.get_by_role("button", name="Dimension +").click()
    wait_for(page, c=f"{strip}~3~8")
    expect(panel.locator("b").first).not_to_have_text(value)


def test_attention_in_motion_inside(web: Watched) -> None:
    page = web.open("/inside", m="luong", s=KOREAN, q=4)
    ready(page, "inside")
    page.get_by_text("In motion").click()
    expect(page.locator(".map-motion canvas")).to_be_visible()
    wait_for(page, mo="1")
    page.locator(".inside-motion [data-tool=table]").click()
    cells = page.locator(".inside-motion tbody td:last-child").all_inner_texts()
    weights = [float(one.replace("−", "-")) for one in cells]
    assert sum(weights) == pytest.approx(1, abs=0.01)


@pytest.fixture(scope="module")
def odd(trio: dict[str, Translator]) -> Iterator[Running]:
    """Models that see, and one that copies."""
    models: dict[str, Any] = {f"seer-{arch}": seeing(arch) for arch in ("transformer", "rnn")}
    models["copying"] = Model(untrained(COPYING, beam=3))
    about = {
        name: ModelNotes(examples=PICTURES if name != "copying" else ("a man sees two dogs",))
        for name in models
    }
    with serving(models, settings_for(models, about=about)) as found:
        yield found


@pytest.mark.parametrize("name", ["seer-transformer", "seer-rnn", "copying"])
def test_models_of_pictures_and_models_that_copy(opening: Open, odd: Running, name: str) -> None:
    page = opening(url=odd.url).open("/map", m=name)
    ready(page, "map")
    expect(page.locator("main [role=alert]")).to_have_count(0)
    assert painted(page, 0) > 3000
    copies = page.get_by_role("link", name="Decoder, Copy: open in Inside")
    expect(copies).to_have_count(1 if name == "copying" else 0)


def test_an_edited_model_says_what_is_not_drawn(web: Watched) -> None:
    page = shown(web, m="transformer", q=4)
    with page.expect_response("**/v1/trace"):
        page.evaluate(
            """() => {
                const ops = btoa(JSON.stringify([{ op: 'mask_head', kind: 'cross', layer: 0, head: 0 }]));
                const here = new URL(location.href);
                here.searchParams.set('w', ops.replaceAll('=', ''));
                history.pushState(null, '', here);
                dispatchEvent(new PopStateEvent('popstate'));
            }"""
        )
    expect(page.locator(".map figcaption")).to_contain_text("Dashed columns")


def test_the_largest_trace_is_drawn(opening: Open) -> None:
    """128 tokens on either side, 12 layers of 16 heads: weights come layer by layer."""
    from jumok.config import TransformerConfig

    wide = TransformerConfig(width=64, heads=16, encoder_layers=12, decoder_layers=12, feedforward=64)
    models = {"deep": Model(untrained(wide, max_len=127))}
    with serving(models, settings_for(models)) as server:
        web = opening(url=server.url)
        text = "a man sees two dogs and <b>&amp;</b> " * 12
        page = web.open("/map", m="deep", s=text[:120], t="two dogs see a man " * 9)
        ready(page, "map")
        assert painted(page, 0) > 5000
        expect(page.locator(".map-layer")).to_have_count(24)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert page.locator("main b").count() == 0
