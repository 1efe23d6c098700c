"""Global attention against the note: its shapes, and its equations in NumPy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.config import LuongConfig
from jumok.models.interface import Probe
from jumok.models.luong import LuongSeq2Seq
from jumok.models.recurrent import run_cell
from jumok.nn.attention import AttentionProbe


def test_shapes_are_exactly_those_of_the_note() -> None:
    """Row 4: B = 32, L = 10, V = 10,000, D = 256, one step of the decoder."""
    B, L, V, D = 32, 10, 10_000, 256
    model = LuongSeq2Seq(LuongConfig(width=D, bidirectional=False, tied=False), V, V, shared=False).eval()
    source = torch.randint(V, (B, L))
    assert model.source_embedding.weight.shape == (V, D)  # W_emb
    assert model.attention.w_a.shape == (D, D)
    assert model.attention.w_c.weight.T.shape == (2 * D, D)
    assert model.output.weight.T.shape == (D, V)  # W_out
    kept = []
    with torch.inference_mode():
        assert model.source_embedding(source).shape == (B, L, D)  # X
        memory = model.encode(source, torch.ones(B, L, dtype=torch.bool))
        assert memory.states.shape == (B, L, D)  # H
        assert memory.final[:, :, 0].shape == (B, 1, D)  # h_final
        y = model.target_embedding(torch.randint(V, (B, 1)))
        assert y.shape == (B, 1, D)  # y_emb
        s_t, _ = run_cell(model.decoder, y, model.start(memory).hidden)
        assert s_t.shape == (B, 1, D)
        attentional = model.attention(s_t, memory.states, memory.mask, AttentionProbe(kept.append))
        E_t, alpha_t, c_t = kept[0].scores[:, 0], kept[0].weights[:, 0], kept[0].context[:, 0]
        assert E_t.shape == alpha_t.shape == (B, 1, L)
        assert c_t.shape == (B, 1, D)
        assert torch.cat((c_t, s_t), dim=-1).shape == (B, 1, 2 * D)
        assert attentional.shape == (B, 1, D)
        logits = model.logits(attentional)
        assert logits.shape == (B, 1, V)
        assert F.cross_entropy(logits[:, 0], torch.randint(V, (B,))).shape == ()


def numpy_of(tensor: Tensor) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    return tensor.detach().numpy()


def test_logits_equal_a_ten_line_numpy_version() -> None:
    """Row 4, from the decoder's states to the logits, with a plain tanh cell."""
    torch.manual_seed(0)
    model = LuongSeq2Seq(
        LuongConfig(width=8, cell="rnn", bidirectional=False, tied=False), 9, 9, shared=False
    ).eval()
    source, target_in = torch.randint(9, (2, 5)), torch.randint(9, (2, 4))
    memory = model.encode(source, torch.ones(2, 5, dtype=torch.bool))
    H, s = numpy_of(memory.states), numpy_of(memory.final[:, 0, 0])
    cell = model.decoder
    for t, logits in enumerate(numpy_of(model.decode(target_in, memory)).transpose(1, 0, 2)):
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
        memory = model.encode(batch.source, batch.source_mask)
        plain = model.decode(batch.target_in, memory)
        for position in range(5):
            states = memory.states.clone()
            states[:, position] += 1
            changed = model.decode(batch.target_in, replace(memory, states=states))
            assert ((changed - plain).abs().amax(dim=-1) > 1e-6).all()


def test_without_input_feeding_the_whole_target_runs_in_one_call(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[bool, int] = {}
    for feeding in (False, True):
        model, batch = bench.model(LuongConfig(width=8, input_feeding=feeding)), bench.batch([5], 6)
        memory = model.encode(batch.source, batch.source_mask)
        lengths: list[int] = []
        model.decoder.register_forward_pre_hook(lambda _, args, seen=lengths: seen.append(args[0].shape[1]))
        model.decode(batch.target_in, memory)
        assert sum(lengths) == 6
        calls[feeding] = len(lengths)
    assert calls == {False: 1, True: 6}


def test_input_feeding_hands_the_attentional_state_to_the_next_step(bench: Any) -> None:
    fed, plain = (bench.model(LuongConfig(width=8, input_feeding=feeding)) for feeding in (True, False))
    assert fed.decoder.input_size == 16
    assert plain.decoder.input_size == 8
    batch = bench.batch([4], 3)
    for model, matters in ((fed, True), (plain, False)):
        with torch.inference_mode():
            state = model.start(model.encode(batch.source, batch.source_mask))
            assert not state.attentional.any()
            other = replace(state, attentional=state.attentional + 1)
            token = batch.target_in[:, 0]
            assert torch.equal(model.step(token, state)[0], model.step(token, other)[0]) is not matters


def test_input_feeding_explains_all_steps_as_one_map(bench: Any) -> None:
    model, batch = bench.model(LuongConfig(width=8, input_feeding=True)), bench.batch([2, 4], 3)
    kept = []
    memory = model.encode(batch.source, batch.source_mask)
    model.decode(batch.target_in, memory, Probe(lambda *one: kept.append(one)))
    ((kind, layer, stages),) = kept
    assert (kind, layer) == ("cross", 0)
    assert stages.query.shape == stages.context.shape == (2, 1, 3, 8)
    assert stages.scores.shape == stages.scaled.shape == stages.weights.shape == (2, 1, 3, 4)
    assert stages.key.shape == stages.value.shape == (2, 1, 4, 8)
    assert stages.out.shape == (2, 3, 8)
    torch.testing.assert_close(stages.context, stages.weights @ stages.value)
