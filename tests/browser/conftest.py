"""One Chromium and one server with the trained trio for all browser tests; any fault of a page fails a test.

The page under test is the built one in the package. JUMOK_TEST_STATIC names another folder, such as that of
`node web/build.mjs --out FOLDER`, for work on the page itself.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)
from tests.browser.world import make_runs
from tests.server.conftest import Running, serving

from jumok.checkpoint.bundled import EXAMPLES, bundled
from jumok.cli.serve import load_one
from jumok.decoding.translator import Translator, load
from jumok.explain import page as exported_page
from jumok.server.gates.limits import Limits
from jumok.server.settings import ModelNotes, ServerSettings

STATIC = Path(os.environ["JUMOK_TEST_STATIC"]) if "JUMOK_TEST_STATIC" in os.environ else None
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE_MS = 60_000  # of one expectation, on a machine that does other things too
LIMITS = Limits(heartbeat_s=0.5, drain_s=1.0)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, best one without windows. With none the tests are skipped; in CI they fail."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Chromium: looked for {', '.join(BROWSERS)}")
        pytest.skip("there is no Chromium on this machine")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        root = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        usual = ["--disable-gpu", "--process-per-site"]  # pages of one window share a process, see `window`
        browser = playwright.chromium.launch(executable_path=found, args=[*root, *usual])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def trio() -> dict[str, Translator]:
    """The trained models that come with the package."""
    return {arch: load(folder) for arch, folder in bundled().items()}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training runs and evaluations; see `world`."""
    return make_runs(tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def site(trio: dict[str, Translator], runs: Path) -> Iterator[Running]:
    """The server that most tests share."""
    with pytest.MonkeyPatch.context() as patch:
        if STATIC is not None:
            patch.setattr(exported_page, "STATIC", STATIC)
        with serving(trio, settings_for(trio, runs=runs)) as found:
            yield found


def settings_for(models: dict[str, Translator], limits: Limits = LIMITS, **more: Any) -> ServerSettings:
    about = {name: ModelNotes(examples=EXAMPLES) for name in models}
    return ServerSettings(**{"port": 0, "static": STATIC, "limits": limits, "about": about, **more})


@dataclass
class Watched:
    """A page, its server, and all that went wrong on it so far."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, *patterns: str) -> None:
        """Faults of these patterns belong to the test."""
        self.allowed += patterns

    def open(self, path: str = "/", **params: Any) -> Page:
        """Go to a screen: `open("/attention", m="rnn", s="…")`."""
        query = urlencode({name: value for name, value in params.items() if value is not None})
        self.page.goto(f"{self.url}{path}{'?' if query else ''}{query}")
        return self.page

    def watch(self) -> "Watched":
        self.page.on("request", self._see)
        self.page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self.page.on("console", self._hear)
        return self

    def _see(self, request: Request) -> None:
        self.requests.append(request)
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.faults.append(f"foreign request: {request.url}")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def check(self) -> None:
        """No fault but those allowed."""
        left = [one for one in self.faults if not any(re.search(pattern, one) for pattern in self.allowed)]
        assert not left, "\n".join(left)


Open = Callable[..., Watched]


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A window of one's own: its storage, language and size."""
    usual = {
        "viewport": {"width": 1280, "height": 860},
        "locale": "en-GB",
        "reduced_motion": "reduce",
        "permissions": ["clipboard-read", "clipboard-write"],
    }
    context = browser.new_context(**{**usual, **options})
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture
def opening(browser: Browser, site: Running) -> Iterator[Open]:
    """`opening(url=…, locale="ko", …)`: a window of one's own, watched until the end of the test."""
    pages: list[Watched] = []

    def make(url: str | None = None, **options: Any) -> Watched:
        pages.append(Watched(new_context(browser, **options).new_page(), url or site.url).watch())
        return pages[-1]

    yield make
    for one in pages:
        one.page.context.close()
    for one in pages:
        one.check()


@pytest.fixture(scope="session")
def window(browser: Browser, site: Running) -> Iterator[BrowserContext]:
    """The window that most tests share: what it has loaded once it need not load again.

    A page that stays open keeps the process of the others, which start and compile in a third less time.
    """
    context = new_context(browser)
    context.new_page().goto(f"{site.url}/health/live")
    yield context
    context.close()


@pytest.fixture
def web(window: BrowserContext, site: Running) -> Iterator[Watched]:
    """A page on the shared server. A test that changes what the browser remembers takes `opening`."""
    watched = Watched(window.new_page(), site.url).watch()
    yield watched
    watched.page.close()
    watched.check()


@pytest.fixture(scope="module")
def school(trio: dict[str, Translator], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that trains."""
    folder = tmp_path_factory.mktemp("school") / "runs"
    load_run = partial(load_one, load=load, runs=folder)
    models = {"luong": trio["luong"]}
    with serving(models, settings_for(models, train_in=folder, load=load_run)) as found:
        yield found
