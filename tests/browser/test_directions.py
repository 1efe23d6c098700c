"""Models of several directions on one server: German beside dates."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, settings_for
from tests.browser.screens import params, ready, wait_for
from tests.server.conftest import Running, serving

from jumok.checkpoint.bundled import translators
from jumok.decoding.translator import Translator, load

LONG = "Der hübsche Hund bellte gestern über Quantenphysik im Deutschen Bundestag und alle lachten sehr"
BEYOND = """() => {
    const found = [];
    const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const ends = [...range.getClientRects()].map(box => box.right);
        const own = node.parentElement.closest('.sr, .strips, .chip, figure, table');
        if (!own && Math.max(0, ...ends) > innerWidth) found.push(node.data);
    }
    return found;
}"""
"""Texts of the page that reach beyond the window, but those in boxes that scroll or shorten on purpose."""


@pytest.fixture(scope="module")
def mixed(trio: dict[str, Translator]) -> Iterator[Running]:
    """A server with the models of dates and two of German."""
    folders = translators()
    models = {**trio, **{name: load(folders[name]) for name in ("de-en-rnn", "de-en-transformer")}}
    with serving(models, settings_for(models)) as found:
        yield found


@pytest.mark.parametrize("width", [1440, 390])
def test_an_answer_with_many_doubts_stays_in_the_window(mixed: Running, opening: Open, width: int) -> None:
    web = opening(mixed.url, viewport={"width": width, "height": 844})
    page = web.open("/translate", m="de-en-transformer", s=LONG)
    ready(page, "translate")
    expect(page.locator(".doubts bdi").nth(5)).to_be_visible()
    assert page.evaluate(BEYOND) == []


def test_models_are_compared_within_a_direction(mixed: Running, opening: Open) -> None:
    page = opening(mixed.url).open("/compare", m="transformer", s="5. März 2024")
    ready(page, "compare")
    dates = page.get_by_role("group", name="dates in many languages → ISO 8601")
    german = page.get_by_role("group", name="German → English")
    expect(dates.get_by_role("button", pressed=True)).to_have_count(3)
    expect(german.get_by_role("button", pressed=True)).to_have_count(0)
    german.get_by_role("button", name="de-en-rnn").click()
    wait_for(page, ms="de-en-rnn,de-en-transformer", m="de-en-rnn")
    ready(page, "compare")
    expect(page.locator(".compare-column")).to_have_count(2)
    expect(dates.get_by_role("button", pressed=True)).to_have_count(0)
    dates.get_by_role("button", name="luong").click()
    wait_for(page, ms="rnn,luong,transformer", m="luong")
    dates.get_by_role("button", name="luong").click()
    wait_for(page, ms="rnn,transformer", m="rnn")
    expect(page.locator("#model-button")).to_contain_text("rnn")


def test_the_header_names_a_model_that_is_compared(mixed: Running, opening: Open) -> None:
    page = opening(mixed.url).open("/compare", ms="de-en-rnn,de-en-transformer", m="luong")
    wait_for(page, m="de-en-rnn")
    ready(page, "compare")
    page.locator("#model-button").click()
    page.get_by_role("menuitem", name="luong").or_(page.get_by_role("menuitemradio", name="luong")).click()
    wait_for(page, m="luong", ms=None)
    expect(page.locator(".compare-column")).to_have_count(3)
    assert params(page)["m"] == "luong"


def test_candidates_on_a_phone_keep_their_text(mixed: Running, opening: Open) -> None:
    web = opening(mixed.url, viewport={"width": 390, "height": 844})
    web.page.add_init_script(
        """const draw = CanvasRenderingContext2D.prototype.fillText;
        window.drawn = new Set();
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
            window.drawn.add(text);
            draw.call(this, text, ...at);
        };"""
    )
    page = web.open("/map", m="de-en-transformer", s="Möchtest du diese Datei wirklich löschen?")
    ready(page, "map")
    page.wait_for_function("() => [...window.drawn].some(text => text.endsWith(' %'))")
    drawn = set(page.evaluate("[...window.drawn]"))
    assert {"␣to", "␣file"} <= drawn
    assert "␣" not in drawn
