"""Which sentences a comparison uses: those that are given, or the ones that the model was validated with."""

import hashlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from jumok.config import DataConfig
from jumok.data.builtin import BUILTIN, builtin_corpus
from jumok.data.corpus import open_corpus, read_lines
from jumok.data.forms import kind_of
from jumok.errors import ConfigError
from jumok.export.directions import corpus_pairs
from jumok.export.parity import Sample
from jumok.text.frame import Direction

SENTENCES = 1000


def find_sample(data: DataConfig, source: str = "", target: str = "", most: int = SENTENCES) -> Sample:
    """Up to `most` sentences, with references where there are some.

    In this order: the files that are given; the validation part of a built-in set that the model learned
    from; the files that its settings name, if they are still there: for validation, else for training.
    """
    if target and not source:
        raise ConfigError("a reference needs its source", hint="add -s FILE")
    if source:
        return _from_files(source, target, data, most)
    if data.name in BUILTIN:
        texts = islice(builtin_corpus(data.name, "valid").texts(), most)
        return _sample(f"{data.name}-valid", ((source, tuple(rest)) for source, *rest in texts), data)
    said = Direction(data.source_language, data.target_language)
    if several := corpus_pairs((*data.valid_corpora, *data.corpora), said, most):
        name, found = several
        return _sample(name, ((source, (target,)) for source, target in found), data)
    for left, right in ((data.valid_source, data.valid_target), (data.source, data.target)):
        if left and Path(left).is_file() and (right or kind_of(left)):
            pairs = islice(open_corpus(left, right, encoding_errors=data.encoding_errors).pairs(), most)
            return _sample(Path(left).name, ((source, (target,)) for source, target in pairs), data)
    raise ConfigError(
        "there are no sentences to compare the exported model with",
        hint="give some with -s FILE, and references with -t FILE",
        code="no_sentences",
    )


def _from_files(source: str, target: str, data: DataConfig, most: int) -> Sample:
    name = Path(source).name if source != "-" else "standard input"
    if target or kind_of(source):
        pairs = islice(open_corpus(source, target).pairs(), most)
        return _sample(name, ((text, (reference,)) for text, reference in pairs), data)
    return _sample(name, ((line, ()) for line in islice(read_lines(source), most)), data)


def _sample(name: str, pairs: Iterable[tuple[str, tuple[str, ...]]], data: DataConfig) -> Sample:
    kept = [(source, targets) for source, targets in pairs if source.strip()]
    digest = hashlib.sha256("\n".join(source for source, _ in kept).encode()).hexdigest()
    references = [targets for _, targets in kept] if kept and all(targets for _, targets in kept) else []
    return Sample(name, digest, [source for source, _ in kept], references, data.target_language)
