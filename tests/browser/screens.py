"""The screens of the page and what each must show when it is ready."""

from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import Locator, Page, expect

ARCHS = ("rnn", "luong", "transformer")
OF_A_MODEL = ("translate", "map", "attention", "inside", "compare", "beam")
OF_FILES = ("training", "quality", "learn", "docs")
SCREENS = (*OF_A_MODEL, "chat", "documents", *OF_FILES)

KOREAN = "1998년 3월 24일 화요일"
ISO = "1998-03-24"
GERMAN = "5. März 2024"
ARABIC = "٢٤ مارس ١٩٩٨"

BUSY = ".loading, .stale, [aria-busy=true]"

READY = {
    "translate": ".translate figure:has([aria-haspopup=menu]:not([data-tool])) .tokens .token",
    "map": ".map .map-stage .map-box",
    "attention": ".attention .heatmap-grid",
    "inside": ".inside .heatmap-grid",
    "compare": ".compare .compare-column .heatmap-grid",
    "beam": ".beam [role=tree] .node",
    "chat": ".chat .chat-write textarea",
    "documents": ".documents .documents-drop button",
    "training": ".training .charts svg",
    "quality": ".quality figure svg",
    "learn": ".learn .learn-map .learn-notes a",
    "docs": ".docs h1",
}
"""Something that is drawn from data on each screen."""


def ready(page: Page, screen: str) -> Locator:
    """Wait until a screen shows its data and nothing on it is on its way."""
    found = page.locator(READY[screen])
    expect(found.first).to_be_visible()
    settled(page)
    return found


def settled(page: Page) -> None:
    """Wait until what was done so far has been drawn, and nothing is on its way."""
    page.wait_for_function("() => new Promise(done => requestAnimationFrame(() => done(true)))")
    expect(page.locator(BUSY)).to_have_count(0)


def params(page: Page) -> dict[str, str]:
    """The parameters of the address."""
    return dict(parse_qsl(urlsplit(page.url).query))


def wait_for(page: Page, **wanted: str | None) -> None:
    """Wait until the address holds these parameters; None is one that it must not hold."""
    page.wait_for_function(
        """wanted => {
            const held = new URLSearchParams(location.search);
            return Object.entries(wanted).every(([name, value]) => held.get(name) === value);
        }""",
        arg=wanted,
    )


def wait_to_hold(page: Page, name: str) -> None:
    """Wait until the address holds a parameter, whatever its value."""
    # A function: the page's policy forbids to evaluate text, and an expression is evaluated at each look.
    page.wait_for_function("name => new URLSearchParams(location.search).has(name)", arg=name)
