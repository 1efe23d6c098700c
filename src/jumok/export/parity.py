"""The parity certificate: how well a model that was written for another program agrees with our own.

Both answer the same sentences, greedily and with the model's own beam; our side is PyTorch in float32. Of the
other's answers we also compute the log-probability ourselves, so that scores are compared answer by answer
even where the texts differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, fsum, isfinite
from typing import Any

from jumok.answers import Answer, NotFiniteError
from jumok.checkpoint.model import LoadedModel
from jumok.config import DecodingConfig
from jumok.decoding.batched import score_targets, search
from jumok.decoding.jobs import Job, batches, make_request, read_sources, token_spellings
from jumok.decoding.parts import make_jobs
from jumok.decoding.results import shorten
from jumok.errors import ConfigError, DataError, LimitError, RunError, nearest
from jumok.evaluation.metrics import bleu, bleu_tokenizer, chrf, common_subsequence
from jumok.evaluation.report import paired_interval
from jumok.export.format import Answerer
from jumok.native.folder import SCHEMA
from jumok.progress import Progress, silent

SHOWN = 20  # differences that the certificate lists
ROWS = 512  # source tokens, padding included, that are answered together: often enough to show progress


@dataclass(frozen=True)
class Thresholds:
    """What a model has to reach; None asks nothing."""

    equal: float | None = None
    """Smallest share of sentences with the same greedy text."""
    score: float | None = None
    """Largest difference of an answer's log-probability, divided by its tokens."""
    agreement: float | None = None
    """Smallest share of tokens that both greedy texts have in the same order."""
    bleu: float | None = None
    """Largest difference of BLEU, where there are references; one that may be chance does not count."""


USUAL: Mapping[str, Thresholds] = {
    "float32": Thresholds(equal=0.999, score=1e-3),
    "int8": Thresholds(agreement=0.95, bleu=0.2),
    "shortlist": Thresholds(agreement=0.9, bleu=0.2),  # it may take another word of the same worth
}
"""Of each type of weights, and of a model with its shortlist."""


def read_thresholds(kind: str, given: Sequence[str]) -> Thresholds:
    """The usual thresholds of a type, changed by words such as `equal=0.99`; `none` takes one away."""
    changed: dict[str, float | None] = {}
    for word in given:
        name, _, text = word.partition("=")
        if name not in asdict(Thresholds()):
            raise ConfigError(f"there is no threshold {name!r}", hint=nearest(name, asdict(Thresholds())))
        try:
            changed[name] = None if text == "none" else float(text)
            if text != "none" and not isfinite(float(text)):
                raise ValueError(text)
        except ValueError:
            raise ConfigError(
                f"the threshold {word!r} has no number", hint=f"write {name}=0.5, or {name}=none"
            ) from None
    return replace(USUAL[kind], **changed)


@dataclass(frozen=True)
class Sample:
    """The sentences of a comparison."""

    name: str
    sha256: str
    sources: Sequence[str]
    references: Sequence[Sequence[str]] = ()
    """One or more for each source, or none at all."""
    language: str = ""


@dataclass(frozen=True)
class AnswerPair:
    """The answers of both to one sentence."""

    source: str
    ours: tuple[int, ...]
    theirs: Answer
    score: float
    """Our own log-probability of their answer."""

    @property
    def difference(self) -> float:
        """By how much the two programs differ over the same answer, for each of its tokens."""
        return abs(self.theirs.score - self.score) / max(len(self.theirs.ids) + self.theirs.finished, 1)


@dataclass(frozen=True)
class Parity:
    """All answers, and what follows from them."""

    greedy: Sequence[AnswerPair]
    beam: Sequence[AnswerPair]
    width: int
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def largest_difference(self) -> float:
        return max(pair.difference for pair in (*self.greedy, *self.beam))


