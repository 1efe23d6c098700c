"""A server without PyTorch: what needs it says so calmly, with the line that brings it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import ready
from tests.server.conftest import Running, serving

from jumok.checkpoint.bundled import bundled
from jumok.decoding.translator import Translator, load
from jumok.errors import needs_torch

LINE = "pip install 'jumok[train]'"
CHAPTERS = (
    "teacher-forcing",
    "luong-to-the-end",
    "training-step",
    "gradient-by-distance",
    "embedding",
    "encoder-layer",
    "decoder-layer",
)


@pytest.fixture(scope="module")
def unasked() -> Iterator[Running]:
    """A server of its own: the other one remembers what it computed for other tests."""
    models = {name: load(folder) for name, folder in reversed(bundled().items())}
    with serving(models, settings_for(models)) as found:
        yield found


@pytest.fixture
def light(unasked: Running, opening: Open, monkeypatch: pytest.MonkeyPatch) -> Watched:
    def refuse(_: object, what: str) -> None:
        raise needs_torch(what)

    monkeypatch.setattr(Translator, "on_torch", refuse)
    web = opening(unasked.url, locale="ko")
    web.allow("status of 422")
    return web


def calm(page: Page) -> None:
    note = page.locator(".card", has=page.get_by_text(LINE))
    expect(note.first).to_contain_text("PyTorch(추가 구성 jumok[train])가 필요한데")
    expect(note.first.get_by_role("button", name="복사")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_says_the_line_and_lets_its_question_go(light: Watched, chapter: str) -> None:
    page = light.open(f"/learn/{chapter}")
    calm(page)
    expect(page.locator(".learn-question")).to_contain_text("다음 장으로 넘어가세요")


def test_layers_say_the_line(light: Watched) -> None:
    calm(light.open("/inside", m="transformer", tab="layers"))


def test_the_map_names_the_reason(light: Watched) -> None:
    page = light.open("/map", m="transformer")
    ready(page, "map")
    expect(page.locator(".map figcaption")).to_contain_text("PyTorch로만 계산하는 상태")
