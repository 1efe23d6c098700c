"""The page in one document: what is inside stays data, and nothing gets out."""

import base64
import gzip
import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumok.errors import RunError
from jumok.explain.page import (
    START,
    Bundle,
    block,
    bundle,
    document,
    frame,
    one_line,
    page_around,
    policy,
    sha256,
    to_json,
)

DATA = {"models": [], "traces": [], "answers": {}, "start": "/translate"}


class Reader(HTMLParser):
    """The elements of a document as a browser finds them, with their attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        self.inside = tag in ("script", "style", "title")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.found and self.inside:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for one, attributes, text in self.found if one == tag]


def text_of(page: str, id: str) -> str:
    """The text of the block with an id."""
    [found] = [text for attributes, text in Reader(page).all("script") if attributes.get("id") == id]
    return found


def policy_of(page: str) -> dict[str, list[str]]:
    [found] = [
        attributes["content"] or ""
        for attributes, _ in Reader(page).all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    return {rule.split()[0]: rule.split()[1:] for rule in found.split("; ")}


def test_only_the_pages_own_script_and_style_run(built: Path) -> None:
    page = document("t", DATA, {})
    policy = policy_of(page)
    assert policy["default-src"] == ["'none'"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert not {"connect-src", "frame-src", "media-src", "object-src"} & set(policy)
    assert policy["font-src"] == ["data:"]  # the letters of formulas, in the file itself
    assert "http" not in str(policy)

    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        run = [text for attributes, text in Reader(page).all(tag) if "type" not in attributes]
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
        assert policy[rule] == [f"'sha256-{digest}'" for digest in digests]


def test_a_whole_document_around_its_blocks() -> None:
    page = Bundle("run()", "a {}", {})
    found = page_around(
        page, " <t>\n& u", "<p>no scripts</p>", block("text/plain", "x", "data"), start="go()"
    )
    hashes = [sha256(text) for text in ("go()", "run()", "a {}")]
    rules = (
        f"default-src 'none'; script-src {hashes[0]} {hashes[1]}; style-src {hashes[2]}; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    assert found.split("\n") == [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="generator" content="jumok">',
        "<title>&lt;t&gt; &amp; u</title>",
        '<link rel="icon" href="data:,">',
        "<style>a {}</style>",
        "</head>",
        "<body>",
        '<div id="app"></div>',
        "<noscript><p>no scripts</p></noscript>",
        '<script type="text/plain" id="x">data</script>',
        "<script>go()</script>",
        "<script>run()</script>",
        "</body>",
        "</html>",
        "",
    ]
    plain = page_around(page, "t", "")
    assert plain.count("<script>") == 1
    assert "wasm" not in plain
    computing = policy(page, ["run()"], computes=True)
    assert computing.split("; ")[1:3] == [f"script-src {hashes[1]} 'wasm-unsafe-eval'", "worker-src blob:"]


def test_nothing_is_loaded_from_anywhere(built: Path) -> None:
    found = Reader(document("t", DATA, {})).found
    addresses = [
        value for _, attributes, _ in found for name, value in attributes.items() if name in ("src", "href")
    ]
    assert addresses == ["data:,"]


def test_the_script_and_the_style_cannot_end_early(built: Path) -> None:
    page = bundle()
    assert (
        page.script
        == 'const a = "\\x3c/script>\\x3c!-- \\x3c/SCRIPT>"; const b = /\\x3c!--/u;\nrender(a, b);\n'
    )
    assert page.style == '.a::before { content: "\\3c /style>" }\n'
    scripts = Reader(document("t", DATA, {})).all("script")
    assert [text for attributes, text in scripts if "type" not in attributes] == [START, page.script]


def test_data_comes_before_the_script_that_reads_it(built: Path) -> None:
    page = document("t", DATA, {"abc": b"1"})
    places = [page.index(f'id="{id}"') for id in ("jumok-words", "jumok-data", "jumok-tensors-abc")]
    assert places == sorted(places)
    assert places[-1] < page.index(START)


def test_words_of_both_languages_are_inside(built: Path) -> None:
    words = json.loads(text_of(document("t", DATA, {}), "jumok-words"))
    assert words == {"en": {"shell": {"a": "Translate"}}, "ko": {"shell": {"a": "번역 </script>"}}}


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "-->",
    "]]>",
    "&lt;",
    "\u2028\u2029",
    "\ud800",
    "'\"",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_data(text: str, built: Path) -> None:
    page = document(text, {**DATA, "start": text}, {})
    assert json.loads(text_of(page, "jumok-data"))["start"] == text
    assert len(Reader(page).all("script")) == 4
    [(_, title)] = Reader(page).all("title")
    assert title == one_line(text)
    page.encode()


@given(text=st.text(st.characters(exclude_categories=())))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_text_survives(text: str, built: Path) -> None:
    plain = to_json({"text": text})
    assert json.loads(plain) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(plain)
    assert json.loads(text_of(document(text, {**DATA, "start": text}, {}), "jumok-data"))["start"] == text


def test_tensors_are_packed_the_same_way_every_time(built: Path) -> None:
    page = document("t", DATA, {"abc": b"0" * 1000})
    assert page == document("t", DATA, {"abc": b"0" * 1000})
    assert gzip.decompress(base64.b64decode(text_of(page, "jumok-tensors-abc"))) == b"0" * 1000


def test_a_page_that_is_not_built(built: Path) -> None:
    for name in ("file-2c3d.js", "file-0a1b.css"):
        (built / name).unlink()
        with pytest.raises(RunError, match="the page is not built") as found:
            document("t", DATA, {})
        assert "npm run build" in found.value.hint
        assert found.value.code == "page_not_built"


def test_a_frame_holds_the_document_and_sees_nothing_else(built: Path) -> None:
    page = document('"quoted" & </iframe>', DATA, {})
    text = frame(page, 500)
    [(attributes, _)] = Reader(text).all("iframe")
    assert attributes["height"] == "500"
    assert "allow-same-origin" not in (attributes["sandbox"] or "")
    inside = attributes["srcdoc"] or ""
    assert inside.replace('<base href="about:srcdoc">\n', "") == page
    assert text.count("<") == 2
