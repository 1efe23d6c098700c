"""A tokenizer that another program made, behind the contract of ours.

Ids: our four special tokens, 256 byte tokens (rows that nothing uses, where the vocabulary has none), its
pieces, its tags. What it cannot write is unknown to it, and stays so: it is another program's model.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from jumok.text.cutters import make_cutter
from jumok.text.foreign_form import ForeignForm, shown, spelled, token_names
from jumok.text.marks import MARKS
from jumok.text.normalize import nfc
from jumok.text.spans import spell
from jumok.text.specials import BYTES, FIRST, FIRST_BYTE, SPECIALS, UNK
from jumok.text.tokenizer import Tokenizer

Side = Literal["source", "target"]


class ForeignTokenizer(Tokenizer):
    """Text to ids and back, as another program does it."""

    def __init__(self, form: ForeignForm, side: Side = "source") -> None:
        self.foreign, self.side = form, side
        self.merges, self.kind, self.jamo = (), "foreign", False
        self._bytes = form.to_bytes()
        self.fingerprint = hashlib.sha256(self._bytes).hexdigest()
        written = [spelled(piece, form.spelling) for piece in form.pieces]
        self._spellings = (
            *(b"" for _ in SPECIALS),
            *(bytes([byte]) for byte in range(256)),
            *written,
            *(b"" for _ in form.tags),
        )
        names = [shown(data, piece) for data, piece in zip(written, form.pieces, strict=True)]
        self._pieces = (*SPECIALS, *BYTES, *names, *form.tags)
        self.size = len(self._pieces)
        self.tags = range(self.size - len(form.tags), self.size)
        self._names = token_names(form)
        known = {name: i for name, i in self._names.items() if FIRST_BYTE <= i < self.tags.start}
        self._cutter = make_cutter(form.cuts[-1 if side == "target" else 0], known)

    def sides(self) -> tuple[Tokenizer, Tokenizer]:
        if len(self.foreign.cuts) == 1:
            return self, self
        other: Side = "target" if self.side == "source" else "source"
        both = {self.side: self, other: ForeignTokenizer(self.foreign, other)}
        return both["source"], both["target"]

    def encode_many(self, texts: Iterable[str]) -> list[list[int]]:
        return self.encode_tidied(map(nfc, texts))

    def encode_tidied(self, texts: Iterable[str]) -> list[list[int]]:
        return self._cutter.cut(list(texts))

    def decode_many(self, many: Iterable[Iterable[int]]) -> list[str]:
        """`decode` of each list; the space before the first word goes."""
        return [self._text(list(ids)) for ids in many]

    def _text(self, ids: list[int]) -> str:
        try:
            text = b"".join(self._spellings[i] for i in ids).decode()
        except UnicodeDecodeError:
            plain = [i for i in ids if i < self.tags.start]
            text = "".join(part.text for part in spell(plain, self.pieces(plain)))
        return text.removeprefix(" ")

    def spell(self, text: str) -> str:
        """`text` as its pieces write it: normalised, if all of it is known."""
        ids = self.encode(text)
        return nfc(text) if UNK in ids else self.decode(ids)

    def split(self, text: str) -> list[str]:
        return [text]

    def spellings(self) -> list[bytes]:
        return list(self._spellings)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters of a text in NFC that each token stands for, without a space before them."""
        spans = self._cutter.spans(text)
        return [(begin + (text[begin:end][:1] == " " and end - begin > 1), end) for begin, end in spans]

    def token_id(self, name: str) -> int | None:
        return self._names.get(name)

    def with_tags(self, names: Sequence[str]) -> Tokenizer:
        return ForeignTokenizer(replace(self.foreign, tags=(*self.foreign.tags, *names)), self.side)

    @property
    def has_marks(self) -> bool:
        return all(self._names.get(mark, 0) >= FIRST for mark in MARKS)
