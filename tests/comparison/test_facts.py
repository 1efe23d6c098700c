"""The facts of a report, from the experiment."""

from pathlib import Path

from jumok.comparison.experiment import open_experiment
from jumok.comparison.facts import facts_of, joined, parameter_counts
from tests.comparison.conftest import tiny_request


def test_facts(corpus: Path) -> None:
    experiment = open_experiment(tiny_request(corpus, metrics=("exact", "cer")))
    facts = facts_of(experiment, "jumok compare --source train.src")
    assert facts["title"] == "train.src: rnn and transformer"
    assert facts["command"] == "jumok compare --source train.src"
    assert facts["metric"] == "exact"
    data = facts["data"]
    assert (data["train"], data["valid"], data["test"], data["test_name"]) == (280, 20, 20, "validation")
    assert data["vocabulary"] == experiment.prepared.tokenizers.target.size
    counts = parameter_counts(experiment)
    apart = max(counts.values()) / min(counts.values()) - 1
    assert facts["budget"] == {
        "kind": "steps",
        "value": 6,
        "matched": apart <= 0.05,
        "spread": round(apart, 4),
    }
    assert facts["machine"]["device"] == "cpu"


def test_joined() -> None:
    assert [joined("a"), joined("ab"), joined("abc")] == ["a", "a and b", "a, b and c"]
