"""Who cuts a text into the pieces of another program: SentencePiece itself, or the library `tokenizers`.

SentencePiece is asked for its own models. The library reads them too, but of 10,000 lines in six languages it
cuts a few differently (benchmarks/README.md): it adds scores in float64, and loses characters whose
neighbours are normalised.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import tokenizers

from jumok.errors import ConfigError
from jumok.text.foreign_form import TextCut
from jumok.text.specials import UNK


class Cutter(Protocol):
    """Cuts texts into pieces."""

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's pieces."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The characters of the text that each of its pieces stands for."""
        ...


def make_cutter(cut: TextCut, ids: Mapping[str, int]) -> Cutter:
    """Cuts as it says; `ids` are those of the pieces by their names, and what has none is unknown."""
    return (
        SentencePieceCutter(cut.sentencepiece, ids) if cut.sentencepiece else LibraryCutter(cut.library, ids)
    )


class SentencePieceCutter:
    """Cuts with the library `sentencepiece`."""

    def __init__(self, model: bytes, ids: Mapping[str, int]) -> None:
        try:
            import sentencepiece
        except ImportError:
            raise ConfigError(
                "this model cuts its texts with SentencePiece, which is not installed",
                hint="pip install 'jumok[import]'",
                code="not_installed",
            ) from None
        try:
            self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(f"SentencePiece cannot read its model: {str(error)[:120]}") from None
        self._ids = ids

    @property
    def pieces(self) -> list[str]:
        """All pieces of the model, in its order."""
        return [self._processor.id_to_piece(i) for i in range(len(self._processor))]

    @property
    def controls(self) -> set[str]:
        """Pieces that no text has."""
        of = self._processor
        return {of.id_to_piece(i) for i in range(len(of)) if of.is_control(i) or of.is_unused(i)}

    @property
    def unknown(self) -> str:
        """The piece for what the model does not know."""
        number = self._processor.unk_id()
        return str(self._processor.id_to_piece(number)) if number >= 0 else "<unk>"

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        # By name: what one side's model does not know may be a piece of the other side.
        ids = self._ids
        many: list[list[str]] = self._processor.encode(list(texts), out_type=str)
        return [[ids.get(piece, UNK) for piece in one] for one in many]

    def spans(self, text: str) -> list[tuple[int, int]]:
        written, places = self._processor.normalize(text, with_offsets=True)
        found: list[tuple[int, int]] = []
        at, left = 0, 0  # bytes that a character still has
        for piece in self._processor.encode(text, out_type=str):
            length = len(piece)
            if not written.startswith(piece, at):  # one byte of a character
                left = left or len(written[at : at + 1].encode())
                left -= 1
                found.append((places[at], self._behind(places, at, at + 1)))
                at += not left
                continue
            found.append((places[at], self._behind(places, at, at + length)))
            at += length
        return found

    @staticmethod
    def _behind(places: Sequence[int], begin: int, end: int) -> int:
        """Where the characters end that these of the normalised text come from: one of them at least."""
        return next((place for place in places[end:] if place > places[begin]), places[begin])


class LibraryCutter:
    """Cuts with the library `tokenizers`."""

    def __init__(self, parts: str, ids: Mapping[str, int]) -> None:
        around: dict[str, Any] = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "post_processor": None,
            "decoder": None,
        }
        self._library = tokenizers.Tokenizer.from_str(json.dumps(around | json.loads(parts)))
        self._library.encode_special_tokens = True
        vocabulary = self._library.get_vocab(with_added_tokens=False)
        self._ids = [UNK] * (max(vocabulary.values(), default=-1) + 1)
        for name, i in vocabulary.items():
            self._ids[i] = ids.get(name, UNK)

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        ids, many = self._ids, self._library.encode_batch_fast(list(texts), add_special_tokens=False)
        return [[ids[i] for i in one.ids] for one in many]

    def spans(self, text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = self._library.encode(text, add_special_tokens=False).offsets
        return offsets
