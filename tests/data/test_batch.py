"""Sentences as rectangles."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.batch import pad_pairs, pad_sources
from jumok.text.tokenizer import BOS, EOS, PAD

ids = st.lists(st.integers(4, 99), max_size=7)


def test_a_batch_by_hand() -> None:
    batch = pad_pairs([[7, 8], np.array([9], dtype=np.uint16)], [[5], [6, 4, 5]])
    assert batch.source.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[BOS, 5, PAD, PAD], [BOS, 6, 4, 5]]
    assert batch.target_out.tolist() == [[5, EOS, PAD, PAD], [6, 4, 5, EOS]]
    assert batch.target_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.tokens == 6
    assert batch.source.dtype == batch.target_in.dtype == torch.int64


def test_an_empty_sentence_is_its_end_alone() -> None:
    source, mask = pad_sources([[]])
    assert source.tolist() == [[EOS]]
    assert mask.tolist() == [[True]]


def test_to_keeps_the_numbers() -> None:
    batch = pad_pairs([[7]], [[8]])
    moved = batch.to("cpu")
    assert moved.source.equal(batch.source)
    assert moved.target_mask.equal(batch.target_mask)


@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=6))
def test_what_is_real_comes_back(pairs: list[tuple[list[int], list[int]]]) -> None:
    batch = pad_pairs([source for source, _ in pairs], [target for _, target in pairs])
    for row, (source, target) in enumerate(pairs):
        assert batch.source[row][batch.source_mask[row]].tolist() == [*source, EOS]
        assert batch.target_in[row][batch.target_mask[row]].tolist() == [BOS, *target]
        assert batch.target_out[row][batch.target_mask[row]].tolist() == [*target, EOS]
    assert (batch.source[~batch.source_mask] == PAD).all()
    assert (batch.target_in[~batch.target_mask] == PAD).all()
    assert (batch.target_out[~batch.target_mask] == PAD).all()
