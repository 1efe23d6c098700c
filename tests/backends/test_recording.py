"""Edits are handed down, never kept: a model with a what-if inside, and the model itself as before."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.edited import Edited
from jumok.models.interface import Edits, Kind, PositionEdit, Probe
from jumok.nn.edit import AttentionEdit
from jumok.nn.functional import Stages

LENGTHS = [2, 6, 4]
T = 11  # past one block of exchanged positions


def test_no_edits_are_the_model_itself(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch(LENGTHS, 4)
    edited = Edited(model, Edits())
    with torch.inference_mode():
        plain, same = (one(batch.source, batch.source_mask, batch.target_in) for one in (model, edited))
        assert torch.equal(plain, same)
        memory = edited.encode(batch.source, batch.source_mask)
        assert torch.equal(
            bench.step_by_step(edited, batch.target_in, memory),
            bench.step_by_step(model, batch.target_in, memory),
        )


@settings(max_examples=80, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_step_by_step_equals_all_at_once_under_every_edit(bench: Any, data: st.DataObject, seed: int) -> None:
    config = data.draw(bench.any_config)
    edits = data.draw(bench.edits(config))
    model, batch = Edited(bench.model(config, seed), edits), bench.batch(LENGTHS, T, seed)
    with torch.inference_mode():
        memory = model.encode(batch.source, batch.source_mask)
        at_once = model.decode(batch.target_in, memory)
        one_by_one = bench.step_by_step(model, batch.target_in, memory)
    assert at_once.isfinite().all()
    torch.testing.assert_close(one_by_one, at_once, atol=1e-5, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_batch_mates_never_change_an_edited_result(bench: Any, data: st.DataObject, seed: int) -> None:
    config = data.draw(bench.any_config)
    model = Edited(bench.model(config, seed), data.draw(bench.edits(config)))
    batch = bench.batch(LENGTHS, 4, seed)
    with torch.inference_mode():
        together = model(batch.source, batch.source_mask, batch.target_in)
        for row, length in enumerate(LENGTHS):
            one = slice(row, row + 1)
            alone = model(batch.source[one, :length], batch.source_mask[one, :length], batch.target_in[one])
            torch.testing.assert_close(alone, together[one], atol=1e-5, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_recording_shows_the_edited_numbers_and_changes_none(bench: Any, data: st.DataObject) -> None:
    config = data.draw(bench.any_config)
    model = Edited(bench.model(config), data.draw(bench.edits(config)))
    batch = bench.batch(LENGTHS, 4)
    kept: list[tuple[Kind, int, Stages]] = []
    probe = Probe(record=lambda *one: kept.append(one))
    with torch.inference_mode():
        plain = model(batch.source, batch.source_mask, batch.target_in)
        memory = model.encode(batch.source, batch.source_mask, probe)
        recorded = model.decode(batch.target_in, memory, probe)
    torch.testing.assert_close(plain, recorded, atol=1e-5, rtol=1e-4)
    for kind, layer, stages in kept:
        torch.testing.assert_close(stages.weights.sum(-1), torch.ones(stages.weights.shape[:-1]))
        edit = model.edits.attention.get((kind, layer))
        for head, q, k in edit.cut if edit else ():
            set_by_hand = any((head, q) == row[:2] for row in edit.rows)
            if head < stages.weights.shape[1] and q < stages.weights.shape[2] and k < stages.weights.shape[3]:
                assert set_by_hand or not stages.weights[:, head, q, k].any()


def test_the_model_inside_is_never_changed(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch(LENGTHS, 4)
    layers = {("cross", 0): AttentionEdit(factors=((0, 0.0),))}
    edited = Edited(model, Edits(layers, bridge=torch.zeros_like(bridge_of(model, batch))))
    inputs = (batch.source, batch.source_mask, batch.target_in)
    with torch.inference_mode():
        before = model(*inputs)
        assert not torch.allclose(before, edited(*inputs))
        assert torch.equal(before, model(*inputs))
    assert [id(p) for p in edited.parameters()] == [id(p) for p in model.parameters()]
    assert edited.training is model.training is False


def bridge_of(model: Any, batch: Any) -> torch.Tensor:
    final = model.encode(batch.source, batch.source_mask).final
    return torch.zeros(1, 1, 1) if final is None else final[0].detach()


@pytest.mark.parametrize("config", [RnnConfig(width=8, cell="lstm", layers=2), LuongConfig(width=8)])
def test_a_bridge_replaces_the_fixed_vector_of_every_sentence(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch(LENGTHS, 3)
    bridge = bridge_of(model, bench.batch([5], 3, seed=9))
    with torch.inference_mode():
        plain = model.encode(batch.source, batch.source_mask)
        memory = Edited(model, Edits(bridge=bridge)).encode(batch.source, batch.source_mask)
    assert torch.equal(memory.final, bridge.expand_as(plain.final))
    assert torch.equal(memory.states, plain.states)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_edited_away_positions_leave_a_bag_of_tokens(bench: Any, positions: str, side: str) -> None:
    """With no positions on a side, the order of its tokens does not matter to the last step."""
    sizes = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 1}
    model = bench.model(TransformerConfig(**sizes, positions=positions, max_positions=16))
    edits = Edits(**{f"{side}_positions": PositionEdit("none")})
    batch = bench.batch([5], 5)
    source, target = batch.source.clone(), batch.target_in.clone()
    (source if side == "source" else target)[:, [0, 2]] = (
        batch.source if side == "source" else batch.target_in
    )[:, [2, 0]]
    for one, matters in ((Edited(model, edits), False), (model, positions != "none")):
        with torch.inference_mode():
            plain = one(batch.source, batch.source_mask, batch.target_in)[:, -1]
            swapped = one(source, batch.source_mask, target)[:, -1]
        assert torch.allclose(plain, swapped, atol=1e-5) is not matters


def test_shifted_positions_are_those_of_later_tokens_and_never_below_zero(bench: Any) -> None:
    mask = torch.ones(2, 4, dtype=torch.bool)
    assert PositionEdit("shift", by=3).of_source(mask).tolist() == [3, 4, 5, 6]
    assert PositionEdit("shift", by=-2).of_target(torch.arange(4)).tolist() == [0, 0, 0, 1]
    sizes = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 1}
    model = bench.model(TransformerConfig(**sizes, positions="learned", max_positions=6))
    batch = bench.batch([4], 4)
    for edits in (
        Edits(source_positions=PositionEdit("shift", by=3)),
        Edits(target_positions=PositionEdit("shift", by=3)),
    ):
        with pytest.raises(LookupError, match="position 6 has no learned row: the table ends at 6"):
            Edited(model, edits)(batch.source, batch.source_mask, batch.target_in)


def test_shuffled_positions_are_within_a_sentence_or_a_block() -> None:
    mask = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    long, short = PositionEdit("shuffle", seed=1).of_source(mask).tolist()
    assert sorted(long) == list(range(6))
    assert sorted(short[:3]) == [0, 1, 2]
    target = PositionEdit("shuffle", seed=1).of_target(torch.arange(16)).tolist()
    assert [p - 8 for p in target[8:]] == target[:8] != list(range(8))


def test_an_edited_model_takes_no_other_edits(bench: Any) -> None:
    model, batch = bench.model(RnnConfig(width=8)), bench.batch([3], 2)
    shift, none = PositionEdit("shift", by=1), PositionEdit("none")
    edited = Edited(model, Edits(source_positions=shift))
    same, other = Probe(edits=Edits(source_positions=shift)), Probe(edits=Edits(source_positions=none))
    edited.encode(batch.source, batch.source_mask, same)
    with pytest.raises(ValueError, match="an edited model takes no other edits: give them all to one Edited"):
        edited.encode(batch.source, batch.source_mask, other)


def test_an_edited_model_has_the_positions_of_its_model(bench: Any) -> None:
    sizes = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 1}
    model = bench.model(TransformerConfig(**sizes))
    rows = Edited(model, Edits()).position_rows(3)
    assert rows.shape == (3, 8)
    assert torch.equal(rows, model.position_rows(3))


def test_an_edited_model_explains_itself(bench: Any) -> None:
    model, batch = bench.model(LuongConfig(width=8)), bench.batch([4], 3)
    edited = Edited(model, Edits({("cross", 0): AttentionEdit(uniform=(0,))}))
    memory = edited.encode(batch.source, batch.source_mask)
    (weights,) = edited.explain(batch.target_in, memory)
    torch.testing.assert_close(weights, torch.full((1, 1, 3, 4), 0.25))


def test_a_row_of_padding_needs_no_key(bench: Any) -> None:
    config = TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1)
    cut = AttentionEdit(cut=tuple((0, 5, k) for k in range(3)))  # more keys than the shortest sentence has
    model = Edited(bench.model(config), Edits({("enc_self", 0): cut}))
    batch = bench.batch(LENGTHS, 4)
    with torch.inference_mode():
        together = model.encode(batch.source, batch.source_mask).states
        for row, length in enumerate(LENGTHS):
            one = slice(row, row + 1)
            alone = model.encode(batch.source[one, :length], batch.source_mask[one, :length]).states
            torch.testing.assert_close(alone, together[one, :length], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_positions_stay_within_a_learned_table(bench: Any, seed: int) -> None:
    config = TransformerConfig(width=8, heads=2, feedforward=8, positions="learned", max_positions=20)
    model = Edited(bench.model(config), Edits(target_positions=PositionEdit("shuffle", seed=seed)))
    batch = bench.batch(LENGTHS, 20)
    with torch.inference_mode():
        assert model(batch.source, batch.source_mask, batch.target_in).isfinite().all()
