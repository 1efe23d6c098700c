"""Whether the page keeps its budgets: first paint, sizes, and how long what people do takes, in Chromium.

    python benchmarks/page_budgets.py            a Transformer of 6+6 layers and 8 heads, 100 x 100 tokens
    python benchmarks/page_budgets.py --map      the Map alone; writes readings/page_map.json
    python benchmarks/page_budgets.py --smoke    a small one, once, for a quick look

The small figures come from the bundled Transformer, the large ones from random weights whose queries and keys
are scaled so that heads are as peaked as trained ones. Server and browser share two cores. All budgets are
for the clock, so other programs on the machine count against them; where the page alone works, the processor
time of its main thread stands beside it. Each row is the median of several tries.
"""

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, CDPSession, Page, Route, sync_playwright
from trace_size import VOCABULARY, peaked

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.model import save_model
from jumok.config import DataConfig, DecodingConfig, RunConfig, TextConfig, TransformerConfig
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load
from jumok.explain.page import STATIC
from jumok.explain.tensors import pack
from jumok.explain.trace import Trace, make_trace
from jumok.text.tokenizer import Tokenizer, Tokenizers, train_tokenizer

KINDS = ("enc_self", "dec_self", "cross")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
FRAMES = 60
READING = Path(__file__).parent / "readings" / "page_map.json"


def texts_of(tokenizer: Tokenizer, lines: list[str], tokens: int, count: int) -> list[str]:
    """Texts of exactly so many tokens, made of lines and then of the words of more lines."""
    words = iter(" ".join(lines).split())
    found = []
    while len(found) < count:
        text = next(words)
        while (length := len(tokenizer.encode(text))) < tokens:
            text = f"{text} {next(words)}"
        if length == tokens:
            found.append(text)
    return found


def make_model(folder: Path, layers: int, heads: int) -> tuple[Tokenizer, list[str]]:
    """A model folder with random weights and a real vocabulary, and lines that it has words for."""
    lines = [line for pair in builtin_corpus("homeassistant-ko-en", "train").pairs() for line in pair]
    text = TextConfig(vocabulary=VOCABULARY)
    tokenizer = train_tokenizer(iter(lines), text)
    config = TransformerConfig(
        encoder_layers=layers, decoder_layers=layers, heads=heads, width=32 * heads, feedforward=64 * heads
    )
    run = RunConfig(
        model=config, text=text, data=DataConfig(max_length=400), decoding=DecodingConfig(max_len=400)
    )
    weights = {name: weight.detach() for name, weight in peaked(config, 2.0).named_parameters()}
    save_model(folder, weights, run, Tokenizers(tokenizer, tokenizer), {})
    return tokenizer, lines


