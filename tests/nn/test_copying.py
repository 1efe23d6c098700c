"""Copying: p is a distribution, it is what a loop over the source says, and only the source is copied."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.backends.torch import TorchBackend
from jumok.edits import Edits
from jumok.models.sentences import Sentences
from jumok.nn.copying import COPY, Copying, Pointed
from jumok.nn.edit import AttentionEdit

D, V = 6, 11
OPS = TorchBackend()


def editing(edit: AttentionEdit | None = None) -> RecordingBackend:
    return RecordingBackend(Edits({} if edit is None else {COPY: edit}), record=True)


def make(B: int, T: int, S: int, seed: int) -> tuple[Copying, Tensor, Tensor, Pointed, Tensor]:
    """A module, states (B, T, D), logits (B, T, V), what can be pointed at, and a mask (B, 1, S)."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    module = Copying(D).double()
    tokens = torch.randint(0, V, (B, S), generator=generator)
    mask = torch.arange(S) < torch.randint(1, S + 1, (B, 1), generator=generator)  # (B, S)
    return module, draw(B, T, D), draw(B, T, V), module.pointed(draw(B, S, D), tokens), mask[:, None]


shapes = given(B=st.integers(1, 3), T=st.integers(1, 4), S=st.integers(1, 5), seed=st.integers(0, 2**31))


@shapes
def test_log_p_is_what_a_loop_says(B: int, T: int, S: int, seed: int) -> None:
    module, x, logits, pointed, mask = make(B, T, S, seed)
    found = module(x, logits, pointed, mask, OPS)
    for b in range(B):
        for t in range(T):
            here = mask[b, 0]
            scores = (module.query(x[b, t]) @ pointed.keys[b][here].T) / D**0.5
            a = scores.softmax(0)
            context = a @ pointed.states[b][here]
            g = torch.sigmoid(module.gate(torch.cat((x[b, t], context))))[0]
            p = g * logits[b, t].softmax(0)
            for weight, token in zip(a, pointed.tokens[b][here].tolist(), strict=True):
                p[token] += (1 - g) * weight
            torch.testing.assert_close(found[b, t], p.log())


@shapes
def test_p_sums_to_one_and_is_its_own_log_softmax(B: int, T: int, S: int, seed: int) -> None:
    module, x, logits, pointed, mask = make(B, T, S, seed)
    found = module(x, logits, pointed, mask, OPS)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(B, T, dtype=torch.float64))
    torch.testing.assert_close(found.log_softmax(-1), found)


@shapes
def test_padding_changes_nothing(B: int, T: int, S: int, seed: int) -> None:
    module, x, logits, pointed, mask = make(B, T, S, seed)
    longer = Pointed(*(torch.cat((one, one.flip(1) + 1), dim=1) for one in pointed))
    longer = longer._replace(tokens=longer.tokens % V)
    wider = torch.cat((mask, torch.zeros_like(mask)), dim=2)
    torch.testing.assert_close(module(x, logits, longer, wider, OPS), module(x, logits, pointed, mask, OPS))


def test_a_closed_gate_writes_pieces_of_the_source_alone() -> None:
    module, x, logits, pointed, mask = make(1, 2, 3, 0)
    with torch.no_grad():
        module.gate.weight.zero_()
        module.gate.bias.fill_(-60.0)
    p = module(x, logits, pointed, torch.ones_like(mask), OPS).exp()  # (1, 2, V)
    inside = torch.zeros(V, dtype=torch.bool)
    inside[pointed.tokens[0]] = True
    assert (p[..., ~inside] < 1e-20).all()
    torch.testing.assert_close(p[..., inside].sum(-1), torch.ones(1, 2, dtype=torch.float64))


def test_an_open_gate_is_the_model_without_copying() -> None:
    module, x, logits, pointed, mask = make(2, 3, 4, 1)
    with torch.no_grad():
        module.gate.weight.zero_()
        module.gate.bias.fill_(60.0)
    torch.testing.assert_close(module(x, logits, pointed, mask, OPS), logits.log_softmax(-1))


