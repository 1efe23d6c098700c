"""The inline elements of Markdown, found in the text that they were read from, and written again.

The parser says what comes, in order, but not where: emphasis, links, code. Each is found behind the last.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jumok.formats.html_tokens import html_tokens
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.segments import MarkedText, Tag

if TYPE_CHECKING:
    from markdown_it.token import Token as MarkdownToken

_MARK = re.compile(r"\[\^[^\]\s]+\]|\A\[[ xX]\](?=\s)|\[![A-Z]+\]")
"""A footnote's mark, the box of a task, a note's kind: no words."""
_KIND = re.compile(r"\[![A-Z]+\]")  # of a note: it has a line of its own
_BREAK = re.compile(r"[ \t]*\\?\n[ \t]*")
_ADDRESS = re.compile(r"<[^<>\s]*>")
_LABEL_END = re.compile(r"\]\[((?:\\.|[^\[\]\\])*)\]")
_LINK_END = re.compile(
    r"""\]\(\s*(?:<(?:\\.|[^<>\n\\])*>|(?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()\\]|\([^\s()]*\))*\))*)"""
    r"""(?:\s+(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)""",
    re.DOTALL,
)
_BLOCK = re.compile(r"(?=#{1,6}(?:\s|$)|[-+*](?:\s|$)|>|[=-]+\s*$|~~~)|(?<=\d)(?=[.)](?:\s|$))")
_SPECIAL = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\*|_|~~|<(?=[a-zA-Z/!?])|&(?=#?\w+;)|\](?=[(\[:])"
    r"|\[(?=\^[^\]\s]+\]|![A-Z]+\])|\A\[(?=[ xX]\]\s)"
)


class NotFoundError(ValueError):
    """An element is not where it should be; its block stays as it is."""


@dataclass(frozen=True, slots=True)
class MarkdownImage:
    """A picture: all of it as it stands, and the words that describe it."""

    raw: str
    text: str
    length: int
    """Of the words as they stand there."""


@dataclass(slots=True)
class InlineRun:
    """Text from one hard line break to the next."""

    begin: int
    end: int
    marked: MarkedText = MarkedText("")
    raw: str = ""
    images: list[MarkdownImage] = field(default_factory=list)
    in_table: bool = False

    def written(self, answer: MarkedText | None, said: Sequence[str | None]) -> str:
        """The run with another text, and other words for its pictures; None leaves them as they are."""
        new = {
            image.raw: f"![{escape(text)}{image.raw[2 + image.length :]}"
            for image, text in zip(self.images, said, strict=True)
            if text is not None
        }
        if answer is None:
            raw = self.raw
            for old, other in new.items():
                raw = raw.replace(old, other)
            return raw
        tags = (with_images(tag, new) for tag in answer.tags)
        text = " ".join(answer.text.split("\n"))
        plain = (lambda part: escape(part).replace("|", "\\|")) if self.in_table else escape
        written = render(flanked(MarkedText(text, tuple(tags))), plain, str)
        return escape_block(written) if self.begin == 0 else written


def with_images(tag: Tag, new: Mapping[str, str]) -> Tag:
    """A tag with other pictures in it."""
    opened, closed = tag.open, tag.close
    for old, other in new.items():
        opened, closed = opened.replace(old, other), closed.replace(old, other)
    return replace(tag, open=opened, close=closed)


def flanked(marked: MarkedText) -> MarkedText:
    """Emphasis as readers recognise it: inside a word stars, for underscores are letters; none of nothing."""
    tags = []
    for tag in marked.tags:
        if tag.open in ("_", "__", "*", "**", "~~") and tag.begin == tag.end and tag.close:
            continue
        around = marked.text[max(0, tag.begin - 1) : tag.begin] + marked.text[tag.end : tag.end + 1]
        if tag.open in ("_", "__") and any(map(str.isalnum, around)):
            stars = "*" * len(tag.open)
            tag = replace(tag, open=stars, close=tag.close.replace(tag.open, stars))
        tags.append(tag)
    return MarkedText(marked.text, tuple(tags))


def escape(text: str) -> str:
    """Plain text as Markdown writes it: what would be markup is none."""

    def one(match: re.Match[str]) -> str:
        before, after = text[: match.start()][-1:], text[match.end() :][:1]
        if match[0] == "_" and (before + after).isalnum() and len(before + after) == 2:
            return "_"
        if match[0] in "*_" and before.isspace() and after.isspace():
            return match[0]
        return "".join("\\" + character for character in match[0])

    return _SPECIAL.sub(one, text)


def escape_block(written: str) -> str:
    """The beginning of a block that would be a heading, a list or a quotation, as text."""
    return _BLOCK.sub(lambda match: "\\", written, count=1) if _begins_block(written) else written


def _begins_block(written: str) -> bool:
    return bool(re.match(r"#{1,6}(?:\s|$)|[-+*](?:\s|$)|>|[=-]+\s*$|~~~|\d{1,9}[.)](?:\s|$)", written))


def inline_runs(
    content: str, tokens: Sequence["MarkdownToken"], environment: Mapping[str, Any], *, in_table: bool
) -> list[InlineRun]:
    """The runs of a block's content. NotFoundError: an element is not there."""
    walk = InlineWalk(content, set(environment.get("references", ())))
    for token in tokens:
        walk.take(token)
    walk.end_run(len(content), len(content))
    return [replace(run, in_table=in_table) for run in walk.runs if run.marked.text.strip() or run.images]


class InlineWalk:
    """One way through the content of a block, from element to element."""

    def __init__(self, content: str, references: set[str]) -> None:
        self.content, self.references = content, references
        self.place = self.begin = 0
        self.builder, self.names = MarkupBuilder(), list[str]()
        self.images: list[MarkdownImage] = []
        self.labels: list[int] = []
        """Where the texts of open links begin."""
        self.runs: list[InlineRun] = []
        self.in_address = False

    def take(self, token: "MarkdownToken") -> None:
        """The next element of the content."""
        if self.in_address:
            self.in_address = token.type != "link_close"
            return
        match token.type:
            case "text":
                self.take_text(self.expect(token.content))
            case "text_special":
                self.expect(token.markup)
                self.builder.add(token.content)
            case "softbreak" if not _KIND.fullmatch(self.content, self.begin, self.place):
                self.expect_match(_BREAK)
                self.builder.add(" ")
            case "softbreak" | "hardbreak":
                end = self.place
                self.expect_match(_BREAK)
                self.end_run(end, self.place)
            case "code_inline":
                self.take_code(self.expect(token.markup))
            case "html_inline":
                self.take_html(self.expect(token.content))
            case "image":
                self.take_image(token)
            case _:
                self.take_pair(token)

    def take_pair(self, token: "MarkdownToken") -> None:
        """The beginning or the end of an element with text inside."""
        match token.type:
            case "link_open" if token.markup == "autolink":
                self.builder.point(self.expect_match(_ADDRESS))
                self.in_address = True
            case "link_open" if self.content.startswith("[^", self.place):  # of a footnote
                self.builder.point(self.expect_match(_MARK))
                self.in_address = True
            case "link_open":
                self.open(self.expect("["))
                self.labels.append(self.place)
            case "link_close":
                self.close(self.link_end(self.content[self.labels.pop() : self.place]))
            case "em_open" | "strong_open" | "s_open":
                self.open(self.expect(token.markup))
            case "em_close" | "strong_close" | "s_close":
                self.close(self.expect(token.markup))
            case _:
                raise NotFoundError(token.type)

    def expect(self, raw: str) -> str:
        """What stands here, and a step behind it."""
        if not self.content.startswith(raw, self.place):
            raise NotFoundError(raw)
        self.place += len(raw)
        return raw

    def expect_match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.content, self.place)
        if not match:
            raise NotFoundError(pattern.pattern)
        return self.expect(match[0])

    def open(self, raw: str, name: str = "") -> None:
        self.builder.open(raw)
        self.names.append(name)

    def close(self, raw: str) -> None:
        """The end of an element of Markdown; HTML that is still open inside it stays open."""
        while self.names and self.names[-1]:
            self.names.pop()
            self.builder.abandon()
        if self.names:
            self.names.pop()
        self.builder.close(raw)

    def take_text(self, text: str) -> None:
        place = 0
        for match in _MARK.finditer(text):
            self.builder.add(text[place : match.start()])
            self.builder.point(match[0])
            place = match.end()
        self.builder.add(text[place:])

    def take_code(self, fence: str) -> None:
        found = re.compile(rf"(?<!`){fence}(?!`)").search(self.content, self.place)
        if not found:
            raise NotFoundError(fence)
        inner = self.content[self.place : found.start()].replace("\n", " ")
        self.place = found.end()
        pad = " " if inner.startswith(" ") and inner.endswith(" ") and inner.strip() else ""
        self.builder.open(fence + pad, keep=True)
        self.builder.add(inner[len(pad) : len(inner) - len(pad)])
        self.builder.close(pad + fence)

    def take_html(self, raw: str) -> None:
        token = next(html_tokens(raw))
        if token.kind == "start" and not token.is_void:
            self.open(raw, token.name)
        elif token.kind == "end" and self.names and self.names[-1] == token.name:
            self.names.pop()
            self.builder.close(raw)
        else:
            self.builder.point(raw)

    def take_image(self, token: "MarkdownToken") -> None:
        begin = self.place
        self.expect(f"![{token.content}")
        end = self.link_end(token.content)
        raw = self.content[begin : begin + 2 + len(token.content)] + end
        self.builder.point(raw)
        text = "".join(child.content for child in token.children or [])
        if text.strip():
            self.images.append(MarkdownImage(raw, text, len(token.content)))

    def link_end(self, label: str) -> str:
        """What closes a link here: `](url)` as it is; one that is named by its own text keeps that name."""
        if match := _LINK_END.match(self.content, self.place):
            return self.expect(match[0])
        match = _LABEL_END.match(self.content, self.place)
        if match and match[1].strip() and normalised(match[1]) in self.references:
            return self.expect(match[0])
        self.expect("][]" if self.content.startswith("][]", self.place) else "]")
        return f"][{label}]"

    def end_run(self, end: int, behind: int) -> None:
        """A run ends here; the next one begins behind."""
        raw = self.content[self.begin : end]
        self.runs.append(InlineRun(self.begin, end, self.builder.build(), raw, self.images))
        self.builder, self.names, self.images = MarkupBuilder(), [], []
        self.begin = behind


def normalised(label: str) -> str:
    """The name of a reference as the parser compares it."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)
