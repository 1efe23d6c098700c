"""The fixed vector is the only thing the decoder ever gets."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import RnnConfig
from jumok.models.rnn import RnnSeq2Seq


@settings(max_examples=30, deadline=None)
@given(
    cell=st.sampled_from(["rnn", "gru", "lstm"]),
    layers=st.integers(1, 3),
    both=st.booleans(),
    seed=st.integers(0, 99),
)
def test_source_states_other_than_the_last_change_nothing(
    bench: Any, cell: str, layers: int, seed: int, *, both: bool
) -> None:
    """Row 1: whatever happens to H, the decoder reads h_final alone."""
    model = bench.model(RnnConfig(width=8, cell=cell, layers=layers, bidirectional=both), seed)
    batch = bench.batch([3, 5], 4, seed)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        other = replace(memory, states=torch.randn_like(memory.states))
        one, two = (model.decode(batch.target_in, each).logits() for each in (memory, other))
        assert torch.equal(one, two)


def test_the_last_source_state_changes_everything(bench: Any) -> None:
    model, batch = bench.model(RnnConfig(width=8)), bench.batch([3], 4)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        other = replace(memory, final=memory.final + 1)
        one, two = (model.decode(batch.target_in, each).logits() for each in (memory, other))
    assert ((one - two).abs().amax(dim=-1) > 1e-4).all()


def test_the_first_decoder_state_is_the_fixed_vector(bench: Any) -> None:
    """s_0 = h_final, and the vector has one size however long the source is."""
    model = bench.model(RnnConfig(width=8, cell="lstm", layers=2))
    for length in (1, 30):
        batch = bench.batch([length], 2)
        memory = model.encode(batch.source)
        assert memory.final.shape == (1, 2, 2, 8)
        assert model.start(memory).hidden is memory.final


@pytest.mark.parametrize("both", [False, True])
def test_the_encoder_reads_the_source_in_order(bench: Any, *, both: bool) -> None:
    model, batch = bench.model(RnnConfig(width=8, bidirectional=both)), bench.batch([5], 2)
    flipped = batch.source.with_tokens(batch.source.tokens.flip(0))
    with torch.inference_mode():
        one = model.encode(batch.source).final
        other = model.encode(flipped).final
    assert not torch.allclose(one, other)


def test_tied_models_score_with_the_embedding_and_others_with_a_matrix_of_their_own() -> None:
    tied = RnnSeq2Seq(RnnConfig(width=8, tied=True), 11, 11, shared=True)
    untied = RnnSeq2Seq(RnnConfig(width=8, tied=False), 11, 11, shared=False)
    count = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert tied.output is None
    assert count[1] - count[0] == 2 * 11 * 8  # one more embedding, one output matrix
    assert tied.source_embedding is tied.target_embedding
