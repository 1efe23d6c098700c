"""How close texts are to their references: corpus metrics as sums of one row of numbers per sentence.

Every metric is a function of texts and their references, one or several for each, that returns `Statistics`.
The sum of the rows is all that a metric needs, so any subset (a length bin) and any resample
(`report.py`) is scored without reading a sentence twice. Rates and shares are percentages, as sacrebleu
gives them.

BLEU, chrF and TER count with sacrebleu, which is imported then, and carry its signatures. Edit rates and
ROUGE are counted here; of several references the one counts that suits the text best.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ConfigError, DataError, nearest
from jumok.text.rouge_words import rouge_words

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric

Rows = NDArray[np.float64]
Texts = Sequence[str]
References = Sequence[str | Sequence[str]]
"""For each text what it should be: one text, or several that are equally right."""

LABELS = {
    "bleu": "BLEU",
    "bleu-lc": "BLEU lc",
    "chrf": "chrF++",
    "chrf-char": "chrF",
    "ter": "TER",
    "exact": "exact",
    "wer": "WER",
    "cer": "CER",
    "per": "PER",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "ppl": "ppl",
}
"""Every metric and how it is written. `rouge` stands for its three."""

LOWER_IS_BETTER = frozenset({"ter", "wer", "cer", "per", "ppl"})

EDIT_UNITS: Mapping[str, tuple[str, Callable[[str], Sequence[str]]]] = {
    "wer": ("word", str.split),
    "per": ("symbol", str.split),  # lines of phoneme symbols with spaces between them
    "cer": ("character", lambda text: " ".join(text.split())),  # a run of white space is one character
}
"""What an error rate counts, and how a text is split into it."""

LANGUAGE_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One number, how it was made, and the interval that 95 of 100 resamples fall into."""

    name: str
    value: float
    signature: str
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What one metric has to know about each sentence; `score` turns sums of rows (…, F) into values (…)."""

    name: str
    rows: Rows  # (sentences, F)
    score: Callable[[Rows], Rows]
    signature: str

    @property
    def value(self) -> float:
        """The metric of all sentences together."""
        return float(self.score(self.rows.sum(axis=0)))

    def select(self, sentences: Sequence[int]) -> "Statistics":
        """The same metric for some of the sentences."""
        return Statistics(self.name, self.rows[list(sentences)], self.score, self.signature)


def several(references: References) -> list[tuple[str, ...]]:
    """The references of each text as a tuple."""
    return [(texts,) if isinstance(texts, str) else tuple(texts) for texts in references]


def count_references(references: References) -> str:
    """How many there are of each text, as signatures say it."""
    counts = {len(texts) for texts in several(references)}
    return f"nrefs:{counts.pop() if len(counts) == 1 else 'var'}"


def bleu(
    hypotheses: Texts, references: References, *, tokenize: str = "13a", lowercase: bool = False
) -> Statistics:
    """BLEU of detokenised text (Papineni et al. 2002), with sacrebleu's exponential smoothing.

    Lower-cased it is what most papers on small sets report, but for their tokens: they count on text that
    was normalised and tokenised beforehand, mostly by Moses' scripts, we on plain text that 13a splits.
    """
    from sacrebleu.metrics.bleu import BLEU

    name, metric = (
        "bleu-lc" if lowercase else "bleu",
        BLEU(tokenize=tokenize, lowercase=lowercase, force=True),
    )
    return _through_sacrebleu(name, metric, _bleu_score, hypotheses, references)


def chrf(hypotheses: Texts, references: References, *, word_order: int = 2) -> Statistics:
    """chrF++ (Popović 2017): F2 over character 1- to 6-grams and word 1- to 2-grams; word_order=0 is chrF."""
    from sacrebleu.metrics.chrf import CHRF

    name = "chrf" if word_order else "chrf-char"
    return _through_sacrebleu(name, CHRF(word_order=word_order), _chrf_score, hypotheses, references)


def ter(hypotheses: Texts, references: References) -> Statistics:
    """Translation edit rate: insertions, deletions, substitutions and shifts per reference word."""
    from sacrebleu.metrics.ter import TER

    return _through_sacrebleu("ter", TER(), _rate, hypotheses, references)


def bleu_tokenizer(language: str) -> tuple[str, str]:
    """The tokenizer for BLEU in a target language, and a note when the language's own is not installed."""
    from sacrebleu.metrics.bleu import BLEU

    wanted = LANGUAGE_TOKENIZERS.get(language, "13a")
    try:
        BLEU(tokenize=wanted)
    except RuntimeError:
        extra = f"pip install 'sacrebleu[{language}]'"
        return "13a", f"BLEU used the tokenizer 13a: {wanted} is not installed ({extra})"
    return wanted, ""


