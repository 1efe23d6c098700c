"""The certificate of an import: how far our model is from the original, which its own program computes.

Both read the same sentences. Ours writes an answer greedily; then both are given that answer, and every
logit of every step is compared. Where at each step both prefer the same token, the original's greedy
answer is ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from math import fsum, isfinite
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.checkpoint.model import LoadedModel
from jumok.config import DecodingConfig
from jumok.decoding.batched import search
from jumok.decoding.jobs import Job, batches
from jumok.errors import ConfigError, nearest
from jumok.export.parity import Sample
from jumok.importing.incoming import Incoming, Logits, Original
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.progress import Progress
from jumok.text.beginning import beginning
from jumok.text.frame import Direction, closed
from jumok.text.normalize import tidy
from jumok.text.specials import BOS, EOS

SCHEMA = "jumok-import/1"
LONGEST = 64  # tokens of an answer that is compared: each step is
SHOWN = 20
ROWS = 512


@dataclass(frozen=True)
class ImportThresholds:
    """What the model has to reach; None asks nothing."""

    logits: float | None = 1e-3
    """Largest difference of a logit."""
    score: float | None = 1e-3
    """Largest difference of an answer's log-probability, divided by its tokens."""
    equal: float | None = 0.999
    """Smallest share of sentences for which both prefer the same token at every step."""
    tokens: float | None = 0.99
    """Smallest share of sentences that both cut into the same tokens."""


def read_import_thresholds(given: Mapping[str, float | str]) -> ImportThresholds:
    """The usual thresholds, changed by some; "none" takes one away."""
    changed: dict[str, float | None] = {}
    for name, value in given.items():
        if name not in asdict(ImportThresholds()):
            raise ConfigError(
                f"there is no threshold {name!r}", hint=nearest(name, asdict(ImportThresholds()))
            )
        try:
            number = None if value == "none" else float(value)
        except ValueError:
            number = float("nan")
        if number is not None and not isfinite(number):
            raise ConfigError(
                f"the threshold {name}={value!r} has no number", hint=f"write {name}=0.5, or {name}=none"
            )
        changed[name] = number
    return replace(ImportThresholds(), **changed)


@dataclass(frozen=True)
class Compared:
    """One sentence in both programs."""

    text: str
    answer: tuple[int, ...]
    same_tokens: bool | None
    logits: float | None
    """The largest difference of a logit."""
    score: float
    """The difference of the answer's log-probability, for each of its tokens."""
    agrees: bool
    """Both prefer the same token at every step."""


def certify(
    loaded: LoadedModel,
    incoming: Incoming,
    original: Original,
    sample: Sample,
    direction: Direction,
    thresholds: ImportThresholds,
    progress: Progress,
) -> dict[str, Any]:
    """The certificate as plain values."""
    texts = [tidy(text) for text in sample.sources if text.strip()]
    compared = compare_all(loaded, incoming, original, texts, direction, progress)
    logits = [one.logits for one in compared if one.logits is not None]
    cut = [one.same_tokens for one in compared if one.same_tokens is not None]
    result = {
        "sentences": len(compared),
        "data": {"name": sample.name, "sha256": sample.sha256},
        "direction": list(direction),
        "equal": sum(one.agrees for one in compared),
        **({"same_tokens": sum(cut)} if cut else {}),
        **({"largest_logit_difference": max(logits)} if logits else {}),
        "largest_score_difference": max(one.score for one in compared),
        "thresholds": {name: value for name, value in asdict(thresholds).items() if value is not None},
    }
    decode = loaded.tokenizers.target.decode
    differing = [one for one in compared if not one.agrees or one.same_tokens is False]
    shown = [
        {"source": one.text, "ours": decode(one.answer), "same_tokens": one.same_tokens, "agrees": one.agrees}
        for one in differing[:SHOWN]
    ]
    faults = import_failures(result, thresholds)
    return {**result, "passed": not faults, "failures": faults, "differences": shown}


