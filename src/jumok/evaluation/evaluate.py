"""Evaluates a translator, or given translations, on a test set: quality, quality by length, speed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from os.path import commonprefix
from typing import Any
from unicodedata import normalize

from jumok.decoding.jobs import make_request
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError
from jumok.evaluation.lengths import Bins, Group, TrainLengths, group_by_length, parse_train_lengths
from jumok.evaluation.metrics import (
    References,
    Statistics,
    bleu_tokenizer,
    check_names,
    measure,
    perplexity,
    several,
)
from jumok.evaluation.report import Bin, Evaluation, Speed, compare_evaluations
from jumok.evaluation.significance import RESAMPLES, metric_of
from jumok.progress import Progress, silent

__all__ = ["Evaluation", "compare_evaluations", "evaluate", "score_texts"]

EXAMPLES = 20  # per length bin


def evaluate(  # noqa: PLR0913  the options of a test, each with a default that suits most
    translator: Translator,
    sources: Sequence[str],
    references: References,
    *,
    metrics: Sequence[str] = ("bleu", "chrf"),
    by_length: bool = True,
    bins: Bins = None,
    bootstrap: int = RESAMPLES,
    name: str = "",
    data: str = "test",
    language: str = "",
    progress: Progress = silent,
    **decode: Any,
) -> Evaluation:
    """Translate the sources and score the result against the references, one or several for each.

    Metric names are those of `metrics.LABELS`; `ppl` also asks the model how probable the references are.
    `name` and `language` (the target's code, which decides how BLEU splits words) are the model's own unless
    given. Other options are those of decoding.
    """
    language = language or translator.config.data.target_language
    plan = _MetricPlan(check_names(metrics), bins, by_length, bootstrap, language)
    _check_pairs(sources, references)
    hypotheses, speed = _translate(translator, sources, decode, progress)
    name = name or str(translator.info["name"])
    pictures = translator.info.get("source") == "image"
    right = tuple(several(references))
    test = _TestTexts(name, data, tuple(sources), right, tuple(hypotheses), pictures=pictures)
    known = {"ppl": _perplexity(translator, sources, test.first, progress)} if "ppl" in plan.metrics else {}
    settings = asdict(make_request(translator.config.decoding, decode).decoding) | decode
    trained = parse_train_lengths(translator.info.get("train_lengths"))
    return _report(test, plan, known, decode=settings, speed=speed, trained=trained, progress=progress)


def score_texts(  # noqa: PLR0913  as above
    hypotheses: Sequence[str],
    references: References,
    sources: Sequence[str] | None = None,
    *,
    metrics: Sequence[str] = ("bleu", "chrf"),
    by_length: bool = True,
    bins: Bins = None,
    bootstrap: int = RESAMPLES,
    name: str = "",
    data: str = "test",
    language: str = "",
    pictures: bool = False,
    progress: Progress = silent,
) -> Evaluation:
    """Score lines that are already translated; without sources there are no length bins.

    `pictures` says that the sources are names of pictures.
    """
    _check_pairs(hypotheses, references, "hypotheses")
    if sources is not None:
        _check_pairs(sources, references)
    read, right = tuple(sources or ("",) * len(references)), tuple(several(references))
    test = _TestTexts(name, data, read, right, tuple(hypotheses), pictures=pictures)
    plan = _MetricPlan(check_names(metrics), bins, by_length and sources is not None, bootstrap, language)
    return _report(test, plan, {}, decode={}, speed=None, trained=None, progress=progress)


@dataclass(frozen=True, slots=True)
class _TestTexts:
    name: str
    data: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    hypotheses: tuple[str, ...]
    pictures: bool = False

    @property
    def first(self) -> tuple[str, ...]:
        """One reference of each sentence."""
        return tuple(texts[0] for texts in self.references)

    @property
    def sha256(self) -> str:
        """Of sources and references; of pictures the names count, not where their folder lies."""
        sources = names_below(self.sources) if self.pictures else self.sources
        lines = (*sources, *("\t".join(texts) for texts in self.references))
        return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def names_below(paths: Sequence[str]) -> list[str]:
    """Names of pictures without the folder that all of them lie in; a data URL is its own name."""
    folders = [path.split("/")[:-1] for path in paths if not path.startswith("data:")]
    shared = len(commonprefix(folders))
    return [path if path.startswith("data:") else "/".join(path.split("/")[shared:]) for path in paths]


@dataclass(frozen=True, slots=True)
class _MetricPlan:
    metrics: tuple[str, ...]
    bins: Bins
    by_length: bool
    bootstrap: int
    language: str

    def __post_init__(self) -> None:
        if self.bootstrap < 0:
            raise ConfigError(
                f"{self.bootstrap} resamples cannot work",
                hint="choose 0 for no intervals, or 1000 for good ones",
                code="bad_bootstrap",
            )


def _report(
    test: _TestTexts,
    plan: _MetricPlan,
    known: Mapping[str, Statistics],
    *,
    decode: Mapping[str, Any],
    speed: Speed | None,
    trained: TrainLengths | None,
    progress: Progress,
) -> Evaluation:
    statistics, notes = _measure_all(test, plan, known, progress)
    unit, groups = group_by_length(test.sources, plan.bins) if plan.by_length else (None, [])
    each = _sentence_chrf(test, statistics) if groups else ()
    bins = []
    for done, group in enumerate(groups, start=1):
        bins.append(_bin(test, group, statistics, plan.bootstrap, each))
        progress("intervals by length", done, len(groups))
    return Evaluation(
        model=test.name,
        data=test.data,
        sha256=test.sha256,
        decode=dict(decode),
        metrics={name: metric_of(rows, plan.bootstrap) for name, rows in statistics.items()},
        length_ratio=_length_ratio(test.hypotheses, test.first),
        length_unit=unit,
        bins=tuple(bins),
        sentence_chrf=each,
        train_lengths=trained,
        bootstrap=plan.bootstrap,
        speed=speed,
        notes=notes,
        sources=test.sources,
        references=test.first,
        all_references=test.references,
        hypotheses=test.hypotheses,
        statistics=statistics,
    )


def _measure_all(
    test: _TestTexts, plan: _MetricPlan, known: Mapping[str, Statistics], progress: Progress
) -> tuple[dict[str, Statistics], tuple[str, ...]]:
    """Statistics by metric name in the order asked for, and what a reader should know about them.

    Both sides are compared in NFC, the form in which models read and write.
    """
    hypotheses, references = _composed(test)
    composed = (hypotheses, references) != (list(test.hypotheses), list(test.references))
    splits = any(name.startswith("bleu") for name in plan.metrics)
    tokenize, note = bleu_tokenizer(plan.language) if splits else ("13a", "")
    statistics = {}
    for done, name in enumerate(plan.metrics):
        progress("metrics", done, len(plan.metrics))
        statistics[name] = known.get(name) or measure(name, hypotheses, references, tokenize=tokenize)
    progress("metrics", len(plan.metrics), len(plan.metrics))
    notes = (
        note,
        "some texts were not in Unicode NFC and were brought to it before scoring" if composed else "",
    )
    return statistics, tuple(filter(None, notes))


def _composed(test: _TestTexts) -> tuple[list[str], list[tuple[str, ...]]]:
    """Hypotheses and references in NFC."""
    hypotheses = [normalize("NFC", text) for text in test.hypotheses]
    return hypotheses, [tuple(normalize("NFC", text) for text in texts) for texts in test.references]


def _sentence_chrf(test: _TestTexts, statistics: Mapping[str, Statistics]) -> tuple[float, ...]:
    """chrF++ of each sentence alone: unlike BLEU it tells bad sentences from worse ones."""
    chrf = statistics.get("chrf") or measure("chrf", *_composed(test))
    return tuple(chrf.score(chrf.rows).tolist())


def _bin(
    test: _TestTexts,
    group: Group,
    statistics: Mapping[str, Statistics],
    bootstrap: int,
    each: Sequence[float],
) -> Bin:
    lines = group.sentences
    return Bin(
        group=group,
        metrics={name: metric_of(rows.select(lines), bootstrap) for name, rows in statistics.items()},
        length_ratio=_length_ratio(
            [test.hypotheses[i] for i in lines], [test.references[i][0] for i in lines]
        ),
        examples=tuple(sorted(lines, key=lambda line: (each[line], line))[:EXAMPLES]),
    )


def _translate(
    translator: Translator, sources: Sequence[str], decode: Mapping[str, Any], progress: Progress
) -> tuple[list[str], Speed]:
    began = time.perf_counter()
    answers = translator.translate(list(sources), progress=progress, **decode)
    wall = time.perf_counter() - began
    tokens = sum(len(answer.tokens) for answer in answers)
    speed = Speed(len(answers) / wall, tokens / wall, wall, translator.engine_for(**decode))
    return [answer.text for answer in answers], speed


def _perplexity(
    translator: Translator, sources: Sequence[str], references: Sequence[str], progress: Progress
) -> Statistics:
    scores = translator.score(list(sources), list(references), progress=progress)
    unit = f"piece|vocabulary:{translator.tokenizers.target.fingerprint[:8]}"
    return perplexity([score.score for score in scores], [len(score.tokens) for score in scores], unit=unit)


def _check_pairs(sources: Sequence[str], references: References, what: str = "sources") -> None:
    if not references or not sources:
        raise DataError("there are no sentences to evaluate", hint="give at least one line", code="empty")
    if len(sources) != len(references):
        raise DataError(
            f"there are {len(sources):,} {what} and {len(references):,} references",
            hint="line n of one must answer line n of the other: look for a missing or a broken line",
            code="unequal_lines",
        )
    for line, texts in enumerate(several(references), start=1):
        if not texts:
            raise DataError(f"sentence {line:,} has no reference", hint="give at least one", code="empty")


def _length_ratio(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    return sum(map(len, hypotheses)) / max(sum(map(len, references)), 1)
