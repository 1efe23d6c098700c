"""Subtitles: SRT and WebVTT. Times, numbers, places, notes and styles stay as they are.

A sentence that goes over several cues is one text. Its translation is divided again where the lines of the
source end, in proportion, between words; so a cue never has more lines than before.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape
from itertools import islice
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.divide import divided, parts_of
from jumok.formats.encoding import encoded_lines
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, has_words, segments_on, write_whole

MOST_CUES = 6
"""Of one sentence."""
PAUSE = 1.0
"""Seconds between two cues of one sentence, at most."""
LONGEST = 1 << 16
"""Characters of a cue."""
_TIMING = re.compile(
    r"\s*((?:\d+:)?\d\d?:\d\d[.,]\d{1,3})\s*-->\s*((?:\d+:)?\d\d?:\d\d[.,]\d{1,3})(?:\s.*)?", re.DOTALL
)
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>|\{\\[^}]*\}")
_ENDED = re.compile(r"""[.!?…:;。！？♪][\s"'”’»«)\]}]*$""")
_BEGINS = re.compile(r"[-–—♪#\[(>]|\w+:\s")


@dataclass(frozen=True)
class SrtFormat:
    """SubRip."""

    languages: Languages = Languages()
    name: ClassVar[str] = "srt"
    suffixes: ClassVar[tuple[str, ...]] = (".srt",)

    def read(self, path: Path) -> Iterator[Segment]:
        """The sentences of all cues."""
        return segments_on(self.walk(path, encoded_lines(path)[1]))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The same cues with other sentences."""
        code, lines = encoded_lines(path)
        out.write(code.mark)
        write_whole(self.walk(path, lines), lambda text: out.write(code.encode(text)), answers)

    def walk(self, path: Path, lines: Iterator[str]) -> Walk:
        """Sentence by sentence."""
        return walk(path, lines, str, str)


@dataclass(frozen=True)
class VttFormat(SrtFormat):
    """WebVTT, whose text has HTML's entities."""

    name: ClassVar[str] = "vtt"
    suffixes: ClassVar[tuple[str, ...]] = (".vtt",)

    def walk(self, path: Path, lines: Iterator[str]) -> Walk:
        """Sentence by sentence. DataError: the first line says that it is another format."""
        first = next(lines, "")
        if not first.removeprefix("\ufeff").startswith("WEBVTT"):
            hint = "it begins with WEBVTT; a file without is .srt"
            raise DataError("not WebVTT", where=f"{path}, line 1", hint=hint, code="wrong_format")
        yield first
        yield from walk(path, lines, unescape, escaped_cue)


def escaped_cue(text: str) -> str:
    """Text as WebVTT has it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass
class Cue:
    """One cue: what stands before its text, and its lines with their ends."""

    head: str
    begin: float
    end: float
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines without markup, in one."""
        return _MARKUP.sub("", " ".join(line.strip() for line in self.lines)).strip()

    @property
    def raw(self) -> str:
        """As the file has it."""
        return self.head + "".join(self.lines)


def cues(path: Path, lines: Iterator[str]) -> Iterator[Cue]:
    """The cues in their order; what stands between two is the head of the second. The last has no time."""
    head, cue = "", None
    for number, line in enumerate(lines, start=1):
        timing = _TIMING.fullmatch(line)
        if "-->" in line and timing is None:
            hint = "a time is 00:01:02,500 --> 00:01:04,000"
            raise DataError(
                f"not a time: {line.strip()[:60]!r}",
                where=f"{path}, line {number}",
                hint=hint,
                code="broken_cue",
            )
        if timing:
            if cue:  # no blank line before it: a number may stand there
                moved = cue.lines.pop() if cue.lines and cue.lines[-1].strip().isdecimal() else ""
                yield cue
                head = moved
            cue, head = Cue(head + line, seconds(timing[1]), seconds(timing[2])), ""
        elif cue and line.strip():
            cue.lines.append(line)
        else:
            if cue:
                yield cue
            cue, head = None, head + line
        if len(head) > LONGEST or (cue and sum(map(len, cue.lines[-2:])) > LONGEST):
            hint = "name another --format"
            raise DataError("no cues here", where=f"{path}, line {number}", hint=hint, code="wrong_format")
    if cue:
        yield cue
    yield Cue(head, 0, 0)


