"""The Chat screen: answers drawn and searched for, their attention, links, keys, and what goes wrong."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import GERMAN, ISO, KOREAN, settled, wait_for
from tests.explain.conftest import LINES, Workshop
from tests.server.conftest import Running, serving

from jumok.config import TextConfig
from jumok.decoding.translator import Translator
from jumok.text.tokenizer import train_tokenizer


def ask(page: Page, text: str) -> None:
    box = page.get_by_label("Question", exact=True)
    box.fill(text)
    box.press("Enter")


def drawn(page: Page) -> None:
    """Wait until the attention of the chosen answer is there."""
    expect(page.locator(".chat .tokens .token").first).to_be_visible()
    settled(page)


def test_an_answer_and_where_it_looked(web: Watched, trio: dict[str, Translator]) -> None:
    page = web.open("/chat", m="transformer")
    expect(page.locator(".chat .state h2").first).to_have_text("Ask something")
    ask(page, KOREAN)
    settings = {"sample": True, "temperature": 0.8, "top_p": 0.9, "top_k": 0, "seed": 1}
    answer = trio["transformer"].translate(KOREAN, **settings).text
    expect(page.locator(".chat-answer")).to_have_text(answer)
    drawn(page)
    written = page.locator(".chat .tokens").last.locator(".token:not(.special) .token-text")
    assert "".join(written.all_inner_texts()).replace("␣", "").replace("\n", "") == answer
    assert page.locator(".chat .ribbons path").count() > 3
    page.get_by_role("radio", name="Matrix").click()
    expect(page.locator(".chat .heatmap-grid")).to_be_visible()
    expect(page.locator(".chat figure")).to_have_count(2)
    for tool in ("table", "link", "export"):
        expect(page.locator(f".chat figure [data-tool={tool}]")).to_have_count(2)


def test_the_settings_draw_the_answer_and_a_link_draws_it_again(
    web: Watched, trio: dict[str, Translator]
) -> None:
    page = web.open("/chat", m="rnn")
    page.get_by_label("Temperature").fill("5")
    page.get_by_label("Top-k").fill("40")
    page.get_by_label("Top-p").fill("1")
    page.get_by_label("Seed", exact=True).fill("7")
    ask(page, GERMAN)
    hot = {"sample": True, "temperature": 5.0, "top_k": 40, "top_p": 1.0, "seed": 7}
    first = trio["rnn"].translate(GERMAN, **hot).text
    expect(page.locator(".chat-answer")).to_have_text(first)
    wait_for(page, s=GERMAN, tp="5", tk="40", pp="1", sd="7")
    page.get_by_role("button", name="Another answer").click()
    second = trio["rnn"].translate(GERMAN, **{**hot, "seed": 8}).text
    assert second != first
    expect(page.locator(".chat-answer")).to_have_text([first, second])
    wait_for(page, sd="8")
    page.locator(".chat-answer").first.click()
    wait_for(page, sd="7")
    expect(page.get_by_label("Seed", exact=True)).to_have_value("7")
    page.goto(page.url)
    expect(page.locator(".chat-answer")).to_have_text([first])


def test_by_search_and_on_to_the_other_screens(web: Watched) -> None:
    page = web.open("/chat", m="transformer")
    page.get_by_role("radio", name="By search").click()
    ask(page, KOREAN)
    expect(page.locator(".chat-answer")).to_have_text(ISO)
    drawn(page)
    page.get_by_role("navigation", name="Open in").get_by_role("link", name="Attention").click()
    expect(page.locator(".attention .heatmap-grid")).to_be_visible()
    wait_for(page, s=KOREAN, t=None)
    page.go_back()
    expect(page.locator(".chat-answer")).to_have_text(ISO)


def test_a_drawn_answer_goes_on_as_a_given_text(web: Watched) -> None:
    page = web.open("/chat", m="transformer", s=KOREAN, sd="3")
    drawn(page)
    answer = page.locator(".chat-answer").inner_text()
    page.get_by_role("navigation", name="Open in").get_by_role("link", name="Attention").click()
    expect(page.locator(".attention .heatmap-grid")).to_be_visible()
    wait_for(page, t=answer)


def test_keys_alone(web: Watched) -> None:
    page = web.open("/translate", m="luong")
    expect(page.locator(".translate")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page.locator(".chat")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type("line one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(page.get_by_label("Question", exact=True)).to_have_value("line one\ntwo")
    expect(page.locator(".chat-turn")).to_have_count(0)
    page.get_by_label("Question", exact=True).fill(GERMAN)
    page.keyboard.press("Enter")
    expect(page.locator(".chat-question").last).to_have_text(GERMAN)
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Question", exact=True)).to_have_value(GERMAN)


def test_who_asks_again_gets_another_answer_or_is_shown_the_one_there_is(web: Watched) -> None:
    page = web.open("/chat", m="rnn")
    page.set_viewport_size({"width": 1280, "height": 500})
    for seed in ("1", "2", "3", "4"):
        ask(page, GERMAN)
        expect(page.locator(".chat-turn").last).to_contain_text(f"seed {seed}")
        expect(page.locator(".chat-answer[aria-busy=true]")).to_have_count(0)
    page.locator(".chat-turn").first.get_by_role("button", name="Another answer").click()
    expect(page.locator(".chat-turn").last).to_contain_text("seed 5")
    page.go_back()
    page.go_back()
    page.go_back()
    wait_for(page, sd="2")
    expect(page.locator(".chat-turn.on .chat-answer")).to_be_in_viewport(ratio=0.9)


def test_the_conversation_as_a_table_and_as_files(web: Watched) -> None:
    page = web.open("/chat", m="rnn", s=GERMAN)
    drawn(page)
    answer = page.locator(".chat-answer").inner_text()
    talk = page.locator(".chat-talk")
    talk.locator("[data-tool=export]").click()
    expect(page.get_by_role("menuitem", name="PNG")).to_have_count(0)
    with page.expect_download() as found:
        page.get_by_role("menuitem", name="JSON of the conversation").click()
    [said] = json.loads(Path(found.value.path()).read_text(encoding="utf-8"))
    assert (said["text"], said["answer"], said["seed"]) == (GERMAN, answer, 1)
    talk.locator("[data-tool=table]").click()
    expect(talk.locator("table")).to_contain_text(answer)


def test_what_goes_wrong_is_said_and_can_be_tried_again(web: Watched) -> None:
    web.allow("console: Failed to load resource")
    page = web.open("/chat", m="rnn")
    ask(page, "drei " * 60)
    failed = page.locator(".chat-failed")
    expect(failed).to_contain_text("too long")
    failed.get_by_role("button", name="Ask with the text cut").click()
    expect(page.locator(".chat-answer")).to_have_text(re.compile(r"\S"))
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".chat-turn")).to_have_count(0)
    wait_for(page, s=None)


def test_korean_in_a_dark_and_narrow_window(opening: Open) -> None:
    page = opening(locale="ko", color_scheme="dark", viewport={"width": 360, "height": 800}).open(
        "/chat", m="transformer", s=KOREAN
    )
    expect(page.locator("h1")).to_have_text("대화")
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture(scope="module")
def reader() -> Iterator[Running]:
    """A server with a model that was taught questions about contexts."""
    model = Workshop().translator("luong", max_length=48)
    taught = train_tokenizer(["␞ who rides ␟ a man rides"] * 20 + LINES, TextConfig(vocabulary=330))
    size = model.tokenizers.source.size
    assert taught.size <= size  # its ids are rows of the model's table
    model.tokenizers = replace(model.tokenizers, source=taught)
    with serving({"reader": model}, settings_for({"reader": model})) as found:
        yield found


def test_a_question_goes_with_its_context(opening: Open, reader: Running) -> None:
    page = opening(url=reader.url).open("/chat", m="reader")
    page.get_by_text("Context", exact=True).click()
    page.get_by_label("Context", exact=True).fill("a man  rides a horse")
    ask(page, "who rides")
    expect(page.locator(".chat-question")).to_contain_text("about “a man rides a horse”")
    wait_for(page, s="␞ who rides ␟ a man rides a horse")
    page.goto(page.url)
    expect(page.locator(".chat-question p").first).to_have_text("who rides")
    expect(page.get_by_label("Context", exact=True)).to_have_value("a man rides a horse")
