"""Evaluates a translator, or given translations, on a test set: quality, quality by length, speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from os.path import commonprefix
from typing import Any
from unicodedata import normalize

from jumok.decoding.jobs import make_request
from jumok.decoding.results import TermUse, Translation
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError
from jumok.evaluation.lengths import Bins, Group, group_by_length, parse_train_lengths
from jumok.evaluation.metrics import (
    References,
    Statistics,
    bleu_tokenizer,
    check_names,
    measure,
    perplexity,
    several,
)
from jumok.evaluation.mistakes import Pair, Scored, find_mistakes
from jumok.evaluation.post_edits import is_changed
from jumok.evaluation.report import RESAMPLES, Bin, Evaluation, Speed, compare_evaluations, metric_of
from jumok.progress import Progress, silent
from jumok.terms.glossary import glossary_of

__all__ = ["Evaluation", "compare_evaluations", "evaluate", "score_texts", "with_mistakes"]

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
    mistakes: bool = False,
    progress: Progress = silent,
    **decode: Any,
) -> Evaluation:
    """Translate the sources and score the result against the references, one or several for each.

    Metric names are those of `metrics.LABELS`; `ppl` also asks the model how probable the references are.
    `name` and `language` (the target's code, which decides how BLEU splits words) are the model's own unless
    given. `mistakes` also tells what kinds of mistakes there are, and asks the model whose fault they are.
    Other options are those of decoding.
    """
    names = _check_plan(metrics, bootstrap)
    _check_pairs(sources, references)
    translator = translator.asked_in(decode)
    if decode.get("glossary") is not None:
        decode["glossary"] = glossary_of(decode["glossary"])
    answers, speed = _translate(translator, sources, decode, progress)
    hypotheses = [answer.text for answer in answers]
    first = [texts[0] for texts in several(references)]
    found = score_texts(
        hypotheses,
        references,
        sources,
        metrics=names,
        by_length=by_length,
        bins=bins,
        bootstrap=bootstrap,
        name=name or str(translator.info["name"]),
        data=data,
        language=language or translator.config.data.target_language,
        pictures=translator.info.get("source") == "image",
        known={"ppl": _perplexity(translator, sources, first, progress)} if "ppl" in names else None,
        progress=progress,
    )
    settings = asdict(make_request(translator.config.decoding, decode).decoding) | decode
    if decode.get("glossary") is not None:
        said = _terms([term for answer in answers for term in answer.terms])
        settings["glossary"] = {"terms": len(decode["glossary"].terms), **said}
        note = f"{said['present']:,} of {said['applicable']:,} terms of the glossary are in the translations"
        found = replace(found, notes=(*found.notes, note))
    trained = parse_train_lengths(translator.info.get("train_lengths"))
    found = replace(found, decode=settings, speed=speed, train_lengths=trained)
    return with_mistakes(found, translator, progress) if mistakes else found


def with_mistakes(
    found: Evaluation, translator: Translator | None = None, progress: Progress = silent
) -> Evaluation:
    """The evaluation with the kinds of its mistakes. The model that answered is asked whose fault they are:
    how probable it finds its wrong answers, and their first references."""
    texts = zip(found.sources, found.all_references, found.hypotheses, strict=True)
    pairs = [Pair(*each) for each in texts]
    wrong = [n for n, pair in enumerate(pairs) if is_changed(pair.answer, pair.references)]
    if translator and wrong:
        sources = [found.sources[n] for n in wrong]
        sides = (found.hypotheses, found.references)
        ours, theirs = (
            translator.score(sources, [side[n] for n in wrong], progress=progress) for side in sides
        )
        for n, *scores in zip(wrong, ours, theirs, strict=True):
            answer, reference = (Scored(score.score, len(score.tokens)) for score in scores)
            pairs[n] = replace(pairs[n], answer_score=answer, reference_score=reference)
    alpha = float(found.decode.get("length_penalty", 1.0))
    return replace(found, mistakes=find_mistakes(pairs, alpha=alpha, progress=progress))


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
    known: Mapping[str, Statistics] | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Score lines that are already translated; without sources there are no length bins.

    `pictures` says that the sources are names of pictures; `known` has metrics that were measured before,
    such as `ppl`, which needs a model.
    """
    _check_pairs(hypotheses, references, "hypotheses")
    if sources is not None:
        _check_pairs(sources, references)
    names = _check_plan(metrics, bootstrap)
    ours, right = tuple(hypotheses), tuple(several(references))
    first = tuple(texts[0] for texts in right)
    read = tuple(sources or ("",) * len(right))
    # Both sides are compared in NFC, the form in which models read and write.
    composed = (
        tuple(normalize("NFC", text) for text in ours),
        tuple(tuple(normalize("NFC", text) for text in texts) for texts in right),
    )
    statistics, note = _measure_all(*composed, names, language, known or {}, progress)
    unit, groups = group_by_length(read, bins) if by_length and sources is not None else (None, [])
    each: tuple[float, ...] = ()  # chrF++ of each sentence: unlike BLEU it tells bad ones from worse ones
    if groups:
        chrf = statistics.get("chrf") or measure("chrf", *composed)
        each = tuple(chrf.score(chrf.rows).tolist())
    other_form = "some texts were not in Unicode NFC and were brought to it before scoring"
    return Evaluation(
        model=name,
        data=data,
        sha256=_fingerprint(names_below(read) if pictures else read, right),
        decode={},
        metrics={name: metric_of(rows, bootstrap) for name, rows in statistics.items()},
        length_ratio=_length_ratio(ours, first),
        length_unit=unit,
        bins=tuple(_bins(groups, ours, first, statistics, bootstrap, each, progress)),
        sentence_chrf=each,
        train_lengths=None,
        bootstrap=bootstrap,
        speed=None,
        notes=tuple(filter(None, (note, other_form if composed != (ours, right) else ""))),
        sources=read,
        references=first,
        all_references=right,
        hypotheses=ours,
        statistics=statistics,
    )


def _fingerprint(sources: Sequence[str], references: Sequence[Sequence[str]]) -> str:
    """SHA-256 of a test set."""
    lines = (*sources, *("\t".join(texts) for texts in references))
    return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def names_below(paths: Sequence[str]) -> list[str]:
    """Names of pictures without the folder that all of them lie in, wherever it is; a data URL is its own."""
    folders = [path.split("/")[:-1] for path in paths if not path.startswith("data:")]
    shared = len(commonprefix(folders))
    return [path if path.startswith("data:") else "/".join(path.split("/")[shared:]) for path in paths]


def _measure_all(
    hypotheses: Sequence[str],
    references: References,
    names: Sequence[str],
    language: str,
    known: Mapping[str, Statistics],
    progress: Progress,
) -> tuple[dict[str, Statistics], str]:
    """Statistics by metric name in the order asked for, and what a reader should know about them."""
    splits = any(name.startswith("bleu") for name in names)
    tokenize, note = bleu_tokenizer(language) if splits else ("13a", "")
    statistics = {}
    for done, name in enumerate(names):
        progress("metrics", done, len(names))
        statistics[name] = known.get(name) or measure(name, hypotheses, references, tokenize=tokenize)
    progress("metrics", len(names), len(names))
    return statistics, note


def _bins(
    groups: Sequence[Group],
    hypotheses: Sequence[str],
    references: Sequence[str],
    statistics: Mapping[str, Statistics],
    bootstrap: int,
    each: Sequence[float],
    progress: Progress,
) -> Iterator[Bin]:
    for done, group in enumerate(groups, start=1):
        lines = group.sentences
        yield Bin(
            group=group,
            metrics={name: metric_of(rows.select(lines), bootstrap) for name, rows in statistics.items()},
            length_ratio=_length_ratio([hypotheses[i] for i in lines], [references[i] for i in lines]),
            examples=tuple(sorted(lines, key=lambda line: (each[line], line))[:EXAMPLES]),
        )
        progress("intervals by length", done, len(groups))


def _translate(
    translator: Translator, sources: Sequence[str], decode: Mapping[str, Any], progress: Progress
) -> tuple[list[Translation], Speed]:
    began = time.perf_counter()
    lines = {"sentences": "as-is", **decode}  # a line is answered by a line
    answers = translator.translate(list(sources), progress=progress, **lines)
    wall = time.perf_counter() - began
    tokens = sum(len(answer.tokens) for answer in answers)
    speed = Speed(len(answers) / wall, tokens / wall, wall, translator.engine_for(**decode))
    return answers, speed


def _terms(terms: Sequence[TermUse]) -> dict[str, int]:
    """How many terms of the glossary the sources had, and the translations."""
    return {"applicable": len(terms), "present": sum(term.present for term in terms)}


def _perplexity(
    translator: Translator, sources: Sequence[str], references: Sequence[str], progress: Progress
) -> Statistics:
    scores = translator.score(list(sources), list(references), progress=progress)
    unit = f"token|vocabulary:{translator.tokenizers.target.fingerprint[:8]}"
    return perplexity([score.score for score in scores], [len(score.tokens) for score in scores], unit=unit)


def _check_plan(metrics: Sequence[str], bootstrap: int) -> tuple[str, ...]:
    """The names of the metrics, if they and the number of resamples can work."""
    if bootstrap < 0:
        raise ConfigError(
            f"{bootstrap} resamples cannot work",
            hint="choose 0 for no intervals, or 1000 for good ones",
            code="bad_bootstrap",
        )
    return check_names(metrics)


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
