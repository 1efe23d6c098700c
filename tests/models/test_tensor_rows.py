"""The table of tensors: places, letters, batches."""

import pytest
import torch

from jumok.config import LuongConfig, RnnConfig, TransformerConfig
from jumok.models.tensor_rows import RowList, memory_words, sizes_of


def filled() -> RowList:
    rows = RowList(keep={1})
    rows.add("source", "ids", "[B,S]", torch.tensor([[3, 2]]))
    weight = rows.weight("encoder", "W_emb", "[V,D]", torch.ones(5, 4))
    rows.add("encoder", "embedding", "[B,S,D]", torch.ones(1, 2, 4), "lookup", 0, weight, number=2.0)
    rows.add("output", "logits", "[B,T,V]", torch.ones(1, 3, 5))
    return rows


def test_a_weight_is_noted_once_and_a_step_of_a_loop_again() -> None:
    rows = filled()
    assert rows.weight("encoder", "W_emb", "[V,D]", torch.ones(5, 4)) == 1
    assert rows.add("output", "logits", "[B,T,V]", torch.ones(1, 3, 5)) == rows.last == 3
    found = rows.trace()
    assert found.times == (1, 1, 1, 2)
    assert [len(values) for values in found.values] == [0, 1, 0, 0]


def test_a_tensor_is_found_again_by_itself_alone() -> None:
    rows, x = filled(), torch.ones(2, 4)
    rows.remember(x, 2)
    assert rows.place_of(x) == 2
    assert rows.place_of(x.clone()) == -1
    assert rows.place_of(x.clone(), otherwise=1) == 1


def test_a_batch_changes_only_what_has_one() -> None:
    found = filled().trace()
    assert [row.shape for row in found.batch(32).rows] == [(32, 2), (5, 4), (32, 2, 4), (32, 3, 5)]
    assert found.batch(32).sizes == {"B": 32, "S": 2, "V": 5, "D": 4, "T": 3}
    assert found.path == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"


def test_one_letter_is_one_size() -> None:
    rows = filled()
    rows.add("output", "wrong", "[B,S]", torch.ones(1, 3))
    with pytest.raises(AssertionError):
        sizes_of(rows.rows)


def test_the_memory_is_named_after_what_the_decoder_does_with_it() -> None:
    assert memory_words(RnnConfig())[0] == "H, which the decoder never sees"
    assert memory_words(LuongConfig())[0] == "H, seen at every step"
    assert memory_words(TransformerConfig())[1] == ""
