"""Global attention against the note: its shapes, and its equations in NumPy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig
from jumok.models.luong import LuongSeq2Seq
from jumok.models.sentences import Sentences


def test_shapes_are_exactly_those_of_the_note() -> None:
    """Row 4: B = 32, L = 10, V = 10,000, D = 256, one step of the decoder."""
    B, L, V, D = 32, 10, 10_000, 256
    model = LuongSeq2Seq(LuongConfig(width=D, bidirectional=False, tied=False), V, V, shared=False).eval()
    assert model.source_embedding.weight.shape == (V, D)  # W_emb
    assert model.attention.w_a.shape == (D, D)
    assert model.attention.w_c.weight.T.shape == (2 * D, D)
    assert model.output.weight.T.shape == (D, V)  # W_out
    ops = RecordingBackend(record=True)
    model = model.using(ops)
    source = Sentences.lay(torch.randint(V, (B, L)).tolist(), torch.device("cpu"))
    with torch.inference_mode():
        memory = model.encode(source)
        assert source.grid(memory.states).shape == (B, L, D)  # H
        assert memory.final[:, :, 0].shape == (B, 1, D)  # h_final
        logits, state = model.step(torch.randint(V, (B,)), model.start(memory))
    assert ops.states["decoder"].shape == (B, 1, D)  # s_t
    stages = ops.stages["cross", 0]
    E_t, alpha_t, c_t = stages.scores[:, 0], stages.weights[:, 0], stages.context[:, 0]
    assert E_t.shape == alpha_t.shape == (B, 1, L)
    assert c_t.shape == stages.out.shape == (B, 1, D)
    assert state.attentional.shape == (B, D)
    assert logits.shape == (B, V)


def numpy_of(tensor: Tensor) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    return tensor.detach().numpy()


def test_logits_equal_a_ten_line_numpy_version() -> None:
    """Row 4, from the decoder's states to the logits, with a plain tanh cell."""
    torch.manual_seed(0)
    model = LuongSeq2Seq(
        LuongConfig(width=8, cell="rnn", bidirectional=False, tied=False), 9, 9, shared=False
    ).eval()
    source, target_in = torch.randint(9, (2, 5)), torch.randint(9, (2, 4))
    memory = model.encode(Sentences.lay(source.tolist(), torch.device("cpu")))
    H, s = numpy_of(memory.states.view(2, 5, 8)), numpy_of(memory.final[:, 0, 0])
    cell, laid = model.decoder, Sentences.lay(target_in.tolist(), torch.device("cpu"))
    at_once = numpy_of(model.decode(laid, memory).logits().view(2, 4, 9))
    for t, logits in enumerate(at_once.transpose(1, 0, 2)):
        y = numpy_of(model.target_embedding.weight)[target_in[:, t].numpy()]
        bias = numpy_of(cell.bias_ih_l0 + cell.bias_hh_l0)
        s = np.tanh(y @ numpy_of(cell.weight_ih_l0).T + s @ numpy_of(cell.weight_hh_l0).T + bias)
        E = np.einsum("bd,bld->bl", s @ numpy_of(model.attention.w_a), H)
        alpha = np.exp(E) / np.exp(E).sum(axis=1, keepdims=True)
        c = np.einsum("bl,bld->bd", alpha, H)
        attentional = np.tanh(np.concatenate((c, s), axis=1) @ numpy_of(model.attention.w_c.weight).T)
        np.testing.assert_allclose(logits, attentional @ numpy_of(model.output.weight).T, atol=1e-5)


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_every_source_state_reaches_the_decoder(bench: Any, score: str) -> None:
    model, batch = bench.model(LuongConfig(width=8, score=score)), bench.batch([5], 3)
    with torch.inference_mode():
        memory = model.encode(batch.source)
        plain = model.decode(batch.target_in, memory).logits()
        for position in range(5):
            states = memory.states.clone()
            states[position] += 1
            changed = model.decode(batch.target_in, replace(memory, states=states)).logits()
            assert ((changed - plain).abs().amax(dim=-1) > 1e-6).all()


def test_without_input_feeding_the_whole_target_runs_in_one_call(bench: Any) -> None:
    calls: dict[bool, int] = {}
    for feeding in (False, True):
        model, batch = bench.model(LuongConfig(width=8, input_feeding=feeding)), bench.batch([5], 6)
        memory = model.encode(batch.source)
        seen: list[int] = []
        model.decoder.register_forward_pre_hook(lambda _, args, seen=seen: seen.append(1))
        model.decode(batch.target_in, memory)
        calls[feeding] = len(seen)
    assert calls == {False: 1, True: 6}


def test_input_feeding_hands_the_attentional_state_to_the_next_step(bench: Any) -> None:
    fed, plain = (bench.model(LuongConfig(width=8, input_feeding=feeding)) for feeding in (True, False))
    assert fed.decoder.input_size == 16
    assert plain.decoder.input_size == 8
    batch = bench.batch([4], 3)
    for model, matters in ((fed, True), (plain, False)):
        with torch.inference_mode():
            state = model.start(model.encode(batch.source))
            assert not state.attentional.any()
            other = replace(state, attentional=state.attentional + 1)
            token = batch.target_in.tokens[:1]
            assert torch.equal(model.step(token, state)[0], model.step(token, other)[0]) is not matters


def test_input_feeding_explains_all_steps_as_one_map(bench: Any) -> None:
    model, batch = bench.model(LuongConfig(width=8, input_feeding=True)), bench.batch([2, 4], 3)
    ops = RecordingBackend(record=True)
    bench.logits(model.using(ops), batch)
    assert list(ops.stages) == [("cross", 0)]
    stages = ops.stages["cross", 0]
    assert stages.query.shape == stages.context.shape == (2, 1, 3, 8)
    assert stages.scores.shape == stages.scaled.shape == stages.weights.shape == (2, 1, 3, 4)
    assert stages.key.shape == stages.value.shape == (2, 1, 4, 8)
    assert stages.out.shape == (2, 3, 8)
    torch.testing.assert_close(stages.context, stages.weights @ stages.value)
