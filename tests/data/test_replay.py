"""Old pairs among new ones: how many, which, and that none comes more often than another."""

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.data.replay import replayed_count, replayed_rows, with_replay
from jumok.data.store import Store, build_store
from jumok.text.tokenizer import Tokenizers, train_tokenizer


def store(folder: Path, pairs: list[tuple[str, str]], tokenizers: Tokenizers) -> Store:
    return build_store(pairs, tokenizers, folder, max_length=99, processes=1)


def test_an_epoch_has_all_new_pairs_and_its_share_of_the_old_ones(tmp_path: Path) -> None:
    one = train_tokenizer(["abc def"], TextConfig(vocabulary=300, kind="char"))
    both = Tokenizers(one, one)
    new = store(tmp_path / "new", [("ab", "c"), ("d e", "ff")], both)
    old = store(tmp_path / "old", [(letter * (n + 1), letter) for n, letter in enumerate("abcdef")], both)
    mixed = with_replay(new, old, share=0.6, seed=5, epoch=0)
    assert len(mixed) == 5
    for side in ("source", "target"):
        texts = [one.decode(getattr(mixed, side)(row).tolist()) for row in range(5)]
        assert texts[:2] == [one.decode(getattr(new, side)(row).tolist()) for row in range(2)]
        rows = replayed_rows(6, 3, seed=5, epoch=0)
        assert texts[2:] == [one.decode(getattr(old, side)(row).tolist()) for row in rows]
    assert mixed.source_ids.dtype == new.source_ids.dtype
    np.testing.assert_array_equal(np.diff(mixed.source_offsets), mixed.source_lengths)


@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 2**32))
def test_every_old_pair_comes_equally_often(old: int, count: int, seed: int) -> None:
    epochs = [replayed_rows(old, count, seed=seed, epoch=epoch).tolist() for epoch in range(old)]
    assert all(len(set(rows)) == len(rows) == min(old, count) for rows in epochs)
    times = Counter(row for rows in epochs for row in rows)
    assert set(times.values()) == {min(old, count)}
    assert len(times) == old


def test_the_share_is_of_all_pairs() -> None:
    assert replayed_count(2000, 0.5) == 2000
    assert replayed_count(900, 0.1) == 100
