"""Looking inside and what-ifs: a back end that changes nothing unless it is told to, and never the model."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.conftest import CONFIGS, Bench
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.edits import Edits, PositionEdit
from jumok.models.interface import Seq2Seq
from jumok.nn.edit import AttentionEdit

LENGTHS, TARGETS = [2, 6, 4], [11, 3, 9]  # past one block of exchanged positions
SMALL: dict[str, Any] = {
    "width": 8,
    "heads": 2,
    "feedforward": 12,
    "encoder_layers": 1,
    "decoder_layers": 1,
}
CLOSE = {"atol": 1e-5, "rtol": 1e-4}
bench = Bench()


def edited(model: Seq2Seq, edits: Edits) -> Seq2Seq:
    return model.using(RecordingBackend(edits))


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_all_stages_are_those_of_single_steps(config: ModelConfig) -> None:
    """A search that goes step by step records what one pass records, where the keys stay the same."""
    model, batch = bench.model(config), bench.batch([2, 6], 4)
    whole, steps = RecordingBackend(record=True), RecordingBackend(record=True)
    with torch.inference_mode():
        memory = model.using(whole).encode(batch.source)
        model.using(whole).decode(batch.target_in, memory)
        state, one_by_one = model.start(memory), model.using(steps)
        for token in batch.target_in.tokens.view(2, 4).unbind(dim=1):
            if isinstance(config, TransformerConfig):
                steps.stages = {}  # keys of self-attention grow; the last step is compared
            _, state = one_by_one.step(token, state)
    last = slice(-1, None) if isinstance(config, TransformerConfig) else slice(None)
    for where, stages in steps.stages.items():
        for name in ("query", "scores", "scaled", "weights", "context"):
            wanted = getattr(whole.stages[where], name)[:, :, last]
            torch.testing.assert_close(getattr(stages, name), wanted, **CLOSE)
        torch.testing.assert_close(stages.out, whole.stages[where].out[:, last], **CLOSE)
    if "decoder" in whole.states:
        torch.testing.assert_close(steps.states["decoder"], whole.states["decoder"])


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_no_edits_are_the_model_itself(config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch(LENGTHS, TARGETS)
    with torch.inference_mode():
        torch.testing.assert_close(bench.logits(edited(model, Edits()), batch), bench.logits(model, batch))


@settings(max_examples=80, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_step_by_step_equals_all_at_once_under_every_edit(data: st.DataObject, seed: int) -> None:
    config = data.draw(bench.any_config)
    model = edited(bench.model(config, seed), data.draw(bench.edits(config)))
    batch = bench.batch(LENGTHS, TARGETS, seed)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        at_once = model.decode(batch.target_in, memory).logits()
        one_by_one = bench.step_by_step(model, batch.target_in, memory)
    assert at_once.isfinite().all()
    torch.testing.assert_close(one_by_one, at_once, **CLOSE)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_batch_mates_never_change_an_edited_result(data: st.DataObject, seed: int) -> None:
    config = data.draw(bench.any_config)
    model = edited(bench.model(config, seed), data.draw(bench.edits(config)))
    batch = bench.batch(LENGTHS, [4, 1, 2], seed)
    with torch.inference_mode():
        alone = [bench.logits(model, batch.alone(row)) for row in range(3)]
        torch.testing.assert_close(torch.cat(alone), bench.logits(model, batch), **CLOSE)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_recording_shows_the_edited_numbers_and_changes_none(data: st.DataObject) -> None:
    config = data.draw(bench.any_config)
    model, edits = bench.model(config), data.draw(bench.edits(config))
    batch, ops = bench.batch(LENGTHS, 4), RecordingBackend(edits, record=True)
    with torch.inference_mode():
        plain = bench.logits(edited(model, edits), batch)
        torch.testing.assert_close(plain, bench.logits(model.using(ops), batch), **CLOSE)
    for where, stages in ops.stages.items():
        torch.testing.assert_close(stages.weights.sum(-1), torch.ones(stages.weights.shape[:-1]))
        edit = edits.attention.get(where)
        _, H, T, S = stages.weights.shape
        for head, q, k in edit.cut if edit else ():
            set_by_hand = any((head, q) == row[:2] for row in edit.rows)
            if head < H and q < T and k < S and not set_by_hand:
                real = batch.source.mask[:, q] if where[0] == "enc_self" else slice(None)
                assert not stages.weights[real, head, q, k].any()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_model_inside_is_never_changed(config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch(LENGTHS, 4)
    layers = {("cross", 0): AttentionEdit(factors=((0, 0.0),))}
    other = edited(model, Edits(layers, bridge=torch.zeros_like(bridge_of(model, batch)).numpy()))
    with torch.inference_mode():
        before = bench.logits(model, batch)
        assert not torch.allclose(before, bench.logits(other, batch))
        assert torch.equal(before, bench.logits(model, batch))


def bridge_of(model: Seq2Seq, batch: Any) -> Tensor:
    final = model.encode(batch.source).final
    return torch.zeros(1, 1, 1) if final is None else final[0].detach()


@pytest.mark.parametrize("config", [RnnConfig(width=8, cell="lstm", layers=2), LuongConfig(width=8)])
def test_a_bridge_replaces_the_fixed_vector_of_every_sentence(config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch(LENGTHS, 3)
    bridge = bridge_of(model, bench.batch([5], 3, seed=9))
    with torch.inference_mode():
        plain = model.encode(batch.source)
        memory = edited(model, Edits(bridge=bridge.numpy())).encode(batch.source)
    assert torch.equal(memory.final, bridge.expand_as(plain.final))
    assert torch.equal(memory.states, plain.states)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_edited_away_positions_leave_a_bag_of_tokens(positions: Any, side: str) -> None:
    """With no positions on a side, the order of its tokens does not matter to the last step."""
    model = bench.model(TransformerConfig(**SMALL, positions=positions, max_positions=16))
    without = edited(model, Edits(**{f"{side}_positions": PositionEdit("none")}))
    batch = bench.batch([5], 5)
    sides = {"source": batch.source, "target": batch.target_in}
    sides[side] = sides[side].with_tokens(sides[side].tokens[[2, 1, 0, 3, 4]])
    for one, matters in ((without, False), (model, positions != "none")):
        with torch.inference_mode():
            plain = bench.logits(one, batch)[-1]
            swapped = one(sides["source"], sides["target"]).logits()[-1]
        assert torch.allclose(plain, swapped, atol=1e-5) is not matters


@pytest.mark.parametrize("side", ["source", "target"])
def test_positions_shifted_past_a_learned_table_are_refused(side: str) -> None:
    model = bench.model(TransformerConfig(**SMALL, positions="learned", max_positions=6))
    edits = Edits(**{f"{side}_positions": PositionEdit("shift", by=3)})
    with pytest.raises(LookupError, match="position 6 has no learned row: the table ends at 6"):
        bench.logits(edited(model, edits), bench.batch([4], 4))


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_positions_stay_within_a_learned_table(seed: int) -> None:
    model = bench.model(TransformerConfig(**SMALL, positions="learned", max_positions=20))
    shuffle = Edits(target_positions=PositionEdit("shuffle", seed=seed))
    with torch.inference_mode():
        assert bench.logits(edited(model, shuffle), bench.batch(LENGTHS, 20)).isfinite().all()


def test_an_edited_model_explains_itself_and_has_the_positions_of_its_model() -> None:
    model, batch = bench.model(LuongConfig(width=8)), bench.batch([4], 3)
    other = edited(model, Edits({("cross", 0): AttentionEdit(uniform=(0,))}))
    (weights,) = other.explain(batch.target_in, other.encode(batch.source))
    torch.testing.assert_close(weights, torch.full((1, 1, 3, 4), 0.25))
    model = bench.model(TransformerConfig(**SMALL))
    shifted = edited(model, Edits(source_positions=PositionEdit("shift", by=1)))
    assert torch.equal(shifted.position_rows(3), model.position_rows(3))


def test_a_query_that_is_not_there_needs_no_key() -> None:
    cut = AttentionEdit(cut=tuple((0, 5, k) for k in range(3)))  # more keys than the shortest sentence has
    model = edited(bench.model(TransformerConfig(**SMALL)), Edits({("enc_self", 0): cut}))
    batch = bench.batch(LENGTHS, 4)
    with torch.inference_mode():
        alone = [model.encode(batch.alone(row).source).states for row in range(3)]
        torch.testing.assert_close(torch.cat(alone), model.encode(batch.source).states, **CLOSE)


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    ops = RecordingBackend()
    bench.logits(bench.model(LuongConfig(width=8)).using(ops), bench.batch([3], 2))
    assert not ops.stages
    assert not ops.states
    assert ops.pending is None
