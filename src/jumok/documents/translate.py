"""A document translated: read, translated block by block into a journal, then written at once."""

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from jumok.decoding.jobs import Request, make_request
from jumok.decoding.translator import Translator
from jumok.documents.journal import SUFFIX, Journal
from jumok.documents.report import DocumentReport, ReportCounts, SegmentAnswer
from jumok.documents.segments import SegmentTranslator, blocks
from jumok.errors import ConfigError, DataError, RunError
from jumok.formats.known import format_of
from jumok.formats.segments import DocumentFormat, Languages, MarkedText, Segment
from jumok.formats.spliced import Piece, SplicedFormat, segments_of, write_pieces
from jumok.progress import Progress, silent

MOST_KEPT = 2 << 20
"""Bytes of a file that is read once, and characters of a packed one; of a larger one nothing is kept."""
Watch = Callable[[Segment, SegmentAnswer], None]
"""Called with each segment as soon as it has its answer."""


def unwatched(segment: Segment, answer: SegmentAnswer) -> None:
    """Nobody looks."""


def translate_document(  # noqa: PLR0913  all but three have defaults
    model: Translator,
    source: str | Path,
    target: str | Path,
    *,
    format: str | None = None,
    all_segments: bool = False,
    progress: Progress = silent,
    watch: Watch = unwatched,
    **options: Any,
) -> DocumentReport:
    """Translate a file with all its markup into another of the same format, and say what became of it.

    The format is told by the extension, or by the content; `format` names it. Segments that have a
    translation already are left alone, unless `all_segments`. Options are those of `Translator.translate`.

    A job that was interrupted goes on where it stopped when it is called again with the same source, model
    and options: answers are kept in a journal beside the target until that is written, all at once.
    """
    model, given, wanted = model.asked_in(options), Path(source), Path(target)
    check_places(given, wanted)
    data = model.config.data
    reader = format_of(given, format, Languages(data.source_language, data.target_language))
    request = make_request(model.config.decoding, options)  # a wrong option is told before a file is made
    job = job_of(model, given, reader, request, all_segments=all_segments)
    translator = SegmentTranslator(model, options, all_segments)
    reading = Reading.of(reader, given)  # what is broken is told before an hour is spent
    with Journal(wanted.with_name(wanted.name + SUFFIX), job) as journal:
        resumed, counts = journal.done, ReportCounts()
        for segment, answer in translated(reading, journal, translator, progress):
            counts.add(segment, answer)
            watch(segment, answer)
        if file_hash(given) != job["source"]:
            raise DataError(
                "the document was changed while it was translated",
                where=str(given),
                hint="give the command again",
                code="changed",
            )
        with replacing(wanted) as out:
            reading.write(out, (answer.target for answer in journal.answers()))
        journal.remove()
    return counts.report(str(source), str(target), reader.name, resumed)


@dataclass(frozen=True)
class Reading:
    """A file that was read from its beginning to its end, and what was kept of it."""

    format: DocumentFormat
    path: Path
    total: int
    """How many segments it has."""
    segments: Sequence[Segment] | None
    pieces: Sequence[Piece] | None
    """All of the file; None of a large one, or of a format that has no pieces."""

    @classmethod
    def of(cls, format: DocumentFormat, path: Path) -> "Reading":
        """Read a file. DataError: it is broken."""
        if isinstance(format, SplicedFormat) and path.stat().st_size <= MOST_KEPT:
            pieces = list(format.pieces(path))
            segments = list(segments_of(pieces))
            return cls(format, path, len(segments), segments, pieces)
        known, count, size = list[Segment](), 0, 0
        for segment in format.read(path):
            count += 1
            size += len(segment.source.text) + 100
            if size <= MOST_KEPT:
                known.append(segment)
        return cls(format, path, count, known if len(known) == count else None, None)

    def read(self) -> Iterable[Segment]:
        """The segments, from memory or from the file."""
        return self.format.read(self.path) if self.segments is None else self.segments

    def write(self, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The file with an answer for each segment."""
        if self.pieces is None:
            self.format.write(self.path, out, answers)
        else:
            write_pieces(self.pieces, out, answers)


def translated(
    reading: Reading, journal: Journal, translator: SegmentTranslator, progress: Progress
) -> Iterator[tuple[Segment, SegmentAnswer]]:
    """Every segment with its answer: from the journal as far as that goes, then from the model."""
    rest, total, done = iter(reading.read()), reading.total, 0
    for answer, segment in zip(journal.answers(), rest, strict=False):
        yield segment, answer
        done += 1
    for block in blocks(rest):

        def report(what: str, count: int, _: int | None, before: int = done) -> None:
            progress(what, before + count, total)

        report("translating", 0, None)
        answers = translator.answers(block, report)
        journal.append(answers)
        done += len(block)
        yield from zip(block, answers, strict=True)
    progress("translating", done, total)


def check_places(source: Path, target: Path) -> None:
    """Refuse what cannot be read or written, before any work."""
    if source.is_dir():
        raise DataError(f"{source} is a folder", hint="name a file", code="unreadable")
    try:
        source.open("rb").close()
    except OSError as error:
        raise DataError(
            f"cannot read {source}: {error.strerror}", hint="check the path", code="unreadable"
        ) from None
    if target.is_dir():
        raise ConfigError(f"{target} is a folder", hint="name a file for the output", code="unwritable")
    if target.exists() and target.samefile(source):
        raise ConfigError(
            f"{target} is the input itself",
            hint="choose another name for the output: the input is never changed",
            code="same_file",
        )
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise ConfigError(
            f"cannot write {target}",
            hint="choose a folder that exists and that you may write to",
            code="unwritable",
        )


def job_of(
    model: Translator, source: Path, reader: DocumentFormat, request: Request, *, all_segments: bool
) -> dict[str, str]:
    """What a journal holds for: with anything else its answers would be others."""
    memory = request.memory.fingerprint if request.memory else ""
    asked = repr((request, memory, all_segments))
    return {
        "source": file_hash(source),
        "format": reader.name,
        "model": str(model.info.get("fingerprint", model.info["name"])),
        "options": hashlib.sha256(asked.encode()).hexdigest(),
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its place only when all of it is written."""
    partial = path.with_name(f"{path.name}.tmp-{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            yield file
        os.replace(partial, path)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise RunError(
            f"cannot write {path}: {error.strerror}",
            hint="make room on the disk and give the same command again: it goes on where it stopped",
            code="disk_full" if full else "io_error",
        ) from error
    finally:
        partial.unlink(missing_ok=True)
