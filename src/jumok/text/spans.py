"""Where tokens stand in a text: the characters that each writes, and those of the text as it was given.

A tokenizer reads a text that was tidied; a link or a mark speaks of the text that someone gave.
"""

import re
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from unicodedata import combining, is_normalized

from jumok.text.normalize import nfc, tidy
from jumok.text.tokenizer import BYTES, SPECIALS, Tokenizer

Span = tuple[int, int]
BYTE_OF = {piece: byte for byte, piece in enumerate(BYTES)}
SEVERAL = re.compile(r"(?:<0x[0-9A-F]{2}>)+")


def piece_bytes(piece: str) -> bytes | None:
    """The bytes that a piece stands for by name, such as "<0xEA>"; None of a piece that is text.

    In vocabularies of other programs one piece may be several bytes that are no character yet.
    """
    if piece in BYTE_OF:
        return bytes([BYTE_OF[piece]])
    if not piece.startswith("<0x") or not SEVERAL.fullmatch(piece):
        return None
    return bytes(BYTE_OF[piece[at : at + 6]] for at in range(0, len(piece), 6))


@dataclass(frozen=True)
class TextPart:
    """Tokens that write one stretch of text together: a piece, or the bytes of a character."""

    tokens: tuple[int, ...]
    text: str
    data: bytes = b""  # of byte pieces


def spell(ids: Sequence[int], pieces: Sequence[str], tags: Container[int] = ()) -> Iterator[TextPart]:
    """What each token writes, as decoding does it: a run of bytes that is no text becomes U+FFFDs.

    Special tokens and those of `tags` write nothing.
    """
    run: list[int] = []
    for i, piece in enumerate(pieces):
        if piece_bytes(piece) is not None:
            run.append(i)
        elif ids[i] >= len(SPECIALS) and ids[i] not in tags:
            yield from _characters(run, pieces)
            run = []
            yield TextPart((i,), piece)
    yield from _characters(run, pieces)


def _characters(run: Sequence[int], pieces: Sequence[str]) -> Iterator[TextPart]:
    """The shortest stretches of a run of bytes that are text; where it is none as a whole, every token."""
    parts = [piece_bytes(pieces[i]) or b"" for i in run]
    try:
        b"".join(parts).decode()
    except UnicodeDecodeError:
        yield from (TextPart((i,), "\ufffd", data) for i, data in zip(run, parts, strict=True))
        return
    first, data = 0, b""
    for n, part in enumerate(parts):
        data += part
        with suppress(UnicodeDecodeError):
            yield TextPart(tuple(run[first : n + 1]), data.decode(), data)
            first, data = n + 1, b""


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


def token_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Span]:
    """The characters of `tokenizer.decode(ids)` that each token writes, without a space before them.

    The bytes of one character share its span. A special token, and one that writes nothing, has an empty one.
    """
    pieces = tokenizer.pieces(ids)
    if not tokenizer.jamo and not any(piece.startswith("<0x") for piece in pieces):
        return _plain_spans(tokenizer, ids, pieces)
    parts = list(spell(ids, pieces, tokenizer.tags))
    ranges, written = laid_out(parts, jamo=tokenizer.jamo)
    dropped = int(tokenizer.kind != "char" and written[:1] == " ")  # the space before the first word
    spans: list[Span] = []
    for part, (begin, end) in zip(parts, ranges, strict=True):
        space = int(end - begin > 1 and written[begin] == " ")
        span = max(begin + space - dropped, 0), end - dropped
        for token in part.tokens:
            spans += [(span[0], span[0])] * (token - len(spans))  # special ones before it
            spans.append(span)
    end = len(written) - dropped
    return spans + [(end, end)] * (len(ids) - len(spans))


def _plain_spans(tokenizer: Tokenizer, ids: Sequence[int], pieces: Sequence[str]) -> list[Span]:
    """`token_spans` of tokens none of which is a byte or a letter of a syllable: each writes its piece."""
    spans, place, drop = list[Span](), 0, tokenizer.kind != "char"
    for token, piece in zip(ids, pieces, strict=True):
        if token < len(SPECIALS) or token in tokenizer.tags or not piece:
            spans.append((place, place))
            continue
        if drop and piece[0] == " ":  # the space before the first word is not written
            piece = piece[1:]  # noqa: PLW2901
        drop, end = False, place + len(piece)
        spans.append((place + (end - place > 1 and piece[0] == " "), end))
        place = end
    return spans


def source_spans(tokenizer: Tokenizer, text: str) -> list[Span]:
    """The characters of a text, as it was given, that each of its tokens stands for."""
    tidied = tidy(text)
    spans = tokenizer.offsets(tidied)
    if spans is None:
        spans = token_spans(tokenizer, tokenizer.encode(tidied))
    if tidied == text:
        return spans
    _, places = tidy_places(text)
    return [place_of(span, places) for span in spans]


def place_of(span: Span, places: Sequence[Span]) -> Span:
    """The given characters of a span of tidied ones."""
    begin, end = span
    if not places:
        return 0, 0
    if begin >= end:
        place = places[begin][0] if begin < len(places) else places[-1][1]
        return place, place
    return places[begin][0], places[end - 1][1]


def tidy_places(text: str) -> tuple[str, list[Span]]:
    """`tidy(text)`, and for each of its characters those of the given text that it stands for."""
    if is_normalized("NFC", text):
        characters = [(character, (n, n + 1)) for n, character in enumerate(text)]
    else:
        characters = [(one, span) for part, span in composed(text) for one in part]
    written, places = list[str](), list[Span]()
    for character, (begin, end) in characters:
        if not character.isspace():
            written.append(character)
            places.append((begin, end))
        elif written and written[-1] == " ":
            places[-1] = places[-1][0], end
        elif written:
            written.append(" ")
            places.append((begin, end))
    if written and written[-1] == " ":
        written.pop(), places.pop()
    return "".join(written), places


def composed(text: str) -> list[tuple[str, Span]]:
    """The parts of a text that NFC composes by themselves: each in NFC, and where it stands in the text."""
    edges = [n for n, character in enumerate(text) if n == 0 or not combining(character)]
    found: list[tuple[str, Span]] = []
    for begin, end in pairwise([*edges, len(text)]):
        part = nfc(text[begin:end])
        if found:
            before, (first, _) = found[-1]
            joined = nfc(text[first:end])
            if joined != before + part:  # such as the letters of a Korean syllable
                found[-1] = joined, (first, end)
                continue
        found.append((part, (begin, end)))
    return found
