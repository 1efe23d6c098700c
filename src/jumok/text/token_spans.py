"""Which characters of a text each of its tokens writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from unicodedata import combining

from jumok.text.normalize import nfc
from jumok.text.tokenizer import BYTES, SPECIALS, Tokenizer

BYTE_OF = {piece: byte for byte, piece in enumerate(BYTES)}


def token_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, int]]:
    """From and to which character of `tokenizer.decode(ids)` each token goes; an end has an empty span.

    The bytes of one character share its span, and the letters of a Korean syllable that of the syllable. A
    space before a word belongs to the word's first token.
    """
    pieces = tokenizer.pieces(ids)
    parts = list(spell(ids, pieces))
    ranges, written = laid_out(parts, jamo=tokenizer.jamo)
    shift = -1 if written.startswith(" ") and tokenizer.kind != "char" else 0  # the first word's is not there
    spans = [(-1, -1)] * len(pieces)
    for part, (begin, end) in zip(parts, ranges, strict=True):
        for token in part.tokens:
            spans[token] = max(begin + shift, 0), end + shift
    last = 0
    for token, span in enumerate(spans):
        spans[token] = (last, last) if span == (-1, -1) else span
        last = spans[token][1]
    return spans


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
