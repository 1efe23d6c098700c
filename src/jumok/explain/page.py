"""The explorer's page as one HTML document with data inside: nothing to load, and no way to the network."""

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jumok
from jumok.errors import RunError

STATIC = Path(jumok.__file__).parent / "server" / "static"
HOSTILE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")  # what could end a block of data, or a line of script
START = 'location.hash||(location.hash=JSON.parse(document.getElementById("jumok-data").textContent).start)'
"""Goes to the view that the data names, unless the address asks for another."""


@dataclass(frozen=True)
class Bundle:
    """The page that is built for files: its one script, its one style sheet, and its words by language."""

    script: str
    style: str
    words: Mapping[str, Any]


def bundle(name: str = "file") -> Bundle:
    """A page that is built for files, fit to stand inside a document: `file` for traces, `report`."""
    try:
        paths = [next(STATIC.glob(f"{name}-*.{kind}")) for kind in ("js", "css")]
        script, style = (path.read_text(encoding="utf-8") for path in paths)
        words = {
            path.name.split("-")[1]: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(STATIC.glob("words-*-*.json"))
        }
    except (OSError, StopIteration, ValueError):
        raise RunError(
            "the page is not built",
            where=str(STATIC),
            hint="in a checkout: cd web && npm ci && npm run build; else install jumok again",
            code="page_not_built",
        ) from None
    # The same meaning inside strings and expressions, and nothing that a reader of HTML would stop at.
    script = re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)
    style = re.sub(r"<(?=/style)", r"\\3c ", style, flags=re.IGNORECASE)
    return Bundle(script, style, words)


def document(title: str, data: Mapping[str, Any], tensors: Mapping[str, bytes]) -> str:
    """The file: a policy that lets in this script and this style and nothing else, the data, the page.

    `data` has `models`, `traces`, `answers` and `start`; `tensors` are bytes in the safetensors layout by
    the id of their trace. Equal arguments give equal text.
    """
    page = bundle()
    return page_around(
        page,
        title,
        "This file draws itself, for which the browser must allow scripts.",
        block("application/json", "jumok-words", to_json(page.words)),
        block("application/json", "jumok-data", to_json(data)),
        *(block("text/plain", f"jumok-tensors-{id}", packed(one)) for id, one in tensors.items()),
        start=START,
    )


def page_around(
    page: Bundle, title: str, noscript: str, *blocks: str, start: str = "", computes: bool = False
) -> str:
    """A document around blocks of data: the page reads them, after the script `start` if there is one.

    `noscript` is HTML for browsers that run no scripts. One that `computes` may use WebAssembly and a worker.
    """
    scripts = [one for one in (start, page.script) if one]
    rules = policy(page, scripts, computes=computes)
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{rules}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="generator" content="jumok">',
            f"<title>{html.escape(one_line(title))}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{page.style}</style>",
            "</head>",
            "<body>",
            '<div id="app"></div>',
            f"<noscript>{noscript}</noscript>",
            *blocks,
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        )
    )


def policy(page: Bundle, scripts: Sequence[str], *, computes: bool = False) -> str:
    """The content policy: known scripts and styles by their hashes, pictures of its own, and no network."""
    rules = (
        "default-src 'none'",
        f"script-src {' '.join(map(sha256, scripts))}" + (" 'wasm-unsafe-eval'" if computes else ""),
        *(["worker-src blob:"] if computes else []),
        f"style-src {sha256(page.style)}",
        "img-src data: blob:",
        "font-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def sha256(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def block(kind: str, id: str, text: str) -> str:
    """Data that no browser runs."""
    return f'<script type="{kind}" id="{id}">{text}</script>'


def to_json(value: object) -> str:
    """JSON that holds no character with a meaning in HTML or at the end of a line of script."""
    plain = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return HOSTILE.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def one_line(text: str) -> str:
    """A text that UTF-8 can write, on one line."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def frame(document: str, height: int) -> str:
    """A document as a frame inside another page: it sees nothing of that page, and its scripts stay in it."""
    own = document.replace("<head>", '<head>\n<base href="about:srcdoc">', 1)  # links stay in the frame
    return (
        f'<iframe srcdoc="{html.escape(own)}" sandbox="allow-scripts allow-downloads allow-popups" '
        f'width="100%" height="{height}" style="border: 0" loading="lazy" title="jumok"></iframe>'
    )
