"""The file of a tokenizer: everything in it besides the tokens is fixed, and checked when it is read."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from jumok.text.specials import BYTES, FIRST, SPECIALS

# A token never crosses from letters to digits or signs, so that none can spell "</s>" or "<0xEA>".
WORDS = r" ?\p{L}[\p{L}\p{M}]*| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+"
SYMBOLS = r" ?\S+"  # what white space separates is one token, or bytes

MAX_FILE = 32 << 20

Kind = Literal["bpe", "char", "word", "foreign"]
"""How texts are cut; foreign: as the program that made the model does it."""
KINDS: tuple[Kind, ...] = ("bpe", "char", "word")  # of our own files
JAMO = {"jamo": True}  # in a file whose Korean syllables are letters; the library does not know of it
Merges = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class TokenizerForm:
    """All that differs from file to file."""

    learned: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    kind: Kind
    jamo: bool = False
    """Korean syllables are letters."""
    tags: tuple[str, ...] = ()
    """Tokens that no text has, such as those of languages; the last of the vocabulary."""

    @property
    def pieces(self) -> tuple[str, ...]:
        """Every token, in the order of ids."""
        return (*SPECIALS, *BYTES, *self.learned, *self.tags)

    def library_bytes(self) -> bytes:
        """What the library reads."""
        return to_json(self._content())

    def to_bytes(self) -> bytes:
        """The file."""
        return to_json(self._content() | JAMO if self.jamo else self._content())

    def _content(self) -> dict[str, Any]:
        vocabulary = {piece: i for i, piece in enumerate(self.pieces)}
        return _form(vocabulary, [list(one) for one in self.merges], self.kind, self.tags)


def parse_form(data: bytes) -> TokenizerForm:
    """The content of a file that has our exact form; ValueError for any other."""
    _require(len(data) <= MAX_FILE, f"larger than {MAX_FILE >> 20} MiB")
    document = json.loads(data.decode("utf-8"))
    _require(isinstance(document, dict), "not a JSON object")
    model = document.get("model")
    _require(isinstance(model, dict), "no model")
    vocabulary, merges = model.get("vocab"), model.get("merges")
    _require(isinstance(vocabulary, dict), "no vocabulary")
    _require(all(type(i) is int for i in vocabulary.values()), "an id is not a number")
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    _require(
        [vocabulary[piece] for piece in pieces] == list(range(len(pieces))), "ids are missing or doubled"
    )
    _require(tuple(pieces[:FIRST]) == SPECIALS + BYTES, "special and byte tokens are not where they belong")
    _require("" not in vocabulary, "a token is empty")
    for piece in pieces:
        piece.encode("utf-8")
    _require(isinstance(merges, list), "no merges")
    tags = _tags(document.get("added_tokens"), pieces)
    for merge in merges:
        _check_merge(merge, vocabulary, len(pieces) - len(tags))
    jamo = "jamo" in document
    _require(not jamo or document.pop("jamo") is True, "a setting differs")
    kind = next((kind for kind in KINDS if document == _form(vocabulary, merges, kind, tags)), None)
    if kind is None:
        raise ValueError("a setting differs")
    learned = tuple(pieces[FIRST : len(pieces) - len(tags)])
    return TokenizerForm(learned, tuple((left, right) for left, right in merges), kind, jamo, tags)


def _tags(added: object, pieces: list[str]) -> tuple[str, ...]:
    """The tokens that the file adds besides the special ones; its form says that they are the last."""
    _require(isinstance(added, list) and len(added) >= len(SPECIALS), "a setting differs")
    assert isinstance(added, list)
    count = len(added) - len(SPECIALS)
    _require(count <= len(pieces) - FIRST, "more tokens are added than there are")
    return tuple(pieces[len(pieces) - count :])


def _check_merge(merge: object, vocabulary: dict[str, int], end: int) -> None:
    _require(isinstance(merge, list) and len(merge) == 2, "a merge is not a pair")
    assert isinstance(merge, list)
    _require(all(isinstance(part, str) for part in merge), "a merge is not a pair of tokens")
    made = (merge[0], merge[1], merge[0] + merge[1])
    _require(all(FIRST <= vocabulary.get(part, 0) < end for part in made), f"no tokens for the merge {merge}")


def _require(holds: bool, complaint: str) -> None:  # noqa: FBT001
    if not holds:
        raise ValueError(complaint)


def to_json(form: dict[str, Any]) -> bytes:
    """JSON without spaces."""
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def _form(
    vocabulary: dict[str, int], merges: list[list[str]], kind: Kind, tags: tuple[str, ...]
) -> dict[str, Any]:
    """The file's content, but for `JAMO`: everything besides the tokens is fixed by the kind.

    Words carry their leading space; the first one gets one too, and loses it when decoded.
    """
    words, pattern = kind != "char", WORDS if kind == "bpe" else SYMBOLS
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    decoders: list[dict[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}, *([strip] if words else [])]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": i,
                "content": piece,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for i, piece in (*enumerate(SPECIALS), *enumerate(tags, len(vocabulary) - len(tags)))
        ],
        "normalizer": {"type": "Prepend", "prepend": " "} if words else None,
        "pre_tokenizer": split if words else None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": True,
            "ignore_merges": kind == "word",
            "vocab": vocabulary,
            "merges": merges,
        },
    }
