"""A file that corrections are added to: TSV or TMX, readable as a memory and as a corpus at any moment.

One process at a time writes, held by a lock on the file beside it (`FILE.lock`). What is about to be added is
written there first: a process that is killed in the middle leaves a file that is completed when it is next
opened, and what was acknowledged is never lost.
"""

import json
import os
import re
import threading
from pathlib import Path
from types import TracebackType
from typing import Self
from xml.sax.saxutils import escape, quoteattr

from jumok.data.corpus import open_corpus
from jumok.errors import ConfigError, DataError, LimitError, RunError
from jumok.systems import lock_file, open_flags, read_at, write_at
from jumok.text.normalize import tidy

MOST_BYTES = 256 << 20
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")
TMX_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header creationtool="jumok" '
    'creationtoolversion="1" segtype="sentence" o-tmf="jumok" adminlang="en" srclang="*all*" '
    'datatype="plaintext"/>\n<body>\n'
)
TMX_END = b"</body>\n</tmx>\n"


class CorrectionFile:
    """Takes corrections, one at a time, from any thread. `close` lets another process have the file."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.guard = Path(path), threading.Lock()
        self.is_tmx = self.path.suffix.lower() == ".tmx"
        if self.path.suffix.lower() not in (".tsv", ".tmx"):
            raise ConfigError(
                f"corrections cannot be kept in {self.path.name}",
                hint="give a file that ends in .tsv or .tmx",
                code="bad_suffix",
            )
        try:
            self.journal = os.open(f"{self.path}.lock", open_flags("O_RDWR", "O_CREAT", "O_CLOEXEC"), 0o666)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            lock_file(self.journal)
            self.file = os.open(self.path, open_flags("O_RDWR", "O_CREAT", "O_CLOEXEC"), 0o666)
        except BlockingIOError:
            os.close(self.journal)
            raise ConfigError(
                f"another process writes corrections to {self.path}",
                hint="stop it, or give another file",
                code="locked",
            ) from None
        except OSError as error:
            os.close(self.journal)
            raise self._unwritable(error) from None
        try:
            self._redo()
            self.languages = self._told_languages()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.file)
        os.close(self.journal)

    def add(self, source: str, target: str, languages: tuple[str, str] = ("", "")) -> None:
        """Add a pair, and return when the disk has it. LimitError: the file is full.

        A TSV holds one pair of languages, which its first line names; a TMX any. ConfigError: it is another.
        """
        source, target = (tidy(CONTROL.sub(" ", text)) for text in (source, target))
        if not source or not target:
            raise DataError(
                "a correction has a blank side", hint="give the source and its translation", code="blank"
            )
        with self.guard:
            size = os.fstat(self.file).st_size
            if size > MOST_BYTES:
                raise LimitError(
                    f"{self.path.name} has more than {MOST_BYTES >> 20} MiB of corrections",
                    hint="start with another file",
                    code="full",
                )
            place, record = self._record(size, source, target, languages)
            try:
                self._write(place, record)
            except OSError as error:
                raise RunError(
                    f"the correction could not be written: {(error.strerror or str(error)).lower()}",
                    hint="make room on the disk",
                    code="io_error",
                ) from None
            if not self.is_tmx and size == 0:
                self.languages = languages

    def _record(self, size: int, source: str, target: str, languages: tuple[str, str]) -> tuple[int, bytes]:
        """Where the file is continued, and with what."""
        if self.is_tmx:
            variants = "".join(
                f"<tuv xml:lang={quoteattr(code or 'und')}><seg>{escape(text)}</seg></tuv>"
                for code, text in zip(languages, (source, target), strict=True)
            )
            head = "" if size else TMX_HEAD
            return max(size - len(TMX_END), 0), f"{head}<tu>{variants}</tu>\n".encode() + TMX_END
        if size and all(self.languages) and languages != self.languages:
            raise ConfigError(
                f"{self.path.name} holds {' → '.join(self.languages)}, not {' → '.join(languages)}",
                hint="a TMX file holds corrections of several languages",
                code="other_language",
            )
        return size, (self._tsv_head(size, languages) + f"{source}\t{target}\n").encode()

    def _tsv_head(self, size: int, languages: tuple[str, str]) -> str:
        if size:
            return "" if self._ends_a_line(size) else "\n"
        named = (
            (f"source_{languages[0]}", f"target_{languages[1]}") if all(languages) else ("source", "target")
        )
        return "\t".join(named) + "\n"

    def _ends_a_line(self, size: int) -> bool:
        return read_at(self.file, 1, size - 1) == b"\n"

    def _write(self, place: int, record: bytes) -> None:
        """Note what is to come, write it, strike the note out: each step is on the disk before the next."""
        before = read_at(self.file, len(TMX_END), place) if self.is_tmx else b""
        note = json.dumps({"place": place, "record": record.decode()}).encode()
        os.ftruncate(self.journal, 0)
        _write_all(self.journal, note, 0)
        os.fsync(self.journal)
        try:
            _write_all(self.file, record, place)
        except OSError:
            os.ftruncate(self.file, place)
            _write_all(self.file, before, place)
            os.ftruncate(self.journal, 0)
            raise
        os.fsync(self.file)
        os.ftruncate(self.journal, 0)

    def _redo(self) -> None:
        """Complete what a process that was killed had begun; a file that was edited since is left alone."""
        try:
            note = json.loads(read_at(self.journal, os.fstat(self.journal).st_size, 0))
            place, record = int(note["place"]), str(note["record"]).encode()
        except (ValueError, KeyError, TypeError):
            place, record = -1, b""
        if place >= 0:
            rest = read_at(self.file, len(record) + 1, place)
            whole = record.startswith(rest) or (self.is_tmx and rest == TMX_END)
            if whole or _is_overwritten(rest, record):  # what is there is no longer than the record
                _write_all(self.file, record, place)
                os.fsync(self.file)
        os.ftruncate(self.journal, 0)

    def _told_languages(self) -> tuple[str, str]:
        """Those of the corrections that the file has; refuses one that more cannot be added to."""
        size = os.fstat(self.file).st_size
        if not size:
            return "", ""
        if self.is_tmx:
            if read_at(self.file, len(TMX_END), max(size - len(TMX_END), 0)) != TMX_END:
                raise DataError(
                    "this TMX file was not written by jumok, and cannot be added to",
                    where=str(self.path),
                    hint="give a new file; --memory reads any number of forms",
                    code="foreign_file",
                )
            return "", ""
        return open_corpus(str(self.path)).form.languages

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"corrections cannot be written to {self.path}: {(error.strerror or str(error)).lower()}",
            hint="name a file in a folder that you may write to",
            code="unwritable",
        )


def _is_overwritten(rest: bytes, record: bytes) -> bool:
    """Whether the beginning of a record stands over the end of a TMX file that it replaces."""
    return any(rest == record[:cut] + TMX_END[cut:] for cut in range(len(TMX_END)))


def _write_all(file: int, data: bytes, place: int) -> None:
    rest = memoryview(data)
    while rest:
        count = write_at(file, rest, place)
        rest, place = rest[count:], place + count