def _through_sacrebleu(
    name: str,
    metric: "SacreMetric",
    score: Callable[[Rows], Rows],
    hypotheses: Texts,
    references: References,
) -> Statistics:
    streams = list(zip_longest(*several(references)))  # one for each reference; None where a text has fewer
    # sacrebleu keeps its per-sentence counts behind an underscore; the tests hold them to its public scores.
    counts = metric._extract_corpus_statistics(hypotheses, streams)
    return Statistics(name, np.array(counts, dtype=np.float64), score, str(metric.get_signature()))


def _bleu_score(sums: Rows) -> Rows:
    """BP · exp(Σ log p_n / 4); the k-th order without a match counts as 1/2^k matches.

    sums (…, 10): hypothesis length, reference length, matches of order 1 to 4, n-grams of order 1 to 4.
    """
    hypothesis, reference = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2:6], sums[..., 6:]
    missing = matches == 0
    smoothed = np.where(missing, 0.5 ** missing.cumsum(axis=-1), matches)
    log_precision = np.log(smoothed / np.maximum(totals, 1)).mean(axis=-1)
    log_brevity = np.minimum(0, 1 - reference / np.maximum(hypothesis, 1))
    defined = (totals > 0).all(axis=-1) & ~missing.all(axis=-1)
    return np.where(defined, 100 * np.exp(log_brevity + log_precision), 0.0)


def _chrf_score(sums: Rows) -> Rows:
    """F_β = (1 + β²) P R / (β² P + R) with β = 2, P and R averaged over the orders that occur on both sides.

    sums (…, 3 · orders): n-grams of the hypothesis, of the reference, and matches, for each order.
    """
    by_order = sums.reshape(*sums.shape[:-1], -1, 3)
    hypothesis, reference, matches = np.moveaxis(by_order, -1, 0)
    both = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(both.sum(axis=-1), 1)
    precision = np.where(both, matches / np.maximum(hypothesis, 1), 0).sum(axis=-1) / orders
    recall = np.where(both, matches / np.maximum(reference, 1), 0).sum(axis=-1) / orders
    weighted = 4 * precision + recall
    return np.where(weighted > 0, 500 * precision * recall / np.where(weighted > 0, weighted, 1), 0.0)


def _rate(sums: Rows) -> Rows:
    """Events per unit in percent; without any unit, 100 if there was an event, else 0. sums (…, 2)."""
    events, units = sums[..., 0], sums[..., 1]
    return 100 * np.where(units > 0, events / np.where(units > 0, units, 1), np.sign(events))


def exact(hypotheses: Texts, references: References) -> Statistics:
    """Share of sentences equal to a reference of theirs, white space at the ends aside.

    What grapheme-to-phoneme papers call word error rate, one word being one line, is 100 minus this.
    """
    pairs = zip(hypotheses, several(references), strict=True)
    rows = [(float(ours.strip() in map(str.strip, theirs)), 1.0) for ours, theirs in pairs]
    signature = f"{count_references(references)}|case:mixed|space:strip"
    return Statistics("exact", np.array(rows), _rate, signature)


def rouge(name: str, hypotheses: Texts, references: References) -> Statistics:
    """ROUGE-1, ROUGE-2 or ROUGE-L (Lin 2004), `name` says which: F1 of each sentence pair, averaged.

    Tokens are lower-cased runs of letters, marks and digits of any script; there is no stemming, and ROUGE-L
    takes each line as one sequence.
    """
    order = int(name[-1]) if name != "rougeL" else 0

    def f1(ours: Sequence[str], theirs: Sequence[str]) -> float:
        if not order:
            return _f1(common_subsequence(ours, theirs), len(ours), len(theirs))
        first, second = _ngrams(ours, order), _ngrams(theirs, order)
        return _f1((first & second).total(), first.total(), second.total())

    pairs = zip(map(rouge_words, hypotheses), several(references), strict=True)
    rows = [(max(f1(ours, rouge_words(text)) for text in theirs), 1.0) for ours, theirs in pairs]
    signature = f"{count_references(references)}|case:lc|stem:no|tok:alnum|f:1"
    return Statistics(name, np.array(rows), _rate, signature)


