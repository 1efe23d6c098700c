"""Laws of the contract, for every architecture and option."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jumok.training.loss import token_loss
from torch import nn

from jumok.config import ModelConfig, RnnConfig, TransformerConfig
from jumok.models.interface import Memory, Probe, Seq2Seq
from jumok.nn.functional import Stages

some_lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), lengths=some_lengths, T=st.integers(1, 6), seed=st.integers(0, 99))
def test_step_by_step_equals_all_at_once(
    bench: Any, data: st.DataObject, lengths: list[int], T: int, seed: int
) -> None:
    """Row 2: the previous state and the previous token are all a step needs."""
    model = bench.model(data.draw(bench.any_config), seed)
    batch = bench.batch(lengths, T, seed)
    with torch.inference_mode():
        memory = model.encode(batch.source, batch.source_mask)
        at_once = model.decode(batch.target_in, memory)
        one_by_one = bench.step_by_step(model, batch.target_in, memory)
    assert at_once.shape == (len(lengths), T, bench.vocab)
    torch.testing.assert_close(one_by_one, at_once, atol=1e-5, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), lengths=some_lengths, extra=st.integers(1, 5), seed=st.integers(0, 99))
def test_padding_never_changes_the_logits(
    bench: Any, data: st.DataObject, lengths: list[int], extra: int, seed: int
) -> None:
    model = bench.model(data.draw(bench.any_config), seed)
    batch = bench.batch(lengths, 3, seed)
    longer = nn.functional.pad(batch.source, (0, extra), value=1)
    longer_mask = nn.functional.pad(batch.source_mask, (0, extra), value=False)
    with torch.inference_mode():
        short = model(batch.source, batch.source_mask, batch.target_in)
        long = model(longer, longer_mask, batch.target_in)
        scrambled = torch.where(longer_mask, longer, 7)
        other_padding = model(scrambled, longer_mask, batch.target_in)
    torch.testing.assert_close(short, long, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(long, other_padding, atol=1e-5, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), lengths=some_lengths, seed=st.integers(0, 99))
def test_batch_mates_never_change_the_logits(
    bench: Any, data: st.DataObject, lengths: list[int], seed: int
) -> None:
    model = bench.model(data.draw(bench.any_config), seed)
    batch = bench.batch(lengths, 3, seed)
    with torch.inference_mode():
        together = model(batch.source, batch.source_mask, batch.target_in)
        for row, length in enumerate(lengths):
            one = slice(row, row + 1)
            alone = model(batch.source[one, :length], batch.source_mask[one, :length], batch.target_in[one])
            torch.testing.assert_close(alone, together[one], atol=1e-5, rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), T=st.integers(2, 6), seed=st.integers(0, 99))
def test_changing_a_token_changes_no_logit_before_it(
    bench: Any, data: st.DataObject, T: int, seed: int
) -> None:
    """Row 9: causality, for every architecture."""
    model = bench.model(data.draw(bench.any_config), seed)
    batch = bench.batch([3, 5], T, seed)
    t = data.draw(st.integers(1, T - 1))
    changed = batch.target_in.clone()
    changed[:, t] = (changed[:, t] + 1) % bench.vocab
    with torch.inference_mode():
        memory = model.encode(batch.source, batch.source_mask)
        before, after = model.decode(batch.target_in, memory), model.decode(changed, memory)
    torch.testing.assert_close(before[:, :t], after[:, :t], atol=1e-6, rtol=1e-5)


def test_changing_a_token_changes_the_logits_from_it_on(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([4], 4)
    changed = batch.target_in.clone()
    changed[:, 1] = (changed[:, 1] + 1) % bench.vocab
    with torch.inference_mode():
        memory = model.encode(batch.source, batch.source_mask)
        difference = (model.decode(batch.target_in, memory) - model.decode(changed, memory)).abs()
    assert (difference[:, 1:].amax(dim=-1) > 1e-7).all()


def test_selecting_rows_before_or_after_a_step_is_the_same(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 5, 3], 4)
    rows = torch.tensor([2, 0, 0, 1])
    token = batch.target_in[:, 2]
    with torch.inference_mode():
        state = model.start(model.encode(batch.source, batch.source_mask))
        for earlier in batch.target_in[:, :2].unbind(dim=1):
            _, state = model.step(earlier, state)
        logits, after = model.step(token, state)
        selected_logits, selected_after = model.step(token[rows], state.select(rows))
        torch.testing.assert_close(selected_logits, logits[rows], atol=1e-5, rtol=1e-4)
        last = batch.target_in[:, 3]
        torch.testing.assert_close(
            model.step(last[rows], selected_after)[0],
            model.step(last[rows], after.select(rows))[0],
            atol=1e-5,
            rtol=1e-4,
        )


def test_selecting_rows_of_the_memory_equals_encoding_those_rows(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 5, 3], 3)
    rows = torch.tensor([1, 1, 0])
    with torch.inference_mode():
        picked = model.encode(batch.source, batch.source_mask).select(rows)
        encoded = model.encode(batch.source[rows], batch.source_mask[rows])
        torch.testing.assert_close(
            model.decode(batch.target_in, picked),
            model.decode(batch.target_in, encoded),
            atol=1e-5,
            rtol=1e-4,
        )


def test_a_state_is_a_value_that_can_be_stepped_again(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 4], 5)
    other = torch.full((2,), 5)
    with torch.inference_mode():
        state = model.start(model.encode(batch.source, batch.source_mask))
        for token in batch.target_in.unbind(dim=1):
            first, after = model.step(token, state)
            model.step(other, model.step(other, state)[1])  # another line of descent
            again, _ = model.step(token, state)
            torch.testing.assert_close(first, again, atol=1e-6, rtol=1e-5)
            state = after


def test_forward_is_decode_after_encode(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 4], 3)
    memory = model.encode(batch.source, batch.source_mask)
    expected = model.decode(batch.target_in, memory)
    assert torch.equal(model(batch.source, batch.source_mask, batch.target_in), expected)


@pytest.mark.parametrize("shared", [False, True])
def test_every_parameter_receives_a_finite_non_zero_gradient(
    bench: Any, config: ModelConfig, *, shared: bool
) -> None:
    """Row 15: W_emb, W_RNN, W_a, W_c, W_out, W_Q, W_K, W_V, W_O and all the others."""
    model = bench.model(config, shared=shared).train()
    batch = bench.batch([6, 4, 5], 5)
    logits = model(batch.source, batch.source_mask, batch.target_in)
    token_loss(logits, batch.target_out, batch.target_mask, 0.1)[0].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 1e-8, name


@settings(max_examples=30, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_recording_changes_no_logit(bench: Any, data: st.DataObject, seed: int) -> None:
    model = bench.model(data.draw(bench.any_config), seed)
    batch = bench.batch([2, 5, 3], 4, seed)
    kept: list[tuple[str, int, Stages]] = []
    with torch.inference_mode():
        plain = model(batch.source, batch.source_mask, batch.target_in)
        memory = model.encode(batch.source, batch.source_mask, Probe(lambda *one: kept.append(one)))
        recorded = model.decode(batch.target_in, memory, Probe(lambda *one: kept.append(one)))
    torch.testing.assert_close(plain, recorded, atol=1e-5, rtol=1e-4)
    for _, _, stages in kept:
        torch.testing.assert_close(stages.weights.sum(-1), torch.ones(stages.weights.shape[:-1]))


def test_explain_gives_one_cross_attention_map_per_layer(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 5, 3], 4)
    memory = model.encode(batch.source, batch.source_mask)
    maps = model.explain(batch.target_in, memory)
    if isinstance(config, RnnConfig):
        assert maps == ()
        return
    heads, layers = (config.heads, config.decoder_layers) if isinstance(config, TransformerConfig) else (1, 1)
    assert [one.shape for one in maps] == [(3, heads, 4, 5)] * layers
    for weights in maps:
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, heads, 4))
        assert not weights[0, :, :, 2:].any()  # padding is never looked at


def test_two_explanations_never_see_each_other(bench: Any) -> None:
    model = bench.model(
        TransformerConfig(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1)
    )
    one, other = bench.batch([4], 3, seed=1), bench.batch([4], 3, seed=2)
    memories = [model.encode(batch.source, batch.source_mask) for batch in (one, other)]
    alone = [model.explain(batch.target_in, m)[0] for batch, m in zip((one, other), memories, strict=True)]
    assert torch.equal(model.explain(one.target_in, memories[0])[0], alone[0])
    assert not torch.equal(alone[0], alone[1])


def test_dropout_acts_in_training_and_never_in_eval_mode(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(replace(config, dropout=0.4)), bench.batch([4, 6], 4)
    inputs = (batch.source, batch.source_mask, batch.target_in)
    with torch.no_grad():
        assert torch.equal(model(*inputs), model(*inputs))
        model.train()
        torch.manual_seed(1)
        first = model(*inputs)
        assert not torch.equal(first, model(*inputs))
        torch.manual_seed(1)
        assert torch.equal(first, model(*inputs))


def test_the_contract_itself_has_no_model() -> None:
    contract, ids = Seq2Seq(), torch.zeros(1, 1, dtype=torch.long)
    memory = Memory(torch.zeros(1, 1, 1), ids.bool())
    for call in (
        lambda: contract.encode(ids, ids.bool()),
        lambda: contract.decode(ids, memory),
        lambda: contract.start(memory),
        lambda: contract.step(ids[0], None),
    ):
        with pytest.raises(NotImplementedError):
            call()
