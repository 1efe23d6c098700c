"""A translation memory: what has been translated before, found again exactly or nearly."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jumok.data.corpus import Corpus, open_corpus
from jumok.data.headers import language_of
from jumok.errors import ConfigError, DataError
from jumok.terms.similar import NgramIndex, similarity
from jumok.text.normalize import tidy

THRESHOLD = 0.7
"""How similar a source must be to be shown."""
LONGEST = 2_000  # characters of a text that is compared with others


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """An entry of a memory, and how similar its source is to the text: 1.0 is the same text."""

    source: str
    target: str
    score: float


class TranslationMemory:
    """Sources and their translations, tidied; nothing in it changes, so that threads may share it.

    Where a source is there twice, the last translation counts: a correction follows what it corrects.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], *, threshold: float = THRESHOLD) -> None:
        if not 0 < threshold <= 1:
            raise ConfigError(f"threshold={threshold} cannot work", hint="choose above 0, and at most 1")
        self.threshold = threshold
        tidied = ((tidy(source), tidy(target)) for source, target in pairs)
        self.targets = {source: target for source, target in tidied if source and target}

    def __len__(self) -> int:
        return len(self.targets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} entries)"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all entries."""
        entries = json.dumps([self.threshold, *sorted(self.targets.items())], ensure_ascii=False)
        return hashlib.sha256(entries.encode()).hexdigest()

    def exact(self, text: str) -> MemoryMatch | None:
        """The entry for this very text; white space and Unicode's spellings aside, every character counts."""
        source = tidy(text)
        target = self.targets.get(source)
        return None if target is None else MemoryMatch(source, target, 1.0)

    def matches(self, text: str, most: int = 3) -> list[MemoryMatch]:
        """The entries with the most similar sources, best first; capitals make no difference here."""
        source = tidy(text)
        if not source or len(source) > LONGEST:
            return []
        found, plain = list[MemoryMatch](), source.casefold()
        for place in self.index.candidates(plain, self.threshold).tolist():
            other = self.sources[place]
            score = similarity(plain, other.casefold())
            if other != source and score == 1:  # only capitals differ
                score = 1 - 1 / (len(plain) + 1)
            if score >= self.threshold:
                found.append(MemoryMatch(other, self.targets[other], round(score, 4)))
        return sorted(found, key=lambda match: -match.score)[:most]

    @cached_property
    def sources(self) -> list[str]:
        return [source for source in self.targets if len(source) <= LONGEST]

    @cached_property
    def index(self) -> NgramIndex:
        """Made when the first similar text is looked for."""
        return NgramIndex([source.casefold() for source in self.sources])


def read_memory(
    path: str | Path, languages: tuple[str, str] = ("", ""), *, threshold: float = THRESHOLD
) -> TranslationMemory:
    """The memory in a file of any form that a corpus may have: TMX, TSV, PO, XLIFF and so on.

    `languages` are those of the model: a file that names its languages is read in that direction. DataError:
    it is about other languages, or has no entries.
    """
    corpus = _open(str(path), languages)
    memory = TranslationMemory(_pairs(corpus), threshold=threshold)
    if not memory:
        raise DataError(
            "the memory has no entries", where=str(path), hint="give a file with pairs", code="empty"
        )
    return memory


def _pairs(corpus: Corpus) -> Iterator[tuple[str, str]]:
    return ((row.texts[0], row.texts[1]) for row in corpus.rows() if len(row.texts) > 1)


def _open(path: str, languages: tuple[str, str]) -> Corpus:
    languages = language_of(languages[0]) or languages[0], language_of(languages[1]) or languages[1]
    if all(languages):
        try:
            corpus = open_corpus(path, columns=",".join(languages))
            if corpus.form.languages == languages or not any(corpus.form.languages):
                return corpus
        except ConfigError as error:
            if error.code != "bad_columns":
                raise
    corpus = open_corpus(path)
    told = corpus.form.languages
    if all(told) and all(languages) and told != languages:
        raise DataError(
            f"the memory is from {told[0]} to {told[1]}, and the model from {languages[0]} to {languages[1]}",
            where=path,
            hint="give a memory of the model's languages",
            code="other_language",
        )
    return corpus
