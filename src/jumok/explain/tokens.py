"""One side of a translation for people: its tokens with their places in the text, its words and its units.

A source may be a picture: its tokens are patches, named by row and column, without an end. Units are what a
question is asked about, words or tokens, never the special tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import bidirectional, category

import numpy as np

from jumok.decoding.jobs import Source
from jumok.explain.heatmap import cells
from jumok.text.frame import NO_END, closed
from jumok.text.jamo import alone
from jumok.text.normalize import nfc
from jumok.text.spans import TextPart, laid_out, piece_bytes, spell
from jumok.text.tokenizer import BOS, EOS, PAD, SPECIALS, UNK, Tokenizer, Tokenizers
from jumok.text.word_groups import text_of, word_groups

SPACE = "␣"

TokenType = Literal["normal", "special", "unk", "byte", "pad", "patch"]
UnitName = Literal["words", "tokens"]


def side_of(
    tokenizer: Tokenizer, ids: Sequence[int], text: str, lang: str, *, end: bool, start: bool = False
) -> dict[str, Any]:
    """The `source` or `target` object of a trace: text, language, direction, tokens and words.

    `ids` are those of `text`, which is tidied; where they spell another text, that one takes its place. Each
    token has the half-open range of code points it covers. Ranges tile the text; the bytes of one character
    share its range and a group, and the letters of Korean syllables the range of the syllables; special
    tokens, among them the `start` and the `end`, have none.
    """
    whole = [*([BOS] if start else []), *(closed(ids) if end else ids)]
    pieces = tokenizer.pieces(whole)
    parts = list(spell(whole, pieces, tokenizer.tags))
    ranges, written = laid_out(parts, jamo=tokenizer.jamo)
    if written not in (text, " " + text):
        text = tokenizer.decode(whole)
    shift = len(text) - len(written)  # -1: the first word's added space is not there
    places = _places(parts, [[max(begin + shift, 0), end + shift] for begin, end in ranges])
    groups = word_groups(pieces)
    word_of = {i: word for word, group in enumerate(groups) for i in group}
    tokens = [
        {
            "i": i,
            "id": id,
            "text": label(piece),
            "piece": piece,
            "type": "special" if id in tokenizer.tags else type_of(id, piece),
            "span": None,
            "word": word_of[i],
        }
        | places.get(i, {})
        for i, (id, piece) in enumerate(zip(whole, pieces, strict=True))
    ]
    special = {i for i, id in enumerate(whole) if id < len(SPECIALS) or id in tokenizer.tags}
    words = [
        {"i": word, "text": text_of([pieces[i] for i in group]) or SPACE, "tokens": group}
        | ({"type": "special"} if group[0] in special else {})
        for word, group in enumerate(groups)
    ]
    return {"text": text, "lang": lang, "dir": direction(text), "tokens": tokens, "words": words}


def _places(parts: Sequence[TextPart], spans: Sequence[list[int]]) -> dict[int, dict[str, Any]]:
    """The span of each token that has one; for a byte also its value, its group and the group's text."""
    places: dict[int, dict[str, Any]] = {}
    groups = 0
    for part, span in zip(parts, spans, strict=True):
        bytewise = part.data if len(part.data) == len(part.tokens) else (None,) * len(part.tokens)
        for token, byte in zip(part.tokens, bytewise, strict=True):
            places[token] = {"span": span}
            if byte is not None:
                shown = f"{byte:02X}" if part.text == "\ufffd" and len(part.data) == 1 else label(part.text)
                places[token] |= {"byte": byte, "group": groups, "text": shown}
        groups += bool(part.data)
    return places


def type_of(id: int, piece: str) -> TokenType:
    """What sort of token it is."""
    if id < len(SPECIALS):
        return "unk" if id == UNK else "pad" if id == PAD else "special"
    return "normal" if piece_bytes(piece) is None else "byte"


def direction(text: str) -> Literal["ltr", "rtl"]:
    """Which way a text runs: as its first character that has a direction of its own."""
    strong = (bidirectional(char) for char in text)
    return "rtl" if next((d for d in strong if d in ("L", "R", "AL")), "L") in ("R", "AL") else "ltr"


def label(piece: str) -> str:
    """What to show for a piece: no leading space, `␣` for a space alone, two hex digits for a byte."""
    if (named := piece_bytes(piece)) is not None:
        return named.hex(" ").upper()
    text = "".join("\ufffd" if category(char) == "Cc" else char for char in alone(nfc(piece)).strip())
    if not text:
        return SPACE
    return text if cells(text) else f"◌{text}"


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
    for shown, group in groups:
        spans = [tokens[i]["span"] for i in group if tokens[i]["span"] is not None]
        if spans:
            begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
            space = len(text[begin:end]) - len(text[begin:end].lstrip())
            found.append(Unit(shown, tuple(group), (begin + space, end)))
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


def is_picture(source: Source) -> bool:
    """Whether these ids are patches."""
    return bool(source) and isinstance(source[0], bytes)


def ended(source: Source) -> tuple[Any, ...]:
    """What the encoder reads: a text with its end, a picture as it is."""
    return tuple(source if is_picture(source) else closed(source))  # type: ignore[arg-type]


def endless(source: Source) -> Source:
    """What was read without an end that is its last token; where it had none, that is said."""
    if is_picture(source) or not source:
        return source
    if EOS not in source:
        return (*source, NO_END)
    return source[:-1] if source[-1] == EOS else source


def source_side(tokenizers: Tokenizers, ids: Source, text: str, lang: str, *, end: bool) -> dict[str, Any]:
    """The `source` object of a trace: of a text as `side_of` makes it, of a picture its patches.

    The text of a picture is the picture itself as a data URL, which the model reads as the same patches; its
    `image` says how they lie.
    """
    reader = tokenizers.pictures
    if reader is None:
        return side_of(tokenizers.text_source, list(ids), text, lang, end=end)  # type: ignore[arg-type]
    url = reader.decode(ids)  # type: ignore[arg-type]
    names = list(enumerate(reader.pieces(ids)))
    return {
        "text": url,
        "lang": lang,
        "dir": "ltr",
        "tokens": [
            {"i": i, "id": i, "text": name, "piece": name, "type": "patch", "span": None, "word": i}
            for i, name in names
        ],
        "words": [{"i": i, "text": name, "tokens": [i]} for i, name in names],
        "image": {"url": url, "rows": reader.columns, "columns": reader.columns},
    }


def source_ids_of(tokenizers: Tokenizers | None, side: Mapping[str, Any]) -> list[Any]:
    """The ids of the source of a trace, without an end: those of a picture are read from it again."""
    if "image" not in side:
        return list(endless([token["id"] for token in side["tokens"]]))
    return [] if tokenizers is None else list(tokenizers.source.encode(side["text"]))


def hidden(source: Sequence[bytes]) -> bytes:
    """A patch of the picture's mean colour: what stands for one that nobody may see."""
    colours = np.frombuffer(b"".join(source), dtype=np.uint8).reshape(-1, 3)
    mean: bytes = colours.mean(axis=0).round().astype(np.uint8).tobytes()
    return mean * (len(source[0]) // 3)


def is_special(token: Mapping[str, Any]) -> bool:
    """Whether a token stands for no part of the source or the target, such as the end."""
    return token["span"] is None and token["type"] != "patch"
