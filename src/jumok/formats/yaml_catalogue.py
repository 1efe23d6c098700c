"""YAML catalogues: strings that are values. Keys, comments, anchors and layout stay as they are.

Only the strings themselves are written anew, each in the style that it had if that can hold it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import dumps
from pathlib import Path
from typing import IO, ClassVar

import yaml

from jumok.errors import DataError
from jumok.formats.messages import ask, read_catalogue
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, segments_on, write_whole

STRING = "tag:yaml.org,2002:str"
_PROPERTIES = re.compile(r"\A(?:[&!]\S*\s+)+")


@dataclass(frozen=True)
class YamlFormat:
    """Any YAML; each string that is a value is a message."""

    languages: Languages = Languages()
    name: ClassVar[str] = "yaml"
    suffixes: ClassVar[tuple[str, ...]] = (".yaml", ".yml")

    def read(self, path: Path) -> Iterator[Segment]:
        """The strings of a catalogue."""
        return segments_on(walk(path, read_catalogue(path)[1]))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The catalogue with other strings."""
        code, text = read_catalogue(path)
        out.write(code.mark)
        write_whole(walk(path, text), lambda part: out.write(code.encode(part)), answers)


@dataclass(slots=True)
class YamlBranch:
    """A mapping or a list that is open."""

    listed: bool
    key: str = ""
    count: int = 0
    wants_key: bool = True

    def step(self, scalar: str = "") -> bool:
        """A node comes; whether it is a key."""
        if self.listed:
            self.count += 1
            return False
        is_key, self.wants_key = self.wants_key, not self.wants_key
        if is_key:
            self.key = scalar
        return is_key


@dataclass
class Tree:
    """Where we are among the events."""

    branches: list[YamlBranch] = field(default_factory=list)

    def step(self, event: yaml.Event) -> bool:
        """Go on by one event; whether it is a scalar that is a value."""
        if isinstance(event, yaml.CollectionEndEvent):
            self.branches.pop()
            return False
        if not isinstance(event, yaml.NodeEvent):
            return False
        scalar = event.value if isinstance(event, yaml.ScalarEvent) else ""
        is_key = self.branches[-1].step(scalar) if self.branches else False
        if isinstance(event, yaml.CollectionStartEvent):
            self.branches.append(YamlBranch(isinstance(event, yaml.SequenceStartEvent)))
        return isinstance(event, yaml.ScalarEvent) and not is_key

    def where(self) -> str:
        """The keys that lead here."""
        return ".".join(str(one.count - 1) if one.listed else one.key for one in self.branches) or "the value"


def walk(path: Path, text: str) -> Walk:
    """Value by value."""
    tree, done = Tree(), 0
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if not tree.step(event) or not is_string(event):
                continue
            answer = yield from ask(event.value, tree.where())
            if answer is not None:
                end = event.end_mark.index
                raw = _PROPERTIES.sub("", text[event.start_mark.index : end])
                yield text[done : end - len(raw)] + scalar(answer, raw, event)
                done = end
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise _broken(f"broken YAML: {error.problem or error.context}", where) from None
    except (yaml.YAMLError, ValueError, IndexError, RecursionError) as error:
        raise _broken(f"broken YAML: {error}".split("\n")[0], str(path)) from None
    yield text[done:]


def _broken(message: str, where: str) -> DataError:
    return DataError(message, where=where, hint="mend it there", code="broken_yaml")


def is_string(event: yaml.ScalarEvent) -> bool:
    """Whether a scalar is a string, and no number, date, yes or null."""
    if event.tag is not None:
        return bool(event.tag == STRING)
    return bool(event.style) or _kind(event.value) == STRING


def _kind(value: str) -> str:
    kind: str = yaml.resolver.Resolver().resolve(yaml.ScalarNode, value, (True, False))
    return kind


def scalar(text: str, raw: str, event: yaml.ScalarEvent) -> str:
    """A string in the style that it had, or in quotes if that cannot hold it."""
    alike, quoted = _alike(text, raw, event), dumps(text, ensure_ascii=False)
    if alike is not None and _reads_as(alike, text):
        return alike
    end = raw[len(raw.rstrip("\r\n")) :] if event.style in ("|", ">") else ""
    return (quoted if _reads_as(quoted, text) else dumps(text)) + end


def _alike(text: str, raw: str, event: yaml.ScalarEvent) -> str | None:
    match event.style:
        case "'" if "\n" not in text:
            return "'" + text.replace("'", "''") + "'"
        case "|" | ">":
            return _block(text, raw, event.style)
        case None if "\n" not in text and _reads_in_flow(text):  # where it may stand
            return text
    return None


def _block(text: str, raw: str, style: str) -> str:
    """A block scalar: the head as it was, and lines with the indentation that it had."""
    head, _, body = raw.partition("\n")
    first = next((line for line in body.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    end = "\r\n" if head.endswith("\r") else "\n"
    lines = (indent + line if line else "" for line in text.rstrip("\n").split("\n"))
    return head + "\n" + (end * (2 if style == ">" else 1)).join(lines) + raw[len(raw.rstrip("\r\n")) :]


def _reads_in_flow(text: str) -> bool:
    """Whether YAML reads the bare text as it is inside [ ] and { }."""
    return [one.value for one in _scalars(f"[{text}, {{b: {text}}}]")] == [text, "b", text]


def _reads_as(written: str, text: str) -> bool:
    """Whether YAML reads a scalar as this text, as the value of a key."""
    found = _scalars(f"key: {written}")
    return len(found) == 2 and found[1].value.rstrip("\n") == text.rstrip("\n") and is_string(found[1])


def _scalars(written: str) -> list[yaml.ScalarEvent]:
    """The scalars of a document in YAML; none if it is no document."""
    try:
        events = yaml.parse(f"{written}\n", yaml.SafeLoader)
        return [one for one in events if isinstance(one, yaml.ScalarEvent)]
    except (yaml.YAMLError, ValueError):
        return []