def compare(
    loaded: LoadedModel,
    answerer: Answerer,
    sample: Sample,
    progress: Progress = silent,
    *,
    before: Parity | None = None,
) -> Parity:
    """Both engines on the same sentences; blank ones are left out, and what is too long is cut.

    Our own answers are taken from an earlier comparison `before` on the same sentences, if there is one.
    """
    numbers = [n for n, text in enumerate(sample.sources) if text.strip()]
    if not numbers:
        raise DataError(f"{sample.name} has no sentences to compare with", hint="give a file with -s")
    sources = read_sources([sample.sources[n] for n in numbers], loaded.tokenizers)
    request = make_request(loaded.config.decoding, {"long": "cut", "sentences": "as-is"})
    parts = make_jobs(sources, request, loaded.tokenizers, loaded.config.data)
    jobs = [one.jobs[0] for one in parts]
    usual = DecodingConfig(max_len=loaded.config.decoding.max_len)
    greedy = replace(usual, beam=1)
    width, alpha = loaded.config.decoding.beam, loaded.config.decoding.length_penalty
    beam = replace(usual, beam=width, length_penalty=alpha)
    narrow = answer_both(loaded, answerer, jobs, greedy, progress, before.greedy if before else ())
    wide = narrow
    if width > 1:
        wide = answer_both(loaded, answerer, jobs, beam, progress, before.beam if before else ())
    references = [tuple(sample.references[n]) for n in numbers] if sample.references else []
    return Parity(narrow, wide, width, _metrics(loaded, wide, references, sample.language))


def answer_both(
    loaded: LoadedModel,
    answerer: Answerer,
    jobs: Sequence[Job],
    config: DecodingConfig,
    progress: Progress,
    earlier: Sequence[AnswerPair],
) -> list[AnswerPair]:
    """The answers to each job, in batches of similar lengths; ours are those of `earlier`, if it is given."""
    spellings, todo = token_spellings(loaded.tokenizers.target), dict.fromkeys(jobs)
    known = {job: pair.ours for job, pair in zip(jobs, earlier, strict=False)}
    what = "comparing, greedy" if config.beam == 1 else f"comparing, beam {config.beam}"
    pairs: dict[Job, AnswerPair] = {}
    progress(what, 0, len(todo))
    for batch in batches(todo, ROWS, lambda job: len(job.source) + 1):
        if earlier:
            ours = [known[job] for job in batch]
        else:
            ours = [several[0].ids for several in _our_answers(loaded, batch, config, spellings)]
        sources, limits = [job.source for job in batch], [job.limit(config) for job in batch]
        theirs = answerer.answer(sources, limits, beam=config.beam, length_penalty=config.length_penalty)
        if not all(isfinite(given.score) for given in theirs):
            raise RunError("the exported model gave numbers that are not finite", code="non_finite")
        scores = score_targets(loaded.model, sources, [given.ids for given in theirs])
        for job, mine, given, own in zip(batch, ours, theirs, scores, strict=True):
            score = fsum(own if given.finished else own[:-1])
            pairs[job] = AnswerPair(loaded.tokenizers.source.decode(job.source), mine, given, score)
        progress(what, len(pairs), len(todo))
    return [pairs[job] for job in jobs]


def _our_answers(
    loaded: LoadedModel, batch: Sequence[Job], config: DecodingConfig, spellings: Sequence[bytes]
) -> list[list[Answer]]:
    """What PyTorch answers; a model that cannot is nothing to export."""
    try:
        return search(loaded.model, batch, config, spellings)
    except NotFiniteError:
        raise RunError(
            "the model itself gives numbers that are not finite",
            where=str(loaded.folder),
            hint="its weights may be damaged or diverged: jumok verify checks the folder",
            code="model_numeric_error",
        ) from None
    except LookupError as error:
        raise LimitError(str(error), code="too_long") from None


def _metrics(
    loaded: LoadedModel, pairs: Sequence[AnswerPair], references: Sequence[tuple[str, ...]], language: str
) -> dict[str, dict[str, float]]:
    """BLEU and chrF++ of both, if there is something to measure with."""
    if not references:
        return {}
    decode = loaded.tokenizers.target.decode_many
    sides = [decode([pair.ours for pair in pairs]), decode([pair.theirs.ids for pair in pairs])]
    words, _ = bleu_tokenizer(language or loaded.config.data.target_language)
    of = {
        "bleu": [bleu(side, references, tokenize=words) for side in sides],
        "chrf": [chrf(side, references) for side in sides],
    }
    found = {}
    for name, (ours, theirs) in of.items():
        difference, low, high = paired_interval(ours, theirs)
        found[name] = {"reference": ours.value, "exported": theirs.value, "difference": difference}
        found[name] |= {"low": low, "high": high}
    return found


