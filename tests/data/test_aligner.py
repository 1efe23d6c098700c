"""Links on which two IBM models agree."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.data.aligner import LEAST, best_places, learn_aligner, learn_both, with_links
from jumok.data.batch import Room, lay_pairs
from jumok.data.store import build_store
from jumok.text.ragged import ragged
from jumok.text.tokenizer import Tokenizers, train_tokenizer

IDS = st.lists(st.integers(4, 11), min_size=1, max_size=6)


def turned_pairs(count: int, seed: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    """Targets that are the sources read backwards, each id seven higher."""
    draw = np.random.default_rng(seed)
    sources = [draw.integers(4, 11, size=draw.integers(2, 7)).tolist() for _ in range(count)]
    return sources, [[i + 7 for i in source[::-1]] for source in sources]


def test_words_find_their_partners_whatever_the_order() -> None:
    sources, targets = turned_pairs(400)
    aligner = learn_both(ragged(sources), ragged(targets), (12, 18))
    some, others = turned_pairs(30, seed=1)
    links, at, right = aligner.links(ragged(some), ragged(others)).tolist(), 0, 0
    for source, target in zip(some, others, strict=True):
        found = zip(target, links[at : at + len(target)], strict=True)
        right += sum(place >= 0 and source[place] == token - 7 for token, place in found)
        at += len(target)
    assert right > 0.6 * at  # against its own liking for the diagonal


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6))
@settings(max_examples=40)
def test_neighbours_change_no_link(pairs: list[tuple[list[int], list[int]]]) -> None:
    sources, targets = turned_pairs(50)
    aligner = learn_both(ragged(sources), ragged(targets), (12, 18))
    both = [ragged([pair[side] for pair in pairs]) for side in (0, 1)]
    together = aligner.links(both[0], both[1]).tolist()
    alone = [aligner.links(ragged([one]), ragged([other])).tolist() for one, other in pairs]
    assert together == [place for links in alone for place in links]
    for (source, target), links in zip(pairs, alone, strict=True):
        assert len(links) == len(target)
        assert all(-1 <= place < len(source) for place in links)


def test_of_equal_places_the_first_and_of_weak_ones_none() -> None:
    values = np.array([0.5, 0.5, LEAST / 2, LEAST / 4, 0.1])
    assert best_places(values, np.array([0, 2, 4]), np.array([2, 2, 1])).tolist() == [0, -1, 0]


@pytest.mark.parametrize("after", [False, True])
def test_a_batch_knows_where_its_tokens_come_from(*, after: bool) -> None:
    sources, targets = turned_pairs(400)
    aligner = learn_both(ragged(sources), ragged(targets), (12, 18))
    batch = lay_pairs([[4, 5, 6], [7, 8]], [[13, 12, 11], [15, 14]], Room(10, 12))
    aligned = with_links(batch, aligner, after=after).aligned
    assert aligned is not None
    start, links = ([-1], []) if after else ([], [-1])
    assert aligned.tolist() == [*start, 2, 1, 0, *links, *start, 1, 0, *links, *[-1] * 5]
    part = with_links(batch, aligner, after=after).part(1, 2)
    assert part.aligned is not None
    assert part.aligned.tolist() == [*start, 1, 0, *links]


def test_a_corpus_gives_the_same_links_each_time(tmp_path: Path) -> None:
    both = train_tokenizer(["ein hund", "a dog", "eine katze", "a cat"] * 3, TextConfig(vocabulary=300))
    tokenizers = Tokenizers(both, both)
    pairs = [("ein hund", "a dog"), ("eine katze", "a cat")] * 9
    store = build_store(iter(pairs), tokenizers, tmp_path / "train", max_length=50)
    one, two = (learn_aligner(store, (both.size, both.size), sample=n) for n in (100, 18))
    source, target = ragged([both.encode("ein hund")]), ragged([both.encode("a dog")])
    sides = [ragged([both.encode(text) for text in side]) for side in zip(*pairs, strict=True)]
    plain = learn_both(sides[0], sides[1], (both.size, both.size))
    links = plain.links(source, target).tolist()
    assert one.links(source, target).tolist() == two.links(source, target).tolist() == links
    assert max(links) >= 0
