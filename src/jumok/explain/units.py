"""The units of a source that a question is asked about: its words or its pieces, never the special tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

UnitName = Literal["words", "pieces"]


@dataclass(frozen=True)
class Unit:
    """Tokens of a source that stand and fall together."""

    text: str
    tokens: tuple[int, ...]
    """Indices into the source's tokens."""
    span: tuple[int, int]
    """The half-open range of code points they cover in the source's text, without a space before it.

    Of a patch, the range of patches."""

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "tokens": list(self.tokens)}


def units_of(side: Mapping[str, Any], unit: UnitName = "words") -> tuple[Unit, ...]:
    """The units of one side of a trace, as `side_of` describes it, in the order of the text."""
    tokens, text = side["tokens"], side["text"]
    if "image" in side:
        return tuple(Unit(token["text"], (i,), (i, i + 1)) for i, token in enumerate(tokens))
    groups = (
        [(word["text"], word["tokens"]) for word in side["words"]]
        if unit == "words"
        else [(token["text"], [token["i"]]) for token in tokens]
    )
    found = []
    for name, group in groups:
        spans = [tokens[i]["span"] for i in group if tokens[i]["span"] is not None]
        if spans:
            begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
            space = len(text[begin:end]) - len(text[begin:end].lstrip())
            found.append(Unit(name, tuple(group), (begin + space, end)))
    return tuple(found)


def agreed_units(sides: list[Mapping[str, Any]]) -> list[tuple[Unit, ...]]:
    """The words of one text, read by several tokenizers, as units that are the same text for all of them.

    A unit ends where every tokenizer ends a word, so each is one word or several whole ones on every side:
    unit j of each answer covers the same characters.
    """
    words = [units_of(side) for side in sides]
    ends = set.intersection(*({unit.span[1] for unit in side} for side in words))
    return [join_until(side["text"], mine, ends) for side, mine in zip(sides, words, strict=True)]


def join_until(text: str, words: tuple[Unit, ...], ends: set[int]) -> tuple[Unit, ...]:
    """Words joined into units that end at `ends`."""
    found: list[Unit] = []
    tokens: tuple[int, ...] = ()
    begin: int | None = None
    for word in words:
        tokens += word.tokens
        begin = word.span[0] if begin is None else begin
        if word.span[1] in ends:
            name = word.text if begin == word.span[0] else text[begin : word.span[1]].strip()
            found.append(Unit(name, tokens, (begin, word.span[1])))
            tokens, begin = (), None
    return tuple(found)
