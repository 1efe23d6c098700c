"""The fixed vector as bars, with its numbers in JSON and in the table."""

from pathlib import Path

import numpy as np
from tests.cli.views.conftest import Traces

from jumok.cli.views.bridge import bars, bridge_view
from jumok.explain.trace import open_trace


def test_the_vector_and_the_influence(traces: Traces) -> None:
    view = bridge_view(traces["rnn"], "because")
    lines = view.text.splitlines()
    assert lines[:3] == ["2024-04-03T15:30", "", "because"]
    assert lines[4] == "the fixed vector: 1 layer × 2 × 80 numbers (lstm)"
    h, c = lines[5:7]
    assert (h[:3], c[:3]) == ("h  ", "c  ")
    assert set(h[3:83]) <= set("▁▂▃▄▅▆▇█")
    vector = traces["rnn"].tensor("rnn.bridge")
    assert f"|h| {np.linalg.norm(vector[0, 0]):.2f}" in h
    assert lines[8].startswith("influence · words")
    np.testing.assert_allclose(view.plain["bridge"], vector, rtol=1e-6)
    assert [row[:2] for row in view.table[1:]] == [[1, "h"], [1, "c"]]


def test_a_file_without_influence_says_so(traces: Traces, models: object, tmp_path: Path) -> None:
    from jumok.explain.trace import make_trace

    fresh = make_trace(models["rnn"], "5. März 2024")  # type: ignore[index]
    view = bridge_view(open_trace(fresh.save(tmp_path / "a.trace")), "because")
    assert view.text.endswith("this trace comes from a file that was saved without influence")
    assert "influence" not in view.plain


def test_bars_go_from_the_smallest_to_the_largest() -> None:
    assert bars(np.array([0.0, 0.5, 1.0]), 0.0, 1.0) == "▁▅█"
    assert bars(np.array([2.0, 2.0]), 2.0, 2.0) == "▁▁"