def start_server(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A server of the bundled Transformer and the large one, in a process of its own, and its address."""
    models = [f"small={bundled()['transformer']}", f"large={folder}"]
    command = [sys.executable, "-m", "jumok", "serve", *models, "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert server.stdout is not None
    return server, json.loads(server.stdout.readline())["address"].rstrip("/")


class Bench:
    """A browser, a server, and the table of what was measured."""

    def __init__(self, browser: Browser, url: str, tries: int) -> None:
        self.browser, self.url, self.tries = browser, url, tries
        self.kept = True
        self.rows: dict[str, dict[str, Any]] = {}

    def row(self, what: str, value: float, limit: float, unit: str, *, least: bool = False) -> None:
        good = value >= limit if least else value <= limit
        self.kept &= good
        self.rows[what.strip()] = {"value": round(value, 2), "limit": limit, "unit": unit}
        sign = "≥" if least else "≤"
        print(
            f"{what:<58} {value:>10,.1f} {unit:<8} {sign} {limit:>7,.0f}  {'' if good else 'OVER'}",
            flush=True,
        )

    def page(self) -> Page:
        context = self.browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
        page = context.new_page()
        page.set_default_timeout(60_000)
        return page

    def open(self, page: Page, path: str, **params: str) -> None:
        page.goto(f"{self.url}{path}?{urlencode(params)}")

    def post(self, path: str, body: dict[str, Any]) -> Any:
        data = json.dumps(body).encode()
        with urlopen(Request(self.url + path, data, {"Content-Type": "application/json"})) as answer:
            return json.load(answer)


def tasks(session: CDPSession) -> float:
    """Milliseconds that the page's main thread has worked so far."""
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return 1000 * float(found["TaskDuration"])


FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def worked(page: Page, act: Callable[[], Any], domain: str) -> float:
    """Milliseconds of the main thread's tasks for an act, up to the frame that shows it.

    `timeTicks` is the clock, which is what someone waits; `threadTicks` leaves out the time that other
    programs had the core.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": domain})
    page.evaluate(FRAME)
    before = tasks(session)
    act()
    page.evaluate(FRAME)
    spent = tasks(session) - before
    session.send("Performance.disable")
    session.detach()
    return spent


def both_clocks(bench: Bench, what: str, limit: float, page: Page, acts: list[Callable[[], Any]]) -> None:
    """The budget is for the clock; processor time, which says how much of it is ours, is only told."""
    clock, own = (
        statistics.median(worked(page, act, d) for act in acts) for d in ("timeTicks", "threadTicks")
    )
    bench.row(what, clock, limit, "ms")
    print(f"{'  (of it processor time of the main thread)':<58} {own:>10,.1f} ms", flush=True)


# ---------------------------------------------------------------- rows


def first_paint(bench: Bench) -> None:
    """Cold: nothing of the page is in the browser's cache."""
    found = []
    for _ in range(bench.tries):
        page = bench.page()
        bench.open(page, "/translate", m="small")
        page.locator("main h1").wait_for()
        found.append(
            page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
        )
        page.context.close()
    bench.row("first paint with content, nothing cached", statistics.median(found), 300, "ms")


def sizes(bench: Bench) -> None:
    with urlopen(bench.url) as answer:
        index = answer.read().decode()
    for what, kind, limit in (("JavaScript", "js", 90), ("CSS", "css", 12)):
        paths = re.findall(rf'"(/(?:app|chunk)-\w+\.{kind})"', index)
        sent = sum(size_of(bench.url + path) for path in paths)
        bench.row(f"{what}, gzip", sent / 1000, limit, "kB")


def size_of(url: str) -> int:
    """Bytes of an answer as they travel."""
    with urlopen(Request(url, headers={"Accept-Encoding": "gzip"})) as answer:
        return len(answer.read())


def translation(bench: Bench) -> None:
    """Stream, manifest and atlas one after the other, as the Translate screen asks for them."""
    own = load(bundled()["transformer"]).tokenizers.source
    dates = [source for source, _ in builtin_corpus("dates", "test").pairs()]
    texts = [text for text in dates if len(own.encode(text)) == 20][: bench.tries]
    page = bench.page()
    bench.open(page, "/learn")
    ask = """async text => {
        const headers = { 'Content-Type': 'application/json' };
        const post = (path, body) => fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
        const began = performance.now();
        await (await post('/v1/translate/stream', { model: 'small', text, n_best: 3 })).text();
        const { id } = await (await post('/v1/trace', { model: 'small', text, interventions: [] })).json();
        await (await fetch(`/v1/traces/${id}/tensors?need=cross.atlas`)).arrayBuffer();
        return performance.now() - began;
    }"""
    found = [page.evaluate(ask, text) for text in texts]
    page.context.close()
    bench.row("translate + manifest + atlas, 20 tokens", statistics.median(found), 500, "ms")


def atlas(bench: Bench, pair: tuple[str, str]) -> None:
    id = bench.post("/v1/trace", {"model": "large", "text": pair[0], "target": pair[1]})["id"]
    need = "&".join(f"need={kind}.atlas" for kind in KINDS)
    with urlopen(f"{bench.url}/v1/traces/{id}/tensors?{need}") as answer:
        raw = answer.read()
    sent = size_of(f"{bench.url}/v1/traces/{id}/tensors?{need}")
    bench.row("atlas of all kinds, raw", len(raw) / 1000, 1500, "kB")
    bench.row("atlas of all kinds, gzip", sent / 1000, 600, "kB")
    bench.row("  (the same at gzip level 9)", len(gzip.compress(raw, 9)) / 1000, 600, "kB")


def grid(bench: Bench, pair: tuple[str, str]) -> None:
    page = bench.page()
    bench.open(page, "/attention", m="large", s=pair[0], t=pair[1], h="1")
    page.locator(".thumbs canvas").wait_for()
    tabs = page.get_by_role("tab")
    for turn in (0, 1, 2):  # from here on every kind is in the page's own memory
        tabs.nth(turn).click()
        page.locator("figure .heatmap-grid").wait_for()
        page.wait_for_load_state("networkidle")
    press = "turn => document.querySelectorAll('[role=tab]')[turn].click()"
    turns: list[Callable[[], Any]] = [partial(page.evaluate, press, n % 2) for n in range(2 * bench.tries)]
    both_clocks(bench, "draw the grid of heads and its open head", 60, page, turns)

    box = page.locator("figure .heatmap-grid canvas").bounding_box()
    assert box is not None
    moves: list[Callable[[], Any]] = [
        partial(page.mouse.move, box["x"] + 7 + 11 * (n % 30), box["y"] + 5 + 9 * (n % 25))
        for n in range(4 * bench.tries)
    ]
    both_clocks(bench, "pointer move to repaint of row, column and card", 16, page, moves)
    page.mouse.move(5, 5)

    opened = """async () => {
        const grid = document.querySelector('figure .heatmap-grid');
        const asked = () => performance.getEntriesByType('resource')
            .filter(one => one.name.includes('weights') && one.responseEnd > 0).length;
        const [before, began] = [asked(), performance.now()];
        grid.dispatchEvent(new KeyboardEvent('keydown', { key: ']', bubbles: true }));
        while (asked() === before) await new Promise(done => setTimeout(done, 1));
        await new Promise(done => requestAnimationFrame(done));
        return performance.now() - began;
    }"""
    found = [page.evaluate(opened) for _ in range(bench.tries)]
    bench.row("open one head exactly", statistics.median(found), 100, "ms")
    page.context.close()


def pan_and_zoom(bench: Bench, trace: Trace) -> None:
    """A matrix that is larger than the server makes: its manifest and tensors are put into the page's way."""
    page = bench.page()
    manifest = {**trace.manifest, "model": {**trace.manifest["model"], "name": "large"}}
    page.route("**/v1/trace", lambda route: route.fulfill(json=manifest))

    def tensors(route: Route) -> None:
        needs = [part[5:].replace("%3A", ":") for part in route.request.url.split("?")[1].split("&")]
        body = pack({need: trace.tensor(need) for need in needs})
        route.fulfill(body=body, content_type="application/octet-stream")

    page.route("**/v1/traces/*/tensors?*", tensors)
    bench.open(page, "/attention", m="large", s=trace.manifest["source"]["text"], h="1")
    page.locator("figure .heatmap-grid canvas").wait_for()
    page.wait_for_load_state("networkidle")
    move = """async frames => {
        const grid = document.querySelector('figure .heatmap-grid');
        const box = grid.querySelector('canvas').getBoundingClientRect();
        const at = (x) => ({ clientX: box.left + x, clientY: box.top + x, bubbles: true, cancelable: true });
        const frame = () => new Promise(requestAnimationFrame);
        const wheel = (deltaY) =>
            grid.dispatchEvent(new WheelEvent('wheel', { ...at(150), deltaY, ctrlKey: true }));
        const drag = (name, x) => grid.dispatchEvent(new PointerEvent(name, at(150 - x)));
        await frame();
        const began = performance.now();
        for (let n = 0; n < frames / 2; n++) { wheel(n < frames / 4 ? -40 : 40); await frame(); }
        for (let n = 0; n < 6; n++) wheel(-40);
        drag('pointerdown', 0);
        for (let n = 0; n < frames / 2; n++) { drag('pointermove', 3 * n); await frame(); }
        drag('pointerup', 0);
        return 1000 * frames / (performance.now() - began);
    }"""
    shape = manifest["attention"]["cross"]["shape"]
    found = [page.evaluate(move, FRAMES) for _ in range(bench.tries)]
    what = f"pan and zoom of {shape[2]} x {shape[3]}"
    bench.row(what, statistics.median(found), 30, "frames/s", least=True)
    page.context.close()


def chapters(bench: Bench) -> None:
    """From the click on a chapter to the frame that has its first figure and its question."""
    page = bench.page()
    bench.open(page, "/learn/tokens", m="small")
    page.locator(".learn-side a").first.wait_for()
    page.wait_for_load_state("networkidle")
    turn = """async id => {
        const links = [...document.querySelectorAll('.learn-side li a')];
        const link = links.find(one => one.pathname === `/learn/${id}`);
        const there = () => location.pathname === `/learn/${id}` && link.getAttribute('aria-current')
            && document.querySelector('.learn-beside :is(figure.figure, .learn-lack)')
            && document.querySelector('.learn-question');
        const began = performance.now();
        link.click();
        while (!there() && performance.now() < began + 30000) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - began;
    }"""
    hrefs = [str(one.get_attribute("href")) for one in page.locator(".learn-side li a").all()]
    ids = [re.split(r"[/?]", href)[2] for href in hrefs]
    times = []
    for id in ids[1:]:
        times.append(page.evaluate(turn, id))
        page.wait_for_load_state("networkidle")
    bench.row(f"a chapter after the click, median of {len(times)}", statistics.median(times), 300, "ms")
    bench.row(f"a chapter after the click, slowest of {len(times)}", max(times), 300, "ms")
    page.context.close()


def whole_map(bench: Bench, pair: tuple[str, str]) -> None:
    """The Map's script, from the click to a picture that answers, and frames while it plays."""
    script = next(STATIC.glob("map-*.js")).name
    bench.row("script of the Map, gzip", size_of(f"{bench.url}/{script}") / 1000, 60, "kB")
    click = """async () => {
        const began = performance.now();
        document.querySelector('nav.rail a[href^="/map"]').click();
        const there = () => document.querySelector('.map-stage canvas')?.width > 300;
        while (!there() && performance.now() < began + 30000) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - began;
    }"""
    for name, more in (("small", {}), ("large", {"s": pair[0], "t": pair[1]})):
        found = []
        for _ in range(bench.tries):
            page = bench.page()
            bench.open(page, "/attention", m=name, **more)
            page.locator("figure .heatmap-grid").wait_for()
            page.wait_for_load_state("networkidle")
            found.append(page.evaluate(click))
            page.context.close()
        bench.row(f"the Map after the click, {name} model", statistics.median(found), 400, "ms")
    playing(bench, pair)


def playing(bench: Bench, pair: tuple[str, str]) -> None:
    page = bench.page()
    bench.open(page, "/map", m="large", s=pair[0], t=pair[1], q="10")
    page.locator(".map-stage[aria-busy=false]").wait_for()
    page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="Play").click()
    count = """async ms => {
        let [frames, began] = [0, performance.now()];
        while (performance.now() < began + ms) { await new Promise(requestAnimationFrame); frames++; }
        return [frames, performance.now() - began];
    }"""
    rates, costs = [], []
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    for _ in range(bench.tries):
        before = tasks(session)
        frames, spent = page.evaluate(count, 3000)
        rates.append(1000 * frames / spent)
        costs.append((tasks(session) - before) / frames)
    bench.row("the Map playing, large model", round(statistics.median(rates)), 60, "frames/s", least=True)
    bench.row("  (processor time of the main thread for a frame)", statistics.median(costs), 16, "ms")
    page.context.close()


