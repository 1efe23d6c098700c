"""What stands around a sentence's tokens: its end, and which languages it is in and is wanted in.

A frame is two templates over the names of tokens. In them "…" is the sentence itself, "{source}" the token of
the language that it is in and "{target}" that of the language wanted:

    jumok, one direction      … </s>                 answers begin with nothing
    jumok, several            {target} … </s>
    NLLB, M2M                 {source} … </s>        answers begin with {target}
    mBART                     … </s> {source}        answers begin with {target}
    BART                      <s> … </s>             answers begin with <s>
    OpenNMT, Argos            …

A source is complete when it has its end: `closed` gives one to ids that lack it, so that only a frame with
something behind the end writes the end itself. Where sources have no end at all, `NO_END` stands in its place
until the source is closed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jumok.errors import ConfigError, ModelError, nearest
from jumok.text.specials import EOS, PAD, SPECIALS

FRAME_FILE = "frame.json"
"""In a model folder, beside the tokenizers; a folder without it has the plain frame."""
FORMAT = "jumok-frame/1"
TEXT, SOURCE, TARGET = "…", "{source}", "{target}"
END = SPECIALS[EOS]
NO_END = PAD
"""The last id of a source that is to have no end; the model never reads it."""
LISTED = 12  # languages that a message names
TagChoice = Literal["auto", "none", "source", "target", "both"]
"""Which tags sources begin with: none, their language, the one wanted, or both; auto: as needed."""


class Direction(NamedTuple):
    """From which language into which; "" where nobody says."""

    source: str = ""
    target: str = ""

    def __str__(self) -> str:
        return f"{self.source or '?'}→{self.target or '?'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the tokens of a sentence and before those of its answer."""

    source: tuple[str, ...] = (TEXT, END)
    target: tuple[str, ...] = ()
    """What every answer begins with; no part of its text."""
    languages: tuple[tuple[str, str], ...] = ()
    """Each language with the name of its token; "" where it has none."""
    pairs: tuple[Direction, ...] = ()
    """What the model translates; (): every language into every other."""

    def __post_init__(self) -> None:
        codes = [code for code, _ in self.languages]
        faults = {
            f'source has "{TEXT}" {self.source.count(TEXT)} times, not once': self.source.count(TEXT) != 1,
            f"source has {END} {self.source.count(END)} times, not once": self.source.count(END) > 1,
            f'target has "{TEXT}" or {END}': bool({TEXT, END} & set(self.target)),
            "a language is named twice": len(set(codes)) < len(codes),
            "a pair has an unknown language": not {code for pair in self.pairs for code in pair} <= {*codes},
            "it asks for a language and knows none": bool(self.slots) and not codes,
            "a language has no token": bool(self.slots) and not all(token for _, token in self.languages),
        }
        for fault, holds in faults.items():
            if holds:
                raise ValueError(fault)
        if END in self.source[: self.source.index(TEXT)]:
            raise ValueError(f"{END} stands before the sentence")

    @property
    def slots(self) -> set[str]:
        """Which languages the templates ask for: `SOURCE`, `TARGET`."""
        return {SOURCE, TARGET} & {*self.source, *self.target}

    @property
    def before(self) -> int:
        """Tokens before those of the sentence."""
        return self.source.index(TEXT)

    @property
    def around(self) -> tuple[int, int]:
        """Tokens of a source that are nobody's words: before the sentence, and behind it besides the end.

        Where there is no end, the second number is one less than there are: -1 for none.
        """
        return self.before, len(self.source) - self.before - 2

    @property
    def closes(self) -> bool:
        """Whether something stands behind the end, so that the frame writes the end itself."""
        return self.source[-1] != END

    @property
    def endless(self) -> bool:
        """Whether sources have no end."""
        return END not in self.source

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What the model translates; () where it has one direction and its settings name it."""
        codes = [code for code, _ in self.languages]
        every = (Direction(left, right) for left in codes for right in codes if left != right)
        return self.pairs or tuple(every)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tokens of all languages, each once."""
        return tuple(dict.fromkeys(token for _, token in self.languages if token))

    def sources(self, direction: Direction) -> tuple[str, ...]:
        """The names of tokens around a source, with `TEXT` in its place."""
        return self._filled(self.source, direction)

    def targets(self, direction: Direction) -> tuple[str, ...]:
        """The names of the tokens that an answer begins with."""
        return self._filled(self.target, direction)

    def _filled(self, template: tuple[str, ...], direction: Direction) -> tuple[str, ...]:
        known = dict(self.languages)
        said = {SOURCE: direction.source, TARGET: direction.target}
        return tuple(known[said[name]] if name in said else name for name in template)

    def choose(self, source: str = "", target: str = "") -> Direction:
        """The direction that is meant by what a request says; what it leaves out must follow from that.

        Codes are compared without capitals. ConfigError for a language that the model does not have, and
        where the model has several and the request does not say which.
        """
        source, target = self._known("from_language", source, 0), self._known("to", target, 1)
        if source and target and not self.pairs and source != target:  # soon said, however many there are
            return Direction(source, target)
        found = self.directions
        left = [one for one in found if source in ("", one.source) and target in ("", one.target)]
        if not left:
            raise ConfigError(
                f"this model does not translate from {source or 'any language'} into {target or 'any'}",
                hint=f"it translates {listed(map(str, found))}",
                code="unknown_direction",
                field="to",
            )
        targets, sources = ({one[side] for one in left} for side in (1, 0))
        if TARGET in self.slots and len(targets) > 1:
            raise _which("to", "into", sorted(targets))
        if SOURCE in self.slots and len(sources) > 1:
            raise _which("from_language", "from", sorted(sources))
        return Direction(*(codes.pop() if len(codes) == 1 else "" for codes in (sources, targets)))

    def _known(self, name: str, code: str, side: int) -> str:
        """A language of the model as the model writes it."""
        codes = list(dict.fromkeys(one[side] for one in self.pairs) or (code for code, _ in self.languages))
        plain = code.strip().lower()
        same = [one for one in codes if one.lower() == plain]
        if code and not same:
            raise ConfigError(
                f"{name}={code!r}: this model has no such language on its {('source', 'target')[side]} side",
                hint=nearest(code, codes, f"it has {listed(sorted(codes))}"),
                code="unknown_language",
                field=name,
            )
        return same[0] if code else ""

    def to_bytes(self) -> bytes:
        """The frame as a file; `parse_frame` reads it."""
        said = {
            "format": FORMAT,
            "source": self.source,
            "target": self.target,
            "languages": dict(self.languages),
            "pairs": self.pairs,
        }
        return json.dumps(said, ensure_ascii=False, indent=1).encode()


