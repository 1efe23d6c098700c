"""One trained entry, measured: quality, speed, memory, growth with length, and where it looks."""

import json
import time
from copy import copy
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch

from jumok.checkpoint.folder import replace_file
from jumok.comparison.bins import by_length, scored
from jumok.comparison.cost import LENGTHS, measure_growth, peak_of, update_peak
from jumok.comparison.entry import MeasureOptions, TestPairs
from jumok.comparison.focus import (
    INFLUENCE_SENTENCES,
    SENTENCES,
    measure_attention,
    measure_influence,
    spread,
)
from jumok.comparison.record import training_record
from jumok.decoding.translator import Translator, load
from jumok.evaluation.evaluate import evaluate
from jumok.evaluation.metrics import measure
from jumok.evaluation.report import Evaluation
from jumok.progress import Progress, silent
from jumok.seals import sealed
from jumok.text.normalize import tidy
from jumok.training.log import finite

TESTED = "tested.json"
"""In an entry's folder: what it made of every test source, for the tests against its neighbours."""
ALONE = 30  # sentences translated one at a time, for milliseconds each
TOGETHER = 64  # sentences translated at once, for memory
NO_LIMIT = 1_000_000  # tokens


def measure_entry(
    folder: Path, test: TestPairs, options: MeasureOptions, progress: Progress = silent
) -> dict[str, Any]:
    """An entry of compare/1 without what the plan knows: name, arch, group, seed and changes.

    Also writes `tested.json` into the folder.
    """
    record = training_record(folder)
    train_rate, process_peak = record.pop("train_tokens_per_s"), record.pop("process_peak_bytes")
    translator = load(folder, options.device, engine="torch")
    found = evaluate(
        unsplit(translator),
        test.sources,
        test.answers,
        metrics=options.metrics,
        by_length=False,
        bootstrap=0,  # intervals come with the bins
        data=test.name,
        progress=progress,
    )
    pictures = translator.tokenizers.pictures is not None
    write_tested(folder, found, pictures=pictures)
    entry = {
        **record,
        "error": None,
        "speed": {"train_tokens_per_s": train_rate, **speed_of(translator, found, progress)},
        "memory": {**memory_of(translator, test, process_peak), "process_peak_bytes": process_peak},
        "quality": quality_of(found, options, pictures=pictures),
        **insights(translator, found, options, progress),
    }
    plain: dict[str, Any] = finite(entry)
    return plain


def unsplit(translator: Translator) -> Translator:
    """A translator that reads every source in one part, so that a test shows what lies past training.

    `jumok translate` cuts a source that is longer than any of training into parts, which hides the answer.
    Only a table of learned positions still sets a limit.
    """
    config, decoding, most = translator.config, translator.config.decoding, NO_LIMIT
    if rows := config.model.table_rows:
        most = max(rows - 1, 1)  # the end takes a row
        decoding = replace(decoding, max_len=min(decoding.max_len, most))
    other = copy(translator)
    other.config = replace(config, data=replace(config.data, max_length=most), decoding=decoding)
    return other


def write_tested(folder: Path, found: Evaluation, *, pictures: bool) -> None:
    """Keep what the entry made of the test set, with the chrF++ of each sentence alone.

    Of pictures the names are kept, not where they lie.
    """
    chrf = found.statistics.get("chrf") or measure("chrf", found.hypotheses, found.all_references)
    sources = [Path(source).name for source in found.sources] if pictures else found.sources
    plain = {
        "data": found.data,
        "sha256": found.sha256,
        "sources": sources,
        "references": found.all_references,
        "hypotheses": found.hypotheses,
        "chrf": chrf.score(chrf.rows).tolist(),
    }
    replace_file(folder / TESTED, json.dumps(sealed(plain), ensure_ascii=False, allow_nan=False).encode())


def quality_of(found: Evaluation, options: MeasureOptions, *, pictures: bool) -> dict[str, Any]:
    """The metrics of the whole test set with their intervals, and the first of them by source length.

    Pictures are all of one length.
    """
    metrics = {name: scored(statistics, options.bootstrap) for name, statistics in found.statistics.items()}
    first = metrics[options.metrics[0]]
    statistics = found.statistics[options.metrics[0]]
    bins = by_length(found.sources, statistics, found.train_lengths, options.bootstrap)
    return {
        "value": first["value"],
        "ci95": first["ci95"],
        "n": len(found.references),
        "metrics": metrics,
        "by_length": bins | {"bins": [], "trained_to": None} if pictures else bins,
        "examples": [],  # chosen when all entries are known: where they differ
    }


def speed_of(translator: Translator, found: Evaluation, progress: Progress) -> dict[str, Any]:
    """Sentences and tokens a second for the whole test set at once, milliseconds for one sentence alone."""
    taken, chosen = [], spread(len(found.sources), ALONE)
    translator.translate(found.sources[0], sentences="as-is")  # wakes kernels
    for done, line in enumerate(chosen, start=1):
        began = time.perf_counter()
        translator.translate(found.sources[line], sentences="as-is")
        taken.append(1000 * (time.perf_counter() - began))
        progress("one at a time", done, len(chosen))
    slow = quantiles(taken, n=20, method="inclusive")[-1] if len(taken) > 1 else taken[0]
    assert found.speed is not None  # it was translated here
    return {
        "sentences_per_s": found.speed.sentences_per_s,
        "target_tokens_per_s": found.speed.target_tokens_per_s,
        "ms_per_sentence": {"median": median(taken), "p95": slow},
        "threads": torch.get_num_threads(),
    }


def memory_of(translator: Translator, test: TestPairs, trained: int | None) -> dict[str, Any]:
    """Peak bytes of training and of decoding; on a GPU training has counted its own."""
    some = [test.sources[i] for i in spread(len(test), TOGETHER)]
    decoding = peak_of(translator.model, lambda: translator.translate(some, sentences="as-is"))
    on_gpu = next(translator.model.parameters()).is_cuda
    if on_gpu or translator.tokenizers.pictures is not None:
        return {"train_peak_bytes": trained if on_gpu else None, "decode_peak_bytes": decoding}
    sides = zip(
        translator.tokenizers.source.encode_many(map(tidy, test.sources)),
        translator.tokenizers.target.encode_many(map(tidy, test.references)),
        strict=True,
    )
    training = update_peak(translator.model, translator.config, list(sides))
    return {"train_peak_bytes": training, "decode_peak_bytes": decoding}


def insights(
    translator: Translator, found: Evaluation, options: MeasureOptions, progress: Progress
) -> dict[str, Any]:
    """What lies behind the quality: where the model looks, and what length costs; nothing for pictures."""
    parts: dict[str, Any] = dict.fromkeys(("attention", "influence", "growth"))
    if translator.tokenizers.pictures is not None:
        return parts
    written = list(zip(found.sources, found.hypotheses, strict=True))
    if options.focus:
        many, few = (spread(len(written), most) for most in (SENTENCES, INFLUENCE_SENTENCES))
        parts["attention"] = measure_attention(translator, [written[i] for i in many], progress)
        parts["influence"] = measure_influence(translator, [written[i] for i in few], progress)
    if options.growth:
        vocabulary = translator.tokenizers.target.size
        model, config = translator.model, translator.config.model
        parts["growth"] = measure_growth(model, config, vocabulary, lengths=LENGTHS, progress=progress)
    return parts
