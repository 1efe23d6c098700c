"""Models of several directions on one server: German beside dates."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Open, settings_for
from tests.browser.screens import ready
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
