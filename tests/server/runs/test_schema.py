"""What the routes promise is what the files give: every answer fits its shape, whatever the folder holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.server.runs.catalog import Runs
from jumok.server.runs.schema import RunDetails, RunEvent, SeriesOut

OLD = Path(__file__).parents[2] / "fixtures" / "run-0.1"
VALUES: Any = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just([{"src": ""}])
)
NAMES = st.sampled_from(
    ["step", "loss", "elapsed_s", "samples", "metric", "best", "status", "message", "code"]
)
KINDS = st.sampled_from(["start", "train", "valid", "checkpoint", "notice", "end", "other"])
EVENTS = st.lists(
    st.tuples(KINDS, st.integers(0, 9), st.dictionaries(NAMES, VALUES, max_size=4)), max_size=10
)


@settings(max_examples=40)
@given(events=EVENTS)
def test_any_events_give_an_answer_of_the_promised_shape(
    events: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("runs")
    (root / "a").mkdir()
    lines = [json.dumps({"type": kind, "step": step, **rest}) for kind, step, rest in events]
    (root / "a" / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run = Runs(root).find("a")
    assert run is not None
    details = RunDetails.model_validate(run.details())
    assert len(SeriesOut.model_validate({"series": run.series(details.series, 100)}).series) == len(
        details.series
    )


def test_a_status_is_one_of_five(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.jsonl").write_text('{"type": "end", "status": "exploded"}\n', encoding="utf-8")
    run = Runs(tmp_path).find("a")
    assert run is not None
    assert RunDetails.model_validate(run.details()).status == "running"


@pytest.mark.parametrize("run", ["transformer", "luong", "rnn"])
def test_events_that_training_writes_keep_to_their_type(run: str) -> None:
    events = [json.loads(line) for line in (OLD / run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert {one["type"] for one in events} == {"start", "train", "valid", "checkpoint", "end"}
    for one in events:
        assert RunEvent.model_validate(one).model_dump(mode="json", exclude_unset=True) == one
