"""What a model reads, as tokens: text through a tokenizer, or a picture through its patches."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class SourceTokenizer(Protocol):
    """A source to ids and back. Ids of text are numbers, ids of patches their bytes."""

    @property
    def size(self) -> int:
        """Tokens of the vocabulary; 0 where there is none."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes when an id can change."""
        ...

    def encode(self, text: str) -> Sequence[Any]:
        """The ids of a source, without special ids."""
        ...

    def encode_many(self, texts: Iterable[str]) -> Sequence[Sequence[Any]]:
        """`encode` of each text."""
        ...

    def decode(self, ids: Iterable[Any]) -> str:
        """A source that has these ids."""
        ...

    def decode_many(self, many: Iterable[Iterable[Any]]) -> list[str]:
        """`decode` of each list of ids."""
        ...

    def pieces(self, ids: Sequence[Any]) -> list[str]:
        """One string per id to show to people."""
        ...

    def to_bytes(self) -> bytes:
        """The tokenizer as a file."""
        ...
