"""The segments of one document in a table on disk: read in pages, translated in order, mended by people."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from jumok.decoding.results import WordDoubt
from jumok.documents.journal import parse_words, word_fields
from jumok.documents.report import Outcome, SegmentAnswer
from jumok.formats.segments import MarkedText, Segment, Tag

PAGE = 500  # rows that are read at a time
TABLE = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE segments (
    n INTEGER PRIMARY KEY, place TEXT NOT NULL, source TEXT NOT NULL, target TEXT, tags TEXT NOT NULL,
    outcome TEXT, doubts TEXT NOT NULL DEFAULT '[]', words TEXT NOT NULL DEFAULT '[]',
    edited INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX doubtful ON segments (n) WHERE doubts != '[]' OR words != '[]';
"""
COLUMNS = "n, place, source, target, tags, outcome, doubts, words, edited"


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment and what became of it so far."""

    n: int
    where: str
    source: str
    target: str | None
    """The translation: the model's, a person's, or the one that the document had already."""
    tags: tuple[Tag, ...]
    """Of the translation; of the source as long as there is none."""
    outcome: Outcome | None
    """None: its turn has not come."""
    doubts: tuple[str, ...]
    words: tuple[WordDoubt, ...]
    """The doubtful ones of the model's translation."""
    edited: bool
    """A person wrote the translation."""

    @property
    def marked(self) -> MarkedText:
        """What stands in the document now, with its tags."""
        return MarkedText(self.source if self.target is None else self.target, self.tags)

    @property
    def written(self) -> MarkedText | None:
        """What is written into the document; None leaves it as it was."""
        return self.marked if self.edited or self.outcome == "translated" else None


class SegmentRows:
    """The table of one document. Threads may share it."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._table = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._table.executescript(TABLE)

    def close(self) -> None:
        """Nothing is read or written after this."""
        with self._lock:
            self._table.close()

    def fill(self, segments: Iterable[Segment]) -> None:
        """Put the segments of a document into the table, in its order."""
        rows = (
            (
                n,
                one.where,
                one.source.text,
                one.target and one.target.text,
                tags_json(one.target or one.source),
            )
            for n, one in enumerate(segments)
        )
        while some := list(islice(rows, PAGE)):
            with self._lock, self._table:
                self._table.execute("BEGIN")
                self._table.executemany(
                    "INSERT INTO segments (n, place, source, target, tags) VALUES (?, ?, ?, ?, ?)", some
                )

    def answer(self, first: int, answers: Sequence[SegmentAnswer]) -> None:
        """What became of the segments from `first` on; what a person wrote meanwhile stays."""
        with self._lock, self._table:
            self._table.execute("BEGIN")
            for n, one in enumerate(answers, start=first):
                doubts = json.dumps(one.doubts, ensure_ascii=False)
                self._table.execute(
                    "UPDATE segments SET outcome = ?, doubts = ?, words = ? WHERE n = ?",
                    (one.outcome, doubts, json.dumps(word_fields(one.words)), n),
                )
                if one.target is not None:
                    self._table.execute(
                        "UPDATE segments SET target = ?, tags = ? WHERE n = ? AND NOT edited",
                        (one.target.text, tags_json(one.target), n),
                    )

    def edit(self, n: int, target: MarkedText) -> None:
        """A person's translation of one segment."""
        with self._lock:
            self._table.execute(
                "UPDATE segments SET target = ?, tags = ?, edited = 1 WHERE n = ?",
                (target.text, tags_json(target), n),
            )

    def count(self, *, doubtful: bool = False) -> int:
        """How many segments there are, or how many of them are doubtful."""
        return int(self._read("SELECT count(*) FROM segments" + DOUBTFUL[doubtful])[0][0])

    def characters(self) -> int:
        """Of all sources together."""
        return int(self._read("SELECT coalesce(sum(length(source)), 0) FROM segments")[0][0])

    def page(self, skip: int, count: int, *, doubtful: bool = False) -> list[SegmentRow]:
        """So many rows after the first `skip` ones, of all or of the doubtful ones."""
        if doubtful:
            query = f"SELECT {COLUMNS} FROM segments{DOUBTFUL[True]} ORDER BY n LIMIT ? OFFSET ?"
            return [make_row(*row) for row in self._read(query, count, skip)]
        query = f"SELECT {COLUMNS} FROM segments WHERE n >= ? ORDER BY n LIMIT ?"
        return [make_row(*row) for row in self._read(query, skip, count)]

    def written(self) -> Iterator[MarkedText | None]:
        """What is written in the place of each segment, in order, a page at a time in memory."""
        first = 0
        while rows := self.page(first, PAGE):
            yield from (row.written for row in rows)
            first += len(rows)

    def _read(self, query: str, *values: int) -> list[tuple[int, ...]]:
        with self._lock:
            return self._table.execute(query, values).fetchall()


DOUBTFUL = {False: "", True: " WHERE doubts != '[]' OR words != '[]'"}


def make_row(*columns: Any) -> SegmentRow:
    """A row as the table holds it."""
    n, where, source, target, tags, outcome, doubts, words, edited = columns
    found, why = tuple(Tag(*tag) for tag in json.loads(tags)), tuple(json.loads(doubts))
    which = parse_words(json.loads(words))
    return SegmentRow(n, where, source, target, found, outcome, why, which, bool(edited))


def tags_json(text: MarkedText) -> str:
    return json.dumps([astuple(tag) for tag in text.tags], ensure_ascii=False)
