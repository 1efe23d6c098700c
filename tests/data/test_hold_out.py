"""Validation pairs that the rest of the corpus does not give away."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.pairs import Pairs, PairsCorpus

from jumok.data.hold_out import hold_out, usual_hold_out
from jumok.data.reader import Survey, survey
from jumok.errors import DataError


def look(pairs: Pairs) -> Survey:
    return survey(PairsCorpus(lines=pairs))


def test_the_usual_number_of_validation_pairs() -> None:
    assert [usual_hold_out(look([("a", "b")] * count)) for count in (20, 1000, 50_000)] == [10, 40, 1000]


texts = st.text("ab ", max_size=4)
corpora = st.lists(st.tuples(texts, texts), min_size=1, max_size=40)


@given(corpora, st.integers(1, 8), st.integers(0, 5))
def test_validation_shares_no_text_with_training(pairs: Pairs, count: int, seed: int) -> None:
    found = look(pairs)
    tidied = [(" ".join(source.split()), " ".join(target.split())) for source, target in pairs]
    sources, targets = (Counter(pair[side] for pair in tidied) for side in (0, 1))
    filled = [pair for pair in tidied if all(pair)]
    clean = [pair for pair in filled if sources[pair[0]] == targets[pair[1]] == 1]
    candidates = [pair for pair in filled if sources[pair[0]] == 1]
    if len(candidates) < count:
        with pytest.raises(DataError, match=f"cannot hold out {count} pairs for validation: only "):
            hold_out(found, count, seed)
        return
    rows = hold_out(found, count, seed).tolist()
    held = [tidied[row] for row in rows]
    rest = [pair for row, pair in enumerate(tidied) if row not in rows]
    assert len(set(rows)) == count
    assert rows == sorted(rows)
    assert all(source and target for source, target in held)
    assert not {source for source, _ in held} & {source for source, _ in rest}
    if len(clean) >= count:
        assert not {target for _, target in held} & {target for _, target in rest}


@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_the_choice_follows_from_texts_and_seed_not_from_order(seed: int, random: "st.random.Random") -> None:
    pairs = [(f"source {i}", f"target {i}") for i in range(30)]
    shuffled = random.sample(pairs, len(pairs))
    chosen = {pairs[row] for row in hold_out(look(pairs), 7, seed)}
    assert {shuffled[row] for row in hold_out(look(shuffled), 7, seed)} == chosen


def test_seeds_choose_differently_and_evenly() -> None:
    found = look([(f"source {i}", f"target {i}") for i in range(200)])
    drawn = np.concatenate([hold_out(found, 20, seed) for seed in range(200)])
    counts = np.bincount(drawn, minlength=200)  # each row about 20 times
    assert counts.min() > 2
    assert counts.max() < 50


def test_too_few_unique_sources_name_the_way_out() -> None:
    with pytest.raises(DataError) as caught:
        hold_out(look([("same", "a"), ("same", "b"), ("one", "c"), ("other", "d"), ("blank", "")]), 3, 0)
    assert str(caught.value) == (
        "cannot hold out 3 pairs for validation: only 2 sources occur just once\n"
        "  give validation files with --valid-source and --valid-target, or lower data.hold_out"
    )
