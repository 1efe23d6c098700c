"""The tree of a search as text: the answer straight down, the others beside it."""

from collections import Counter

import pytest
from tests.cli.views.conftest import TEXT, Traces

from jumok.cli.views.beam import Tree, beam_view, rejected
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.explain.trace import make_trace


def test_the_answer_runs_down_and_others_part_from_it(models: dict[str, Translator]) -> None:
    trace = make_trace(models["rnn"], TEXT, options={"beam": 2})
    view = beam_view(trace, "blocks")
    lines = view.text.splitlines()
    found = trace.beam()
    assert found is not None
    assert lines[2].startswith("beam 2 · length penalty 1 · 17 steps · ")
    trunk = [line for line in lines if "● " in line][:17]
    assert [line.split()[2] for line in trunk] == [*"␣2024"[:0], "␣2", *"024-04-03T15:30", "</s>"]
    assert [int(line.split()[0]) for line in trunk] == list(range(1, 18))
    assert float(trunk[-1].split()[-1]) == pytest.approx(
        found["nodes"][found["chosen"][-1]]["score"], abs=1e-3
    )
    other = next(line for line in lines if "○ 3 - 0 5 T 1 4 : 3 0 </s>" in line)
    assert other.endswith("ended at 17")  # what would have been right
    assert view.line == f"2024-04-03T15:30\t{found['nodes'][found['chosen'][-1]]['score']:.4f}"
    assert len(view.table) == 1 + len(found["nodes"])
    assert view.plain["beam"] is found


def test_every_hypothesis_that_was_kept_beside_the_answer_is_shown(traces: Traces) -> None:
    found = traces["rnn"].beam()
    assert found is not None
    chosen = set(found["chosen"])
    beside = [n for n in found["nodes"] if n["parent"] in chosen and n["n"] not in chosen]
    kinds = Counter("✕" if node["state"] == "pruned" else "○" for node in beside)
    text = beam_view(traces["rnn"], "blocks").text.split("\n\n● the answer")[0]
    assert text.count("○ ") == kinds["○"]
    assert sum(line.count(" · ") + 1 for line in text.splitlines() if "✕" in line) == kinds["✕"]


def test_bold_and_dim_only_in_colour(traces: Traces) -> None:
    assert "\x1b" not in beam_view(traces["luong"], "blocks").text
    coloured = beam_view(traces["luong"], "colour").text
    assert "\x1b[1m● " in coloured
    assert "\x1b[2m✕ " in coloured


def test_a_target_that_was_given_or_drawn_has_no_tree(models: dict[str, Translator]) -> None:
    with pytest.raises(ConfigError, match="there is no tree: the target was given, not searched for"):
        beam_view(make_trace(models["luong"], TEXT, target="2024"))
    drawn = make_trace(models["luong"], TEXT, options={"sample": True, "seed": 1})
    with pytest.raises(ConfigError, match="there is no tree: the target was drawn at random"):
        beam_view(drawn)


def test_the_longest_way_ends_at_the_latest_that_was_kept() -> None:
    def node(
        n: int, parent: int | None, t: int, state: str = "expanded", norm: float = 0.0
    ) -> dict[str, object]:
        return {"n": n, "parent": parent, "t": t, "state": state, "norm": norm}

    nodes = [
        node(0, None, -1),
        node(1, 0, 0),
        node(2, 1, 1, norm=-2),
        node(3, 1, 1, norm=-1),
        node(4, 3, 2, "pruned"),
    ]
    assert [one["n"] for one in Tree(nodes).longest(nodes[1])] == [1, 3]


def test_what_does_not_fit_is_left_out() -> None:
    gone = [{"text": " movie", "logprob": -1.5}] * 9
    assert rejected(gone, 40) == "␣movie -1.50 · ␣movie -1.50 …"
