"""Takes a screenshot of the page: python web/shot.py http://127.0.0.1:7717/beam beam.png --dark --lang ko."""

import argparse
import shutil

from playwright.sync_api import sync_playwright

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("out")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--full", action="store_true", help="the whole page, not only what fits")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--hover", default="", help="CSS selector to point at")
    parser.add_argument("--click", action="append", default=[], help="CSS selector to click, in order")
    parser.add_argument("--wait", type=int, default=700, help="milliseconds before the picture")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": options.width, "height": options.height},
            color_scheme="dark" if options.dark else "light",
            locale=options.lang,
            reduced_motion="reduce",
        )
        page.on("console", lambda message: print("console:", message.type, message.text))
        page.on("pageerror", lambda error: print("error:", error))
        page.goto(options.url)
        page.wait_for_timeout(options.wait)
        for selector in options.click:
            page.locator(selector).first.click()
            page.wait_for_timeout(250)
        if options.hover:
            page.locator(options.hover).first.hover()
            page.wait_for_timeout(150)
        page.screenshot(path=options.out, full_page=options.full)
        browser.close()


if __name__ == "__main__":
    main()
