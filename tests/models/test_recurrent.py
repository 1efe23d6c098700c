"""The cells against their equations, and an encoder that never reads padding."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from jumok.config import LuongConfig, RnnConfig
from jumok.data.batch import Packed, Room, pack_pairs, pad_pairs
from jumok.models.interface import Seq2Seq
from jumok.models.recurrent import RecurrentEncoder, RecurrentState, make_cell, run_cell
from jumok.text.tokenizer import PAD


def test_the_plain_cell_is_tanh_of_a_linear_map() -> None:
    """s_t = tanh(x_t W_x + s_{t-1} W_s + b)."""
    cell = make_cell("rnn", 3, 4, 1, 0.0)
    x, hidden = torch.randn(2, 5, 3), torch.randn(2, 1, 1, 4)
    states, last = run_cell(cell, x, hidden)
    s = hidden[:, 0, 0]
    bias = cell.bias_ih_l0 + cell.bias_hh_l0
    for t in range(5):
        s = (x[:, t] @ cell.weight_ih_l0.T + s @ cell.weight_hh_l0.T + bias).tanh()
        torch.testing.assert_close(states[:, t], s)
    torch.testing.assert_close(last[:, 0, 0], s)


@pytest.mark.parametrize(("cell", "parts"), [("rnn", 1), ("gru", 1), ("lstm", 2)])
@pytest.mark.parametrize("layers", [1, 3])
def test_running_in_two_halves_equals_running_at_once(cell: str, parts: int, layers: int) -> None:
    stack = make_cell(cell, 3, 4, layers, 0.0)
    x, hidden = torch.randn(2, 6, 3), torch.randn(2, layers, parts, 4)
    states, last = run_cell(stack, x, hidden)
    first, middle = run_cell(stack, x[:, :2], hidden)
    second, end = run_cell(stack, x[:, 2:], middle)
    assert states.shape == (2, 6, 4)
    assert last.shape == (2, layers, parts, 4)
    torch.testing.assert_close(torch.cat((first, second), dim=1), states)
    torch.testing.assert_close(end, last)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_final_state_is_the_one_after_the_last_real_token(cell: str, layers: int, *, both: bool) -> None:
    encoder = RecurrentEncoder(cell, 6, layers, 0.0, both=both)
    lengths = [2, 5, 1]
    x = torch.randn(3, 7, 6)
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    H, final = encoder(x, mask)
    assert H.shape == (3, 7, 6)
    assert final.shape == (3, layers, 2 if cell == "lstm" else 1, 6)
    for row, length in enumerate(lengths):
        alone_H, alone_final = encoder(x[row : row + 1, :length], torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(H[row : row + 1, :length], alone_H)
        torch.testing.assert_close(final[row : row + 1], alone_final)
        assert not H[row, length:].any()
        if not both:
            torch.testing.assert_close(final[row, -1, 0], H[row, length - 1])
        else:  # left-to-right ends at the last token, right-to-left at the first
            torch.testing.assert_close(final[row, -1, 0, :3], H[row, length - 1, :3])
            torch.testing.assert_close(final[row, -1, 0, 3:], H[row, 0, 3:])


def test_selecting_a_state_picks_rows_in_order() -> None:
    state = RecurrentState(torch.arange(3.0).reshape(3, 1, 1, 1))
    assert state.select(torch.tensor([2, 0, 2])).hidden.flatten().tolist() == [2, 0, 2]


def test_dropout_between_layers_needs_more_than_one_layer() -> None:
    assert make_cell("gru", 4, 4, 1, 0.3).dropout == 0.0
    assert make_cell("gru", 4, 4, 2, 0.3).dropout == 0.3


# Packed and padded give the same numbers

SIZES = {"cell": st.sampled_from(["rnn", "gru", "lstm"]), "layers": st.integers(1, 2), "tied": st.booleans()}
rnns = st.builds(RnnConfig, width=st.just(6), dropout=st.just(0.0), bidirectional=st.booleans(), **SIZES)
luongs = st.builds(
    LuongConfig,
    width=st.just(6),
    dropout=st.just(0.0),
    bidirectional=st.booleans(),
    score=st.sampled_from(["dot", "general", "concat"]),
    input_feeding=st.booleans(),
    **SIZES,
)
pairs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=6)


def ids(lengths: list[int], vocab: int) -> list[list[int]]:
    return [torch.randint(4, vocab, (length,)).tolist() for length in lengths]


def gradients(model: Seq2Seq, loss: Tensor) -> list[Tensor]:
    model.zero_grad()
    loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@settings(max_examples=40, deadline=None)
@given(st.one_of(rnns, luongs), pairs, st.booleans(), st.integers(0, 99))
def test_packed_and_padded_have_the_same_loss_and_gradients(
    bench: Any,
    config: RnnConfig | LuongConfig,
    lengths: list[tuple[int, int]],
    shared: bool,  # noqa: FBT001
    seed: int,
) -> None:
    model = bench.model(config, seed, shared=shared).double()
    sources = ids([one for one, _ in lengths], bench.vocab)
    targets = ids([other for _, other in lengths], bench.vocab)
    padded, packed = pad_pairs(sources, targets), pack_pairs(sources, targets, Room(128, 128))

    logits = model(padded.source, padded.source_mask, padded.target_in)
    mask = padded.target_mask
    loss = F.cross_entropy(logits[mask], padded.target_out[mask], reduction="sum")
    features = model.features(packed)
    assert features.shape == (128, 6)
    real = packed.tokens
    again = features[:real] @ model.head.T
    other = F.cross_entropy(again, packed.target_out[:real].long(), reduction="sum")

    torch.testing.assert_close(again, logits[mask])
    assert not features[real:].any()
    expected = gradients(model, loss)
    for ours, theirs in zip(gradients(model, other), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("config", [RnnConfig(width=6), LuongConfig(width=6, layers=2, score="concat")])
@pytest.mark.parametrize("feeding", [False, True])
def test_an_empty_batch_gives_every_weight_a_gradient_of_zero(
    bench: Any, config: RnnConfig | LuongConfig, *, feeding: bool
) -> None:
    if feeding:
        config = LuongConfig(width=6, input_feeding=True)
    model = bench.model(config).train()
    batch = Packed.empty(Room(64, 64))
    weight = (batch.target_out != PAD)[:, None]
    features = model.features(batch)
    assert features.isfinite().all()
    (features @ model.head.T * weight).sum().backward()
    assert all(not parameter.grad.any() for parameter in model.parameters())


@pytest.mark.parametrize("config", [RnnConfig(width=8, dropout=0.5), LuongConfig(width=8, dropout=0.5)])
def test_dropout_stands_at_the_same_places(bench: Any, config: RnnConfig | LuongConfig) -> None:
    """With everything but the last dropout switched off, half of each feature is zero; and so on."""
    model = bench.model(config)
    sources, targets = ids([60] * 8, bench.vocab), ids([60] * 8, bench.vocab)
    packed = pack_pairs(sources, targets, Room(512, 512))
    still = model.features(packed)
    model.dropout.train()
    dropped = model.features(packed)[: packed.tokens]
    assert 0.4 < (dropped == 0).double().mean() < 0.6
    model.eval()
    model.encoder.dropout.train()
    assert not torch.equal(model.features(packed), still)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(
    "config",
    [
        RnnConfig(width=64, dropout=0),
        LuongConfig(width=64, dropout=0),
        LuongConfig(width=64, layers=2, dropout=0),
    ],
)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_gpu_computes_what_a_cpu_does(bench: Any, config: Any, cell: str) -> None:
    model = bench.model(replace(config, cell=cell))
    batch = pack_pairs(ids([3, 20, 9], bench.vocab), ids([30, 2, 8], bench.vocab), Room(64, 64))
    expected = model.features(batch)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        features = model.cuda().features(batch.to("cuda"))
    torch.testing.assert_close(features.cpu(), expected, atol=1e-4, rtol=1e-3)
    with torch.autocast("cuda", torch.bfloat16):
        half = model.features(batch.to("cuda"))
    torch.testing.assert_close(half.float().cpu(), expected, atol=0.05, rtol=0.05)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gradients_that_vanish_in_fp16_survive_autocast() -> None:
    stack = make_cell("gru", 8, 8, 1, 0.0).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        states, _ = run_cell(stack, torch.randn(2, 5, 8).cuda(), torch.zeros(2, 1, 1, 8).cuda())
    assert states.dtype == torch.float32
    (states.sum() * 1e-9).backward()
    assert stack.weight_hh_l0.grad.any()
