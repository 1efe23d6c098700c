"""E-books: EPUB 2 and 3. Chapters are XHTML pages; the package has the title, and says the language.

Styles, pictures, fonts and scripts are copied. A chapter is read whole, as a page is; a book is not.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, ClassVar
from urllib.parse import unquote

from jumok.errors import DataError
from jumok.formats.encoding import encoding_of
from jumok.formats.html_page import LARGEST, page_pieces
from jumok.formats.inline import render
from jumok.formats.ooxml import closed, opened
from jumok.formats.package import Package, PartWalk, encrypted, segments_in, write_package
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, has_words
from jumok.formats.xml_stream import XmlStream, element, escaped, raw_of

CONTAINER, LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
PAGE, CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"


@dataclass(frozen=True)
class EpubFormat:
    """Books without protection."""

    languages: Languages = Languages()
    name: ClassVar[str] = "epub"
    suffixes: ClassVar[tuple[str, ...]] = (".epub",)

    def read(self, path: Path) -> Iterator[Segment]:
        """The texts of all chapters, the table of contents and the title."""
        return segments_in(path, self.parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The book with other texts."""
        write_package(path, out, answers, self.parts)

    def parts(self, package: Package) -> dict[str, PartWalk]:
        """The package document, and what it lists. DataError: this is no book, or a protected one."""
        book = root_of(package)
        found: dict[str, PartWalk] = {book: partial(walk_book, self.languages.target)}
        locked = locked_parts(package)
        for name, kind in listed(package, book):
            if name in locked:
                raise encrypted(package.where(name))
            if kind == PAGE:
                found[name] = partial(walk_page, package, self.languages.target)
            elif kind == CONTENTS:
                found[name] = walk_contents
        return found


def root_of(package: Package) -> str:
    """The package document, which lists the parts of the book."""
    if CONTAINER in package.names:
        for token in package.tokens(CONTAINER):
            name = token.attributes.get("full-path", "")
            if token.kind == "start" and name in package.names:
                return name
    where, hint = str(package.path), "name its --format"
    raise DataError(
        "no book inside: it has no list of its parts", where=where, hint=hint, code="wrong_format"
    )


def listed(package: Package, book: str) -> Iterator[tuple[str, str]]:
    """Parts of the book and what they are."""
    for token in package.tokens(book):
        if token.kind == "start" and token.name == "opf:item":
            name = posixpath.join(posixpath.dirname(book), unquote(token.attributes.get("href", "")))
            yield posixpath.normpath(name), token.attributes.get("media-type", "")


def locked_parts(package: Package) -> set[str]:
    """Parts that nobody can read without a key."""
    if LOCKS not in package.names:
        return set()
    return {unquote(token.attributes.get("URI", "")) for token in package.tokens(LOCKS)} - {""}


def walk_book(target: str, stream: XmlStream, name: str) -> Walk:
    """The package document: the title and the description are text, and the language is the new one."""
    tokens = iter(stream)
    for token in tokens:
        if token.kind == "start" and token.name in ("dc:title", "dc:description"):
            found = element(token, tokens)
            text = "".join(one.text for one in found if one.kind == "text")
            answer = (yield Segment(MarkedText(text), f"{name}, {token.name}")) if has_words(text) else None
            yield (
                raw_of(found)
                if answer is None
                else opened(token.raw) + escaped(render(answer)) + closed(token)
            )
        elif token.kind == "start" and token.name == "dc:language" and target:
            element(token, tokens)
            yield opened(token.raw) + escaped(target) + closed(token)
        else:
            yield token.raw


def walk_contents(stream: XmlStream, name: str) -> Walk:
    """The table of contents of EPUB 2: its labels."""
    tokens, count = iter(stream), 0
    for token in tokens:
        if token.kind != "start" or token.name.rpartition(":")[2] != "text":
            yield token.raw
            continue
        count += 1
        found = element(token, tokens)
        text = "".join(one.text for one in found if one.kind == "text")
        answer = (yield Segment(MarkedText(text), f"{name}, label {count}")) if has_words(text) else None
        yield raw_of(found) if answer is None else opened(token.raw) + escaped(answer.text) + closed(token)


def walk_page(package: Package, target: str, stream: XmlStream, name: str) -> Walk:
    """A chapter, as the page that it is; what stands in it is not well-formed, or is so afterwards too."""
    data = package.open(name).read(LARGEST + 1)
    if len(data) > LARGEST:
        hint = "divide the chapter"
        where = package.where(name)
        raise DataError(
            f"a chapter of more than {LARGEST >> 20} MiB", where=where, hint=hint, code="too_large"
        )
    encoding = encoding_of(data)
    stream.use(encoding.name)
    try:
        text = data[len(encoding.mark) :].decode(encoding.name)
    except UnicodeDecodeError as error:
        raise DataError(
            f"the chapter is not {encoding.name.upper()}: {error.reason}",
            where=package.where(name),
            hint="save the book again",
            code="encoding",
        ) from None
    yield "\ufeff" * bool(encoding.mark)
    for piece in page_pieces(text, encoding, target):
        if isinstance(piece, bytes):
            yield piece.decode(encoding.name)
            continue
        answers = list[MarkedText | None]()
        for segment in piece.segments:
            placed = Segment(segment.source, f"{name}, {segment.where}", segment.target, segment.sentences)
            answers.append((yield placed))
        if any(answers):
            yield (
                piece.fill(answers).decode(encoding.name).replace("&nbsp;", "&#160;")
            )  # XML has no such name
        else:
            yield piece.raw.decode(encoding.name)
