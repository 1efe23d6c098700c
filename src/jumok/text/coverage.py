"""How much of a text a vocabulary does not cover: what becomes bytes, or unknown."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from jumok.text.source import SourceTokenizer
from jumok.text.tokenizer import UNK

BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
SHOWN = 6  # characters to name


@dataclass(frozen=True)
class Coverage:
    """Tokens of a text, those of them that are bytes or unknown, and the characters that are most often."""

    tokens: int
    lost: int
    characters: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        return self.lost / self.tokens if self.tokens else 0.0

    def __str__(self) -> str:
        which = f": {' '.join(self.characters)}" if self.characters else ""
        return f"{self.share:.1%} of its tokens are bytes or unknown{which}"


def coverage(tokenizer: SourceTokenizer, texts: Sequence[str]) -> Coverage:
    """What becomes of these texts; any tokenizer that spells bytes as <0xEA> can be asked."""
    lists = tokenizer.encode_many(texts)
    pieces = tokenizer.pieces(range(tokenizer.size))
    bytes_by_id = {
        id: int(match[1], 16) for id, piece in enumerate(pieces) if (match := BYTE.fullmatch(piece))
    }
    characters: Counter[str] = Counter()
    lost = 0
    for ids in lists:
        for kind, run in groupby(ids, key=lambda id: id in bytes_by_id):
            if not kind:
                lost += sum(id == UNK for id in run)
                continue
            found = bytes(bytes_by_id[id] for id in run)
            lost += len(found)
            characters.update(found.decode("utf-8", "ignore"))
    ranked = sorted(characters, key=lambda one: (-characters[one], one))
    return Coverage(sum(map(len, lists)), lost, tuple(ranked[:SHOWN]))
