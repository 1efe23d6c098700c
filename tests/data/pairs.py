"""A corpus without files."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from jumok.data.corpus import Corpus, CorpusRow

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class PairsCorpus(Corpus):
    """Pairs that are in memory already."""

    source: str = "train.src"
    target: str = "train.tgt"
    lines: Pairs = field(default_factory=list)

    def rows(self, *, strict: bool = True) -> Iterator[CorpusRow]:
        return (CorpusRow(number, pair) for number, pair in enumerate(self.lines, start=1))