def agreement(pairs: Sequence[AnswerPair]) -> float:
    """Tokens that both have in the same order, of all: twice the common ones over the sum of both."""
    common = sum(common_subsequence(pair.ours, pair.theirs.ids) for pair in pairs)
    tokens = sum(len(pair.ours) + len(pair.theirs.ids) for pair in pairs)
    return 2 * common / tokens if tokens else 1.0


def certificate(
    loaded: LoadedModel,
    comparison: Parity,
    sample: Sample,
    thresholds: Thresholds,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """The certificate as plain values; `about` says the format, the type and the versions."""
    decode = loaded.tokenizers.target.decode
    differing = [pair for pair in comparison.greedy if pair.ours != pair.theirs.ids]
    result = {
        "schema": SCHEMA,
        **about,
        "model_fingerprint": loaded.info.get("fingerprint", ""),
        "sentences": len(comparison.greedy),
        "data": {"name": sample.name, "sha256": sample.sha256},
        "greedy": _summary(comparison.greedy),
        "beam": {"width": comparison.width, **_summary(comparison.beam)},
        **comparison.metrics,
        "largest_score_difference": comparison.largest_difference,
        "thresholds": {name: value for name, value in asdict(thresholds).items() if value is not None},
    }
    faults, open_questions = failures(result, thresholds), undecided(result, thresholds)
    differences = [
        {"source": pair.source, "ours": decode(pair.ours), "theirs": decode(pair.theirs.ids)}
        for pair in differing[:SHOWN]
    ]
    verdict = {"passed": not faults, "failures": faults, "undecided": open_questions}
    return {**result, **verdict, "differences": differences}


def _summary(pairs: Sequence[AnswerPair]) -> dict[str, Any]:
    equal = sum(pair.ours == pair.theirs.ids for pair in pairs)
    return {"equal": equal, "share": equal / len(pairs), "token_agreement": agreement(pairs)}


def failures(result: Mapping[str, Any], thresholds: Thresholds) -> list[str]:
    """Which thresholds were not met, in words."""
    greedy, faults = result["greedy"], list[str]()
    if thresholds.equal is not None and greedy["share"] < thresholds.equal:
        texts = f"{greedy['equal']:,} of {result['sentences']:,} greedy texts are equal"
        faults.append(f"{texts}, {thresholds.equal:.1%} must be")
    difference = result["largest_score_difference"]
    if thresholds.score is not None and difference > thresholds.score:
        faults.append(f"scores differ by up to {difference:.2g} per token, {thresholds.score:g} may be")
    if thresholds.agreement is not None and greedy["token_agreement"] < thresholds.agreement:
        tokens = f"{greedy['token_agreement']:.2%} of the tokens agree"
        faults.append(f"{tokens}, {thresholds.agreement:.1%} must")
    if differs(result, thresholds) and significant(result["bleu"]):
        faults.append(f"{_difference(result['bleu'])}, {thresholds.bleu:g} may be")
    return faults


def undecided(result: Mapping[str, Any], thresholds: Thresholds) -> list[str]:
    """What is beyond a threshold and may be chance, and how many sentences would tell: noise falls by the
    root of their number.
    """
    if not differs(result, thresholds) or significant(result["bleu"]):
        return []
    score, count = result["bleu"], result["sentences"]
    half = (score["high"] - score["low"]) / 2
    needed = ceil(count * max((half / abs(score["difference"])) ** 2, 1) / 100) * 100
    told = f"about {needed:,} sentences would tell" if needed > count else "a few more sentences would tell"
    return [f"{_difference(score)}, which may be chance: {told}"]


def differs(result: Mapping[str, Any], thresholds: Thresholds) -> bool:
    """Whether BLEU differs by more than it may, up or down: a gain says as well that it is another model."""
    most = thresholds.bleu
    return most is not None and "bleu" in result and abs(result["bleu"]["difference"]) > most


def significant(score: Mapping[str, float]) -> bool:
    """Whether the 95 % interval of a difference leaves out 0."""
    return score["low"] > 0 or score["high"] < 0


def _difference(score: Mapping[str, float]) -> str:
    return f"BLEU differs by {score['difference']:+.2f} (95 %: {score['low']:+.2f} to {score['high']:+.2f})"


def shown(difference: Mapping[str, str]) -> str:
    """One difference on a line of its own."""
    return " | ".join(f"{name} {shorten(difference[name])}" for name in ("source", "ours", "theirs"))
