"""What the experiment itself knows and the report repeats: its data, machine, budget and metric."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from jumok import __version__
from jumok.comparison.entry import Facts
from jumok.comparison.experiment import Experiment
from jumok.comparison.match import WITHIN, count, spread
from jumok.config import Arch
from jumok.settings import nest, parse_config


def facts_of(experiment: Experiment, command: str) -> Facts:
    """What `build_report` asks for: the fields of schema compare/1 that no entry decides."""
    return {
        "title": f"{data_name(experiment)}: {joined(experiment.request.archs)}",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "command": command,
        "data": data_facts(experiment),
        "machine": {
            "name": experiment.machine.name,
            "cores": experiment.machine.cores,
            "device": experiment.machine.device,
        },
        "budget": budget_facts(experiment),
        "metric": experiment.options.metrics[0],
    }


def data_name(experiment: Experiment) -> str:
    """The built-in set's name, or that of the source file."""
    given = experiment.request.given
    file = Path(str(given.get("data.source", ""))).name.removesuffix(".gz")
    return str(given.get("data.name") or file)


def data_facts(experiment: Experiment) -> Facts:
    prepared, settings = experiment.prepared, next(iter(experiment.bases.values()))
    tokenizers = prepared.tokenizers
    target = 0 if tokenizers.shared else tokenizers.target.size
    return {
        "name": data_name(experiment),
        "train": len(prepared.train),
        "valid": len(prepared.valid_pairs),
        "test": len(experiment.test),
        "test_name": experiment.test.name,
        "sha256": experiment.fingerprint,
        "source_language": settings["data.source_language"],
        "target_language": settings["data.target_language"],
        "vocabulary": tokenizers.source.size + target,
    }


def parameter_counts(experiment: Experiment) -> dict[Arch, int]:
    """Parameters of each architecture's plain entries, by formula."""
    tokenizers = experiment.prepared.tokenizers
    return {
        arch: count(parse_config(nest(settings)).model, tokenizers)
        for arch, settings in experiment.bases.items()
    }


def budget_facts(experiment: Experiment) -> Facts:
    """The budget of an entry, and how far the sizes of the plain entries are apart."""
    apart = spread(parameter_counts(experiment).values())
    return experiment.request.budget.to_dict() | {"matched": apart <= WITHIN, "spread": round(apart, 4)}


def joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
