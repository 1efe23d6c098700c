"""A cleaned copy of a corpus, beside the original and never over it."""

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from jumok.data.checks import pair_symptom, without_strays
from jumok.data.corpus import Corpus
from jumok.data.findings import EVERY, Report, pair_hash
from jumok.data.rows import Form, Row, form_of, read_rows
from jumok.errors import DataError
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a cleaning did: the new files, the pairs kept, and those dropped for each reason."""

    files: tuple[str, ...]
    kept: int
    changed: int
    """Pairs kept without their stray characters."""
    dropped: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": list(self.files),
            "kept": self.kept,
            "changed": self.changed,
            "dropped": self.dropped,
        }


def fix(corpus: Corpus, report: Report, *, force: bool = False, progress: Progress = silent) -> Cleaned:
    """Write a cleaned copy of the training corpus that `report` is about: train.en becomes train.clean.en.

    Pairs are dropped that are blank, undecodable, copied, swapped, of odd length, repeated, or held out in
    another part; of the others control characters are removed and line breaks become spaces.
    """
    files = clean_names(corpus, force=force)
    _refuse_unequal(report)
    kept = changed = 0
    dropped: dict[str, int] = {}
    why_not, form = _Judge(report), form_of(corpus)
    with ExitStack() as stack:
        outputs = [stack.enter_context(replacing(path)) for path in files]
        for row in read_rows(corpus):
            source, target = without_strays(row.source), without_strays(row.target)
            if reason := why_not(row, source, target):
                dropped[reason] = dropped.get(reason, 0) + 1
            else:
                _write_pair(outputs, form, source, target)
                kept += 1
                changed += (source, target) != (row.source, row.target)
            if row.number % EVERY == 0:
                progress("clean", row.number, report.parts[0].pairs)
    progress("clean", report.parts[0].pairs, report.parts[0].pairs)
    return Cleaned(files, kept, changed, dropped)


class _Judge:
    """Why a pair is dropped, or "" when it stays; remembers the pairs that it let through."""

    def __init__(self, report: Report) -> None:
        self.profile = report.profile
        self.held_out = {int(value) for value in report.held_out}
        self.seen: set[int] = set()

    def __call__(self, row: Row, source: str, target: str) -> str:
        if not row.is_pair:
            return row.problem
        source, target = tidy(source), tidy(target)
        if kind := pair_symptom(source, target, self.profile):
            return kind
        value = pair_hash(source, target)
        if value in self.held_out:
            return "leak"
        if value in self.seen:
            return "duplicate"
        self.seen.add(value)
        return ""


def clean_names(corpus: Corpus, *, force: bool = False) -> tuple[str, ...]:
    """The files of the cleaned copy; refuses when there is no place for them."""
    if any(corpus.names):
        raise DataError(
            "a cleaned copy stands beside its original, and this one came through a pipe",
            hint="save the corpus to a file first",
            code="no_place",
        )
    files = tuple(clean_name(path) for path in (corpus.source, corpus.target) if path)
    for path in files:
        if not force and os.path.exists(path):
            raise DataError(
                f"{path} exists already", hint="move it away, or add --force to replace it", code="exists"
            )
    return files


def clean_name(path: str) -> str:
    """`train.en` -> `train.clean.en`, `train.en.gz` -> `train.clean.en.gz`, `train` -> `train.clean`."""
    folder, name = os.path.split(path)
    stem, gz = (name[:-3], ".gz") if name.endswith(".gz") else (name, "")
    first, dot, last = stem.rpartition(".")
    return os.path.join(folder, (f"{first}.clean.{last}" if dot and first else f"{stem}.clean") + gz)


@contextmanager
def replacing(path: str) -> Iterator[TextIO]:
    """A text file that takes its name only when all of it is written."""
    partial = Path(f"{path}.partial")
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(partial, "wt", encoding="utf-8", newline="\n") as stream:
            yield stream
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _write_pair(outputs: list[TextIO], form: Form, source: str, target: str) -> None:
    match form:
        case "lines":
            outputs[0].write(source + "\n")
            outputs[1].write(target + "\n")
        case "tsv":
            outputs[0].write(f"{source}\t{target}\n")
        case "jsonl":
            outputs[0].write(json.dumps({"src": source, "tgt": target}, ensure_ascii=False) + "\n")


def _refuse_unequal(report: Report) -> None:
    part = report.parts[0]
    if part.source_lines != part.target_lines:
        raise DataError(
            f"{part.source} has {part.source_lines:,} lines and {part.target} has {part.target_lines:,}: "
            "which belong together cannot be guessed",
            hint="look for a line break too many or a part that was cut off; jumok check names a suspect",
            code="unequal_lines",
        )
