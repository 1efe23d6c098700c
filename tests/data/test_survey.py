"""Kept texts, corpora that are too small, and validation pairs that the rest does not give away."""

import errno
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.data.pairs import Pairs, PairsCorpus

from jumok.data import survey as module
from jumok.data.reader import survey
from jumok.data.survey import Survey, TidyPairs, check_enough, hold_out, text_hash, usual_hold_out
from jumok.errors import DataError, RunError


def look(pairs: Pairs) -> Survey:
    return survey(PairsCorpus(lines=pairs))


line = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), max_size=9)


@given(st.lists(st.lists(st.tuples(line, line), max_size=5), max_size=5), st.integers(1, 20))
def test_texts_in_memory_and_on_disk_are_the_same(chunks: list[Pairs], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", size)
        patch.setattr(module, "IN_MEMORY", size * 4)
        kept = TidyPairs()
        for chunk in chunks:
            kept.add([source for source, _ in chunk], [target for _, target in chunk])
        wanted = [pair for chunk in chunks for pair in chunk]
        assert list(zip(kept, kept, strict=True)) == list(zip(wanted, wanted, strict=True))


def test_a_full_disk_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = TidyPairs()
    monkeypatch.setattr(kept.file, "write", full)
    with pytest.raises(RunError, match="cannot keep the tidied text: no space left on device\n  set TMPDIR"):
        kept.add(["a"], ["b"])


@pytest.mark.parametrize(("count", "words"), [(0, "0 pairs"), (1, "1 pair"), (19, "19 pairs")])
def test_too_few_pairs_are_refused(count: int, words: str) -> None:
    found = look([("", "blank"), ("blank", "")] * 15 + [("a", "b")] * count)
    with pytest.raises(DataError) as caught:
        check_enough(found, "x.en + x.de")
    assert str(caught.value).startswith(f"x.en + x.de has {words} with text on both sides\n  a model needs")
    assert caught.value.code == "too_small"
    check_enough(look([("a", "b")] * 20), "enough")


@given(st.text())
def test_only_a_blank_text_has_the_hash_of_a_blank_text(text: str) -> None:
    assume(not any("\ud800" <= letter <= "\udfff" for letter in text))
    assert (text_hash(text) == 0) == (text == "")
    assert 0 <= text_hash(text) < 2**64


@pytest.mark.parametrize(
    ("pair", "blank"),
    [(("a", " "), "target"), (("", "b"), "source"), ((" ", ""), "source and every target")],
)
def test_a_column_without_text(pair: tuple[str, str], blank: str) -> None:
    with pytest.raises(DataError) as caught:
        check_enough(look([pair] * 30), "x.tsv")
    assert str(caught.value).startswith(
        f"every {blank} of x.tsv is blank\n  are these the right files and col"
    )


def test_the_usual_number_of_validation_pairs() -> None:
    assert [usual_hold_out(look([("a", "b")] * count)) for count in (20, 1000, 26_000)] == [10, 40, 1000]


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
