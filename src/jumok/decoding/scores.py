"""How probable a model finds given translations. No torch."""

from collections.abc import Sequence

from jumok.config import RunConfig
from jumok.decoding.engines import Engine, Explained
from jumok.decoding.hypotheses import tokens_of
from jumok.decoding.jobs import BATCH_TOKENS, Job
from jumok.decoding.results import Score, sum_up
from jumok.errors import DataError
from jumok.progress import Progress
from jumok.text.beginning import beginning
from jumok.text.normalize import tidy
from jumok.text.tokenizer import EOS, Tokenizers


def score_pairs(  # noqa: PLR0913  a model is an engine and its settings
    engine: Engine,
    tokenizers: Tokenizers,
    config: RunConfig,
    sources: Sequence[str],
    targets: Sequence[str],
    explained: Explained,
    progress: Progress,
) -> list[Score]:
    """The log-probability of each target, given its source: per token and in all."""
    if len(sources) != len(targets):
        raise unequal(len(sources), len(targets))
    source_ids = tokenizers.source.encode_many(map(tokenizers.tidy_source, sources))
    target_ids = tokenizers.target.encode_many(map(tidy, targets))
    if config.data.long == "cut" and tokenizers.pictures is None:
        source_ids = [beginning(ids, config.data.max_length) for ids in source_ids]
    # A target is a prefix that goes on to the end.
    begin = tokenizers.opening
    jobs = [Job(tokenizers.framed(s), (*begin, *t)) for s, t in zip(source_ids, target_ids, strict=True)]
    todo, scores = dict.fromkeys(jobs), dict[Job, list[float]]()
    budget = config.decoding.batch_tokens or BATCH_TOKENS
    for batch, log_probs in engine.scores(list(todo), budget, explained):
        scores.update(zip(batch, log_probs, strict=True))
        progress("scoring", len(scores), len(todo))
    results = []
    for source, target, job in zip(sources, targets, jobs, strict=True):
        tokens = tokens_of(tokenizers.target, (*job.prefix, EOS), scores[job])
        results.append(Score(source, target, *sum_up(tokens), tokens))
    return results


def unequal(sources: int, targets: int) -> DataError:
    """The error for lists that cannot be pairs."""
    return DataError(
        f"there are {sources} sources and {targets} targets",
        hint="give one target for each source",
        code="unequal_lines",
    )
