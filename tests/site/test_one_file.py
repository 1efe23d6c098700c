"""A site in one HTML file holds what a site holds, and nothing that could end a block."""

import base64
import gzip
import re

from jumok.checkpoint.bundled import bundled
from jumok.site.folder import SiteModel, site_files
from jumok.site.one_file import one_page

MODELS = {"rnn": SiteModel(bundled()["rnn"], ("5. März 2024",))}
BLOCKS = re.compile(r'<script type="text/plain" data-file="([^"]+)">([A-Za-z0-9+/=]+)</script>')


def test_it_holds_every_file_of_the_site() -> None:
    files, _ = site_files(MODELS)
    held = {name: base64.b64decode(text) for name, text in BLOCKS.findall(one_page(MODELS))}
    plain = {name: data if name.endswith(".gz") else gzip.decompress(data) for name, data in held.items()}
    assert plain == files


def test_the_same_models_give_the_same_text_and_it_is_small() -> None:
    page = one_page(MODELS)
    assert page == one_page(MODELS)
    assert len(page.encode()) < 2_000_000


def test_it_may_compute_and_ask_nobody() -> None:
    page = one_page(MODELS, title="<b>", start="/translate?m=rnn&s=</script>")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert "default-src 'none'" in policy
    assert "'wasm-unsafe-eval'" in policy
    assert "worker-src blob:" in policy
    assert "connect-src" not in policy
    assert "<title>&lt;b&gt;</title>" in page
    opened, closed = page.count("<script"), page.count("</script>")
    assert opened == closed