PLAIN = Frame()


def _which(name: str, word: str, codes: Sequence[str]) -> ConfigError:
    option = {"to": "--to", "from_language": "--from"}[name]
    return ConfigError(
        f"this model translates {word} {listed(codes)}: say which",
        hint=f'{option} {codes[0]}, or {name}="{codes[0]}" in Python and over HTTP',
        code="no_language",
        field=name,
    )


def listed(words: Any) -> str:
    """Words with commas between them, the first few of many."""
    all_of_them = list(words)
    more = len(all_of_them) - LISTED
    return ", ".join(all_of_them[:LISTED]) + (f" and {more} more" if more > 0 else "")


def closed(ids: Sequence[int]) -> list[int]:
    """A source as the model reads it: with an end, unless it says that it has none."""
    if ids and ids[-1] == NO_END:
        return list(ids[:-1])
    return [*ids] if EOS in ids else [*ids, EOS]


def tagged(directions: Sequence[Direction], tags: TagChoice = "auto") -> Frame:
    """The frame of jumok's own models of these directions: sources begin with the language wanted, or theirs.

    auto: where all go into one language nothing has to be said, and only the pairs are kept.
    """
    pairs = tuple(dict.fromkeys(directions))
    codes = sorted({code for pair in pairs for code in pair})
    if tags == "auto":
        tags = "target" if len({pair.target for pair in pairs}) > 1 else "none"
    slots = {"none": (), "source": (SOURCE,), "target": (TARGET,), "both": (SOURCE, TARGET)}[tags]
    if not slots and len(pairs) < 2:
        return PLAIN
    name = "<{}>" if tags == "source" else "<2{}>"
    languages = tuple((code, name.format(code) if slots else "") for code in codes)
    return Frame(source=(*slots, TEXT, END), languages=languages, pairs=pairs)


def parse_frame(data: bytes, name: str) -> Frame:
    """The frame that `Frame.to_bytes` wrote; anything else is refused. `name` is for the message."""
    try:
        said = json.loads(data.decode("utf-8"))
        if said.pop("format") != FORMAT:
            raise ValueError("another format")
        languages, pairs = said.pop("languages"), said.pop("pairs")
        source, target = said.pop("source"), said.pop("target")
        words = [
            *source,
            *target,
            *languages,
            *languages.values(),
            *(code for pair in pairs for code in pair),
        ]
        if said or not all(isinstance(word, str) for word in words):
            raise ValueError("a setting differs")
        return Frame(
            source=tuple(source),
            target=tuple(target),
            languages=tuple(languages.items()),
            pairs=tuple(Direction(left, right) for left, right in pairs),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"not a frame of jumok: {error}",
            where=name,
            hint="the file is damaged or was made by another program: copy the model folder again",
        ) from None
