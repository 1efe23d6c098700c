"""What goes through a file comes back as it was."""

import json

from hypothesis import given
from hypothesis import strategies as st

from jumok.comparison.entry import ComparisonEntry, MeasureOptions, TestPairs, base_of

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
    assert TestPairs.from_dict(json.loads(json.dumps(pairs.to_dict()))) == pairs
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
    assert ComparisonEntry.from_dict(json.loads(json.dumps(entry.to_dict()))) == entry
    assert entry.folder == "transformer-s2-no-scale"
    options = MeasureOptions(metrics=("exact", "cer"), device="cpu", growth=False)
    assert MeasureOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options


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
