"""The shortlist of a folder for our own engine: learned from training data, with a certificate of its own.

The model is compared with its original once more, now with the shortlist. Scores are left out: those of a
search with a shortlist are over the tokens of the list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from jumok.checkpoint.model import LoadedModel
from jumok.config import DataConfig
from jumok.data.builtin import BUILTIN, builtin_corpus
from jumok.data.corpus import Corpus, open_corpus
from jumok.errors import ConfigError, DataError
from jumok.export import native
from jumok.export.parity import Parity, Sample, Thresholds, certificate, compare
from jumok.native.shortlist import FILE, build_shortlist, dump_shortlist, parse_shortlist
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy
from jumok.text.tokenizer import Tokenizers

READ = 10_000  # lines that are cut into tokens together
Pair = tuple[list[int], list[int]]


def training_data(data: DataConfig, files: Sequence[str] = ()) -> Corpus:
    """The files that are given, or those that the model learned from, if they are still there."""
    if len(files) > 2:
        raise ConfigError(
            f"{len(files)} files are given for the shortlist",
            hint="give --shortlist-from twice: source and target; or one file with both sides",
        )
    if files:
        return open_corpus(*files)
    if data.name in BUILTIN:
        return builtin_corpus(data.name, "train")
    if data.source and all(Path(name).is_file() for name in (data.source, data.target) if name):
        return open_corpus(
            data.source, data.target, encoding_errors=data.encoding_errors, columns=data.columns
        )
    raise ConfigError(
        "there is nothing to learn a shortlist from: the files that the model learned from are not there",
        hint="give them: --shortlist-from train.src --shortlist-from train.tgt, or one file with both sides",
        code="no_sentences",
    )


def encoded(corpus: Corpus, tokenizers: Tokenizers, most: int) -> Iterator[Pair]:
    """The pairs as ids; those with more than `most` on a side are left out, as in training."""
    pairs = corpus.pairs()
    while some := list(islice(pairs, READ)):
        left = tokenizers.text_source.encode_many(tidy(source) for source, _ in some)
        right = tokenizers.target.encode_many(tidy(target) for _, target in some)
        for source, target in zip(left, right, strict=True):
            if 0 < len(source) <= most and 0 < len(target) <= most:
                yield source, target


def write_shortlist(loaded: LoadedModel, folder: Path, corpus: Corpus, progress: Progress = silent) -> None:
    """Learn the shortlist and write it into the folder."""
    data, tokenizers = loaded.config.data, loaded.tokenizers
    shortlist = build_shortlist(encoded(corpus, tokenizers, data.max_length), tokenizers, progress)
    if len(shortlist.always) < 2:  # the end alone: no target token was seen
        raise DataError(
            f"{corpus.name} has no pairs to learn a shortlist from",
            hint=f"each side of a pair may have {data.max_length} tokens",
        )
    (folder / FILE).write_bytes(dump_shortlist(shortlist, tokenizers))


def certify_shortlist(  # noqa: PLR0913  what a comparison needs, and where it goes
    loaded: LoadedModel,
    folder: Path,
    sample: Sample,
    thresholds: Thresholds,
    before: Parity,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The part of the certificate that is about the shortlist."""
    shortlist = parse_shortlist((folder / FILE).read_bytes(), loaded.tokenizers, str(folder / FILE))
    answerer = native.open(folder, shortlist)
    answerer.opening = loaded.tokenizers.opening
    comparison = compare(loaded, answerer, sample, progress, before=before)
    limits = replace(thresholds, equal=None, score=None)
    whole = certificate(loaded, comparison, sample, limits, {})
    names = ("greedy", "beam", "bleu", "chrf", "thresholds", "passed", "failures", "undecided", "differences")
    lengths = answerer.lengths
    return {
        "mean_length": sum(lengths) / len(lengths),
        "vocabulary": shortlist.size,
        **{name: whole[name] for name in names if name in whole},
    }
