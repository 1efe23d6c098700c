"""What the entries of an experiment are tested on, and by which metrics."""

from pathlib import Path

from jumok.comparison.entry import TestPairs
from jumok.config import RunConfig
from jumok.data.builtin import builtin_corpus
from jumok.errors import ConfigError
from jumok.run.prepare import Prepared, open_side

VALIDATION = "validation"

# By what training looks at: the metric that the report speaks of, and those beside it.
METRICS = {
    "bleu": ("bleu", "chrf"),
    "chrf": ("chrf", "bleu"),
    "exact": ("exact", "cer"),
    "per": ("per", "exact"),
    "rouge1": ("rouge1", "rouge2", "rougeL"),
    "rougeL": ("rougeL", "rouge1", "rouge2"),
    "loss": ("bleu", "chrf"),
}


def usual_metrics(metric: str) -> tuple[str, ...]:
    """The metrics of a test where nobody names them."""
    return METRICS[metric]


def read_test(source: str, target: str, config: RunConfig) -> TestPairs | None:
    """The pairs of the test files, or of the test split of a built-in set; None if there are neither."""
    data = config.data
    if target and not source:
        raise ConfigError("--test-target is given without --test-source", hint="give both, or none")
    if source:
        corpus = open_side(data, source, target)
        name = Path(source).name.removesuffix(".gz").split(".")[0] or "test"
    elif data.name:
        corpus, name = builtin_corpus(data.name, "test"), f"{data.name} test"
    else:
        return None
    lines = list(corpus.texts())
    return TestPairs(
        name=name,
        sources=tuple(source for source, *_ in lines),
        answers=tuple(tuple(answers) for _, *answers in lines),
    )


def validation_pairs(prepared: Prepared) -> TestPairs:
    """What validation looks at, when there is nothing else to test on."""
    return TestPairs(
        name=VALIDATION,
        sources=tuple(source for source, _ in prepared.valid_pairs),
        answers=tuple((target,) for _, target in prepared.valid_pairs),
    )
