"""One document on its way: read into a table, translated in its order, written, and anew when mended."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from jumok.decoding.jobs import GlossaryMode
from jumok.decoding.translator import Translator
from jumok.documents.report import DocumentReport, ReportCounts
from jumok.documents.segments import SegmentTranslator
from jumok.documents.translate import replacing
from jumok.errors import Error
from jumok.formats.known import KnownFormat
from jumok.formats.segments import DocumentFormat, Languages, Segment
from jumok.server.analysis import AnalysisCancelled, CancelFlag
from jumok.server.documents.edited import carried_over
from jumok.server.documents.rows import SegmentRow, SegmentRows
from jumok.server.gates.problems import Problem, internal
from jumok.terms.glossary import Glossary
from jumok.terms.memory import TranslationMemory

log = logging.getLogger("jumok.server")

JobStatus = Literal["waiting", "running", "done", "failed"]
SEGMENTS, CHARACTERS = 32, 4_000
"""Of one block, at most."""
BRIEF_S = 0.005
"""Of one while others ask, by the pace so far, or one segment: nobody waits longer than for that."""


@dataclass(frozen=True)
class DocumentOrder:
    """What is to be translated, how and by whom."""

    name: str
    """As the client calls the file."""
    size: int
    format: KnownFormat
    model: str
    translator: Translator
    glossary: Glossary | None = None
    glossary_mode: GlossaryMode = "strict"
    memory: TranslationMemory | None = None
    columns: str = ""
    """Of a table: those that are translated."""

    @property
    def options(self) -> dict[str, Any]:
        """How the model is asked."""
        terms = {"glossary": self.glossary, "memory": self.memory}
        asked = {"confidence": self.translator.is_calibrated, "glossary_mode": self.glossary_mode}
        return asked | {k: v for k, v in terms.items() if v}

    @property
    def languages(self) -> Languages:
        data = self.translator.config.data
        return Languages(data.source_language, data.target_language)

    def reader(self) -> DocumentFormat:
        """What reads and writes the file. ConfigError: its format has no columns."""
        return self.format.load(self.languages, self.columns)

    @property
    def target_name(self) -> str:
        """What the translated file is called: `report.de.docx`."""
        suffix = next((one for one in self.format.suffixes if self.name.lower().endswith(one)), "")
        stem = self.name[: len(self.name) - len(suffix)] if suffix else self.name
        code = self.languages.target or "translated"
        return f"{stem}.{code}{self.name[len(stem) :] or self.format.suffixes[0]}"


@dataclass(eq=False)
class DocumentJob:
    """A document and how far it is. One thread runs it; others look, mend segments, and fetch the file."""

    id: str
    folder: Path
    order: DocumentOrder
    give_way: Callable[[], bool] = lambda: False
    """Called between blocks: lets plain requests go first, and says whether there are some these days."""
    status: JobStatus = "waiting"
    done: int = 0
    total: int | None = None
    problem: Problem | None = None
    used: float = field(default_factory=time.monotonic)
    flag: CancelFlag = field(default_factory=CancelFlag)
    counts: ReportCounts = field(default_factory=ReportCounts)
    edits: int = 0
    edited: set[int] = field(default_factory=set)
    """The segments that a person has mended."""

    def __post_init__(self) -> None:
        self.rows = SegmentRows(self.folder / "segments.db")
        self._lock = threading.Lock()  # one writes the file at a time
        self._file, self._written = 0, -1  # with so many edits
        self._began: float | None = None
        self._characters = self._translated = 0
        self._working = 0.0  # seconds with the model

    @property
    def source(self) -> Path:
        """Its name is ours: what a client calls a file is never a path here."""
        return source_in(self.folder, self.order.format)

    @property
    def ended(self) -> bool:
        return self.status in ("done", "failed")

    @property
    def seconds_left(self) -> float | None:
        """By the characters so far; None before there are any."""
        if self.status != "running" or self._began is None or not self._translated:
            return None
        spent = time.monotonic() - self._began
        return spent / self._translated * max(self._characters - self._translated, 0)

    @property
    def report(self) -> DocumentReport:
        """What became of the segments so far."""
        order = self.order
        return self.counts.report(order.name, order.target_name, order.format.name, 0)

    def run(self) -> None:
        """The whole job, in the thread of documents. However it ends, its status says so."""
        try:
            self.flag.check()
            self.status = "running"
            self._translate()
            self.write()
            self.status = "done"
        except AnalysisCancelled:
            self.status = "failed"
        except Error as error:
            self.problem, self.status = self._told(error), "failed"
        except Exception:
            if not self.flag.raised:  # else its table has gone from under it
                log.exception("document %s failed", self.id)
            self.problem, self.status = internal(), "failed"
        finally:
            if self.flag.raised:
                shutil.rmtree(self.folder, ignore_errors=True)

    def _translate(self) -> None:
        reader = self.order.reader()
        self.rows.fill(self._watched(reader.read(self.source)))  # what is broken is told before the work
        self.total, self._characters = self.rows.count(), self.rows.characters()
        self._began = time.monotonic()
        translator = SegmentTranslator(self.order.translator, self.order.options)
        segments = iter(reader.read(self.source))
        while block := next_block(segments, self._most()):
            self.flag.check()
            before = time.monotonic()
            answers = translator.answers(block, self.flag.progress)
            self._working += time.monotonic() - before
            self.rows.answer(self.done, answers)
            for segment, answer in zip(block, answers, strict=True):
                self.counts.add(segment, answer)
                self._translated += len(segment.source.text)
            self.done += len(block)

    def _most(self) -> int:
        """The characters of the next block."""
        return brief(self._translated, self._working) if self.give_way() else CHARACTERS

    def _watched(self, segments: Iterator[Segment]) -> Iterator[Segment]:
        for segment in segments:
            self.flag.check()
            yield segment

    def _told(self, error: Error) -> Problem:
        """The document's own message, with the client's name for it instead of ours and without our hints."""
        said = [part.replace(str(self.source), self.order.name) for part in (error.message, error.where)]
        message = ", ".join(
            dict.fromkeys(part.replace(self.source.name, self.order.name) for part in said if part)
        )
        return Problem(422, error.code, message)

    def edit(self, row: SegmentRow, text: str) -> None:
        """A person's translation of a segment; the tags of the one before go along."""
        self.rows.edit(row.n, carried_over(row.marked, text))
        self.edits += 1
        self.edited.add(row.n)

    def write(self) -> Path:
        """The translated file, written anew if a segment was mended since. May take a while."""
        with self._lock:
            edits = self.edits
            if self._written != edits:
                reader = self.order.reader()
                self._file += 1
                with replacing(self._target) as out:
                    reader.write(self.source, out, self.rows.written())
                self._written = edits
            return self._target

    @property
    def _target(self) -> Path:
        """Two files in turn: while one is being fetched, the other is written."""
        return self.folder / f"target-{self._file % 2}"

    @property
    def bytes(self) -> int:
        """Of its files."""
        return bytes_in(self.folder)

    def remove(self) -> None:
        """End it and take its files away; in whichever thread its run may be."""
        self.flag.raised = True
        self.rows.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def source_in(folder: Path, format: KnownFormat) -> Path:
    """Where a document lies; formats look at the extension."""
    return folder / f"document{format.suffixes[0]}"


def bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # it has just gone
            continue
    return total


def brief(characters: int, seconds: float) -> int:
    """How many characters take `BRIEF_S` where so many took so long."""
    return min(int(BRIEF_S * characters / seconds), CHARACTERS) if seconds else 1


def next_block(segments: Iterator[Segment], most: int) -> list[Segment]:
    """The next segments in order, few at a time, of about so many characters; none at the end."""
    block, size = list[Segment](), 0
    for segment in islice(segments, SEGMENTS):
        block.append(segment)
        size += len(segment.source.text)
        if size >= most:
            break
    return block
