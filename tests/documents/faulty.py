"""Documents of every format with what can be wrong with them, and the words that say so."""

import io
import re
import zipfile
from collections.abc import Iterator
from functools import cache

import pytest
from tests.fuzz.formats import MAIN, PACKAGES, TEXTS, whole, with_main

from jumok.formats.known import FORMATS

SOUND = TEXTS | {
    "xliff": TEXTS["xliff"].replace(' source-language="en"', ""),
    "tmx": '<tmx version="1.4"><body><tu><tuv xml:lang="mul"><seg>words</seg></tuv></tu></body></tmx>',
}
"""Texts by the name of their format."""
XML = ("android", "ts", "tmx", "xliff")
SUFFIXES = {known.name: known.suffixes[0] for known in FORMATS}
ENTITY = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")
EMPTY = "the file is empty"


def faults() -> Iterator[tuple[str, str, bytes, str]]:
    """Of each fault its name, the format, the content, and a pattern of what is said."""
    for kind, text in SOUND.items():
        yield "bytes", kind, bytes(range(128, 256)) + b"\0", "not UTF-8|XML is broken|zero bytes"
        if kind not in ("properties", *XML):  # which have more encodings
            yield "latin-1", kind, text.encode() + b"\nGr\xfc\xdfe", "not UTF-8.*line [0-9]+"
        if kind in XML:
            yield "empty", kind, b"", EMPTY
            yield "broken", kind, text[:-5].encode(), "XML is broken: .*line [0-9]+"
        if kind in ("tmx", "xliff"):  # in the others entities stay as they are
            yield "entity", kind, (ENTITY + text).encode(), "declares an entity, 'e': that is refused"
        if kind in ("json", "arb"):
            yield "empty", kind, b" \n", EMPTY
            yield "broken", kind, text.encode()[:-4], "broken JSON: .*line [0-9]+"
    yield "broken", "yaml", b"a: [words\n", "broken YAML"
    yield "broken", "po", b'msgid "a\n', "not a line of a catalogue"
    yield "broken", "vtt", b"some words", "not WebVTT"
    yield "broken", "csv", b'text\n"some words\n', "a quoted cell never ends.*line 2"
    yield "columns", "tsv", b"id\ttext\n", "which columns are to be translated"
    for kind in PACKAGES:
        yield from package_faults(kind)


def package_faults(kind: str) -> Iterator[tuple[str, str, bytes, str]]:
    """The same of a zip file with parts."""
    data = whole(kind)
    yield "empty", kind, b"", EMPTY
    yield "bytes", kind, bytes(range(256)), "not a sound zip file"
    yield "cut off", kind, data[: len(data) // 2], "not a sound zip file"
    yield "broken", kind, with_main(kind, b"<a><b></a>"), f"XML is broken: .*{re.escape(MAIN[kind])}, line 1"
    yield "bomb", kind, with_bomb(data), "more than 200 times as much"
    yield "password", kind, with_password(data), "protected by a password"
    if kind in ("docx", "pptx", "xlsx"):
        wrapped = OLD_OFFICE + "EncryptedPackage".encode("utf-16-le")
        yield "password of Office", kind, wrapped, "protected by a password"
        yield "old Office", kind, OLD_OFFICE + bytes(999), "a document of Office 97 to 2003"


def with_bomb(data: bytes) -> bytes:
    """A package with a part that unpacks to far more than it has."""
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(80 << 20))
    return out.getvalue()


def with_password(data: bytes) -> bytes:
    """A package whose parts are marked as encrypted."""
    marked = bytearray(data)
    for mark, flags in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        place = -1
        while (place := marked.find(mark, place + 1)) >= 0:
            marked[place + flags] |= 1
    return bytes(marked)


@cache
def faulty() -> list[tuple[str, bytes, str]]:
    """The name of a file, its content, and a pattern of what is said of it."""
    names = {kind: suffix if kind == "android" else f"a{suffix}" for kind, suffix in SUFFIXES.items()}
    return [(names[kind], content, said) for _, kind, content, said in faults()]


every_fault = pytest.mark.parametrize(
    ("name", "content", "said"), faulty(), ids=[f"{kind}-{fault}" for fault, kind, *_ in faults()]
)
