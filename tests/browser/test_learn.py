"""The book: every chapter in both languages, looks and sizes, by keyboard; and models it is not made for."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import STATIC, Open, Watched, settings_for
from tests.browser.screens import ready, settled
from tests.browser.test_access import findings, needs_axe
from tests.browser.test_looks import LEFT_OVER, wider
from tests.explain.conftest import Workshop
from tests.explain.seeing import seeing
from tests.server.conftest import Running, serving

from jumok.config import TransformerConfig
from jumok.decoding.translator import Translator
from jumok.server.pages.page import STATIC as BUILT
from jumok.server.settings import ModelNotes
from jumok.text.tokenizer import EOS

BOOK: dict[str, Any] = json.loads(((STATIC or BUILT) / "learn.json").read_text(encoding="utf-8"))
CHAPTERS: list[dict[str, Any]] = BOOK["chapters"]
IDS = [chapter["id"] for chapter in CHAPTERS]
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=IDS)


def drawn(page: Page) -> None:
    """Wait until there is something in every place for a figure, and nothing is on its way."""
    places = page.locator(".learn-beside")
    expect(places.first).to_be_visible()
    for n in range(places.count()):
        expect(places.nth(n).locator("figure.figure, .learn-lack").first).to_be_visible()
    settled(page)


def predict(page: Page) -> None:
    """Make every prediction by keyboard: the first that is offered."""
    reveals = page.locator(".reveal")
    for n in range(reveals.count()):
        reveals.nth(n).locator(".chip").first.focus()
        page.keyboard.press("Enter")
        expect(reveals.nth(n).locator(".loading")).to_have_count(0)
        expect(reveals.nth(n).locator(".reveal-told b")).to_be_visible()
        expect(reveals.nth(n).locator(".chip.on")).to_have_count(1)
    settled(page)


def tab_to_the_question(page: Page) -> None:
    """From the title on, by the tab key alone: nothing holds the focus back."""
    page.locator("article h1").evaluate("node => { node.tabIndex = -1; node.focus(); }")
    inside = "() => !!document.activeElement.closest('.learn-question form input')"
    for _ in range(200):
        if page.evaluate(inside):
            return
        page.keyboard.press("Tab")
    raise AssertionError("the question cannot be reached by the tab key")


def give(page: Page, answer: str) -> Locator:
    """Answer the question with the keys: a number, or the text of an option. Returns what the page says."""
    form = page.locator(".learn-question form")
    expect(form.locator("input").first).to_be_visible()  # it comes when the sentence's numbers are there
    field = form.locator("input[type=text]")
    if field.count():
        field.focus()
        page.keyboard.press("Control+a")
        page.keyboard.type(answer)
        page.keyboard.press("Enter")
    else:
        labels = [text.strip() for text in form.locator("label").all_inner_texts()]
        option = form.locator("input[type=radio]").nth(labels.index(answer))
        option.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
    settled(page)
    return form.locator(".learn-mark")


def wrong_answer(page: Page, chapter: dict[str, Any]) -> str:
    """An absurd number, or an option that the page marks as wrong."""
    if chapter["en"]["question"]["kind"] == "number":
        return "-987654"
    labels = [text.strip() for text in page.locator(".learn-question label").all_inner_texts()]
    return next(text for text in labels if "wrong" in (give(page, text).get_attribute("class") or ""))


def answered(page: Page, chapter: dict[str, Any]) -> None:
    """A wrong answer gets a hint and may ask for the right one; that one, given back, is right."""
    mark = give(page, wrong_answer(page, chapter))
    expect(mark).to_have_class(re.compile("wrong"))
    assert len(mark.inner_text()) > 20
    page.locator(".learn-question form button:not([type=submit])").click()
    expect(mark).to_have_class(re.compile("shown"))
    told = re.fullmatch(r"The answer is (.*)\.", mark.locator("b").first.inner_text())
    assert told is not None
    untold = mark.inner_text().count("…") - chapter["en"]["question"]["why"].count("…")
    assert untold == 0
    give(page, told[1])
    expect(mark).to_have_class(re.compile("right"))
    expect(page.locator(f".learn-side li.done a[href='/learn/{chapter['id']}']")).to_be_visible()


def fits(page: Page) -> None:
    """At both sizes and in both looks nothing is wider than the window."""
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        settled(page)
        for look in ("light", "dark"):
            page.emulate_media(color_scheme=look, reduced_motion="reduce")
            assert wider(page) == [], (size, look)


@needs_axe
@each_chapter
def test_a_chapter_is_whole_in_every_language_look_and_size(opening: Open, chapter: dict[str, Any]) -> None:
    page = opening(bypass_csp=True, viewport=WIDE).open(f"/learn/{chapter['id']}")
    expect(page.locator("article h1")).to_have_text(chapter["en"]["title"])
    drawn(page)
    expect(page.locator(".learn-lack, article [role=alert]")).to_have_count(0)
    expect(page.locator(".learn-beside figure.figure [data-tool=table]").first).to_be_visible()
    predict(page)
    tab_to_the_question(page)
    answered(page, chapter)
    assert findings(page) == []
    fits(page)
    page.get_by_role("button", name="Look and language").click()
    page.get_by_role("radio", name="한국어").click()
    page.keyboard.press("Escape")
    expect(page.locator("article h1")).to_have_text(chapter["ko"]["title"])
    formulas = json.dumps(chapter["formulas"])  # names in formulas are the same in every language
    assert [text for text in page.evaluate(LEFT_OVER) if f'"{text}"' not in formulas] == []
    assert findings(page, colours=True) == []  # narrow and dark
    fits(page)


@each_chapter
def test_every_chapter_leads_to_real_screens(web: Watched, chapter: dict[str, Any]) -> None:
    page = web.open(f"/learn/{chapter['id']}")
    links = page.locator("a.learn-try")
    expect(links).to_have_count(len(chapter["views"]))
    targets = links.evaluate_all("nodes => nodes.map(node => node.getAttribute('href'))")
    for view, target in zip(chapter["views"], targets, strict=True):
        web.open(target)
        expect(page.locator(".lesson")).to_be_visible()
        ready(page, target.split("/")[1].split("?")[0])
        new = view.get("text") == "new"  # one that no training had, and the page says so
        expect(page.locator("main [role=alert], .banner")).to_have_count(1 if new else 0)


def test_the_map_remembers_what_is_done(opening: Open) -> None:
    web = opening()
    page = web.open("/learn")
    expect(page.locator(".learn-map h1")).to_have_text("Learn")
    expect(page.locator(".learn-map .learn-notes a")).to_have_count(len(CHAPTERS))
    page.get_by_role("link", name="Start").click()
    expect(page.locator("article h1")).to_have_text(CHAPTERS[0]["en"]["title"])
    drawn(page)
    give(page, wrong_answer(page, CHAPTERS[0]))
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".learn-mark")).to_have_class(re.compile("shown"))
    told = page.locator(".learn-mark b").first.inner_text()
    give(page, told.removeprefix("The answer is ").removesuffix("."))
    page = web.open("/learn")
    expect(page.locator(".learn-map .done a")).to_have_count(1)
    expect(page.locator(".learn-done p")).to_have_text(f"1 of {len(CHAPTERS)} chapters done")
    expect(page.get_by_role("link", name=re.compile("^Go on with"))).to_have_attribute(
        "href", f"/learn/{IDS[1]}"
    )
    page.get_by_role("button", name="Start over").click()
    expect(page.locator(".learn-map .done a")).to_have_count(0)
    page = web.open("/learn/no-such-chapter")
    expect(page.locator("main [role=alert]")).to_contain_text("no-such-chapter")


def test_pages_are_turned_by_keyboard_and_keep_the_model(opening: Open) -> None:
    """The focus goes to the new title, and the next tab into the chapter; the model of the address stays."""
    web = opening()
    page = web.open("/learn/tokens", m="rnn")
    drawn(page)
    asked = [one.post_data_json["model"] for one in web.requests if one.url.endswith("/v1/trace")]
    assert set(asked) == {"rnn"}
    page.locator(".learn-turn .next").focus()
    page.keyboard.press("Enter")
    expect(page.locator("article h1")).to_have_text(CHAPTERS[1]["en"]["title"])
    expect(page.locator("article h1")).to_be_focused()
    expect(page).to_have_title(f"{CHAPTERS[1]['en']['title']} · jumok")
    assert page.url.endswith(f"/learn/{IDS[1]}?m=rnn")
    page.locator(".learn-home").click()
    expect(page).to_have_title("Learn · jumok")
    page.get_by_role("link", name="Translate", exact=True).click()
    expect(page).to_have_title("Translate · jumok")


def test_storage_that_holds_nonsense_is_no_obstacle(opening: Open) -> None:
    web = opening()
    page = web.open("/learn")
    page.evaluate("localStorage.setItem('jumok.learn', '[broken')")
    web.open("/learn")
    expect(page.locator(".learn-done p")).to_have_text(f"0 of {len(CHAPTERS)} chapters done")


def test_an_input_method_that_composes_gives_no_answer(opening: Open) -> None:
    """Enter that ends a Korean syllable is not yet an answer; nor is a syllable a number."""
    chapter = next(one for one in CHAPTERS if one["en"]["question"]["kind"] == "number")
    page = opening(locale="ko-KR").open(f"/learn/{chapter['id']}")
    drawn(page)
    field = page.locator(".learn-question input[type=text]")
    field.focus()
    keys = page.context.new_cdp_session(page)
    keys.send("Input.imeSetComposition", {"text": "육", "selectionStart": 1, "selectionEnd": 1})
    expect(field).to_have_value("육")
    enter = {"windowsVirtualKeyCode": 229, "key": "Enter", "code": "Enter"}
    keys.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    expect(page.locator(".learn-mark p")).to_have_count(0)
    keys.send("Input.insertText", {"text": "육"})
    page.keyboard.press("Enter")
    expect(page.locator(".learn-mark.not_number p")).to_be_visible()
    page.keyboard.press("Control+a")
    keys.send("Input.insertText", {"text": "－９８７６５４"})  # full-width, as some input methods write
    page.keyboard.press("Enter")
    expect(page.locator(".learn-mark.wrong p")).to_be_visible()


def table(page: Page, n: int = 0) -> list[list[str]]:
    """The table twin of a figure, row by row."""
    figure = page.locator("figure.figure").nth(n)
    figure.locator("[data-tool=table]").click()
    rows = figure.locator("table tbody tr")
    expect(rows.first).to_be_visible()
    cells: list[list[str]] = rows.evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.replace('−', '-')))"
    )
    return cells


def shares(scores: list[float]) -> list[float]:
    exps = [math.exp(score - max(scores)) for score in scores]
    return [one / sum(exps) for one in exps]


@pytest.mark.parametrize("chapter", ["luong-attention", "queries-keys-values", "softmax"])
def test_weights_are_the_softmax_of_their_scores(web: Watched, chapter: str) -> None:
    column = 2 if chapter == "queries-keys-values" else 1
    page = web.open(f"/learn/{chapter}")
    drawn(page)
    rows = table(page)
    scores = [float(row[column]) for row in rows]
    assert [float(row[-1]) for row in rows] == pytest.approx(shares(scores), abs=2e-3)
    if chapter == "queries-keys-values":
        assert scores == pytest.approx([float(row[1]) / 4 for row in rows], abs=2e-3)  # d is 16


def numbers(text: str) -> list[float]:
    """The numbers of a text, without those that are quoted: tokens may be digits."""
    plain = re.sub(r"“[^”]*”", "", text).replace("−", "-")
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", plain)]


WORKED_OUT = {
    "tokens": lambda asked, trio: len("🎉".encode()),
    "fixed-vector": lambda asked, trio: 2 * trio["rnn"].config.model.width,
    "luong-attention": lambda asked, trio: trio["luong"].config.model.width,
    "queries-keys-values": lambda asked, trio: numbers(asked)[0] / math.sqrt(numbers(asked)[1]),
    "heads": lambda asked, trio: (
        trio["transformer"].config.model.width / trio["transformer"].config.model.heads
    ),
    "positions": lambda asked, trio: math.sin(3),
    "softmax": lambda asked, trio: math.exp(numbers(asked)[0] - numbers(asked)[1]),
    "beam": lambda asked, trio: (5 + len(trio["rnn"].tokenizers.target.encode("1926-09-04T07:58")) + 1) / 6,
}
"""The right answer of a chapter by other means: what is asked, and the models."""


@pytest.mark.parametrize("chapter", WORKED_OUT)
def test_the_answer_is_the_one_worked_out_apart(
    web: Watched, trio: dict[str, Translator], chapter: str
) -> None:
    page = web.open(f"/learn/{chapter}")
    drawn(page)
    asked = page.locator(".learn-question form > p").inner_text()
    give(page, "-987654")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".learn-mark")).to_have_class(re.compile("shown"))
    told = page.locator(".learn-mark b").first.inner_text().removesuffix(".")
    assert numbers(told)[-1] == pytest.approx(WORKED_OUT[chapter](asked, trio), rel=5e-3, abs=5e-3)


def walk(web: Watched) -> dict[str, int]:
    """Turn every page: nothing is broken, wide or stuck. How many figures of each chapter have no model."""
    lacking = {}
    page = web.open(f"/learn/{IDS[0]}")
    for chapter in CHAPTERS:
        expect(page.locator("article h1")).to_have_text(chapter["en"]["title"])
        drawn(page)
        expect(page.locator("article [role=alert]")).to_have_count(0)
        expect(page.locator(".learn-question p").first).to_be_visible()
        predict(page)
        assert wider(page) == [], chapter["id"]
        lacking[chapter["id"]] = page.locator(".learn-lack").count()
        if chapter is not CHAPTERS[-1]:
            page.locator(".learn-turn .next").click()
    return lacking


def test_without_a_model_the_chapters_say_what_is_missing(opening: Open) -> None:
    web = opening(viewport=NARROW)
    web.page.route("**/v1/models", lambda route: route.fulfill(json={"models": []}))
    lacking = walk(web)
    assert lacking["luong-attention"] == 1
    page = web.open("/learn/luong-attention")
    expect(page.locator(".learn-lack")).to_contain_text("jumok serve")
    expect(page.locator(".learn-question")).to_contain_text("cannot be drawn here")


def test_a_model_without_attention_alone(opening: Open, trio: dict[str, Translator]) -> None:
    alone = {"rnn": trio["rnn"]}
    with serving(alone, settings_for(alone)) as lonely:
        lacking = walk(opening(lonely.url, viewport=NARROW))
    assert lacking["luong-attention"] == 1
    assert lacking["heads"] == 1
    assert lacking["fixed-vector"] == lacking["beam"] == 0


def test_models_of_pictures_alone(opening: Open) -> None:
    models = {arch: seeing(arch) for arch in ("transformer", "luong", "rnn")}
    with serving(models, settings_for(models)) as gallery:
        web = opening(gallery.url, viewport=NARROW)
        lacking = walk(web)
        page = web.open("/learn/luong-attention")
        expect(page.locator(".learn-lack")).to_contain_text("read pictures")
    assert lacking["tokens"] == 1


@pytest.fixture(scope="module")
def large() -> Iterator[Running]:
    """A Transformer of 12 layers with 16 heads, with 128 tokens on either side."""
    config = TransformerConfig(width=64, heads=16, feedforward=64, encoder_layers=12, decoder_layers=12)
    many = Workshop().translator(config, max_length=128, max_len=126, beam=1)
    with torch.no_grad():
        many.model.target_embedding.weight[EOS] = 0  # never the largest of so many: it writes on
    text = "one two three four " * 40
    tokens = many.tokenizers.source.encode(text)
    while len(tokens) > 127:
        text = text.rsplit(" ", 1)[0]
        tokens = many.tokenizers.source.encode(text)
    models = {"large": many}
    with serving(models, settings_for(models, about={"large": ModelNotes(examples=(text,))})) as found:
        yield found


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_large_model_with_long_sentences(opening: Open, large: Running) -> None:
    lacking = walk(opening(large.url, viewport=NARROW))
    assert lacking["heads"] == lacking["queries-keys-values"] == lacking["positions"] == 0
