"""Several corpora in one run: opened, read in one pass each, laid out as text to learn from and to validate.

A corpus is read once. With `both` its pairs are there twice, once in each direction; text in one language is
there as pairs that are copied or noisy. What is held out of one corpus is left out of all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.config import DataConfig, RunConfig
from jumok.data.builtin import BUILTIN, builtin_corpus
from jumok.data.corpus import Corpus, open_corpus
from jumok.data.corpus_spec import CorpusSpec, parse_specs
from jumok.data.forms import Pair
from jumok.data.noise import noisy
from jumok.data.reader import CheckReport, read_several
from jumok.data.store import AnyPair
from jumok.data.survey import Hashes, Survey, check_enough, hold_out, join_surveys, usual_hold_out
from jumok.errors import ConfigError, DataError
from jumok.formats.files import split_packing
from jumok.progress import Progress
from jumok.text.frame import Direction, Frame, tagged

LEAST_HELD = 10
"""Pairs of each corpus to validate on, at least."""
ALONE = ("source", "target", "name", "valid_source", "valid_target", "images", "columns")
"""Settings of data that is one corpus."""


@dataclass(frozen=True)
class MixedCorpus:
    """One of several corpora, and from which language into which it goes."""

    spec: CorpusSpec
    corpus: Corpus
    direction: Direction

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What its pairs teach; of text in one language, nothing to be asked for."""
        if self.spec.alone:
            return ()
        back = Direction(self.direction.target, self.direction.source)
        return (self.direction, back) if self.spec.both else (self.direction,)