def import_failures(result: Mapping[str, Any], thresholds: ImportThresholds) -> list[str]:
    """Which thresholds were not met, in words."""
    faults, count = list[str](), result["sentences"]
    largest = result.get("largest_logit_difference")
    if largest is not None and thresholds.logits is not None and not largest <= thresholds.logits:
        faults.append(f"logits differ by up to {largest:.2g}, {thresholds.logits:g} may be")
    difference = result["largest_score_difference"]
    if thresholds.score is not None and not difference <= thresholds.score:
        faults.append(f"scores differ by up to {difference:.2g} per token, {thresholds.score:g} may be")
    if thresholds.equal is not None and result["equal"] < thresholds.equal * count:
        faults.append(
            f"{result['equal']:,} of {count:,} answers are preferred by both, {thresholds.equal:.1%} must be"
        )
    cut = result.get("same_tokens")
    if cut is not None and thresholds.tokens is not None and cut < thresholds.tokens * count:
        faults.append(
            f"{cut:,} of {count:,} sentences are cut into the same tokens, {thresholds.tokens:.1%} must be"
        )
    return faults


def compare_all(
    loaded: LoadedModel,
    incoming: Incoming,
    original: Original,
    texts: Sequence[str],
    direction: Direction,
    progress: Progress,
) -> list[Compared]:
    """Both programs on each text."""
    both, limit = loaded.tokenizers.towards(direction), loaded.config.data.max_length
    whole = both.text_source.encode_many(texts)
    ids = [list(beginning(one, limit)) for one in whole]
    theirs = original.tokens(texts)
    answers = greedy_answers(loaded, ids, direction)
    found = []
    for n, (text, source, answer) in enumerate(zip(texts, ids, answers, strict=True)):
        progress("comparing with the original", n, len(texts))
        same = None if theirs is None else incoming.source_rows[whole[n]].tolist() == theirs[n]
        sentence = closed(both.framed(source))
        largest, score, agrees = compare_one(loaded.model, incoming, original, sentence, answer)
        found.append(Compared(text, answer, same, largest, score, agrees))
    progress("comparing with the original", len(texts), len(texts))
    return found


def greedy_answers(
    loaded: LoadedModel, sources: Sequence[Sequence[int]], direction: Direction
) -> list[tuple[int, ...]]:
    """What our model answers greedily: all tokens behind the start, with the end where it came to one."""
    both = loaded.tokenizers.towards(direction)
    jobs = [Job(both.framed(source), both.opening) for source in sources]
    config = DecodingConfig(beam=1, max_len=min(LONGEST, loaded.config.decoding.max_len))
    found: dict[Job, tuple[int, ...]] = {}
    for batch in batches(dict.fromkeys(jobs), ROWS, lambda job: len(job.source) + 1):
        for job, (best, *_) in zip(
            batch, search(loaded.model, batch, config, both.target.spellings()), strict=True
        ):
            ids = (*best.ids, EOS) if best.finished else best.ids
            words = tuple(takewhile(lambda i: i not in both.target.tags, ids[len(both.opening) :]))
            found[job] = (*both.opening, *(words or (EOS,)))  # up to a token that writes nothing
    return [found[job] for job in jobs]


def compare_one(
    model: Seq2Seq, incoming: Incoming, original: Original, sentence: Sequence[int], answer: Sequence[int]
) -> tuple[float | None, float, bool]:
    """The largest difference of a logit, that of the score by token, and whether both prefer the same."""
    rows = incoming.target_rows
    ours = our_logits(model, sentence, answer[:-1])  # (T, V)
    source = incoming.source_rows[list(sentence)].tolist()
    target = rows[[BOS, *answer]].tolist()
    theirs = original.logits(source, target[:-1])
    own = log_softmax(ours)[np.arange(len(answer)), list(answer)]
    if theirs is None:
        score = abs(fsum(own.tolist()) - fsum(original.scores(source, target))) / max(len(answer), 1)
        return None, score, score < 1e-2
    their = log_softmax(theirs)[np.arange(len(answer)), target[1:]]
    known = np.flatnonzero(rows >= 0)
    known = known[known != BOS]
    left, right = ours[:, known], theirs[:, rows[known]]
    score = abs(fsum(own.tolist()) - fsum(their.tolist())) / max(len(answer), 1)
    agrees = bool((left.argmax(1) == right.argmax(1)).all())
    return float(np.abs(left - right).max(initial=0)), score, agrees


def log_softmax(logits: Logits) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True)
    made: NDArray[np.float64] = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    return made


@torch.inference_mode()
def our_logits(model: Seq2Seq, source: Sequence[int], target: Sequence[int]) -> Logits:
    """Our logits (T + 1, V) after the start and each of these tokens."""
    device = torch.device("cpu")
    memory = model.encode(Sentences.lay([list(source)], device))
    numbers: Logits = model.decode(Sentences.lay([[BOS, *target]], device), memory).logits().float().numpy()
    return numbers
