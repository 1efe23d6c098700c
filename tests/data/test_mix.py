"""Every corpus has its share of what is read, no pair waits, and a run that goes on reads the same."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.data.batch import lay_rows, room_for
from jumok.data.mix import Mix, chosen, read_mix, shares_of, write_mix
from jumok.data.sampler import Cursor, packed_stream, stream
from jumok.data.store import Store, build_store
from jumok.text.frame import Direction, tagged
from jumok.text.tokenizer import Tokenizers, train_tokenizer

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=4)
WEIGHTS = st.floats(0.05, 20)


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    sizes = draw(SIZES)
    weights = draw(st.lists(WEIGHTS, min_size=len(sizes), max_size=len(sizes)))
    return Mix(tuple(sizes), shares_of(sizes, weights), draw(st.integers(0, 9)))


def by_corpus(mix: Mix, rows: list[int]) -> list[list[int]]:
    edges = np.cumsum((0, *mix.sizes))
    return [[row for row in rows if a <= row < b] for a, b in zip(edges, edges[1:], strict=False)]


@settings(deadline=None, max_examples=60)
@given(mixes(), st.integers(1, 5))
def test_shares_are_exact_to_a_pair_and_pairs_come_equally_often(mix: Mix, epochs: int) -> None:
    read = [row for epoch in range(epochs) for row in mix.rows(epoch).tolist()]
    total = sum(mix.sizes)
    for mine, size, share in zip(by_corpus(mix, read), mix.sizes, mix.shares, strict=True):
        assert len(mine) == int(epochs * total * share)
        counts = Counter(mine)
        often = [counts[row] for row in sorted(set(counts))] + [0] * (size - len(counts))
        assert max(often) - min(often) <= 1


@settings(deadline=None)
@given(SIZES, st.integers(0, 9))
def test_without_weights_an_epoch_is_every_pair_once(sizes: list[int], seed: int) -> None:
    mix = Mix(tuple(sizes), shares_of(sizes, [0.0] * len(sizes)), seed)
    assert mix.is_plain
    assert sorted(mix.rows(3).tolist()) == list(range(sum(sizes)))


def test_shares() -> None:
    assert shares_of([10, 90], [3, 1]) == (Fraction(3, 4), Fraction(1, 4))
    assert shares_of([10, 90], [3, 0]) == (Fraction(3, 4), Fraction(1, 4)), "no weight is 1 beside one"
    assert shares_of([10, 90], [0, 0]) == (Fraction(1, 10), Fraction(9, 10))
    assert [round(float(one), 3) for one in shares_of([100, 10_000], [0, 0], temperature=2)] == [0.091, 0.909]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    pairs = [(f"a {n} " * (1 + n % 4), f"b {n}", int(n >= 12)) for n in range(40)]
    tokenizer = train_tokenizer([text for pair in pairs for text in pair[:2]], TextConfig(vocabulary=400))
    directions = [Direction("en", "de"), Direction("en", "fr")]
    frame = tagged(directions)
    tokenizer = tokenizer.with_tags(frame.tags)
    both = Tokenizers(tokenizer, tokenizer, frame)
    return build_store(pairs, both, tmp_path / "s", max_length=50, directions=directions, processes=1)


def test_a_store_knows_its_corpora_and_tags(store: Store, tmp_path: Path) -> None:
    assert store.corpora == (12, 28)
    first, last = store.source(0)[0], store.source(39)[0]
    assert {int(store.source(row)[0]) for row in range(12)} == {int(first)}
    assert {int(store.source(row)[0]) for row in range(12, 40)} == {int(last)}
    assert first != last
    mix = write_mix(tmp_path / "mix.json", store, [1.0, 1.0], 1.0, 7)
    assert read_mix(tmp_path / "mix.json", store) == mix
    assert mix.shares == (Fraction(1, 2), Fraction(1, 2))


def test_chosen_rows_are_the_rows(store: Store) -> None:
    rows = np.array([3, 3, 39, 0])
    some = chosen(store, rows)
    assert len(some) == 4
    for place, row in enumerate(rows):
        assert some.source(place).tolist() == store.source(row).tolist()
        assert some.target(place).tolist() == store.target(row).tolist()
    laid, same = lay_rows(some, np.arange(4)), lay_rows(store, rows)
    assert laid.numbers.equal(same.numbers)


@pytest.mark.parametrize("packed", [False, True])
def test_going_on_equals_never_having_stopped_and_processes_share(store: Store, packed: bool) -> None:  # noqa: FBT001
    mix = Mix(store.corpora, shares_of(store.corpora, [2.0, 1.0]), seed=3)

    def read(cursor: Cursor, count: int, rank: int = 0, world: int = 1) -> list[list[int]]:
        found: list[list[int]] = []
        while len(found) < count:
            own, epoch = mix.store(store, cursor.epoch), cursor.epoch
            lengths = own.source_lengths, own.target_lengths
            if packed:
                room = room_for(store.source_lengths, store.target_lengths, 200)
                updates = packed_stream(*lengths, room=room, seed=1, cursor=cursor, rank=rank, world=world)
            else:
                updates = stream(*lengths, budget=200, seed=1, cursor=cursor, rank=rank, world=world)
            for pieces, after in updates:
                offsets = [int(own.source_offsets[row]) for piece in pieces for row in piece]
                found.append(offsets)
                ends.append(after)
                cursor = after
                if after.epoch != epoch or len(found) == count:
                    break
        return found

    ends: list[Cursor] = []
    whole = read(Cursor(), 30)
    for stop in (1, 7, 19):
        assert read(ends[stop - 1], 30 - stop) == whole[stop:]
    if not packed:
        halves = read(Cursor(), 10, 0, 2), read(Cursor(), 10, 1, 2)
        assert [sorted(a + b) for a, b in zip(*halves, strict=True)] == [sorted(one) for one in whole[:10]]