@dataclass(frozen=True)
class Mixture:
    """The corpora of a run, and those to validate on, if there are any."""

    train: tuple[MixedCorpus, ...]
    valid: tuple[MixedCorpus, ...] = ()

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Every direction once, in the order of the corpora."""
        return tuple(dict.fromkeys(chain.from_iterable(one.directions for one in self.train)))

    @property
    def fingerprint(self) -> str:
        """Hashes of the contents of all files."""
        return "+".join(one.corpus.fingerprint() for one in (*self.train, *self.valid))

    def frame(self, data: DataConfig) -> Frame:
        """What stands around sentences, as the settings say."""
        known = [one for one in self.directions if all(one)]
        if not known and data.tags not in ("auto", "none"):
            raise ConfigError(
                f"data.tags={data.tags} needs languages, and no corpus says which it has",
                hint="write them behind the file: news.tsv:de-en",
                code="bad_corpus",
            )
        return tagged(known, data.tags)


def open_mixture(data: DataConfig) -> Mixture:
    """The corpora that the settings name, checked against each other."""
    for name in ALONE:
        if getattr(data, name):
            option = f"--{name.replace('_', '-')}" if name != "name" else f"data.name={data.name}"
            raise ConfigError(
                f"several corpora (--data) and {option} exclude each other",
                hint="give all files by --data, and validation files by --valid",
            )
    train = tuple(open_spec(spec, data) for spec in parse_specs(data.corpora))
    valid = tuple(open_spec(spec, data) for spec in parse_specs(data.valid_corpora))
    mixture = Mixture(with_languages(train), valid)
    check_valid(mixture)
    return mixture


def open_spec(spec: CorpusSpec, data: DataConfig) -> MixedCorpus:
    """One corpus, with the languages that it was given or that its file tells."""
    errors = data.encoding_errors
    if spec.alone:
        corpus = open_corpus(spec.source, spec.source, encoding_errors=errors)
        return MixedCorpus(spec, corpus, Direction(spec.direction.target, spec.direction.target))
    if spec.source in BUILTIN and not spec.target and not Path(spec.source).exists():
        info = BUILTIN[spec.source]
        if info.pictures:
            raise ConfigError(
                f"the corpus {spec.given!r} has pictures, and several corpora are of text",
                hint=f"train it alone: --data {spec.source}",
            )
        said = Direction(info.source_language, info.target_language)
        return MixedCorpus(
            spec, builtin_corpus(spec.source, "train"), spec.direction if any(spec.direction) else said
        )
    corpus = open_corpus(spec.source, spec.target, encoding_errors=errors)
    told = Direction(*corpus.form.languages)
    if not all(told):
        told = by_names(spec)
    if any(spec.direction) and all(corpus.form.languages) and spec.direction != told:
        # Named columns: these are read, or the error says which there are.
        columns = ",".join(spec.direction)
        corpus = open_corpus(spec.source, encoding_errors=errors, columns=columns)
    return MixedCorpus(spec, corpus, spec.direction if any(spec.direction) else told)


def by_names(spec: CorpusSpec) -> Direction:
    """Languages by names such as train.de and train.en."""
    from jumok.run.plan import is_language

    endings = [split_packing(Path(name).name)[0].rpartition(".")[2] for name in (spec.source, spec.target)]
    return Direction(*endings) if spec.target and all(map(is_language, endings)) else Direction()


def with_languages(corpora: Sequence[MixedCorpus]) -> tuple[MixedCorpus, ...]:
    """The corpora, of which all say their languages or none does; text in one language follows the others."""
    pairs = [one for one in corpora if not one.spec.alone]
    if not pairs:
        raise ConfigError(
            "no corpus has pairs: text in one language alone teaches no translation",
            hint="give a corpus with sources and targets besides",
            code="bad_corpus",
        )
    known = [one for one in pairs if all(one.direction)]
    if known and len(known) < len(pairs):
        silent = next(one for one in pairs if one not in known)
        raise ConfigError(
            f"{known[0].spec.name} is {known[0].direction}, and {silent.spec.name} does not say what it is",
            hint=f"write them behind the file: {silent.spec.given}:{'-'.join(known[0].direction)}",
            code="bad_corpus",
        )
    targets = list(dict.fromkeys(way.target for one in pairs for way in one.directions))
    return tuple(_alone_in(one, targets) if one.spec.alone else one for one in corpora)


def _alone_in(one: MixedCorpus, targets: Sequence[str]) -> MixedCorpus:
    """Text in one language, which must be one that the pairs go into."""
    code = one.direction.target or (targets[0] if len(targets) == 1 else "")
    if code not in targets:
        said = f"is in {code!r}" if code else "does not say its language"
        raise ConfigError(
            f"{one.spec.name} {said}, and pairs go into {', '.join(filter(None, targets)) or 'no named one'}",
            hint=f"write one of these: {one.spec.source}:{targets[0] or 'en'}:{one.spec.alone}",
            code="bad_corpus",
        )
    return MixedCorpus(one.spec, one.corpus, Direction(code, code))


def check_valid(mixture: Mixture) -> None:
    """Refuse validation files that say nothing about what is learned."""
    for one in mixture.valid:
        if one.spec.weight or one.spec.alone:
            raise ConfigError(
                f"--valid {one.spec.given}: validation pairs have no weight, and two sides",
                hint="leave the word out",
                code="bad_corpus",
            )
        for direction in one.directions:
            if direction not in mixture.directions:
                raise ConfigError(
                    f"--valid {one.spec.given} goes {direction}, and no corpus does",
                    hint=f"the corpora go {', '.join(map(str, mixture.directions))}",
                    code="bad_corpus",
                )


def look_at_mixture(mixture: Mixture, progress: Progress) -> CheckReport:
    """What is wrong with the corpora, each by itself, and which validation pairs are among them."""
    return _read(mixture, progress, strict=False, keep=False)


def _read(mixture: Mixture, progress: Progress, *, strict: bool, keep: bool) -> CheckReport:
    train = {one.spec.given: one.corpus for one in mixture.train}
    valid = {f"valid {one.spec.given}": one.corpus for one in mixture.valid}
    alone = {one.spec.given for one in mixture.train if one.spec.alone}
    return read_several(train, valid, alone=alone, strict=strict, keep=keep, progress=progress)


def read_mixture(mixture: Mixture, progress: Progress, *, keep: bool) -> CheckReport:
    """The one pass over all files; refuses what nothing can be learned from."""
    report = _read(mixture, progress, strict=True, keep=keep)
    for one, found in zip(mixture.train, report.parts, strict=False):
        if not found.usable:
            raise DataError(f"{one.spec.name} has no pair with text on both sides", code="empty")
    streams = [report.parts[stream.part] for stream in streams_of(mixture)]
    mixed = join_surveys(streams, directions=mixture.directions)
    check_enough(mixed, " + ".join(one.spec.name for one in mixture.train))
    return CheckReport(report.parts, report.findings, mixed)


@dataclass(frozen=True)
class PairStream:
    """Pairs of one corpus in one direction."""

    part: int
    """Which corpus."""
    direction: Direction
    weight: float
    back: bool = False
    """Targets are sources here."""


def streams_of(mixture: Mixture) -> list[PairStream]:
    """Every corpus in each of its directions; both share its weight."""
    found = []
    for part, one in enumerate(mixture.train):
        weight = one.spec.weight / max(1, len(one.directions))
        for back, direction in enumerate(one.directions or (one.direction,)):
            found.append(PairStream(part, direction, weight, bool(back)))
    return found


@dataclass(frozen=True)
class RunPairs:
    """What a run learns from and validates on, as text."""

    streams: tuple[PairStream, ...]
    train: Callable[[], Iterator[AnyPair]]
    """Pairs with the number of their stream, stream after stream."""
    total: int
    valid: tuple[Pair, ...]
    ways: tuple[Direction, ...]
    """The direction of each validation pair; those of all directions are mixed evenly."""
    held: Hashes
    """Sources that are validated on."""

    def valid_by_direction(self) -> tuple[list[Direction], list[AnyPair]]:
        """All directions of the validation pairs, and the pairs of one after those of the other."""
        ways = list(dict.fromkeys(self.ways))
        numbers = {way: number for number, way in enumerate(ways)}
        rows = sorted(range(len(self.valid)), key=lambda row: numbers[self.ways[row]])
        return ways, [(*self.valid[row], numbers[self.ways[row]]) for row in rows]

    def valid_lines(self, *, languages: bool) -> Iterator[str]:
        """The validation pairs as lines of a file, with their languages where there may be several."""
        for (source, target), way in zip(self.valid, self.ways, strict=True):
            yield "\t".join((source, target, *(way if languages else ()))) + "\n"


def lay_out(mixture: Mixture, report: CheckReport, config: RunConfig) -> RunPairs:
    """What is held out, and what is left."""
    surveys, streams = report.parts[: len(mixture.train)], streams_of(mixture)
    held = {} if mixture.valid else held_rows(mixture, report, config)
    lists: dict[Direction, list[Pair]] = {}
    if mixture.valid:
        for one, found in zip(mixture.valid, report.parts[len(surveys) :], strict=True):
            add_pairs(lists, one, [pair for pair in texts_of(found) if all(pair)])
    for part, rows in held.items():
        wanted = set(rows.tolist())
        add_pairs(
            lists,
            mixture.train[part],
            [pair for row, pair in enumerate(texts_of(surveys[part])) if row in wanted],
        )
    if not any(lists.values()):
        raise DataError("the validation files have no pair with text on both sides", code="empty")
    sources, apart = left_out(mixture, surveys, held)
    spread = sorted(
        ((place + 0.5) / len(pairs), number, pair, way)
        for number, (way, pairs) in enumerate(lists.items())
        for place, pair in enumerate(pairs)
    )

    def train() -> Iterator[AnyPair]:
        for number, stream in enumerate(streams):
            alone = mixture.train[stream.part].spec.alone
            pairs = zip(texts_of(surveys[stream.part]), apart[stream.part].tolist(), strict=True)
            for (source, target), out in pairs:
                if out:
                    continue
                if alone == "denoise":
                    source = noisy(target, config.seed)  # noqa: PLW2901
                yield (target, source, number) if stream.back else (source, target, number)

    total = sum(int((~apart[stream.part]).sum()) for stream in streams)
    return RunPairs(
        tuple(streams),
        train,
        total,
        tuple(pair for _, _, pair, _ in spread),
        tuple(way for _, _, _, way in spread),
        sources,
    )


def held_rows(mixture: Mixture, report: CheckReport, config: RunConfig) -> dict[int, NDArray[np.int64]]:
    """Rows of each corpus to validate on: as many as its size among the others asks for."""
    surveys = {part: report.parts[part] for part, one in enumerate(mixture.train) if not one.spec.alone}
    usable = sum(found.usable for found in surveys.values())
    wanted = config.data.hold_out or usual_hold_out(report.train)
    counts = {
        part: min(max(LEAST_HELD, round(wanted * found.usable / usable)), max(1, found.usable // 4))
        for part, found in surveys.items()
    }
    return {part: hold_out(found, counts[part], config.seed) for part, found in surveys.items()}


def add_pairs(lists: dict[Direction, list[Pair]], one: MixedCorpus, pairs: Sequence[Pair]) -> None:
    """Validation pairs of a corpus in each of its directions."""
    for back, direction in enumerate(one.directions):
        lists.setdefault(direction, []).extend((b, a) if back else (a, b) for a, b in pairs)


def left_out(
    mixture: Mixture, surveys: Sequence[Survey], held: dict[int, NDArray[np.int64]]
) -> tuple[Hashes, list[NDArray[np.bool_]]]:
    """Sources that are held out, and which rows of each corpus nobody learns from.

    Sources that are held out anywhere are in no training pair as a source; text in one language, and pairs in
    both directions, are in none with either side.
    """
    none = np.empty(0, dtype=np.uint64)
    asked, answers = list[Hashes]([none]), list[Hashes]([none])
    for part, rows in held.items():
        found, both = surveys[part], mixture.train[part].spec.both
        asked += [found.source_hashes[rows], *([found.target_hashes[rows]] if both else [])]
        answers += [found.target_hashes[rows]]
    sources, either = np.concatenate(asked), np.concatenate([*asked, *answers])
    apart = []
    for one, found in zip(mixture.train, surveys, strict=True):
        out = np.isin(found.source_hashes, either if one.spec.alone else sources)
        apart.append(out | np.isin(found.target_hashes, sources) if one.spec.both else out)
    return sources, apart


def texts_of(found: Survey) -> Iterator[Pair]:
    """The tidied pairs that the reading kept."""
    if found.texts is None:
        raise ValueError("the texts were not kept when they were read")
    return iter(found.texts)
