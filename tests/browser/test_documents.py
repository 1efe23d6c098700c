"""The Documents screen: a file is dropped, watched, mended, fetched, found again; hostile names and texts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import LIMITS, Open, Watched, settings_for
from tests.browser.screens import settled
from tests.browser.test_access import findings, in_both_themes, needs_axe
from tests.browser.test_keyboard import tab_to
from tests.browser.test_looks import LEFT_OVER, wider
from tests.server.conftest import Running, serving, wait_until
from tests.server.documents.conftest import DocumentGate

from jumok.decoding.translator import Translator
from jumok.documents.segments import SegmentTranslator

DATES = "5. März 2024\n\n1. April 1999\n\n---\n\nden 5 mars 2024 kl. 14:30\n"
DONE = ".documents-state a.btn.primary"
TARGETS = ".documents-row .documents-target"
HOSTILE = '"><img src=x onerror=alert(1)>\u202e&amp;.txt'


def choose(page: Page, text: str = DATES, name: str = "dates.txt") -> None:
    page.locator(".documents-drop input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
    )


def translated(web: Watched, text: str = DATES, name: str = "dates.txt") -> Page:
    page = web.open("/documents", m="transformer")
    choose(page, text, name)
    expect(page.locator(DONE)).to_be_visible()
    settled(page)
    return page


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[DocumentGate]:
    """Blocks pass when they are let; the second answer of each is doubtful."""
    made = DocumentGate()
    answers: Callable[..., Any] = SegmentTranslator.answers

    def held(self: SegmentTranslator, *args: Any) -> Any:
        made.arrive()
        found = answers(self, *args)
        return [replace(one, doubts=("look here",)) if n == 1 else one for n, one in enumerate(found)]

    monkeypatch.setattr(SegmentTranslator, "answers", held)
    yield made
    made.let()


def test_a_glossary_goes_along(opening: Open) -> None:
    page = opening().open("/documents", m="transformer")
    page.locator(".glossary-field input").fill("März = 12")
    page.keyboard.press("Enter")
    choose(page, "5. März 2024\n")
    expect(page.locator(DONE)).to_be_visible()
    expect(page.locator(TARGETS)).to_contain_text("12")


def test_choose_watch_mend_and_download(opening: Open) -> None:
    page = translated(opening())
    assert "/documents/" in page.url
    expect(page.locator("h1")).to_have_text("dates.txt")
    targets = page.locator(TARGETS)
    expect(targets).to_have_text(["2024-03-05", "1999-04-01", "---", "2024-03-05T14:30"])
    expect(page.locator(".documents-state")).to_contain_text("4 of 4 segments")

    targets.nth(1).click()
    area = page.locator("textarea")
    expect(area).to_be_focused()
    area.fill("April Fools’ Day")
    page.keyboard.press("Enter")
    expect(targets.nth(1)).to_have_text("April Fools’ Day")
    expect(targets.nth(1)).to_be_focused()
    expect(page.locator(".documents-row.edited")).to_have_count(1)
    expect(page.locator(".documents-state")).to_contain_text("1 edited")

    with page.expect_download() as download:
        page.locator(DONE).click()
    assert download.value.suggested_filename == "dates.iso8601.txt"
    written = Path(download.value.path()).read_text(encoding="utf-8")
    assert written == "2024-03-05\n\nApril Fools’ Day\n\n---\n\n2024-03-05T14:30\n"


def test_an_edit_can_be_discarded(opening: Open) -> None:
    page = translated(opening())
    first = page.locator(TARGETS).first
    first.click()
    page.locator("textarea").fill("nonsense")
    page.keyboard.press("Escape")
    expect(first).to_have_text("2024-03-05")
    first.click()
    page.locator("textarea").fill("two\nlines")
    page.get_by_role("button", name="Save").click()
    expect(first).to_have_text("two\nlines", use_inner_text=True)
    expect(page.locator(".documents-row.edited")).to_have_count(1)


def test_after_a_reload_it_is_found_again(opening: Open) -> None:
    web = opening()
    page = translated(web)
    page.locator(TARGETS).first.click()
    page.locator("textarea").fill("mine")
    page.keyboard.press("Enter")
    expect(page.locator(".documents-row.edited")).to_have_count(1)
    page.reload()
    expect(page.locator(TARGETS).first).to_have_text("mine")
    expect(page.locator(".documents-row.edited")).to_have_count(1)
    page.get_by_role("button", name="Another document").click()
    link = page.locator(".documents-mine a")
    expect(link).to_have_text("dates.txt")
    link.click()
    expect(page.locator(TARGETS).first).to_have_text("mine")
    page.go_back()
    expect(page.locator(".documents-drop")).to_be_visible()


def test_rows_appear_as_they_are_done(opening: Open, gate: DocumentGate) -> None:
    page = opening().open("/documents", m="transformer")
    choose(page, "5. März 2024\n\n" * 40)
    wait_until(lambda: gate.waiting == 1)
    targets = page.locator(TARGETS)
    expect(targets).to_have_count(40)
    expect(targets.first).to_have_text("waiting for its turn")
    expect(page.locator(".documents-meter")).to_be_visible()
    gate.let(1)
    expect(targets.first).to_have_text("2024-03-05")
    expect(targets.nth(31)).to_have_text("2024-03-05")
    expect(targets.nth(32)).to_have_text("waiting for its turn")
    expect(page.locator(".documents-state")).to_contain_text("32 of 40 segments")
    expect(page.locator(".documents-state")).to_contain_text("left")
    page.reload()  # in the middle of it
    expect(targets.nth(31)).to_have_text("2024-03-05")
    gate.let()
    expect(page.locator(DONE)).to_be_visible()
    expect(targets.nth(39)).to_have_text("2024-03-05")
    expect(page.locator(".documents-meter")).to_have_count(0)


def test_doubtful_segments_are_marked_and_filtered(opening: Open, gate: DocumentGate) -> None:
    gate.let()
    page = translated(opening(), "5. März 2024\n\n" * 40)
    expect(page.locator(".documents-row.doubtful")).to_have_count(2)
    expect(page.locator(".documents-row.doubtful").first).to_contain_text("look here")
    page.get_by_role("radio", name="To check (2)").click()
    expect(page.locator(TARGETS)).to_have_count(2)
    assert "only=doubtful" in page.url
    page.reload()
    expect(page.locator(TARGETS)).to_have_count(2)
    page.locator(TARGETS).first.click()
    page.locator("textarea").fill("mended")
    page.keyboard.press("Enter")
    expect(page.locator(".documents-row.edited")).to_have_count(1)
    page.get_by_role("radio", name="All").click()
    expect(page.locator(TARGETS).nth(1)).to_have_text("mended")


def test_doubtful_words_are_marked_in_their_segment(opening: Open) -> None:
    page = opening().open("/documents", m="rnn")
    choose(page, "the 11th of June in 98\n")
    expect(page.locator(DONE)).to_be_visible()
    words = page.locator(f"{TARGETS} .doubted")
    expect(words.first).to_be_visible()
    assert "likely to be changed by a person" in (words.first.get_attribute("title") or "")
    expect(page.locator(".documents-row.doubtful .documents-notes")).to_contain_text("doubtful word")
    expect(page.get_by_role("radio", name="To check (1)")).to_be_visible()
    page.locator(TARGETS).click()
    page.locator("textarea").fill("1998-06-11")
    page.keyboard.press("Enter")
    expect(page.locator(TARGETS)).to_have_text("1998-06-11")
    expect(words).to_have_count(0)


def test_cancel_forgets_it(opening: Open, site: Running, gate: DocumentGate) -> None:
    page = opening().open("/documents", m="transformer")
    choose(page)
    wait_until(lambda: gate.waiting == 1)
    before = len(site.services.documents)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".documents-drop")).to_be_visible()
    expect(page.locator(".toast")).to_have_text("Cancelled")
    assert len(site.services.documents) == before - 1
    expect(page.locator(".documents-mine")).to_have_count(0)


def test_thousands_of_segments_are_drawn_near_the_window_only(opening: Open) -> None:
    page = translated(opening(), "---\n\n" * 5000)
    expect(page.locator(".documents-state")).to_contain_text("5,000 of 5,000 segments")
    assert 20 < page.locator(TARGETS).count() <= 150
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    last = page.locator(".documents-row[aria-posinset='5000']")
    expect(last).to_be_visible()
    assert page.locator(TARGETS).count() <= 150
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(".documents-row[aria-posinset='1']")).to_be_visible()


def test_by_keyboard_alone(opening: Open) -> None:
    web = opening()
    page = web.open("/documents", m="transformer")
    page.locator(".documents-drop button").wait_for()
    settled(page)
    page.keyboard.press("/")
    expect(page.locator(".documents-drop button")).to_be_focused()
    file = page.locator("input[type=file]")  # its dialog is not always told to the driver
    file.set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": DATES.encode()})
    expect(page.locator(DONE)).to_be_visible()
    settled(page)
    tab_to(page, ".documents-target")
    page.keyboard.press("Enter")
    expect(page.locator("textarea:focus")).to_be_visible()
    page.keyboard.press("Control+A")
    page.keyboard.type("typed")
    page.keyboard.press("Enter")
    expect(page.locator(TARGETS).first).to_have_text("typed")
    expect(page.locator(TARGETS).first).to_be_focused()


def drop(page: Page, name: str, text: str) -> None:
    page.evaluate(
        """([name, text]) => {
            const given = new DataTransfer();
            given.items.add(new File([text], name));
            const how = { dataTransfer: given, bubbles: true, cancelable: true };
            const event = kind => new DragEvent(kind, how);
            document.body.dispatchEvent(event('dragover'));
            document.body.dispatchEvent(event('drop'));
        }""",
        [name, text],
    )


def test_drop_anywhere(opening: Open) -> None:
    page = opening().open("/documents", m="luong")
    page.locator(".documents-drop button").wait_for()
    drop(page, "dropped.txt", DATES)
    expect(page.locator("h1")).to_have_text("dropped.txt")
    expect(page.locator(DONE)).to_be_visible()
    expect(page.locator(".documents-state")).to_contain_text("luong")


def test_hostile_names_and_texts_are_text(opening: Open) -> None:
    text = "<script>alert(1)</script>\n\n‮evil‬ &lt;b&gt;\n\n" + "x" * 3000
    page = translated(opening(viewport={"width": 390, "height": 844}), text, HOSTILE)
    expect(page.locator("h1")).to_contain_text('"><img src=x onerror=alert(1)>')
    expect(page.locator(".documents-row p").first).to_have_text("<script>alert(1)</script>")
    assert page.locator("main img, main script").count() == 0
    assert wider(page) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("old.txt", b"a \xff", "the file is not UTF-8: byte 0xff is no character, old.txt"),
        ("a.xyz", b"text", "Files of this kind cannot be translated"),
        ("empty.txt", b"", "empty.txt is empty"),
    ],
)
def test_errors_in_words(opening: Open, name: str, content: bytes, words: str) -> None:
    web = opening()
    web.allow("status of 422")
    page = web.open("/documents", m="transformer")
    page.locator(".documents-drop input[type=file]").set_input_files(
        {"name": name, "mimeType": "", "buffer": content}
    )
    expect(page.locator("main [role=alert]")).to_contain_text(words)


def test_what_is_too_large_is_not_sent(opening: Open, trio: dict[str, Translator]) -> None:
    limits = replace(LIMITS, document_bytes=1000)
    with serving(trio, settings_for(trio, limits)) as small:
        web = opening(small.url)
        page = web.open("/documents", m="transformer")
        choose(page, "x" * 1001, "large.txt")
        expect(page.locator("main [role=alert]")).to_have_text("large.txt has 1 kB; the limit is 1 kB")
        assert [one for one in web.requests if one.method == "POST"] == []


def test_a_document_that_is_gone(opening: Open) -> None:
    web = opening()
    web.allow("status of 404")
    page = web.open(f"/documents/{'0' * 32}")
    expect(page.locator("main [role=alert]")).to_contain_text("The server no longer holds this document")
    page.get_by_role("button", name="Another document").click()
    expect(page.locator(".documents-drop")).to_be_visible()


def test_korean_on_a_telephone(opening: Open, gate: DocumentGate) -> None:
    gate.let()
    web = opening(locale="ko-KR", viewport={"width": 390, "height": 844})
    page = translated(web)
    assert page.evaluate(LEFT_OVER) == []
    assert wider(page) == []
    page.locator(TARGETS).first.click()
    assert page.evaluate(LEFT_OVER) == []
    page.set_viewport_size({"width": 320, "height": 700})
    assert wider(page) == []


@needs_axe
def test_axe_finds_nothing_serious_in_a_document(opening: Open, gate: DocumentGate) -> None:
    web = opening(bypass_csp=True)
    page = web.open("/documents", m="transformer")
    choose(page, "5. März 2024\n\n" * 40)
    wait_until(lambda: gate.waiting == 1)
    gate.let(1)
    expect(page.locator(TARGETS).first).to_have_text("2024-03-05")
    found = findings(page)
    gate.let()
    expect(page.locator(DONE)).to_be_visible()
    page.locator(TARGETS).first.click()
    page.locator("textarea").fill("mine")
    found += findings(page)
    page.keyboard.press("Enter")
    expect(page.locator(".documents-row.edited")).to_have_count(1)
    settled(page)
    found += in_both_themes(page)
    page.get_by_role("button", name="Another document").click()
    page.locator(".documents-mine a").wait_for()
    assert found + in_both_themes(page) == []
