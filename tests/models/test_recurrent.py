"""The cells against their equations, and an encoder whose sentences never meet."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from jumok.backends.torch import TorchBackend
from jumok.config import LuongConfig, RnnConfig
from jumok.models.recurrent import RecurrentEncoder, RecurrentState, make_cell, run_cell
from jumok.models.sentences import Sentences

OPS = TorchBackend()


def test_the_plain_cell_is_tanh_of_a_linear_map() -> None:
    """s_t = tanh(x_t W_x + s_{t-1} W_s + b)."""
    cell = make_cell("rnn", 3, 4, 1, 0.0)
    x, hidden = torch.randn(2, 5, 3), torch.randn(2, 1, 1, 4)
    states, last = run_cell(OPS, cell, x, None, hidden)
    s = hidden[:, 0, 0]
    bias = cell.bias_ih_l0 + cell.bias_hh_l0
    for t in range(5):
        s = (x[:, t] @ cell.weight_ih_l0.T + s @ cell.weight_hh_l0.T + bias).tanh()
        torch.testing.assert_close(states[:, t], s)
    torch.testing.assert_close(last[:, 0, 0], s)


@pytest.mark.parametrize(("cell", "parts"), [("rnn", 1), ("gru", 1), ("lstm", 2)])
@pytest.mark.parametrize("layers", [1, 3])
def test_running_in_two_halves_equals_running_at_once(cell: Any, parts: int, layers: int) -> None:
    stack = make_cell(cell, 3, 4, layers, 0.0)
    x, hidden = torch.randn(2, 6, 3), torch.randn(2, layers, parts, 4)
    states, last = run_cell(OPS, stack, x, None, hidden)
    first, middle = run_cell(OPS, stack, x[:, :2], None, hidden)
    second, end = run_cell(OPS, stack, x[:, 2:], None, middle)
    assert states.shape == (2, 6, 4)
    assert last.shape == (2, layers, parts, 4)
    torch.testing.assert_close(torch.cat((first, second), dim=1), states)
    torch.testing.assert_close(end, last)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_sentences_end_to_end_are_those_of_a_rectangle(cell: Any) -> None:
    stack = make_cell(cell, 3, 4, 2, 0.0)
    target = Sentences.lay([[0] * 2, [0] * 5, [0]], torch.device("cpu"))
    x, hidden = torch.randn(8, 3), torch.randn(3, 2, 2 if cell == "lstm" else 1, 4)
    states, last = run_cell(OPS, stack, x, target, hidden)
    wanted, _ = run_cell(OPS, stack, target.grid(x), None, hidden)
    torch.testing.assert_close(states, target.flat(wanted))
    for row, n in enumerate((2, 5, 1)):
        _, end = run_cell(OPS, stack, target.grid(x)[row : row + 1, :n], None, hidden[row : row + 1])
        torch.testing.assert_close(last[row : row + 1], end)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_final_state_is_the_one_after_the_last_token(cell: Any, layers: int, *, both: bool) -> None:
    encoder = RecurrentEncoder(cell, 6, layers, 0.0, both=both)
    source = Sentences.lay([[0] * 2, [0] * 5, [0]], torch.device("cpu"))
    x = torch.randn(8, 6)
    H, final = encoder(x, source, OPS)
    assert H.shape == (8, 6)
    assert final.shape == (3, layers, 2 if cell == "lstm" else 1, 6)
    for row, (states, inputs) in enumerate(zip(H.split([2, 5, 1]), x.split([2, 5, 1]), strict=True)):
        alone = encoder(inputs, source.select([row])[0], OPS)
        torch.testing.assert_close((states, final[row : row + 1]), alone)
        if not both:
            torch.testing.assert_close(final[row, -1, 0], states[-1])
        else:  # left-to-right ends at the last token, right-to-left at the first
            torch.testing.assert_close(final[row, -1, 0, :3], states[-1, :3])
            torch.testing.assert_close(final[row, -1, 0, 3:], states[0, 3:])


def test_selecting_a_state_picks_rows_in_order() -> None:
    state = RecurrentState(torch.arange(3.0).reshape(3, 1, 1, 1))
    assert state.select(torch.tensor([2, 0, 2])).hidden.flatten().tolist() == [2, 0, 2]


def test_dropout_between_layers_needs_more_than_one_layer() -> None:
    assert make_cell("gru", 4, 4, 1, 0.3).dropout == 0.0
    assert make_cell("gru", 4, 4, 2, 0.3).dropout == 0.3


@pytest.mark.parametrize("config", [RnnConfig(width=8, dropout=0.5), LuongConfig(width=8, dropout=0.5)])
def test_dropout_stands_before_the_encoder_and_before_the_head(
    bench: Any, config: RnnConfig | LuongConfig
) -> None:
    model, batch = bench.model(config), bench.batch([60] * 8, 60)
    still = model(batch.source, batch.target_in).states
    model.training = True
    dropped = model(batch.source, batch.target_in).states
    assert 0.4 < (dropped == 0).double().mean() < 0.6
    model.training, model.encoder.training = False, True
    other = model(batch.source, batch.target_in).states
    assert not torch.equal(other, still)
    assert (other != 0).all()


@pytest.mark.gpu
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
    model, batch = bench.model(replace(config, cell=cell)), bench.batch([4, 21, 10], [31, 3, 9])
    expected = bench.logits(model, batch)
    there = bench.on_gpu(batch)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        found = bench.logits(model.cuda(), there)
    torch.testing.assert_close(found.cpu(), expected, atol=1e-4, rtol=1e-3)
    with torch.autocast("cuda", torch.bfloat16):
        half = bench.logits(model, there)
    torch.testing.assert_close(half.float().cpu(), expected, atol=0.05, rtol=0.05)


@pytest.mark.gpu
def test_gradients_that_vanish_in_fp16_survive_autocast() -> None:
    stack = make_cell("gru", 8, 8, 1, 0.0).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        states, _ = run_cell(OPS, stack, torch.randn(2, 5, 8).cuda(), None, torch.zeros(2, 1, 1, 8).cuda())
    assert states.dtype == torch.float32
    (states.sum() * 1e-9).backward()
    assert stack.weight_hh_l0.grad.any()
