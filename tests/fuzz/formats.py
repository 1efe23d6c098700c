"""Readers and writers of documents as functions of bytes, and a small document of each format."""

import io
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from tests.formats.office import open_document, sheets, slides, word
from tests.formats.test_android import FULL as ANDROID
from tests.formats.test_epub import book
from tests.formats.test_json_catalogue import FULL as JSON
from tests.formats.test_po import FULL as PO
from tests.formats.test_properties import FULL as PROPERTIES
from tests.formats.test_qt_ts import FULL as TS
from tests.formats.test_subtitles import SRT, VTT
from tests.formats.test_yaml_catalogue import FULL as YAML

from jumok.formats.known import format_of
from jumok.formats.segments import Languages, MarkedText

BODY = '<text:p>A <text:span text:style-name="T1">word</text:span><text:s/></text:p><text:h>Title</text:h>'
ARB = (
    '{"@@locale": "en", "hi": "Hi {name}", "@hi": {"description": "x"}, "n": "{n, plural, other{# things}}"}'
)
XLIFF = (
    '<xliff version="1.2"><file source-language="en" original="a"><body><trans-unit id="1"><source>Some '
    '<g id="1">words</g><x id="2"/></source></trans-unit></body></file></xliff>'
)
TMX = (
    '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Some <bpt i="1">b</bpt>words'
    '<ept i="1">/b</ept></seg></tuv></tu></body></tmx>'
)
HTML = '<p>Some <b>words</b>&#13; <img alt="a house"> and <code>code</code><br>more</p><ul><li>one</ul>'
MARKDOWN = (
    "# Title\n\n- [ ] some *words* [here](u)\n\n> [!TIP]\n> a `code`\n\n| a | b |\n|---|---|\n| c | d |\n"
)
TEXTS = {
    "html": HTML,
    "md": MARKDOWN,
    "txt": "Some words.\n\n  - more\n",
    "xliff": XLIFF,
    "tmx": TMX,
    "po": PO,
    "srt": SRT,
    "vtt": VTT,
    "json": JSON,
    "arb": ARB,
    "yaml": YAML,
    "csv": 'id,text\n1,"some ""words"""\n',
    "tsv": "id\ttext\n1\tsome words\n",
    "android": ANDROID,
    "properties": PROPERTIES,
    "ts": TS,
}
PACKAGES: dict[str, Callable[[Path], Path]] = {
    "docx": word,
    "pptx": slides,
    "xlsx": sheets,
    "odt": lambda path: open_document(path, BODY, f"<style:header>{BODY}</style:header>"),
    "epub": book,
}
MAIN = {
    "docx": "word/document.xml",
    "pptx": "ppt/slides/slide1.xml",
    "xlsx": "xl/worksheets/sheet1.xml",
    "odt": "content.xml",
    "epub": "OEBPS/book.opf",
}
"""The part of a package that is damaged itself: what is wrong with the zip is found before it."""


def document(path: Path, name: str) -> None:
    """Read, and write with other texts: it ends, or says what is wrong."""
    columns = ":text" if name in ("csv", "tsv") else ""
    format = format_of(path, name + columns, Languages("en", "de"))
    found = list(format.read(path))
    for answers in (
        [None] * len(found),
        [MarkedText(one.source.text[::-1], one.source.tags) for one in found],
    ):
        format.write(path, io.BytesIO(), iter(answers))


@cache
def whole(name: str) -> bytes:
    """A sound package."""
    with tempfile.TemporaryDirectory() as folder:
        return PACKAGES[name](Path(folder, "a")).read_bytes()


def with_main(name: str, data: bytes) -> bytes:
    """A package whose main part is this."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole(name))) as old, zipfile.ZipFile(out, "w") as new:
        for one in old.namelist():
            new.writestr(one, data if one == MAIN[name] else old.read(one))
    return out.getvalue()


def targets(as_file: Callable[[bytes, str], Path]) -> dict[str, Callable[[bytes], None]]:
    """A target for each format: packages as they are, and with another main part (`part_docx`)."""

    def one(name: str, data: bytes) -> None:
        document(as_file(data, f"a.{name}"), name)

    def part(name: str, data: bytes) -> None:
        one(name, with_main(name, data))

    found = {f"file_{name}": partial(one, name) for name in (*TEXTS, *PACKAGES)}
    return found | {f"part_{name}": partial(part, name) for name in PACKAGES}


def inputs() -> dict[str, list[bytes]]:
    """Sound documents of each target."""
    found = {f"file_{name}": [text.encode()] for name, text in TEXTS.items()}
    found |= {f"file_{name}": [whole(name)] for name in PACKAGES}
    for name in PACKAGES:
        with zipfile.ZipFile(io.BytesIO(whole(name))) as archive:
            found[f"part_{name}"] = [archive.read(MAIN[name])]
    return found
