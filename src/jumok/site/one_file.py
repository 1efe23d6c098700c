"""`one_page`: the explorer, the engine and models in one HTML file, which computes in the reader's browser.

It opens from a disk: what the worker would load from a host stands in the file, packed.
"""

import base64
from collections.abc import Mapping

from jumok.explain import page as page_module
from jumok.explain.page import block, packed, page_around, to_json
from jumok.site.folder import PAGE, SiteModel, site_files


def one_page(models: Mapping[str, SiteModel], *, title: str = "jumok", start: str = "/translate") -> str:
    """The file, which opens on the address `start` of the explorer. Equal models give equal text.

    What the page cannot run is a ConfigError.
    """
    files, _ = site_files(models)
    page = page_module.bundle()
    worker = next(PAGE.glob("worker-*.js")).read_text(encoding="utf-8")
    plain = worker.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return page_around(
        page,
        title,
        "This file computes in the browser, which must allow scripts.",
        block("application/json", "jumok-words", to_json(page.words)),
        block("text/plain", "jumok-worker", plain),
        *(held(name, content) for name, content in sorted(files.items())),
        start=f"location.hash||(location.hash={to_json(start)})",
        computes=True,
    )


def held(name: str, content: bytes) -> str:
    """A file as a block that no browser runs."""
    text = base64.b64encode(content).decode() if name.endswith(".gz") else packed(content)
    return f'<script type="text/plain" data-file="{name}">{text}</script>'
