"""The parsers with their good inputs, these damaged, and everything that a search has ever found."""

import random
from collections import Counter
from pathlib import Path

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


@pytest.mark.parametrize("seed", sorted(one.name for one in SEEDS.iterdir() if one.name != "README.md"))
def test_what_was_found_is_mended(seed: str) -> None:
    assert check(seed.rpartition("-")[0], (SEEDS / seed).read_bytes()) in ("refused", "read")
