"""The page without a server: all of it computed in the tab, from files that any host can serve."""

import base64
import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import STATIC, Watched, new_context

from jumok.checkpoint.bundled import EXAMPLES, RECORDS, bundled
from jumok.site import folder as site_folder
from jumok.site import one_file
from jumok.site.folder import SiteModel, write_site

LATEST = {".js": "text/javascript", ".json": "application/json", ".css": "text/css"}


class Files(SimpleHTTPRequestHandler):
    """Files of a folder, without a word."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, **LATEST}

    def log_message(self, *args: Any) -> None:
        """Nobody reads it."""


class Host:
    """A plain host of files; the site lies in a folder of it."""

    def __init__(self, root: Path) -> None:
        self.site = root / "below" / "site"
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(root)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/below/site/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    root = tmp_path_factory.mktemp("host")
    models = {
        name: SiteModel(path, EXAMPLES, name, neighbours=True) for name, path in reversed(bundled().items())
    }
    with pytest.MonkeyPatch.context() as patch:
        if STATIC is not None:
            patch.setattr(site_folder, "PAGE", STATIC)
        (root / "below").mkdir()
        write_site(models, root / "below" / "site", runs=RECORDS, only=tuple(bundled()))
    found = Host(root)
    yield found
    found.close()


@pytest.fixture
def watched(browser: Browser, host: Host) -> Iterator[Watched]:
    """A page whose every request to elsewhere is a fault."""
    context = new_context(browser)
    page = Watched(context.new_page(), host.url).watch()
    yield page
    page.check()
    context.close()


def opened(watched: Watched, screen: str) -> Page:
    watched.page.goto(f"{watched.url}#/{screen}")
    return watched.page


def test_translates_in_the_tab(watched: Watched) -> None:
    page = opened(watched, "translate?m=transformer&s=5.+März+2024")
    expect(page.get_by_role("main")).to_contain_text("2024-03-05")
    page.locator("textarea").first.fill("den 7 mars 1999")
    expect(page.get_by_role("main")).to_contain_text("1999-03-07")
    assert not [one.url for one in watched.requests if "/v1/" in one.url]


def test_a_text_that_the_model_cannot_know_is_said_so(watched: Watched) -> None:
    page = opened(watched, "translate?m=transformer&s=sett+reim+lade+0291+nus")
    expect(page.locator(".strange")).to_contain_text("never stood together in training")
    page.locator("textarea").first.fill("den 7 mars 1999")
    expect(page.get_by_role("main")).to_contain_text("1999-03-07")
    expect(page.locator(".strange")).to_have_count(0)


def test_attention_and_its_numbers(watched: Watched) -> None:
    page = opened(watched, "attention?m=transformer&s=5.+März+2024&k=cross&l=2&h=1")
    expect(page.get_by_role("heading", name="Layer 2, head 1", exact=True)).to_be_visible()
    expect(page.get_by_role("main").locator("canvas").first).to_be_visible()


@pytest.mark.parametrize(
    ("screen", "words"),
    [
        ("inside?m=transformer", "softmax"),
        ("inside?m=transformer&tab=neighbours", "Of 2,400 states kept from training"),
        ("inside?m=luong&tab=neighbours", "Whoever made this page can add them"),
        ("compare", "luong"),
        ("beam?m=luong", "</s>"),
        ("training", "transformer"),
        ("quality", "dates"),
        ("learn", "Learn"),
        ("documents", "This screen needs a server"),
    ],
)
def test_screens(watched: Watched, screen: str, words: str) -> None:
    page = opened(watched, screen)
    expect(page.get_by_role("main")).to_contain_text(words, ignore_case=True)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_if(watched: Watched) -> None:
    op = {"op": "mask_head", "kind": "cross", "layer": 1, "head": "*"}
    word = base64.urlsafe_b64encode(json.dumps([op]).encode()).decode().rstrip("=")
    page = opened(watched, f"attention?m=transformer&s=5.+März+2024&w={word}")
    page.locator("[aria-keyshortcuts=w]").click()  # a row has one of that name, too
    drawer = page.get_by_role("complementary", name="What if")
    expect(drawer).to_contain_text("2024-03-05")  # as it is
    expect(drawer).to_contain_text("First difference")


def test_opens_again_without_a_network(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write_site({"rnn": SiteModel(bundled()["rnn"], EXAMPLES)}, tmp_path / "below" / "site")
    host = Host(tmp_path)
    context = new_context(browser)
    page = context.new_page()
    page.goto(host.url)
    expect(page.get_by_role("main")).to_contain_text("1998-03-24")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    host.close()
    context.set_offline(True)
    page.reload()
    page.goto(f"{host.url}#/translate?s=5.+März+2024")
    expect(page.get_by_role("main")).to_contain_text("-03-")
    context.close()


def test_a_folder_that_is_opened(watched: Watched, tmp_path: Path) -> None:
    whole, damaged = tmp_path / "mine", tmp_path / "torn"
    for folder in (whole, damaged):
        shutil.copytree(bundled()["luong"], folder)
    (damaged / "model.safetensors").write_bytes(b"no numbers")
    page = opened(watched, "translate?m=rnn")
    expect(page.get_by_role("main")).to_contain_text("1998-03-24")

    def choose(folder: Path) -> None:
        page.locator("#model-button").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_text("Open a model folder").click()
        chooser.value.set_files(str(folder))

    choose(damaged)
    expect(page.get_by_text("model.safetensors is damaged")).to_be_visible()
    huge = tmp_path / "huge"
    huge.mkdir()
    with (huge / "model.safetensors").open("wb") as file:
        file.truncate((512 << 20) + 1)  # a file of nothing: it takes no room
    choose(huge)
    expect(page.get_by_text("That is too large")).to_be_visible()
    choose(whole)
    expect(page.locator("#model-button")).to_contain_text("mine")
    expect(page.get_by_role("main")).to_contain_text("1998-03-24")


def test_with_storage_refused(browser: Browser, host: Host) -> None:
    context = new_context(browser, service_workers="block")
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
    )
    page = context.new_page()
    page.goto(f"{host.url}#/translate?m=luong&s=5.+März+2024")
    expect(page.get_by_role("main")).to_contain_text("2024-03-05")
    context.close()


def test_a_browser_without_simd_gets_the_other_engine(browser: Browser, host: Host) -> None:
    context = new_context(browser, service_workers="block")
    page = context.new_page()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    [worker] = host.site.glob("worker-*.js")
    script = worker.read_bytes()
    worker.write_bytes(b"WebAssembly.validate = () => false;" + script)
    try:
        page.goto(f"{host.url}#/translate?m=luong&s=5.+März+2024")
        expect(page.get_by_role("main")).to_contain_text("2024-03-05")
    finally:
        worker.write_bytes(script)
    assert {name.rpartition("-")[0] for name in asked if name.startswith("engine")} == {"engine"}
    context.close()


def test_a_hidden_tab_goes_on(watched: Watched) -> None:
    watched.page.add_init_script(
        """Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
        Object.defineProperty(document, "hidden", { get: () => true });"""
    )
    page = opened(watched, "translate?m=rnn&s=5.+März+2024")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("main")).to_contain_text("2024-03-05")


def test_opened_as_a_file_it_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    write_site({"rnn": SiteModel(bundled()["rnn"])}, tmp_path / "site")
    page = new_context(browser).new_page()
    page.goto(f"file://{tmp_path}/site/index.html")
    expect(page.get_by_text("python3 -m http.server")).to_be_visible()
    page.context.close()


def test_one_file_computes_from_a_disk(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if STATIC is not None:
        monkeypatch.setattr(one_file, "PAGE", STATIC)
        monkeypatch.setattr(one_file.page_module, "STATIC", STATIC)
    models = {"transformer": SiteModel(bundled()["transformer"], ("5. März 2024",))}
    text = one_file.one_page(models, start="/attention?m=transformer&s=5.%20M%C3%A4rz%202024")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    context = new_context(browser)
    watched = Watched(context.new_page(), f"file://{tmp_path}/").watch()
    page = watched.page
    page.goto(f"file://{tmp_path}/page.html")
    expect(page.get_by_role("main")).to_contain_text("2024")
    page.goto(f"file://{tmp_path}/page.html#/translate?m=transformer&s=5.+März+2024")
    expect(page.get_by_role("main")).to_contain_text("2024-03-05")
    page.locator("textarea").first.fill("den 7 mars 1999")
    expect(page.get_by_role("main")).to_contain_text("1999-03-07")
    watched.check()
    context.close()
