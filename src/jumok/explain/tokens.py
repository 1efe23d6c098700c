"""One side of a translation for people: its tokens with their places in the text, its words and its units.

A source may be a picture: its tokens are patches, named by row and column, without an end. Units are what a
question is asked about, words or tokens, never the special tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal
from unicodedata import bidirectional, category, combining, name

import numpy as np

from jumok.decoding.jobs import Source
from jumok.explain.heatmap import cells
from jumok.text.jamo import alone
from jumok.text.normalize import nfc
from jumok.text.tokenizer import BOS, BYTES, EOS, PAD, SPECIALS, UNK, Tokenizer, Tokenizers

BYTE_OF = {piece: byte for byte, piece in enumerate(BYTES)}
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # scripts without spaces
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
    whole = [*([BOS] if start else []), *ids, *([EOS] if end else [])]
    pieces = tokenizer.pieces(whole)
    parts = list(spell(whole, pieces))
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
            "type": type_of(id, piece),
            "span": None,
            "word": word_of[i],
        }
        | places.get(i, {})
        for i, (id, piece) in enumerate(zip(whole, pieces, strict=True))
    ]
    words = [
        {"i": word, "text": text_of([pieces[i] for i in group]) or SPACE, "tokens": group}
        | ({"type": "special"} if whole[group[0]] < len(SPECIALS) else {})
        for word, group in enumerate(groups)
    ]
    return {"text": text, "lang": lang, "dir": direction(text), "tokens": tokens, "words": words}


@dataclass(frozen=True)
class TextPart:
    """Tokens that write one stretch of text together: a piece, or the bytes of a character."""

    tokens: tuple[int, ...]
    text: str
    data: bytes = b""  # of byte pieces


def spell(ids: Sequence[int], pieces: Sequence[str]) -> Iterator[TextPart]:
    """What each token writes, as decoding does it: a run of bytes that is no text becomes U+FFFDs."""
    run: list[int] = []
    for i, piece in enumerate(pieces):
        if piece in BYTE_OF:
            run.append(i)
        elif ids[i] >= len(SPECIALS):
            yield from _characters(run, pieces)
            run = []
            yield TextPart((i,), piece)
    yield from _characters(run, pieces)


def _characters(run: Sequence[int], pieces: Sequence[str]) -> Iterator[TextPart]:
    data = bytes(BYTE_OF[pieces[i]] for i in run)
    try:
        characters = data.decode()
    except UnicodeDecodeError:
        yield from (TextPart((i,), "\ufffd", data[n : n + 1]) for n, i in enumerate(run))
        return
    at = 0
    for character in characters:
        spelt = character.encode()
        yield TextPart(tuple(run[at : at + len(spelt)]), character, spelt)
        at += len(spelt)


def laid_out(parts: Sequence[TextPart], *, jamo: bool) -> tuple[list[tuple[int, int]], str]:
    """The range of each part in the text that all of them write, and the text.

    Where letters become syllables, parts that share one have the range of all they write.
    """
    runs = letter_runs(parts) if jamo else [[part] for part in parts]
    texts = ["".join(part.text for part in run) for run in runs]
    texts = list(map(nfc, texts)) if jamo else texts
    ranges = pairwise(accumulate(map(len, texts), initial=0))
    return [one for run, one in zip(runs, ranges, strict=True) for _ in run], "".join(texts)


def letter_runs(parts: Sequence[TextPart]) -> list[list[TextPart]]:
    """Parts that write Korean letters, in runs: inside one, letters of two parts become a syllable."""
    runs: list[list[TextPart]] = []
    text = ""
    for part in parts:
        joined = nfc(text + part.text)
        if runs and (combining(part.text[0]) or joined != text + nfc(part.text)):
            runs[-1].append(part)
            text = joined
        else:
            runs.append([part])
            text = nfc(part.text)
    return runs


def _places(parts: Sequence[TextPart], spans: Sequence[list[int]]) -> dict[int, dict[str, Any]]:
    """The span of each token that has one; for a byte also its value, its group and the group's text."""
    places: dict[int, dict[str, Any]] = {}
    groups = 0
    for part, span in zip(parts, spans, strict=True):
        for token, byte in zip(part.tokens, part.data or (None,), strict=True):
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
    return "byte" if piece in BYTE_OF else "normal"


def direction(text: str) -> Literal["ltr", "rtl"]:
    """Which way a text runs: as its first character that has a direction of its own."""
    strong = (bidirectional(char) for char in text)
    return "rtl" if next((d for d in strong if d in ("L", "R", "AL")), "L") in ("R", "AL") else "ltr"


def label(piece: str) -> str:
    """What to show for a piece: no leading space, `␣` for a space alone, two hex digits for a byte."""
    if piece in BYTE_OF:
        return f"{BYTE_OF[piece]:02X}"
    text = "".join("\ufffd" if category(char) == "Cc" else char for char in alone(nfc(piece)).strip())
    if not text:
        return SPACE
    return text if cells(text) else f"◌{text}"


def text_of(pieces: Sequence[str]) -> str:
    """The text of pieces side by side, without spaces around it; bytes become the characters they spell."""
    data = b"".join(bytes([BYTE_OF[p]]) if p in BYTE_OF else p.encode() for p in pieces)
    return nfc(data.decode(errors="replace")).strip()


def word_groups(pieces: Sequence[str]) -> list[list[int]]:
    """Indices of the pieces of each word; every piece is in exactly one.

    A word begins at a space, which belongs to it, and wherever letters and digits meet anything else. Signs,
    and pieces of scripts that write no spaces, stand alone.
    """
    groups: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if i and not starts_word(pieces[i - 1], piece):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def starts_word(before: str, piece: str) -> bool:
    """Whether a word begins at `piece`, which follows the piece `before`."""
    if before in SPECIALS or piece in SPECIALS:
        return True
    if piece in BYTE_OF and 0x80 <= BYTE_OF[piece] < 0xC0:
        return False  # inside a character
    if piece[0].isspace():
        return True
    if before.isspace() or category(piece[0]).startswith("M"):
        return False
    left, right = (side in BYTE_OF or joins(char) for side, char in ((before, before[-1]), (piece, piece[0])))
    return not (left and right)


def joins(char: str) -> bool:
    """Letters, marks and digits of scripts that separate words by spaces."""
    return category(char)[0] in "LMN" and not name(char, "").startswith(UNSPACED)


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
    return tuple(source) if is_picture(source) else (*source, EOS)


def endless(source: Source) -> Source:
    """What was read without its end."""
    return source if is_picture(source) else source[:-1]


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
        return [token["id"] for token in side["tokens"]][:-1]
    return [] if tokenizers is None else list(tokenizers.source.encode(side["text"]))


def hidden(source: Sequence[bytes]) -> bytes:
    """A patch of the picture's mean colour: what stands for one that nobody may see."""
    colours = np.frombuffer(b"".join(source), dtype=np.uint8).reshape(-1, 3)
    mean: bytes = colours.mean(axis=0).round().astype(np.uint8).tobytes()
    return mean * (len(source[0]) // 3)


def is_special(token: Mapping[str, Any]) -> bool:
    """Whether a token stands for no part of the source or the target, such as the end."""
    return token["span"] is None and token["type"] != "patch"
