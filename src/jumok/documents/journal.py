"""The journal of a job: answers on disk as they are made, so that a job that was killed goes on.

A file of JSON lines beside the target. The first line says for which source, model and options it holds; then
comes a line for each segment. Each has a seal: what a crash left half written is found and cut off.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from jumok.decoding.results import TermUse, WordDoubt
from jumok.documents.report import SegmentAnswer
from jumok.errors import ConfigError, RunError
from jumok.formats.segments import MarkedText, Tag
from jumok.seals import sealed, unsealed
from jumok.systems import lock_file, open_flags

SUFFIX = ".jumok"
VERSION = 1


class Journal:
    """The answers of one job, in the order of its segments. One process at a time holds it."""

    def __init__(self, path: Path, job: Mapping[str, Any]) -> None:
        """Open the journal of a job, or begin one; that of another job is begun anew."""
        self.path = path
        self._file = _open(path)
        try:
            _lock(self._file, path)
            self.done = self._recover({"journal": VERSION, **job})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _recover(self, job: Mapping[str, Any]) -> int:
        """How many answers of this job are here already; what cannot be used is cut off."""
        end, done = 0, 0
        for number, (line, end_of_line) in enumerate(self._lines()):
            try:
                content = unsealed(json.loads(line))
                if number and content["n"] != number - 1:
                    break
                if number:
                    parse_answer(content)
            except (ValueError, TypeError, KeyError):
                break
            if number == 0 and content != json.loads(json.dumps(job)):
                break
            end, done = end_of_line, number
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self._write([job])
        return done

    def _lines(self) -> Iterator[tuple[bytes, int]]:
        self._file.seek(0)
        end = 0
        while (line := self._file.readline()).endswith(b"\n"):
            end += len(line)
            yield line, end

    def append(self, answers: Sequence[SegmentAnswer]) -> None:
        """The answers to the next segments, on disk when this returns."""
        self._file.seek(0, os.SEEK_END)
        self._write([{"n": self.done + n, **answer_fields(answer)} for n, answer in enumerate(answers)])
        self.done += len(answers)

    def _write(self, records: Sequence[Mapping[str, Any]]) -> None:
        lines = (json.dumps(sealed(record), ensure_ascii=False) + "\n" for record in records)
        try:
            self._file.write("".join(lines).encode())
            self._file.flush()
        except OSError as error:
            raise RunError(
                f"cannot write {self.path}: {error.strerror}",
                hint="make room on the disk and give the same command again: it goes on where it stopped",
                code="io_error",
            ) from error

    def answers(self) -> Iterator[SegmentAnswer]:
        """The answers so far, from the first."""
        lines = self._lines()
        next(lines)
        for (line, _), _ in zip(lines, range(self.done), strict=False):
            yield parse_answer(unsealed(json.loads(line)))

    def remove(self) -> None:
        """The job is done."""
        self.path.unlink(missing_ok=True)


def answer_fields(answer: SegmentAnswer) -> dict[str, Any]:
    """An answer as JSON."""
    fields: dict[str, Any] = {"outcome": answer.outcome}
    if answer.target is not None:
        tags = [[tag.begin, tag.end, tag.open, tag.close, tag.keep] for tag in answer.target.tags]
        fields |= {"text": answer.target.text, "tags": tags}
        if answer.target.confidence is not None:
            fields["confidence"] = answer.target.confidence
    terms = [(term.source, term.targets, term.present) for term in answer.terms]
    more = {"doubts": answer.doubts, "words": word_fields(answer.words), "terms": terms}
    return fields | {name: value for name, value in more.items() if value}


def parse_answer(fields: Mapping[str, Any]) -> SegmentAnswer:
    """An answer from JSON; ValueError, TypeError or KeyError if it is none."""
    if fields["outcome"] not in ("translated", "present", "skipped"):
        raise ValueError(f"unknown outcome {fields['outcome']!r}")
    target = None
    if "text" in fields:
        tags = tuple(Tag(*tag) for tag in fields["tags"])
        target = MarkedText(fields["text"], tags, fields.get("confidence"))
    doubts, words = tuple(fields.get("doubts", ())), parse_words(fields.get("words", ()))
    uses = ((source, tuple(targets), present) for source, targets, present in fields.get("terms", ()))
    return SegmentAnswer(fields["outcome"], target, doubts, words, tuple(TermUse(*use) for use in uses))


def word_fields(words: Sequence[WordDoubt]) -> list[tuple[int, int, float]]:
    """Doubtful words as JSON: from which character to which, and how doubtful."""
    return [(*word.text, round(word.change, 4)) for word in words]


def parse_words(fields: Sequence[tuple[int, int, float]]) -> tuple[WordDoubt, ...]:
    """Doubtful words from JSON; ValueError or TypeError if they are none."""
    return tuple(WordDoubt((int(begin), int(end)), float(change)) for begin, end, change in fields)


def _open(path: Path) -> IO[bytes]:
    try:
        return os.fdopen(os.open(path, open_flags("O_RDWR", "O_CREAT"), 0o644), "r+b")
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror}",
            hint="choose a folder that exists and that you may write to",
            code="unwritable",
        ) from None


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        lock_file(file.fileno())
    except BlockingIOError:
        raise RunError(
            "another process is translating to this place",
            where=str(path),
            hint="wait until it ends, stop it, or choose another output",
            code="locked",
        ) from None
