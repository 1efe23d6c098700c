"""Which words belong together, against the textbook's loop."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.text import lexicon as module
from jumok.text.lexicon import (
    KeyTable,
    blocks,
    learn_lexicon,
    learn_partners,
    merged,
    nearness,
    read_pairs,
    strongest,
)

SIZES = (9, 7)
PAIRS = st.lists(
    st.tuples(
        st.lists(st.integers(0, SIZES[0] - 1), max_size=6), st.lists(st.integers(0, SIZES[1] - 1), max_size=6)
    ),
    max_size=12,
)


def rows(found: module.Lexicon) -> list[list[int]]:
    begin = found.likely.begin
    return [found.likely.values[a:b].tolist() for a, b in zip(begin[:-1], begin[1:], strict=True)]


def plain(pairs, steps: int) -> dict[tuple[int, int], float]:
    """Model 1 with a loop over everything; "nothing" is source None."""
    pairs = [(one, other) for one, other in pairs if one and other]
    counts = defaultdict(float)
    for source, target in pairs:
        for t in target:
            counts[None, t] += 1
            for s in source:
                counts[s, t] += 1
    for _ in range(steps + 1):
        totals = defaultdict(float)
        for (s, _), value in counts.items():
            totals[s] += value
        likely = {(s, t): value / totals[s] for (s, t), value in counts.items()}
        counts = defaultdict(float)
        for source, target in pairs:
            for t in target:
                whole = sum(likely[s, t] for s in (None, *source))
                for s in (None, *source):
                    counts[s, t] += likely[s, t] / whole
    return {key: value for key, value in likely.items() if key[0] is not None}


def test_the_house_is_small() -> None:
    """the house, the book, a book: words that stand together most often belong together."""
    das, haus, buch, ein = range(4)
    the, house, book, a = range(4)
    pairs = [([das, haus], [the, house]), ([das, buch], [the, book]), ([ein, buch], [a, book])]
    found = learn_lexicon(pairs, (5, 4), 1, steps=8)
    assert rows(found) == [[the], [house], [book], [a], []]
    assert found.frequent(2).tolist() == [the, book]
    assert learn_lexicon(pairs, (5, 6), 1).frequent(10).tolist() == [the, house, book, a]


@given(PAIRS, st.integers(0, 3))
def test_it_is_the_plain_loop(pairs, steps: int) -> None:
    """With room for every partner the order of partners is that of the textbook's probabilities."""
    wanted = plain(pairs, steps)
    found = rows(learn_lexicon(pairs, SIZES, SIZES[1], steps=steps))
    for s, partners in enumerate(found):
        values = [wanted[s, t] for t in partners]
        assert values == pytest.approx(sorted(values, reverse=True), abs=1e-9)
        assert set(partners) == {t for one, t in wanted if one == s}


@given(PAIRS, st.integers(1, 40))
def test_blocks_change_nothing(pairs, size: int) -> None:
    whole = learn_lexicon(pairs, SIZES, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", size)
        patch.setattr(module, "READ", size)
        parts = learn_lexicon(iter(pairs), SIZES, 7)
    assert [sorted(row) for row in rows(parts)] == [sorted(row) for row in rows(whole)]
    assert parts.counts.tolist() == whole.counts.tolist()


def test_a_full_table_keeps_the_closest_partners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TABLE", 4)
    monkeypatch.setattr(module, "BLOCK", 8)
    pairs = [([s, 8], [s, 5]) for s in range(5) for _ in range(3)]
    found = rows(learn_lexicon(pairs, SIZES, 1))
    assert [row[0] for row in found[:5]] == [0, 1, 2, 3, 4]
    assert found[8] == [5]


def test_the_same_pairs_give_the_same_lexicon_and_progress_ends() -> None:
    draw = np.random.default_rng(3)
    pairs = [(draw.integers(0, 9, 8), draw.integers(0, 7, 8)) for _ in range(50)]
    seen: list[tuple[int, int | None]] = []
    one = learn_lexicon(pairs, SIZES, 3, lambda _, done, total: seen.append((done, total)))
    two = learn_lexicon(pairs, SIZES, 3)
    assert one.likely.values.tolist() == two.likely.values.tolist()
    assert max(map(len, rows(one))) == 3
    assert seen[-1] == (250, 250)
    assert seen == sorted(seen)


@given(st.sets(st.integers(0, 1 << 40), max_size=60), st.lists(st.integers(0, 1 << 40), max_size=60))
def test_a_table_finds_what_is_in_it_and_nothing_else(keys: set[int], others: list[int]) -> None:
    table = KeyTable(np.array(sorted(keys), dtype=np.int64))
    asked = np.array([*sorted(keys), *others], dtype=np.int64)
    slots = table.find(asked)
    for key, slot in zip(asked.tolist(), slots.tolist(), strict=True):
        assert (slot == table.size - 1) == (key not in keys)
        assert key not in keys or table.keys[slot] == key
    assert len(set(slots[: len(keys)].tolist())) == len(keys)


def test_the_strongest_of_each_row() -> None:
    keys, values = np.array([0, 2, 3, 10, 11, 25]), np.array([1.0, 3.0, 3.0, 5.0, 6.0, 0.5])
    assert keys[strongest(keys, values, 10, 2)].tolist() == [2, 3, 11, 10, 25]


def test_tables_are_merged() -> None:
    tables = [(np.array([1, 4]), np.array([2, 1])), (np.array([0, 4]), np.array([1, 5]))]
    keys, counts = merged(tables)
    assert (keys.tolist(), counts.tolist()) == ([0, 1, 4], [1, 2, 6])


def test_with_tension_neighbours_belong_together() -> None:
    """Every word stands beside every other: only the places tell them apart."""
    pairs = [([0, 1], [0, 1])] * 4
    source, target = read_pairs(pairs)
    flat = learn_partners(source, target, (2, 2), 2)
    tense = learn_partners(source, target, (2, 2), 2, tension=4.0)
    keys = np.arange(4)
    even = flat.likely[flat.table.find(keys)]
    assert even == pytest.approx([0.5] * 4)
    both = tense.likely[tense.table.find(keys)]
    assert both[0] > 0.9
    assert both[3] > 0.9


@given(PAIRS.filter(lambda pairs: any(one and other for one, other in pairs)), st.floats(0.1, 9))
def test_nearness_is_one_on_average_and_largest_where_places_agree(pairs, tension: float) -> None:
    for _, places in blocks(*read_pairs(pairs), SIZES[1]):
        near = nearness(places, tension)
        means = np.add.reduceat(near, places.begin) / places.lengths
        assert means == pytest.approx(np.ones(len(means)))
        for begin, length, rank in zip(places.begin, places.lengths, places.ranks, strict=True):
            best = int(np.argmax(near[begin : begin + length]))
            assert abs((best + 0.5) / length - rank) <= 0.5 / length + 1e-9
