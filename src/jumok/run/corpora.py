"""The files of a run: opened as the settings name them, read in one pass, laid out as text to learn from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jumok.config import DataConfig, RunConfig
from jumok.data.builtin import BUILTIN, builtin_corpus, reads_pictures
from jumok.data.corpus import Corpus, open_corpus
from jumok.data.forms import Pair
from jumok.data.pictures import with_pictures
from jumok.data.reader import CheckReport, examine, survey
from jumok.data.survey import check_enough, hold_out, usual_hold_out
from jumok.errors import ConfigError, DataError
from jumok.progress import Progress, silent
from jumok.run.keeping import open_keep
from jumok.run.mixture import Mixture, PairStream, RunPairs, lay_out, open_mixture, read_mixture, texts_of
from jumok.text.frame import PLAIN, Direction, Frame


@dataclass(frozen=True)
class Corpora:
    """The text of a run; without a validation corpus some pairs are held out from training."""

    train: Corpus
    valid: Corpus | None
    keep: Corpus | None = None  # old pairs of a model that learns something new
    mixture: Mixture | None = None  # several corpora, of which `train` is the first

    def frame(self, data: DataConfig) -> Frame:
        """What stands around sentences in a model of this text."""
        return PLAIN if self.mixture is None else self.mixture.frame(data)

    @cached_property
    def fingerprint(self) -> str:
        """Hashes of the files' contents, read once: these objects live for one sitting."""
        if self.mixture is not None:
            return self.mixture.fingerprint
        every = (self.train, self.valid, self.keep)
        return "+".join(corpus.fingerprint() for corpus in every if corpus is not None)


def open_corpora(config: RunConfig) -> Corpora:
    """The files or the built-in set that the settings name."""
    data = config.data
    check_dropout_fits(config)
    if data.corpora:
        if config.start.keep:
            raise ConfigError(
                f"--keep {config.start.keep} and several corpora (--data) exclude each other",
                hint=f"give the old pairs as one of them, with a weight: --data {config.start.keep}:1",
            )
        mixture = open_mixture(data)
        return Corpora(mixture.train[0].corpus, None, mixture=mixture)
    if data.valid_corpora:
        raise ConfigError(
            "validation files of several corpora (--valid) are given, and no corpora (--data)",
            hint="give --data FILE for each corpus, or --valid-source",
        )
    check_columns_fit(data)
    if data.name:
        for name in ("source", "target", "valid_source", "valid_target", "images"):
            if getattr(data, name):
                option = name.replace("_", "-")
                raise ConfigError(f"--data and --{option} exclude each other", hint="give one of them")
        both = builtin_corpus(data.name, "train"), builtin_corpus(data.name, "valid")
        return Corpora(*both, open_keep(config.start, data))
    if not data.source:
        raise ConfigError(
            "there is no data to learn from",
            hint="give --source FILE --target FILE, one file with both sides as --source, or --data dates",
        )
    if data.valid_target and not data.valid_source:
        raise ConfigError("--valid-target is given without --valid-source", hint="give both, or none")
    valid = open_side(data, data.valid_source, data.valid_target) if data.valid_source else None
    return Corpora(open_side(data, data.source, data.target), valid, open_keep(config.start, data))


def named_data(data: str | Sequence[str], valid: Sequence[str] = ()) -> dict[str, Any]:
    """Settings for `data`: a built-in set by its name, or corpora, one for each text."""
    names = [data] if isinstance(data, str) else list(map(str, data))
    names = [name for name in names if name]
    if len(names) == 1 and not valid and (names[0] in BUILTIN or looks_like_a_name(names[0])):
        return {"data.name": names[0]}
    return {"data.corpora": names, "data.valid_corpora": list(map(str, valid))}


def looks_like_a_name(text: str) -> bool:
    """Whether this can only be the name of a built-in set: the error then offers the nearest."""
    return re.fullmatch(r"[\w-]+", text) is not None and not Path(text).exists()


def open_side(data: DataConfig, source: str, target: str) -> Corpus:
    """The corpus in these files, with pictures for its sources where the settings say so."""
    columns = "" if target else data.columns
    corpus = open_corpus(source, target, encoding_errors=data.encoding_errors, columns=columns)
    return with_pictures(corpus, data.images) if data.images else corpus


def check_columns_fit(data: DataConfig) -> None:
    """Refuse columns that training has no use for."""
    if (data.columns.count(",") > 1 or data.columns.endswith("+")) and not data.images:
        raise ConfigError(
            f"data.columns={data.columns} cannot work: training reads two columns, source and target",
            hint="further references are for jumok evaluate",
            code="bad_columns",
        )
    joint = data.source and not data.target or data.valid_source and not data.valid_target
    if data.columns and not joint:
        raise ConfigError(
            f"data.columns={data.columns} is for a file with both sides, and none is given",
            hint="give one file as --source, or leave out data.columns",
            code="bad_columns",
        )


def check_dropout_fits(config: RunConfig) -> None:
    """Refuse dropout of merges where there are none."""
    reason = hint = ""
    if "bpe" not in (config.text.kind, config.text.target_kind):
        reason, hint = "only tokens of kind bpe have merges", "set text.kind to bpe, or text.dropout to 0"
    if reads_pictures(config.data):
        reason = "the sources are pictures, not text"
        hint = "set text.dropout to 0; image.shift varies the pictures instead"
    if config.text.dropout and reason:
        raise ConfigError(f"text.dropout={config.text.dropout} cannot work: {reason}", hint=hint)


def read_corpora(corpora: Corpora, progress: Progress = silent, *, keep: bool = True) -> CheckReport:
    """The one pass over the files of a run; refuses what nothing can be learned from."""
    if corpora.mixture is not None:
        return read_mixture(corpora.mixture, progress, keep=keep)
    others = {} if corpora.valid is None else {"valid": corpora.valid}
    report = examine(corpora.train, others=others, strict=True, keep=keep, progress=progress)
    check_enough(report.train, corpora.train.name)
    if corpora.keep is not None:
        old = survey(corpora.keep, part="keep", keep=keep, progress=progress)
        check_enough(old, corpora.keep.name)
        report = replace(report, parts=(*report.parts, old))  # the last
    return report


def run_text(corpora: Corpora, report: CheckReport, config: RunConfig) -> RunPairs:
    """What a run learns from and what it validates on."""
    if corpora.mixture is not None:
        return lay_out(corpora.mixture, report, config)
    found, rows = report.train, np.empty(0, dtype=np.int64)
    if corpora.valid is None:
        rows = hold_out(found, config.data.hold_out or usual_hold_out(found), config.seed)
        wanted = set(rows.tolist())
        valid = [pair for row, pair in enumerate(texts_of(found)) if row in wanted]
        held = found.source_hashes[rows]
    else:
        valid = [pair for pair in texts_of(report.parts[1]) if all(pair)]
        held = report.parts[1].source_hashes
        if not valid:
            raise DataError(f"{corpora.valid.name} has no pair with text on both sides", code="empty")
    # Hashes make sure that no held-out source stays behind.
    apart = np.isin(found.source_hashes, found.source_hashes[rows])

    def train() -> Iterator[Pair]:
        return (pair for pair, out in zip(texts_of(found), apart.tolist(), strict=True) if not out)

    said = Direction(config.data.source_language, config.data.target_language)
    total = found.pairs - len(rows)
    return RunPairs((PairStream(0, said, 0.0),), train, total, tuple(valid), (said,) * len(valid), held)
