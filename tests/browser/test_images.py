"""Models that read pictures, in the explorer: choosing one, and attention on its patches."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Watched, settings_for
from tests.browser.screens import settled, wait_for
from tests.explain.seeing import picture, seeing
from tests.server.conftest import Running, serving

from jumok.decoding.translator import Translator
from jumok.images.patches import PatchReader
from jumok.images.read import data_of_url
from jumok.server.settings import ModelNotes

READER = PatchReader(32, 8)
PICTURES = tuple(READER.decode(READER.encode(picture(seed))) for seed in range(3))


@pytest.fixture(scope="module")
def gallery(trio: dict[str, Translator]) -> Iterator[Running]:
    """A server with a text model and untrained ones that see."""
    models = {"text": trio["rnn"], **{arch: seeing(arch) for arch in ("transformer", "luong", "rnn")}}
    about = {name: ModelNotes(examples=PICTURES if name != "text" else ("5. März 2024",)) for name in models}
    with serving(models, settings_for(models, about=about)) as found:
        yield found


@pytest.fixture
def seen(opening: Open, gallery: Running) -> Watched:
    return opening(url=gallery.url)


def shown(page: Page) -> None:
    expect(page.locator(".translate .patches")).to_be_visible()
    settled(page)


def heat(page: Page, where: str = ".patches") -> list[float]:
    """The values of the patches on show."""
    titles = page.locator(f"{where} .patch").evaluate_all("nodes => nodes.map(node => node.title)")
    return [float(title.split(": ")[1].replace("−", "-")) for title in titles if ": " in title]


@pytest.mark.parametrize("arch", ["transformer", "luong"])
def test_the_token_under_the_pointer_lights_its_patches(seen: Watched, arch: str) -> None:
    page = seen.open("/translate", m=arch)
    shown(page)
    assert heat(page) == []
    page.locator(".tokens .token").first.hover()
    expect(page.locator(".patches.heated")).to_be_visible()
    assert len(heat(page)) == 16
    assert sum(heat(page)) == pytest.approx(1, abs=0.01)
    page.locator(".patch").nth(5).hover()
    expect(page.locator(".tokens .token-value").first).to_have_text(re.compile(r"^(0\.\d\d)?$"))
    expect(page.locator(".patches.heated")).to_have_count(0)


def test_patches_by_key_and_a_lock_in_the_address(seen: Watched) -> None:
    page = seen.open("/translate", m="transformer")
    shown(page)
    page.locator(".patches").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".patch.locked")).to_have_attribute("aria-label", "row 2, column 2")
    wait_for(page, j="5")
    page.keyboard.press("Escape")
    expect(page.locator(".patch.locked")).to_have_count(0)


def test_a_picture_is_chosen_pasted_or_dropped(seen: Watched, tmp_path: Path) -> None:
    file = tmp_path / "large.png"
    file.write_bytes(data_of_url(picture(7, size=300)))
    page = seen.open("/translate", m="transformer")
    shown(page)
    page.locator("input[type=file]").set_input_files(file)
    wanted = READER.decode(READER.encode(str(file)))  # as the command line reads the file
    page.wait_for_function("url => new URLSearchParams(location.search).get('s') === url", arg=wanted)
    shown(page)
    for kind, seed in (("paste", 8), ("drop", 9)):
        page.evaluate(
            """async ([kind, url]) => {
                const bytes = Uint8Array.from(atob(url.split(',')[1]), char => char.charCodeAt(0));
                const data = new DataTransfer();
                data.items.add(new File([bytes], 'a.png', { type: 'image/png' }));
                const event = kind === 'paste'
                    ? new ClipboardEvent(kind, { clipboardData: data, bubbles: true, cancelable: true })
                    : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
                document.querySelector('.translate-output').dispatchEvent(event);  // anywhere on the page
            }""",
            [kind, picture(seed)],
        )
        wanted = READER.decode(READER.encode(picture(seed)))
        page.wait_for_function("url => new URLSearchParams(location.search).get('s') === url", arg=wanted)
    shown(page)
    page.reload()
    shown(page)
    expect(page.locator(".patches img")).to_have_attribute("src", wanted)


def test_what_is_no_picture_is_said(seen: Watched, tmp_path: Path) -> None:
    seen.allow("console: Failed to load resource")
    page = seen.open("/translate", m="rnn")
    for name, content in (("a.txt", b"text"), ("a.png", b"not a picture")):
        (tmp_path / name).write_bytes(content)
        page.locator("input[type=file]").set_input_files(tmp_path / name)
        expect(page.locator(".toast").last).to_contain_text(re.compile("picture"))


def test_every_screen_of_a_model_that_sees(seen: Watched) -> None:
    page = seen.open("/attention", m="transformer", q="1", j="5")
    expect(page.locator(".attention .heatmap-grid")).to_be_visible()
    settled(page)
    assert sum(heat(page, ".attention-row .patches")) == pytest.approx(1, abs=0.02)
    page.get_by_role("tab", name="Encoder self").click()
    expect(page.locator(".attention .heatmap-grid")).to_be_visible()
    for screen, something in (
        ("inside", ".heatmap-grid"),
        ("compare", ".compare-column .heatmap-grid"),
        ("beam", "[role=tree] .node"),
    ):
        page = seen.open(f"/{screen}", m="transformer")
        expect(page.locator(something).first).to_be_visible()
        expect(page.locator("main [role=alert]")).to_have_count(0)
    seen.open("/chat", m="transformer")
    expect(page.locator(".chat")).to_contain_text("This model reads pictures")


def test_a_model_without_attention_shows_influence(seen: Watched) -> None:
    page = seen.open("/translate", m="rnn", q="0")
    shown(page)
    expect(page.locator(".patches.heated")).to_be_visible()
    assert len(heat(page)) == 16


def test_another_model_keeps_to_what_it_can_read(seen: Watched) -> None:
    page = seen.open("/translate", m="text", s=PICTURES[0])
    expect(page.locator(".translate .tokens .token").first).to_be_visible()
    expect(page.locator(".patches")).to_have_count(0)
    seen.open("/translate", m="luong", s="5. März 2024")
    shown(page)


def test_the_table_the_drawing_and_the_file(seen: Watched, opening: Open, tmp_path: Path) -> None:
    page = seen.open("/translate", m="transformer", s=PICTURES[1])
    shown(page)
    figure = page.locator("figure.figure").first
    figure.locator("[data-tool=table]").click()
    expect(figure.locator("table")).to_contain_text(re.compile(r"\d,\d"))
    figure.locator("[data-tool=table]").click()
    figure.locator("[data-tool=export]").click()
    with page.expect_download() as drawing:
        page.get_by_role("menuitem", name="SVG").click()
    svg = Path(drawing.value.path()).read_text(encoding="utf-8")
    assert svg.count("<image") == page.locator(".tokens .token").count()
    assert PICTURES[1] in svg
    figure.locator("[data-tool=export]").click()
    with page.expect_download() as made:
        page.get_by_role("menuitem", name=re.compile("HTML")).click()
    file = tmp_path / "picture.html"
    file.write_bytes(Path(made.value.path()).read_bytes())
    alone = opening(url="file://")
    alone.page.goto(file.as_uri())
    shown(alone.page)
    alone.page.locator(".tokens .token").first.hover()
    expect(alone.page.locator(".patches.heated")).to_be_visible()
    assert sum(heat(alone.page)) == pytest.approx(1, abs=0.01)
    expect(alone.page.locator(".rail a")).to_have_text(
        ["Translate", "Map", "Attention", "Inside", "Compare", "Beam"]
    )