def seconds(time: str) -> float:
    """`1:02:03,500` in seconds."""
    whole = 0.0
    for part in time.replace(",", ".").split(":"):
        whole = whole * 60 + float(part)
    return whole


def walk(path: Path, lines: Iterator[str], read: Callable[[str], str], write: Callable[[str], str]) -> Walk:
    """Cues that share sentences together."""
    group = list[Cue]()
    for cue in cues(path, lines):
        if group and not (len(group) < MOST_CUES and goes_on(group[-1], cue)):
            yield from sentence(group, read, write)
            group = []
        group.append(cue)
    yield from sentence(group, read, write)


def goes_on(cue: Cue, following: Cue) -> bool:
    """Whether a sentence goes on in the next cue. Scripts without capital letters do not show it."""
    here, there = cue.text, following.text
    cased = here.lower() != here.upper() and there.lower() != there.upper()
    near = 0 <= following.begin - cue.end <= PAUSE
    return cased and near and not _ENDED.search(here) and not _BEGINS.match(there) and not is_dialogue(cue)


def is_dialogue(cue: Cue) -> bool:
    """Whether its lines are said by several people, each after a dash."""
    return sum(_MARKUP.sub("", line).lstrip()[:1] in ("-", "–", "—") for line in cue.lines) > 1


def sentence(group: list[Cue], read: Callable[[str], str], write: Callable[[str], str]) -> Walk:
    """A group of cues: asked for as one text, or line by line where several people speak."""
    if not any(has_words(cue.text) for cue in group):
        yield "".join(cue.raw for cue in group)
        return
    if is_dialogue(group[0]):
        yield group[0].head
        for line in group[0].lines:
            yield from sentence([Cue("", group[0].begin, group[0].end, [line])], read, write)
        return
    marked, lengths = joined_lines([line for cue in group for line in cue.lines], read)
    answer = yield Segment(marked, clock(group[0].begin))
    if answer is None or answer == marked:
        yield "".join(cue.raw for cue in group)
        return
    spans = iter(divided(answer.text, lengths))
    groups = [[span for span in islice(spans, len(cue.lines)) if span[0] < span[1]] for cue in group]
    for cue, part in zip(group, parts_of(answer, groups), strict=True):
        text = render(part, write)
        yield cue.head + (
            text.replace("\n", end_of(cue.lines[0]) or "\n") + end_of(cue.lines[-1]) if text else ""
        )


def end_of(line: str) -> str:
    """How a line ends."""
    return line[len(line.rstrip("\r\n")) :]


def joined_lines(lines: list[str], read: Callable[[str], str]) -> tuple[MarkedText, list[int]]:
    """Lines as one text with its tags, and how many characters of it each line has."""
    builder, lengths = MarkupBuilder(), list[int]()
    for number, line in enumerate(lines):
        before = builder.length
        if number and _spaced("".join(builder.text), line):
            builder.add(" ")
        done, line = 0, line.strip()
        for tag in _MARKUP.finditer(line):
            builder.add(read(line[done : tag.start()]))
            done = tag.end()
            if tag[0].startswith("</"):
                builder.close(tag[0])
            elif tag[0].startswith("{") or tag[0][1].isdecimal():
                builder.point(tag[0])
            else:
                builder.open(tag[0])
        builder.add(read(line[done:]))
        lengths.append(builder.length - before)
    return builder.build(), lengths


def _spaced(before: str, line: str) -> bool:
    """Whether a space stands between two lines: not in scripts that have none."""
    return not (before[-1:] > "\u2e80" and line[:1] > "\u2e80" and not "\uac00" <= before[-1:] <= "\ud7a3")


def clock(seconds: float) -> str:
    """A time for people: `0:01:02`."""
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"
