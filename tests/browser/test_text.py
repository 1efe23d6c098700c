"""Any script, and any malice: glyphs that exist, boxes in the order of the eye, and text that stays text."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Watched
from tests.browser.screens import ARABIC, KOREAN, OF_A_MODEL, ready, settled
from tests.browser.world import HOSTILE, HOSTILE_RUN

SCRIPTS = {
    "Korean": "한",
    "Korean jamo": "한",
    "Chinese": "漢",
    "Japanese": "ぎ",
    "Arabic": "م",
    "Hebrew": "ש",
    "Hindi": "क्ष",
    "Thai": "ก็",
}
LONG = "가나다라마바사아자차" * 20
"""One word of 200 characters."""

DRAWN = """text => {
    const node = document.querySelector('.token-text') ?? document.body;
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 64;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.font = '40px ' + getComputedStyle(node).fontFamily;
    const pixels = (one) => {
        context.clearRect(0, 0, 64, 64);
        context.fillText(one, 8, 44);
        return context.getImageData(0, 0, 64, 64).data.join();
    };
    const [missing, unassigned, nothing] = ['\\uffff', '\\u0378', ''].map(pixels);
    return { drawn: pixels(text), missing, unassigned, nothing };
}"""


def places(page: Page, selector: str) -> list[tuple[float, float]]:
    """Top and left of boxes in the order of the document; a strip may wrap."""
    found: list[tuple[float, float]] = page.locator(selector).evaluate_all(
        """nodes => nodes.map(node => {
            const box = node.getBoundingClientRect();
            return [Math.round(box.top), box.left];
        })"""
    )
    return [(top, left) for top, left in found]


def test_no_glyph_is_the_box_of_a_missing_one(web: Watched) -> None:
    page = web.open("/learn")
    expect(page.locator("main h1")).to_be_visible()
    for script, text in SCRIPTS.items():
        found: dict[str, Any] = page.evaluate(DRAWN, text)
        assert found["drawn"] not in (found["missing"], found["unassigned"], found["nothing"]), script


def test_tokens_of_arabic_run_from_right_to_left(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=ARABIC)
    ready(page, "translate")
    strip = ".strips .tokens[dir=rtl] .token"
    found = places(page, strip)
    assert len(found) > 4
    assert found == sorted(found, key=lambda place: (place[0], -place[1]))
    target = places(page, ".strips .tokens[dir=ltr] .token")
    assert target == sorted(target)
    texts = page.locator(f"{strip} .token-text").all_inner_texts()
    assert "".join(text.split("\n")[0] for text in texts).replace("␣", "").startswith("٢٤")
    assert page.locator("textarea").evaluate("node => getComputedStyle(node).direction") == "rtl"


def test_arrows_follow_the_eye(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s=ARABIC)
    ready(page, "translate")
    page.locator(".strips .tokens[dir=rtl]").focus()
    page.keyboard.press("End")
    last = page.locator(".tokens[dir=rtl] .token.on").bounding_box()
    page.keyboard.press("ArrowRight")
    after = page.locator(".tokens[dir=rtl] .token.on").bounding_box()
    assert last is not None
    assert after is not None
    assert after["x"] > last["x"]


def test_columns_of_arabic_run_from_right_to_left(web: Watched) -> None:
    page = web.open("/attention", m="luong", s=ARABIC, q=0, j=0)
    ready(page, "attention")
    grid = page.locator("figure .heatmap-grid").first
    canvas = grid.locator("canvas").bounding_box()
    marked = grid.locator("rect.cell").bounding_box()
    assert canvas is not None
    assert marked is not None
    assert marked["x"] + marked["width"] >= canvas["x"] + canvas["width"] - 3
    grid.focus()
    page.keyboard.press("ArrowLeft")
    moved = grid.locator("rect.cell").bounding_box()
    assert moved is not None
    assert moved["x"] < marked["x"]


def test_a_token_marks_its_span_in_the_text(web: Watched) -> None:
    """Also behind characters that are two units in UTF-16."""
    page = web.open("/translate", m="transformer", s=f"😀 {KOREAN}")
    ready(page, "translate")
    tokens = page.locator(".strips .tokens").first.locator(".token:not(.special)")
    for n in range(tokens.count()):
        one = tokens.nth(n)
        shown = one.locator(".token-text").evaluate(
            "node => [...node.childNodes].filter(part => part.nodeType === 3).map(part => part.data).join('')"
        )
        one.hover()
        if shown.strip(" ␣"):
            expect(page.locator(".translate-source mark")).to_have_text(shown.strip())


def test_a_word_of_200_characters_breaks_no_screen(web: Watched) -> None:
    """Its bytes are more than a trace may have, so some screens say that."""
    web.allow("status of 422")
    for screen in OF_A_MODEL:
        page = web.open(f"/{screen}", m="luong", s=LONG)
        page.locator("main :is(figure, .state)").first.wait_for()
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_hostile_text_in_views_of_states_and_motion(web: Watched) -> None:
    for view in ({"tab": "neighbours"}, {"tab": "layers"}, {"tab": "positions"}):
        page = web.open("/inside", m="transformer", s=HOSTILE, **view)
        page.get_by_role("tabpanel").locator("figure").first.wait_for()
        settled(page)
        check_nothing_ran(page)
    for zoom in ("2", "3"):
        page = web.open("/map", m="transformer", s=HOSTILE, z=zoom)
        page.locator(".map figure").first.wait_for()
        settled(page)
        check_nothing_ran(page)


@pytest.mark.parametrize(
    ("screen", "arch"),
    [*((screen, "transformer") for screen in OF_A_MODEL), ("attention", "rnn"), ("inside", "rnn")],
)
def test_text_that_looks_like_script_is_shown_as_text(web: Watched, screen: str, arch: str) -> None:
    page = web.open(f"/{screen}", m=arch, s=HOSTILE)
    ready(page, screen)
    typed = page.locator("[data-input]")
    assert typed.input_value() == HOSTILE
    check_nothing_ran(page)
    page.locator("[data-tool=table]").first.click()
    expect(page.locator("figure table").first).to_be_visible()
    check_nothing_ran(page)


def test_pieces_that_look_like_special_ones_are_not_special(web: Watched) -> None:
    page = web.open("/translate", m="transformer", s="</s> <s> <pad>")
    ready(page, "translate")
    source = page.locator(".strips .tokens").first
    expect(source.locator(".token.special")).to_have_count(1)  # the real end of the sentence
    texts = source.locator(".token:not(.special) .token-text").all_inner_texts()
    assert "".join(texts).replace("␣", "").replace(" ", "").replace("\n", "") == "</s><s><pad>"


def test_hostile_runs_and_samples_are_shown_as_text(web: Watched) -> None:
    page = web.open("/training", r=HOSTILE_RUN)
    ready(page, "training")
    expect(page.locator("aside .run .name", has_text=HOSTILE_RUN)).to_be_visible()
    expect(page.locator(".notices li")).to_contain_text(HOSTILE)
    page.get_by_role("tab", name="Samples").click()
    expect(page.locator(".story dd").first).to_have_text(HOSTILE)
    check_nothing_ran(page)
    page = web.open("/quality", bin="1")
    ready(page, "quality")
    check_nothing_ran(page)


def check_nothing_ran(page: Page) -> None:
    assert "hacked" not in page.title()
    assert page.locator("main img, main script, main iframe").count() == 0


def test_an_empty_text_asks_for_one(web: Watched) -> None:
    for screen in OF_A_MODEL:
        page = web.open(f"/{screen}", m="luong", s=" ")
        settled(page)
        expect(page.locator("main [role=alert]")).to_have_count(0)
        expect(page.locator("main h1")).to_be_visible()


def test_a_text_beyond_the_limits_says_so(web: Watched) -> None:
    web.allow("status of 422")
    page = web.open("/attention", m="transformer", s="1998 " * 200)
    expect(page.locator("main [role=alert]")).to_contain_text("512")


def test_a_text_that_is_longer_than_the_model_says_that_it_is_cut(web: Watched) -> None:
    for screen in ("attention", "inside", "translate"):
        page = web.open(f"/{screen}", m="transformer", s="1998 " * 40)
        ready(page, screen)
        expect(page.locator("main .note", has_text="longer than the model")).to_be_visible()
