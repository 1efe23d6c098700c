"""A few damaged files of every kind: refused, told of, or harmless; benchmarks/flips.py does thousands."""

import random
from pathlib import Path

import pytest

from tests.flips import FileKind, all_kinds, damage, outcome, outcome_of_whole

FEW = {"run": 2, "prepared text": 6, "prepared pictures": 6, "model in torch": 6}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileKind]:
    return {kind.name: kind for kind in all_kinds(tmp_path_factory.mktemp("kinds"))}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "model",
        "model in torch",
        "run",
        "checkpoints",
        "probes",
        "log",
        "trace",
        "evaluation",
        "measured",
        "neighbours",
        "novelty",
        "calibration",
        "record of a comparison",
        "prepared text",
        "prepared pictures",
        "zip of pictures",
        "packed text",
        "native int8",
        "native shortlist",
    ],
)
def test_a_damaged_file_is_noticed_or_harmless(kinds: dict[str, FileKind], name: str, tmp_path: Path) -> None:
    kind, draw = kinds[name], random.Random(name)
    whole, became = outcome_of_whole(kind, tmp_path), set[str]()
    for _ in range(FEW.get(name, 15)):
        change = damage(kind, draw)
        became.add(found := outcome(kind, whole, change, tmp_path))
        assert found in ("refused", "warned", "same"), f"{change.file}: {change.what}: {found}"
    assert became & {"refused", "warned"}  # not all of it was harmless


def test_every_kind_is_tried(kinds: dict[str, FileKind]) -> None:
    tried = test_a_damaged_file_is_noticed_or_harmless.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert sorted(tried) == sorted(kinds)
