"""The parsers with their good inputs, these damaged, and everything that a search has ever found."""

import gc
import random
from collections import Counter
from pathlib import Path

import psutil
import pytest
from tests.fuzz.run import NAMES
from tests.fuzz.targets import TARGETS, check, first_inputs

SEEDS = Path(__file__).with_name("seeds")


def test_every_target_can_be_searched() -> None:
    assert NAMES.split() == list(TARGETS) == list(first_inputs())


@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs_are_accepted(name: str) -> None:
    inputs = first_inputs()[name]
    for data in inputs:
        TARGETS[name](data)  # raises what a parser raises
    assert inputs


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_are_refused_or_read(name: str) -> None:
    draw, outcomes = random.Random(name), Counter[str]()
    for data in first_inputs()[name]:
        for _ in range(30):
            other = bytearray(data)
            for _ in range(draw.choice([1, 1, 2, 8])):
                other[draw.randrange(len(other))] = draw.randrange(256)
            outcomes[check(name, bytes(other[: draw.choice([len(other), draw.randrange(len(other))])]))] += 1
    assert outcomes.keys() <= {"refused", "read"}
    assert outcomes.total() == 30 * len(first_inputs()[name])


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "archive"])  # the last zip stays open
def test_files_are_closed_whether_or_not_garbage_is_collected(name: str) -> None:
    """An error in a circle with whoever reads would keep its file open until somebody looks for circles."""
    draw = random.Random(name)
    gc.collect()
    before = {file.path for file in psutil.Process().open_files()}
    gc.disable()
    try:
        for data in first_inputs()[name]:
            for _ in range(10):
                other = bytearray(data)
                other[draw.randrange(len(other))] = draw.randrange(256)
                check(name, bytes(other[: draw.choice([len(other), draw.randrange(len(other))])]))
        assert {file.path for file in psutil.Process().open_files()} <= before
    finally:
        gc.enable()


@pytest.mark.parametrize("seed", sorted(one.name for one in SEEDS.iterdir() if one.name != "README.md"))
def test_what_was_found_is_mended(seed: str) -> None:
    assert check(seed.rpartition("-")[0], (SEEDS / seed).read_bytes()) in ("refused", "read")