def test_a_gate_that_is_all_but_open_still_knows_how_open_it_is() -> None:
    """1 - sigmoid(18) is 1.5e-8, and 0 if it is computed in float32 as it is written here."""
    module, x, logits, pointed, mask = make(1, 2, 3, 4)
    logits[..., pointed.tokens[0]] = -60.0  # only pointing can write them
    with torch.no_grad():
        module.gate.weight.zero_()
        module.gate.bias.fill_(18.0)
    exact = module(x, logits, pointed, torch.ones_like(mask), OPS)  # float64
    module = module.float()
    low = module.pointed(pointed.states.float(), pointed.tokens)
    found = module(x.float(), logits.float(), low, torch.ones_like(mask), OPS)
    torch.testing.assert_close(found.double(), exact, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_piece_that_is_all_but_impossible_is_still_learned(dtype: Any) -> None:
    """Neither way writes it, 60 nats below the best: its gradient is that of a model without copying."""
    module, x, logits, pointed, mask = make(1, 2, 3, 6)
    module, other = module.to(dtype), (set(range(V)) - set(pointed.tokens[0].tolist())).pop()
    with torch.no_grad():
        module.gate.weight.zero_()
        module.gate.bias.fill_(1.0)
    low = module.pointed(pointed.states.to(dtype), pointed.tokens)
    z = logits.detach().to(dtype)
    z[..., other] = z.max() - 60
    z.requires_grad_()
    found = module(x.to(dtype), z, low, torch.ones_like(mask), OPS)[..., other]
    wanted = z.log_softmax(-1)[..., other] + torch.tensor(1.0, dtype=dtype).sigmoid().log()
    torch.testing.assert_close(found, wanted)
    (ours,), (theirs,) = (torch.autograd.grad(one.sum(), z, retain_graph=True) for one in (found, wanted))
    torch.testing.assert_close(ours, theirs)
    assert ours[..., other] == pytest.approx(1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_probabilities_are_computed_in_float32_at_least(dtype: Any) -> None:
    module, x, logits, pointed, mask = make(2, 3, 4, 2)
    module = module.to(dtype)
    low = module.pointed(pointed.states.to(dtype), pointed.tokens)
    found = module(x.to(dtype), logits.to(dtype), low, mask, OPS)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(2, 3), atol=1e-5, rtol=0)


def test_rows_are_picked_and_cut() -> None:
    _, _, _, pointed, _ = make(3, 1, 4, 3)
    some = pointed.select(torch.tensor([2, 0]), 2)
    for one, all_ in zip(some, pointed, strict=True):
        assert torch.equal(one, all_[[2, 0], :2])


@shapes
def test_sentences_end_to_end_are_those_of_a_rectangle(B: int, T: int, S: int, seed: int) -> None:
    module, x, logits, pointed, mask = make(B, T, S, seed)
    lengths = mask[:, 0].sum(-1).tolist()
    source = Sentences.lay([[0] * n for n in lengths], torch.device("cpu"))
    target = Sentences.lay([[0] * T] * B, torch.device("cpu"))
    laid = (source.flat(pointed.states), source.flat(pointed.tokens))
    across = target.spans_over(source)
    found = OPS.copy(module, x.flatten(0, 1), logits.flatten(0, 1), laid, across, max(lengths))
    wanted = module(x, logits, pointed, mask, OPS).flatten(0, 1)
    torch.testing.assert_close(found, wanted)
    recorded = editing().copy(module, x.flatten(0, 1), logits.flatten(0, 1), laid, across, max(lengths))
    torch.testing.assert_close(recorded, wanted)


@shapes
def test_recording_changes_nothing_and_sees_every_stage(B: int, T: int, S: int, seed: int) -> None:
    module, x, logits, pointed, mask = make(B, T, S, seed)
    ops = editing()
    found = module(x, logits, pointed, mask, ops)
    torch.testing.assert_close(found, module(x, logits, pointed, mask, OPS))
    stages = ops.stages[COPY]
    torch.testing.assert_close(stages.scaled, stages.query @ stages.key.mT / D**0.5)
    torch.testing.assert_close(stages.context, stages.weights @ pointed.states[:, None])
    g = module.gate(torch.cat((x, stages.context[:, 0]), dim=-1)).sigmoid()
    torch.testing.assert_close(stages.out, 1 - g)


@shapes
def test_silenced_pointing_is_the_model_without_copying(B: int, T: int, S: int, seed: int) -> None:
    module, x, logits, pointed, mask = make(B, T, S, seed)
    found = module(x, logits, pointed, mask, editing(AttentionEdit(factors=((0, 0.0),))))
    torch.testing.assert_close(found, logits.log_softmax(-1))


def test_a_factor_acts_on_the_share_copied_which_stays_a_share() -> None:
    module, x, logits, pointed, mask = make(2, 3, 4, 5)

    def share(factor: float) -> Tensor:
        ops = editing(AttentionEdit(factors=((0, factor),)))
        p = module(x, logits, pointed, mask, ops).exp()
        torch.testing.assert_close(p.sum(-1), torch.ones(2, 3, dtype=torch.float64))
        out = ops.stages[COPY].out
        assert out is not None
        return out

    torch.testing.assert_close(share(0.5), share(1.0) / 2)
    assert share(1000.0).eq(1).all()
    assert share(-1.0).eq(0).all()


def test_a_row_that_is_set_copies_that_token() -> None:
    module, x, logits, pointed, mask = make(1, 3, 4, 6)
    edit = AttentionEdit(rows=((0, 5, ((2, 1.0),)),), factors=((0, 1000.0),))
    p = module(x, logits, pointed, torch.ones_like(mask), editing(edit), first=4).exp()
    # The second query here stands at position 5.
    assert p[0, 1, pointed.tokens[0, 2]].item() == pytest.approx(1)


def test_recording_keeps_to_float32_in_bfloat16() -> None:
    module, x, logits, pointed, mask = make(2, 3, 4, 7)
    module, ops = module.to(torch.bfloat16), editing()
    low = module.pointed(pointed.states.to(torch.bfloat16), pointed.tokens)
    given = (x.to(torch.bfloat16), logits.to(torch.bfloat16), low, mask)
    torch.testing.assert_close(module(*given, ops), module(*given, OPS))
    assert ops.stages[COPY].weights.dtype == torch.float32