def perplexity(log_probs: Sequence[float], tokens: Sequence[int], *, unit: str = "token") -> Statistics:
    """exp(-Σ log p / Σ tokens) of the references under a model; each sentence's end counts as a token.

    Two models' perplexities compare only when they share the unit, which the signature therefore names.
    """
    rows = np.array(list(zip(log_probs, tokens, strict=True)), dtype=np.float64)
    return Statistics("ppl", rows, _perplexity_score, f"nrefs:1|unit:{unit}")


def _perplexity_score(sums: Rows) -> Rows:
    with np.errstate(over="ignore"):
        return np.exp(-sums[..., 0] / np.maximum(sums[..., 1], 1))


def edit_rate(name: str, hypotheses: Texts, references: References) -> Statistics:
    """Edits per unit of the reference that the text comes nearest to; `name` is wer, per or cer."""
    unit, split = EDIT_UNITS[name]
    pairs = zip(map(split, hypotheses), several(references), strict=True)
    rows = []
    for ours, theirs in pairs:
        counts = [(edit_distance(ours, right), len(right)) for right in map(split, theirs)]
        rows.append(min(counts, key=lambda row: (row[0] / max(row[1], 1), row[0])))
    signature = f"{count_references(references)}|case:mixed|unit:{unit}"
    return Statistics(name, np.array(rows, dtype=np.float64), _rate, signature)


def _ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def _f1(matches: int, ours: int, theirs: int) -> float:
    """2 P R / (P + R) with P = matches / ours and R = matches / theirs."""
    return 2 * matches / (ours + theirs) if matches else 0.0


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Metric names in order, once each, `rouge` and `chrf++` spelled out; an unknown one is refused."""
    spelled = {"rouge": ("rouge1", "rouge2", "rougeL"), "chrf++": ("chrf",)}
    known: dict[str, None] = {}
    for name in names:
        for spelling in spelled.get(name, (name,)):
            if spelling not in LABELS:
                raise ConfigError(
                    f"unknown metric {name!r}", hint=nearest(name, {*LABELS, *spelled}), code="unknown_metric"
                )
            known[spelling] = None
    if not known:
        raise ConfigError("no metric was named", hint=f"known: {', '.join(LABELS)}", code="unknown_metric")
    return tuple(known)


def measure(name: str, hypotheses: Texts, references: References, *, tokenize: str = "13a") -> Statistics:
    """The statistics of one metric by its name in `LABELS`; not perplexity, which needs a model."""
    if not references:
        raise DataError("there are no sentences to score", hint="give at least one line", code="empty")
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses):,} hypotheses cannot be scored against {len(references):,} references",
            hint="line n of one must answer line n of the other: look for a missing or a broken line",
            code="unequal_lines",
        )
    match name:
        case "bleu" | "bleu-lc":
            return bleu(hypotheses, references, tokenize=tokenize, lowercase=name == "bleu-lc")
        case "chrf" | "chrf-char":
            return chrf(hypotheses, references, word_order=2 if name == "chrf" else 0)
        case "rouge1" | "rouge2" | "rougeL":
            return rouge(name, hypotheses, references)
        case "ppl":
            raise ConfigError(
                "perplexity needs a model, not only its output", hint="leave out ppl", code="no_model"
            )
        case "ter" | "exact":
            return (ter if name == "ter" else exact)(hypotheses, references)
        case _:
            return edit_rate(name, hypotheses, references)


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Fewest insertions, deletions and substitutions that turn one sequence into the other.

    Hyyrö's bit-parallel form (2003) of Myers' algorithm: one column of the table is two integers,
    whose bits say where the value rises or falls from one row to the next.
    """
    if not first:
        return len(second)
    where, full = _positions(first), (1 << len(first)) - 1
    last = 1 << (len(first) - 1)
    rises, falls, distance = full, 0, len(first)
    for item in second:
        equal = where.get(item, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal
        right_rises = falls | (full & ~(diagonal | rises))
        right_falls = rises & diagonal
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises, right_falls = (right_rises << 1) | 1, right_falls << 1
        keeps = equal | falls
        rises = (right_falls | ~(keeps | right_rises)) & full
        falls = right_rises & keeps & full
    return distance


def common_subsequence(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): each zero bit is one match."""
    where, full = _positions(first), (1 << len(first)) - 1
    open_rows = full
    for item in second:
        hits = open_rows & where.get(item, 0)
        open_rows = (open_rows + hits) | (open_rows - hits)
    return len(first) - (open_rows & full).bit_count()


def _positions(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """For each item, an integer with a bit set at each of its places."""
    where: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        where[item] = where.get(item, 0) | (1 << place)
    return where
