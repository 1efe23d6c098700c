"""How soon a page without a server answers: from the click on its address to the first translation.

    python benchmarks/site_answer.py --json benchmarks/readings/site_answer.json

Writes the site of the bundled models, serves it as plain files, and opens it in Chromium with nothing cached.
The clock starts with the navigation and stops when the answer is in the document. The best and the middle of
several tries are told: others may use the machine.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from jumok.checkpoint.bundled import EXAMPLES, bundled
from jumok.site.folder import SiteModel, write_site

COMMAND = "python benchmarks/site_answer.py --json benchmarks/readings/site_answer.json"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
ASKED, ANSWER = "#/translate?m=transformer&s=5.+März+2024", "2024-03-05"
NOTICE = f"""new MutationObserver((_, seen) => {{
  if (!document.querySelector("main")?.textContent.includes("{ANSWER}")) return;
  window.answered = performance.now();
  seen.disconnect();
}}).observe(document, {{ subtree: true, childList: true, characterData: true }})"""


class Files(SimpleHTTPRequestHandler):
    """Files of a folder, without a word."""

    def log_message(self, *args: Any) -> None:
        """Nobody reads it."""


def answered(browser: Browser, url: str) -> float:
    """Milliseconds of one visit."""
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.add_init_script(NOTICE)
    page.goto(url + ASKED)
    page.locator("main").get_by_text(ANSWER).first.wait_for()
    found: float = page.evaluate("window.answered")
    context.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="visits")
    parser.add_argument("--json", type=Path, help="write the readings here")
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"no Chromium: looked for {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_site(
            {name: SiteModel(path, EXAMPLES) for name, path in bundled().items()}, Path(folder) / "site"
        )
        host = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=folder))
        threading.Thread(target=host.serve_forever, daemon=True).start()
        root = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=root)
        url = f"http://127.0.0.1:{host.server_port}/site/"
        times = [answered(browser, url) for _ in range(options.repeat + 1)][
            1:
        ]  # the first starts the browser
        browser.close()
        host.shutdown()
    best, middle = min(times), statistics.median(times)
    print(f"first answer: {best:.0f} ms at best, {middle:.0f} ms in the middle of {len(times)}")
    if options.json:
        about = {"command": COMMAND, "machine": f"{os.cpu_count()} cores, {platform.system()}", "kept": "all"}
        found = {**about, "best_ms": round(best), "median_ms": round(middle), "visits": len(times)}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
