"""Batches laid end to end, with other inputs and doubled."""

import numpy as np
import torch

from jumok.config import TransformerConfig
from jumok.data.batch import Room, pack_pairs
from jumok.models.build import build_model
from jumok.training.passes import doubled, with_inputs

ROOM = Room(64, 64)


def test_with_inputs_changes_what_the_decoder_reads_and_nothing_else() -> None:
    batch = pack_pairs([[4, 5]], [[6]], ROOM)
    other = with_inputs(batch, torch.full_like(batch.target_in, 9))
    assert (other.target_in == 9).all()
    assert torch.equal(other.source, batch.source)
    assert torch.equal(other.target_reads, batch.target_reads)
    assert (batch.target_in[:2] == torch.tensor([0, 6])).all()  # the batch itself stays


def test_a_doubled_batch_is_the_batch_twice() -> None:
    """Without dropout both halves of the features equal those of the batch alone."""
    config = TransformerConfig(
        width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1, dropout=0
    )
    torch.manual_seed(0)
    model = build_model(config, 20, 20, shared=True).double()
    batch = pack_pairs([[4, 5, 6], [7]], [[8], [9, 10]], ROOM)
    alone, both = model.features(batch), model.features(doubled(batch))
    torch.testing.assert_close(both, torch.cat((alone, alone)), atol=1e-12, rtol=0)


def test_ranges_of_a_doubled_batch_never_go_back() -> None:
    both = doubled(pack_pairs([[4, 5, 6], [7]], [[8], [9, 10]], ROOM))
    for ranges in (both.source_range, both.source_readers, both.target_range, both.target_reads):
        assert (ranges.diff(dim=1) >= 0).all()
    assert both.source_lengths.tolist() == np.tile([4, 2], 2).tolist()
