"""What a model has met: a filter that forgets nothing it was told, and seldom claims what it was not."""

import json
import random
from base64 import b64encode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.checkpoint.bundled import bundled
from jumok.text import novelty as module
from jumok.text.novelty import LEAST_SHARE, NoveltyCount, make_novelty, pairs_of, parse_novelty
from jumok.text.tokenizer import load_tokenizers

IDS = st.lists(st.integers(0, 2**32 - 1), max_size=30)


def learned(*sentences: list[int], valid: tuple[list[int], ...] = ()) -> module.Novelty:
    found = make_novelty([pairs_of(sentences)], valid)
    assert found is not None
    return found


@given(st.lists(IDS, max_size=20))
def test_what_was_seen_is_found(sentences: list[list[int]]) -> None:
    pairs = sum(max(0, len(one) - 1) for one in sentences)
    assert learned(*sentences).count(sentences) == NoveltyCount(pairs, 0, strange=False)


def test_neighbours_are_those_of_a_sentence_and_in_their_order() -> None:
    novelty = learned([4, 5, 6], [7, 8])
    assert novelty.count([[4, 5], [5, 6], [7, 8]]).unseen == 0
    assert novelty.count([[6, 7]]).unseen == 1  # the end of one and the beginning of the next
    assert novelty.count([[5, 4], [8, 7]]).unseen == 2


def test_few_that_were_not_seen_are_taken_for_seen() -> None:
    draw = random.Random(1)
    pairs = random.Random(2).sample(range(10**6), 4096)  # 8 bits for each: as full as a filter gets
    novelty = learned(*([n // 1000, n % 1000] for n in pairs))
    assert len(novelty.bits) == 4096
    others = [[draw.randrange(1000), draw.randrange(1000, 2000)] for _ in range(10_000)]
    assert 0.97 < novelty.count(others).unseen / 10_000 < 0.985  # 1 − (1 − e^(−4/8))⁴ = 0.976


@pytest.mark.parametrize(
    ("pairs", "unseen", "strange"), [(1, 1, False), (3, 2, True), (5, 2, True), (6, 2, False)]
)
def test_what_is_strange_where_nothing_new_is_usual(pairs: int, unseen: int, *, strange: bool) -> None:
    row = list(range(100))
    novelty = learned(row, valid=(row,) * 99)
    assert novelty.usual == LEAST_SHARE
    text = [row[: pairs - unseen + 1]] if pairs > unseen else []
    new = [[50, 10 + n] for n in range(unseen)]
    assert novelty.count([*text, *new]) == NoveltyCount(pairs, unseen, strange)


def test_what_is_usual_is_learned_from_the_validation_sentences() -> None:
    row = list(range(100))
    novelty = learned(row, valid=([10, 12, 14, 16, 17, 18],) * 99)  # 3 of 5 are new: 3 / (5 + 4)
    assert novelty.usual == pytest.approx(1 / 3, abs=1e-4)
    assert not novelty.count([[20, 22, 24, 26, 27, 28]]).strange
    assert novelty.count([[20, 22, 24, 26, 28, 29]]).strange


def test_the_parts_of_a_corpus_are_one_whole() -> None:
    parts = [pairs_of([[n, n + 1, n + 2]]) for n in range(0, 60, 3)]
    split, joined = make_novelty(parts, ()), make_novelty([np.concatenate(parts)], ())
    assert split is not None
    assert joined is not None
    assert split.to_dict() == joined.to_dict()


def test_a_filter_has_eight_bits_for_each_pair_and_a_thousand_at_least() -> None:
    sizes = [len(learned(list(range(pairs + 1))).bits) for pairs in (1, 128, 129, 256, 257)]
    assert sizes == [128, 128, 256, 256, 512]


def test_one_new_pair_says_nothing() -> None:
    found = [module.share_of(unseen, pairs) for unseen, pairs in ((1, 1), (1, 6), (2, 4), (3, 5))]
    assert found == [0, 0, 2 / 8, 3 / 9]


def test_too_many_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    assert make_novelty([pairs_of([list(range(11))])], ()) is not None
    assert make_novelty([pairs_of([list(range(12))])], ()) is None


def test_written_and_read_it_is_the_same() -> None:
    novelty = learned([1, 2, 3])
    read = parse_novelty(novelty.to_dict())
    assert read is not None
    assert read.to_dict() == novelty.to_dict()
    assert read.count([[1, 2, 3, 4]]) == novelty.count([[1, 2, 3, 4]])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"usual": 0.1, "filter": "§"},
        {"usual": "0", "filter": ""},
        {"usual": 0.1, "filter": "AAAA"},
        {"usual": 0.1, "filter": b64encode(bytes(64)).decode()},
        {"usual": 0.1, "filter": b64encode(bytes(129)).decode()},
        {"usual": 0.1, "filter": "*" + b64encode(bytes(128)).decode()},
    ],
)
def test_what_is_none_is_refused(fields: dict[str, object]) -> None:
    assert parse_novelty(fields) is None


def test_a_filter_that_came_with_the_package_knows_what_it_was_told() -> None:
    """Filters lie in model folders: their places stay what they were, here and in the browser."""
    folder = bundled()["luong"]
    novelty = parse_novelty(json.loads((folder / "novelty.json").read_bytes()))
    assert novelty is not None
    encode = load_tokenizers(folder).source.encode  # type: ignore[union-attr]
    for date in ("3 May 2021", "2021년 3월 4일", "5. Mai 1999"):
        assert novelty.count([encode(date)]).unseen == 0