def trace_of(folder: Path, pair: tuple[str, str]) -> Trace:
    """A trace made here, without the server's limits; with no loop of the browser's library around it."""
    return make_trace(load(folder), pair[0], target=pair[1])


def all_budgets(bench: Bench, pair: tuple[str, str], trace: Trace) -> None:
    first_paint(bench)
    sizes(bench)
    translation(bench)
    chapters(bench)
    atlas(bench, pair)
    grid(bench, pair)
    pan_and_zoom(bench, trace)
    whole_map(bench, pair)


def keep(bench: Bench) -> None:
    """The Map's figures, with what else the machine had to do: frames are counted by the clock."""
    load_1 = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    reading = {
        "command": "python benchmarks/page_budgets.py --map",
        "kept": "this run",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "browser": f"Chromium {bench.browser.version}",
        "load": load_1,
        "tries": bench.tries,
        "rows": bench.rows,
    }
    READING.write_text(json.dumps(reading, indent=1) + "\n", encoding="utf-8")
    print(f"written: {READING}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="a small model, one try")
    parser.add_argument("--map", action="store_true", help="the Map alone, and keep its figures")
    asked = parser.parse_args()
    smoke = asked.smoke
    layers, heads, tokens, large, tries = (2, 2, 20, 40, 1) if smoke else (6, 8, 100, 300, 7)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f"no Chromium: looked for {', '.join(BROWSERS)}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "large"
        tokenizer, lines = make_model(folder, layers, heads)
        source, target = texts_of(tokenizer, lines, tokens - 1, 2)  # each has its end as its last token
        longest, answer = texts_of(tokenizer, lines, large - 1, 2)
        trace = trace_of(folder, (longest, answer))
        server, url = start_server(folder)
        try:
            with sync_playwright() as playwright:
                root = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
                browser = playwright.chromium.launch(executable_path=found, args=root)
                bench = Bench(browser, url, tries)
                print(f"{layers}+{layers} layers, {heads} heads, {tokens} x {tokens} tokens")
                if asked.map:
                    whole_map(bench, (source, target))
                else:
                    all_budgets(bench, (source, target), trace)
                if asked.map and not smoke:
                    keep(bench)
                browser.close()
        finally:
            server.terminate()
            server.wait()
    sys.exit(0 if bench.kept or smoke else 1)


if __name__ == "__main__":
    main()
