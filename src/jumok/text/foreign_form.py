"""The file of a tokenizer that another program made: its pieces in our order, and how it cuts a text.

    pieces     the tokens behind our special and byte tokens, as that program writes them
    tags       tokens that no text has: languages, masks, rows that nothing uses
    spelling   spaces: "▁" is a space; bytes: every character stands for one byte
    cuts       how a text becomes pieces: of both sides, or of the source and of the target

A cut is a SentencePiece model as it is, or the plain parts of a tokenizer.json. All of it is data.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any, Literal

from jumok.text.specials import BYTES, FIRST, SPECIALS
from jumok.text.tokenizer_form import SYMBOLS, WORDS

FORMAT = "jumok-pieces/1"
Spelling = Literal["spaces", "bytes"]
MOST_PIECES = 4 << 20

NORMALIZERS = {
    "Sequence",
    "Precompiled",
    "Replace",
    "Prepend",
    "Strip",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Nmt",
    "Lowercase",
    "StripAccents",
}
PRE_TOKENIZERS = {"Sequence", "Metaspace", "ByteLevel", "WhitespaceSplit", "Digits", "Punctuation", "Split"}
PATTERNS = {" {2,}", r"\n", r"[\s\x1c-\x1f]+", r"\s+", "^▁+", "▁+$", WORDS, SYMBOLS}
"""Regular expressions that a step may have: others could take for ever on some text."""
MODELS = {
    "Unigram": {"type", "unk_id", "vocab", "byte_fallback"},
    "BPE": {
        "type",
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
        "vocab",
        "merges",
    },
}


@dataclass(frozen=True, slots=True)
class TextCut:
    """How a text is cut: one of the two."""

    sentencepiece: bytes = b""
    """A model of SentencePiece."""
    library: str = ""
    """JSON with `normalizer`, `pre_tokenizer` and `model`, as in a tokenizer.json."""


@dataclass(frozen=True, slots=True)
class ForeignForm:
    """All that a tokenizer of another program is here."""

    pieces: tuple[str, ...]
    tags: tuple[str, ...]
    spelling: Spelling
    cuts: tuple[TextCut, ...]
    """One for both sides, or those of the source and of the target."""

    def to_bytes(self) -> bytes:
        """The file; `parse_foreign` reads it."""
        cuts = [
            {"sentencepiece": base64.b64encode(cut.sentencepiece).decode()}
            if cut.sentencepiece
            else {"library": json.loads(cut.library)}
            for cut in self.cuts
        ]
        said = {"format": FORMAT, "spelling": self.spelling, "pieces": self.pieces, "tags": self.tags}
        return json.dumps(said | {"cuts": cuts}, ensure_ascii=False, separators=(",", ":")).encode()


def is_foreign(data: bytes) -> bool:
    """Whether a file has the form of this module."""
    return data.startswith(b'{"format":"jumok-pieces/')


def parse_foreign(data: bytes) -> ForeignForm:
    """The content of such a file; ValueError for any other."""
    said = json.loads(data.decode("utf-8"))
    if said.get("format") != FORMAT or said.keys() != {"format", "spelling", "pieces", "tags", "cuts"}:
        raise ValueError("another format")
    pieces, tags, cuts = said["pieces"], said["tags"], said["cuts"]
    if said["spelling"] not in ("spaces", "bytes"):
        raise ValueError("a setting differs")
    if not all(isinstance(one, list) for one in (pieces, tags, cuts)) or len(cuts) not in (1, 2):
        raise ValueError("a list is missing")
    for piece in (*pieces, *tags):
        if not isinstance(piece, str) or not piece:
            raise ValueError("a token is no text")
        piece.encode("utf-8")
    if len(pieces) + len(tags) > MOST_PIECES or len(set(pieces)) < len(pieces):
        raise ValueError("a token occurs twice, or there are too many")
    return ForeignForm(tuple(pieces), tuple(tags), said["spelling"], tuple(map(_parse_cut, cuts)))


def _parse_cut(cut: Any) -> TextCut:
    match cut:
        case {"sentencepiece": str(text)}:
            return TextCut(sentencepiece=base64.b64decode(text, validate=True))
        case {"library": dict(parts)}:
            return TextCut(library=checked_library(parts))
    raise ValueError("it cuts in an unknown way")


def checked_library(parts: dict[str, Any]) -> str:
    """The parts of a tokenizer.json that cut a text, if each of them is known; ValueError otherwise."""
    model = parts.get("model")
    if parts.keys() != {"normalizer", "pre_tokenizer", "model"} or not isinstance(model, dict):
        raise ValueError("no model that cuts")
    kind = model.get("type")
    if kind not in MODELS or not model.keys() <= MODELS[str(kind)]:
        raise ValueError(f"a model of type {str(kind)[:40]!r}, and {' and '.join(MODELS)} are known")
    if model.get("dropout"):
        raise ValueError("its BPE has dropout")
    _check_part(parts["normalizer"], NORMALIZERS, "normalizers")
    _check_part(parts["pre_tokenizer"], PRE_TOKENIZERS, "pretokenizers")
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _check_part(part: Any, known: set[str], inner: str, depth: int = 0) -> None:
    """Refuse a step that is not known, or whose pattern is not."""
    if part is None:
        return
    if not isinstance(part, dict) or part.get("type") not in known or depth > 4:
        raise ValueError(f"a step of type {str(part)[:60]}")
    pattern = part.get("pattern")
    if isinstance(pattern, dict) and pattern.get("Regex", " {2,}") not in PATTERNS:
        raise ValueError(f"the pattern {str(pattern)[:60]}")
    for one in part.get(inner, []) if part["type"] == "Sequence" else []:
        _check_part(one, known, inner, depth + 1)


def spelled(piece: str, spelling: Spelling) -> bytes:
    """What a piece writes, in bytes."""
    if spelling == "spaces":
        return piece.replace("▁", " ").encode()
    return bytes(BYTE_OF_LETTER[letter] for letter in piece) if set(piece) <= BYTE_OF_LETTER.keys() else b""


def shown(data: bytes, piece: str) -> str:
    """A piece for people: its text, or its bytes by name where they are no text."""
    try:
        return data.decode() or piece
    except UnicodeDecodeError:
        return "".join(BYTES[byte] for byte in data)


def _byte_letters() -> dict[str, int]:
    """The letters of byte-level BPE (GPT-2): printable Latin-1 stands for itself, the rest from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


BYTE_OF_LETTER = _byte_letters()


def token_names(form: ForeignForm) -> dict[str, int]:
    """The id of each token by its name there; a tag goes before a special token of ours of the same name."""
    names = {piece: i for i, piece in enumerate(SPECIALS + BYTES)}
    names |= {piece: FIRST + i for i, piece in enumerate(form.pieces)}
    return names | {piece: FIRST + len(form.pieces) + i for i, piece in enumerate(form.tags)}
