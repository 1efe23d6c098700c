"""Markdown (CommonMark with tables and strikethrough): only words are written anew, every other byte stays.

markdown-it says where the blocks and what the inline elements are; `markdown_inline` finds them in the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from jumok.errors import LimitError
from jumok.formats.encoding import Encoding, read_text
from jumok.formats.html_page import LARGEST, page_pieces
from jumok.formats.markdown_inline import InlineRun, NotFoundError, inline_runs
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Holes, Piece, SplicedFormat

if TYPE_CHECKING:
    from markdown_it.token import Token as MarkdownToken

LINE_END = re.compile(r"\r\n?|\n")  # as the parser has it
FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n.*?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class MarkdownFormat(SplicedFormat):
    """Code, front matter, link targets and reference definitions are never touched."""

    name: ClassVar[str] = "md"
    suffixes: ClassVar[tuple[str, ...]] = (".md", ".markdown")

    def pieces(self, path: Path) -> Iterator[Piece]:
        """Texts as holes; everything else is as it was."""
        if (size := path.stat().st_size) > LARGEST:
            raise LimitError(
                f"{path.name} has {size >> 20:,} MiB, and a file may have {LARGEST >> 20}",
                where=str(path),
                hint="split it into several files",
            )
        encoding, text = read_text(path)
        yield encoding.mark
        front = FRONT_MATTER.match(text)
        begin = front.end() if front else 0
        yield encoding.encode(text[:begin])
        yield from MarkdownFile(text[begin:], encoding, text.count("\n", 0, begin)).pieces()


@dataclass(frozen=True)
class MarkdownFile:
    """The text of a file behind its front matter, which has so many lines."""

    text: str
    encoding: Encoding
    lines_before: int

    def pieces(self) -> Iterator[Piece]:
        """Blocks in order, and what stands between them."""
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
        environment: dict[str, Any] = {}
        starts = [0, *(match.end() for match in LINE_END.finditer(self.text)), len(self.text)]
        place, before = 0, ""
        for token in parser.parse(self.text.replace("\0", "\ufffd"), environment):
            in_table, before = before in ("td_open", "th_open"), token.type
            if token.map is None or token.type not in ("inline", "html_block"):
                continue
            begin = max(place, starts[token.map[0]])
            line = token.map[0] + 1 + self.lines_before
            if token.type == "html_block":
                end = starts[token.map[1]]
                yield self.encoding.encode(self.text[place:begin])
                yield from page_pieces(self.text[begin:end], self.encoding, "", line)
                place = end
                continue
            for run, span in self.runs(token, begin, environment, in_table=in_table):
                yield self.encoding.encode(self.text[place : span[0]])
                yield self.hole(run, span, line)
                place = span[1]
        yield self.encoding.encode(self.text[place:])

    def runs(
        self, token: "MarkdownToken", begin: int, environment: dict[str, Any], *, in_table: bool
    ) -> Iterator[tuple[InlineRun, tuple[int, int]]]:
        """The texts of a block and where they stand in the file; none if they cannot be found there."""
        places = list[int]()  # of each character of the content
        for line in token.content.split("\n"):
            written = line.replace("|", "\\|") if in_table else line
            found = self.text.find(written, begin)
            if found < 0 or (self.text.count("\n", begin, found) > (1 if places else 0) and line):
                return
            begin = found + len(written)
            places += [n for n in range(found, begin) if not (in_table and self.text.startswith("\\|", n))]
            places.append(begin)
        try:
            found_runs = inline_runs(token.content, token.children or [], environment, in_table=in_table)
        except NotFoundError:
            return
        for run in found_runs:
            yield run, (places[run.begin], places[run.end - 1] + 1)

    def hole(self, run: InlineRun, span: tuple[int, int], line: int) -> Piece:
        """A text with its inline elements, and the descriptions of pictures inside it."""
        main = (Segment(run.marked, f"line {line}"),) if run.marked.text.strip() else ()
        images = tuple(Segment(MarkedText(one.text), f"line {line}, image") for one in run.images)

        def fill(answers: Sequence[MarkedText | None]) -> bytes:
            answer = answers[0] if main else None
            said = [one.text if one else None for one in answers[len(main) :]]
            return self.encoding.encode(run.written(answer, said))

        return Holes((*main, *images), self.encoding.encode(self.text[slice(*span)]), fill)
