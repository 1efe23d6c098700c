"""A cleaned copy of a corpus, beside the original and never over it."""

import bz2
import gzip
import json
import lzma
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from jumok.data.checks import odd_pairs, repaired
from jumok.data.corpus import Corpus
from jumok.data.forms import kind_of
from jumok.data.reader import CheckReport, CorpusReader
from jumok.data.survey import pair_hashes, text_hash
from jumok.errors import DataError
from jumok.formats.files import split_packing
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True, slots=True)
class CleanedCopy:
    """What a cleaning did: the new files, the pairs kept, and those dropped for each reason."""

    files: tuple[str, ...]
    kept: int
    changed: int
    """Pairs kept with other characters: strays left out, or text read again."""
    dropped: dict[str, int]
    keys: tuple[str, ...] = ()
    """Those of the objects that were written; what else an object held is left out. None of lines of text."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"files": list(self.files), "keys": list(self.keys)}


def fix(
    corpus: Corpus, report: CheckReport, *, force: bool = False, progress: Progress = silent
) -> CleanedCopy:
    """Write a cleaned copy of the training corpus that `report` is about: train.en becomes train.clean.en.

    Of files of lines the copy is in the same form; of all others it is JSONL with the same texts.

    Pairs are dropped that are out of step, blank, undecodable, copied, swapped, of odd length, far longer
    than the others, repeated, or held out in another part; in the others control characters are removed, line
    breaks become spaces, and what was read in the wrong encoding is read again. Nothing else is changed.
    """
    files, train = clean_names(corpus, force=force), report.train
    if train.lines[0] != train.lines[1]:
        counted = " and ".join(
            f"{file} has {lines:,}{unit}"
            for file, lines, unit in zip(train.files, train.lines, (" lines", ""), strict=True)
        )
        raise DataError(
            f"{counted}: which belong together cannot be guessed",
            hint="look for a line break too many or a part that was cut off; jumok check names a suspect",
            code="unequal_lines",
        )
    for finding in train.findings:
        if finding.kind == "no_pairs":
            raise DataError(f"{finding.title}: {finding.example}", hint=finding.advice, code="no_pairs")
    kept, changed, keys = 0, 0, keys_of(corpus)
    reader, dropped = CorpusReader(corpus), Counter[str]()
    known = {pair: "leak" for part in report.parts[1:] for pair in part.pair_hashes[part.written].tolist()}
    with ExitStack() as stack:
        outputs = [stack.enter_context(replacing(path)) for path in files]
        if corpus.form.header:
            outputs[0].write("\t".join(corpus.form.header) + "\n")
        for chunk in reader.chunks():
            raw = list(zip(chunk.sources, chunk.targets, strict=True))
            pairs = [(repaired(source), repaired(target)) for source, target in raw]
            sources, targets = ([tidy(pair[side]) for pair in pairs] for side in (0, 1))
            odd = odd_pairs(sources, targets, train.profile)
            shifted = [place for place, number in enumerate(chunk.numbers) if train.alignment.holds(number)]
            odd |= dict.fromkeys(shifted, "shifted")
            left, right = (np.array([*map(text_hash, side)], np.uint64) for side in (sources, targets))
            hashes = pair_hashes(left, right).tolist()
            for place, pair in enumerate(pairs):
                if reason := odd.get(place) or known.get(hashes[place]):
                    dropped[reason] += 1
                    continue
                known[hashes[place]] = "duplicate"
                _write_pair(outputs, keys, *pair)
                kept += 1
                changed += pair != raw[place]
            progress("clean", reader.lines[0], train.lines[0])
    progress("clean", train.lines[0], train.lines[0])
    unread = {finding.kind: finding.count for finding in reader.notes.findings()}
    return CleanedCopy(files, kept, changed, unread | dropped, keys)


def clean_names(corpus: Corpus, *, force: bool = False) -> tuple[str, ...]:
    """The files of the cleaned copy; refuses when there is no place for them."""
    if any(corpus.names):
        raise DataError(
            "a cleaned copy stands beside its original, and this one came through a pipe",
            hint="save the corpus to a file first",
            code="no_place",
        )
    files = tuple(
        clean_name(path, in_lines=in_lines(corpus)) for path in (corpus.source, corpus.target) if path
    )
    for path in files:
        if not force and os.path.exists(path):
            raise DataError(
                f"{path} exists already", hint="move it away, or add --force to replace it", code="exists"
            )
    return files


def in_lines(corpus: Corpus) -> bool:
    """Whether the copy is in the form of the original: lines of text, one pair on each."""
    return bool(corpus.target) or kind_of(corpus.source) in (".tsv", ".jsonl")


def keys_of(corpus: Corpus) -> tuple[str, ...]:
    """The keys of the objects that are written, languages where they are known; () for lines of text."""
    if corpus.target or kind_of(corpus.source) == ".tsv":
        return ()
    source, target = corpus.form.languages
    return (source, target) if source and target and source != target else ("src", "tgt")


def clean_name(path: str, *, in_lines: bool = True) -> str:
    """`train.en` -> `train.clean.en`, `train.en.gz` -> `train.clean.en.gz`, `train` -> `train.clean`; a copy
    that is not in the form of the original is JSONL, and what was packed with zstd is not packed again."""
    folder, name = os.path.split(path)
    stem, packing = split_packing(name)
    first, dot, last = stem.rpartition(".")
    first, last = (first, last) if dot and first else (stem, "")
    if not in_lines:
        last, packing = "jsonl", ""
    packing = packing if packing.lower() in OPENERS else ""
    return os.path.join(folder, f"{first}.clean" + f".{last}" * bool(last) + packing)


@contextmanager
def replacing(path: str) -> Iterator[TextIO]:
    """A text file that takes its name only when all of it is written."""
    partial = Path(f"{path}.partial")
    opener = OPENERS.get(split_packing(path)[1].lower(), open)
    try:
        with opener(partial, "wt", encoding="utf-8", newline="\n") as stream:
            yield stream
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _write_pair(outputs: list[TextIO], keys: tuple[str, ...], source: str, target: str) -> None:
    """Write a pair: as an object with these keys; else as a line of a TSV, or a line of each of two files."""
    if keys:
        value = dict(zip(keys, (source, target), strict=True))
        outputs[0].write(json.dumps(value, ensure_ascii=False) + "\n")
    elif len(outputs) == 1:
        outputs[0].write(f"{source}\t{target}\n")
    else:
        outputs[0].write(source + "\n")
        outputs[1].write(target + "\n")
