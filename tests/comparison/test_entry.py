"""What goes through a file comes back as it was; what is tested: files, a built-in split, or validation."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from jumok.comparison.entry import (
    METRICS,
    ComparisonEntry,
    MeasureOptions,
    TestPairs,
    base_of,
    read_test,
    validation_pairs,
)
from jumok.config import RunConfig, TrainingConfig
from jumok.errors import ConfigError
from jumok.evaluation.metrics import check_names
from jumok.evaluation.report import RESAMPLES
from jumok.settings import nest, parse_config

TEXT = st.text(max_size=8)


@given(
    st.builds(
        TestPairs,
        name=TEXT,
        sources=st.tuples(TEXT, TEXT),
        answers=st.tuples(*[st.lists(TEXT, min_size=1, max_size=3).map(tuple)] * 2),
    )
)
def test_pairs_come_back(pairs: TestPairs) -> None:
    assert TypeAdapter(TestPairs).validate_json(json.dumps(asdict(pairs))) == pairs
    assert len(pairs) == 2
    assert pairs.references == tuple(one[0] for one in pairs.answers)


def test_entries_and_options_come_back() -> None:
    entry = ComparisonEntry(
        name="transformer-s2 no-scale",
        arch="transformer",
        group="no-scale",
        seed=2,
        changes={"model.scaled": False},
        settings={"model.scaled": False, "seed": 2},
    )
    assert TypeAdapter(ComparisonEntry).validate_json(json.dumps(asdict(entry))) == entry
    assert entry.folder == "transformer-s2-no-scale"
    options = MeasureOptions(metrics=("exact", "cer"), device="cpu", growth=False)
    assert TypeAdapter(MeasureOptions).validate_json(json.dumps(asdict(options))) == options


def test_an_entry_is_measured_as_evaluations_are_and_in_all_ways() -> None:
    plain = MeasureOptions()
    assert (plain.bootstrap, plain.growth, plain.focus) == (RESAMPLES, True, True)
    assert plain.metrics == METRICS["loss"]
    assert ComparisonEntry(name="rnn", arch="rnn").seed == RunConfig().seed


def row(name: str, group: str = "plain", seed: int = 1, **changes: object) -> dict[str, object]:
    return {"name": name, "arch": name.split()[0], "group": group, "seed": seed, "changes": changes}


def test_an_ablation_is_compared_with_what_shares_most_of_its_changes() -> None:
    rows = [
        row("rnn"),
        row("transformer"),
        row("transformer other", seed=2),
        row("transformer rotary", "positions", length=24),
        row("transformer none", "positions", length=24, positions="none"),
        row("transformer no-scale", "no-scale", scaled=False),
    ]
    found = [base_of(one, rows) for one in rows]
    names = [one["name"] if one else None for one in found]
    assert names == [None, None, None, "transformer", "transformer rotary", "transformer"]


def config(**settings: Any) -> RunConfig:
    return parse_config(nest({name.replace("__", "."): value for name, value in settings.items()}))


def test_files(tmp_path: Path) -> None:
    (tmp_path / "t.en").write_text("one\ntwo\n")
    (tmp_path / "t.de").write_text("eins\nzwei\n")
    found = read_test(str(tmp_path / "t.en"), str(tmp_path / "t.de"), config())
    assert found is not None
    assert (found.name, found.sources, found.references) == ("t", ("one", "two"), ("eins", "zwei"))
    (tmp_path / ".en").write_text("one\ntwo\n")
    nameless = read_test(str(tmp_path / ".en"), str(tmp_path / "t.de"), config())
    assert nameless is not None
    assert nameless.name == "test"
    (tmp_path / "three.tsv").write_text("x\tone\teins\nx\ttwo\tzwei\n")
    found = read_test(str(tmp_path / "three.tsv"), "", config(data__columns="2,3"))
    assert found is not None
    assert found.answers == (("eins",), ("zwei",))


def test_a_built_in_split() -> None:
    found = read_test("", "", config(data__name="dates"))
    assert found is not None
    assert (found.name, len(found)) == ("dates test", 2000)


def test_nothing_but_validation() -> None:
    assert read_test("", "", config(data__source="a.tsv")) is None
    prepared: Any = SimpleNamespace(valid_pairs=(("a", "b"), ("c", "d")))
    found = validation_pairs(prepared)
    assert (found.sources, found.references, found.name) == (("a", "c"), ("b", "d"), "validation")


def test_a_target_without_a_source() -> None:
    with pytest.raises(ConfigError, match="--test-target is given without --test-source"):
        read_test("", "t.de", config())


def test_every_metric_of_training_has_metrics_of_a_test() -> None:
    for metric in get_args(TrainingConfig.__annotations__["metric"]):
        names = METRICS[metric]
        assert check_names(names) == names
        assert metric in ("loss", names[0])
