"""Laws of the contract, for every architecture and option."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from jumok.backends.recording import RecordingBackend
from jumok.backends.torch import TorchBackend
from jumok.config import ModelConfig, RnnConfig, TransformerConfig
from jumok.models.interface import HeadPrediction, Memory, PlainPrediction, Prediction, Seq2Seq

some_lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4)
CLOSE = {"atol": 1e-5, "rtol": 1e-4}


def some_pairs(bench: Any, data: st.DataObject, seed: int) -> Any:
    lengths = data.draw(some_lengths)
    targets = data.draw(st.lists(st.integers(1, 6), min_size=len(lengths), max_size=len(lengths)))
    return bench.batch(lengths, targets, seed)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_step_by_step_equals_all_at_once(bench: Any, data: st.DataObject, seed: int) -> None:
    """Row 2: the previous state and the previous token are all a step needs."""
    model, batch = bench.exact(data.draw(bench.any_config), seed), some_pairs(bench, data, seed)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        at_once = model.decode(batch.target_in, memory).logits()
        one_by_one = bench.step_by_step(model, batch.target_in, memory)
    assert at_once.shape == (len(batch.target_out), bench.vocab)
    torch.testing.assert_close(one_by_one, at_once, **CLOSE)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_batch_mates_never_change_the_logits(bench: Any, data: st.DataObject, seed: int) -> None:
    model, batch = bench.exact(data.draw(bench.any_config), seed), some_pairs(bench, data, seed)
    with torch.inference_mode():
        together = bench.logits(model, batch)
        alone = [bench.logits(model, batch.alone(row)) for row in range(len(batch.source))]
    torch.testing.assert_close(torch.cat(alone), together, **CLOSE)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), fillers=st.integers(1, 5), seed=st.integers(0, 99))
def test_fillers_in_a_fixed_room_change_no_logit(
    bench: Any, data: st.DataObject, fillers: int, seed: int
) -> None:
    model, batch = bench.exact(data.draw(bench.any_config), seed), some_pairs(bench, data, seed)
    filled = replace(
        batch, source=bench.fill(batch.source, fillers), target_in=bench.fill(batch.target_in, fillers)
    )
    with torch.inference_mode():
        plain, found = bench.logits(model, batch), bench.logits(model, filled)
    torch.testing.assert_close(found[: len(plain)], plain, **CLOSE)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), T=st.integers(2, 6), seed=st.integers(0, 99))
def test_changing_a_token_changes_no_logit_before_it(
    bench: Any, data: st.DataObject, T: int, seed: int
) -> None:
    """Row 9: causality, for every architecture."""
    model, batch = bench.exact(data.draw(bench.any_config), seed), bench.batch([3, 5], T, seed)
    t = data.draw(st.integers(1, T - 1))
    with torch.inference_mode():
        memory = model.encode(batch.source)
        before, after = (
            batch.target_in.grid(model.decode(target_in, memory).logits())
            for target_in in (batch.target_in, changed(bench, batch.target_in, t))
        )
    torch.testing.assert_close(before[:, :t], after[:, :t], atol=1e-6, rtol=1e-5)


def changed(bench: Any, target_in: Any, t: int) -> Any:
    """Another token at this place of every sentence."""
    tokens = target_in.tokens
    there = target_in.positions == t
    return target_in.with_tokens(torch.where(there, (tokens + 1) % bench.vocab, tokens))


def test_changing_a_token_changes_the_logits_from_it_on(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([4], 4)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        before = model.decode(batch.target_in, memory).logits()
        after = model.decode(changed(bench, batch.target_in, 1), memory).logits()
    assert ((before - after)[1:].abs().amax(dim=-1) > 1e-7).all()


def test_selecting_rows_before_or_after_a_step_is_the_same(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 5, 3], 4)
    rows, tokens = torch.tensor([2, 0, 0, 1]), batch.target_in.tokens.view(3, 4)
    with torch.inference_mode():
        state = model.start(model.encode(batch.source))
        for earlier in tokens[:, :2].unbind(dim=1):
            _, state = model.step(earlier, state)
        logits, after = model.step(tokens[:, 2], state)
        selected_logits, selected_after = model.step(tokens[rows, 2], state.select(rows))
        torch.testing.assert_close(selected_logits, logits[rows], **CLOSE)
        one, other = (model.step(tokens[rows, 3], s)[0] for s in (selected_after, after.select(rows)))
        torch.testing.assert_close(one, other, **CLOSE)


def test_selecting_sentences_of_the_memory_equals_encoding_those(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 5, 3], 3)
    rows = [1, 1, 0]
    with torch.inference_mode():
        picked = model.encode(batch.source).select(rows)
        encoded = model.encode(batch.source.select(rows)[0])
        one, other = (model.decode(batch.target_in, memory).logits() for memory in (picked, encoded))
    torch.testing.assert_close(one, other, **CLOSE)


def test_a_state_is_a_value_that_can_be_stepped_again(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 4], 5)
    other = torch.full((2,), 5)
    with torch.inference_mode():
        state = model.start(model.encode(batch.source))
        for token in batch.target_in.tokens.view(2, 5).unbind(dim=1):
            first, after = model.step(token, state)
            model.step(other, model.step(other, state)[1])  # another line of descent
            again, _ = model.step(token, state)
            torch.testing.assert_close(first, again, atol=1e-6, rtol=1e-5)
            state = after


def test_forward_is_decode_after_encode(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 4], [3, 1])
    expected = model.decode(batch.target_in, model.encode(batch.source)).logits()
    assert torch.equal(bench.logits(model, batch), expected)


@pytest.mark.parametrize("shared", [False, True])
def test_every_parameter_receives_a_finite_non_zero_gradient(
    bench: Any, config: ModelConfig, *, shared: bool
) -> None:
    """Row 15: W_emb, W_RNN, W_a, W_c, W_out, W_Q, W_K, W_V, W_O and all the others."""
    model, batch = bench.model(config, shared=shared).train(), bench.batch([6, 4, 5], 5)
    model(batch.source, batch.target_in).loss(batch.target_out, 0.1)[0].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 1e-8, name


@settings(max_examples=30, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_recording_changes_no_logit(bench: Any, data: st.DataObject, seed: int) -> None:
    model = bench.exact(data.draw(bench.any_config), seed).double()
    batch, ops = bench.batch([2, 5, 3], [4, 1, 6], seed), RecordingBackend(record=True)
    with torch.inference_mode():
        plain, recorded = bench.logits(model, batch), bench.logits(model.using(ops), batch)
    torch.testing.assert_close(plain, recorded, **CLOSE)
    for stages in ops.stages.values():
        rows = stages.weights.sum(-1)
        torch.testing.assert_close(rows, torch.ones_like(rows))


def test_explain_gives_one_cross_attention_map_per_layer(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(config), bench.batch([2, 5, 3], [4, 2, 4])
    maps = model.explain(batch.target_in, model.encode(batch.source))
    if isinstance(config, RnnConfig):
        assert maps == ()
        return
    heads = config.heads if isinstance(config, TransformerConfig) else 1
    layers = getattr(config, "decoder_layers", 1)
    assert [one.shape for one in maps] == [(3, heads, 4, 5)] * layers
    for weights in maps:
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, heads, 4))
        assert not weights[0, :, :, 2:].any()  # no other sentence is looked at


def test_two_explanations_never_see_each_other(bench: Any, config: ModelConfig) -> None:
    model = bench.model(config)
    one, other = bench.batch([4], 3, seed=1), bench.batch([4], 3, seed=2)
    memories = [model.encode(batch.source) for batch in (one, other)]
    alone = [model.explain(batch.target_in, m) for batch, m in zip((one, other), memories, strict=True)]
    again = model.explain(one.target_in, memories[0])
    assert all(torch.equal(a, b) for a, b in zip(again, alone[0], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(alone[0], alone[1], strict=True))


def test_dropout_acts_in_training_and_never_in_eval_mode(bench: Any, config: ModelConfig) -> None:
    model, batch = bench.model(replace(config, dropout=0.4)), bench.batch([4, 6], 4)
    with torch.no_grad():
        assert torch.equal(bench.logits(model, batch), bench.logits(model, batch))
        model.train()
        torch.manual_seed(1)
        first = bench.logits(model, batch)
        assert not torch.equal(first, bench.logits(model, batch))
        torch.manual_seed(1)
        assert torch.equal(first, bench.logits(model, batch))


def test_another_back_end_has_the_very_same_weights(bench: Any, config: ModelConfig) -> None:
    model, ops = bench.model(config), RecordingBackend()
    other = model.using(ops)
    assert other.ops is ops is not model.ops
    assert [id(p) for p in other.parameters()] == [id(p) for p in model.parameters()]
    assert other.training is model.training is False


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_predictions_of_both_kinds_say_the_same(smoothing: float) -> None:
    """Logits made when they are asked for, and logits that are there; a target of 0 weighs nothing."""
    torch.manual_seed(0)
    states, head = torch.randn(2, 6, 4), torch.randn(9, 4)
    target = torch.tensor([3, 0, 8, 1, 0, 5])
    ways: list[list[Prediction]] = [[HeadPrediction(s, head, TorchBackend()) for s in states]]
    ways.append([PlainPrediction(s @ head.T) for s in states])
    found = [
        (one.logits(), one.loss(target, smoothing), one.rdrop_loss(two, target, smoothing, 2.0), one.best())
        for one, two in ways
    ]
    torch.testing.assert_close(found[0], found[1])
    kept = PlainPrediction((states[0] @ head.T)[target != 0])
    torch.testing.assert_close(kept.loss(target[target != 0], smoothing), found[1][1])


def test_the_contract_itself_has_no_model(bench: Any) -> None:
    contract, source = Seq2Seq(), bench.lay([[0]])
    memory = Memory(torch.zeros(1, 1), source)
    for call in (
        lambda: contract.encode(source),
        lambda: contract.decode(source, memory),
        lambda: contract.start(memory),
        lambda: contract.step(source.tokens, None),
    ):
        with pytest.raises(NotImplementedError):
            call()
    assert not contract.fits_buffers
    assert contract.vocabulary == 0
    assert contract.most_positions is contract.position_rows(3) is None


@pytest.mark.parametrize("bias", [False, True])
def test_the_best_tokens_are_found_a_chunk_of_logits_at_a_time(
    monkeypatch: pytest.MonkeyPatch, *, bias: bool
) -> None:
    class Watch(TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = function(*args, **(kwargs or {}))
            self.largest = max(self.largest, made.numel() if isinstance(made, torch.Tensor) else 0)
            return made

    torch.manual_seed(0)
    states, head, more = torch.randn(1000, 2), torch.randn(30, 2), torch.randn(30) if bias else None
    given = HeadPrediction(states, head, TorchBackend(), more)
    whole = (states @ head.T + (0 if more is None else more)).argmax(dim=1)
    monkeypatch.setattr("jumok.backends.head.CHUNK", 4 * 30 * 200)  # 200 rows
    with Watch() as watch:
        found = given.best()
    assert torch.equal(found, whole)
    assert watch.largest == 30 * 256  # five parts of 200, each filled up to a multiple of 128
