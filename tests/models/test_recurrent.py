"""The cells against their equations, and an encoder that never reads padding."""

import pytest
import torch

from jumok.models.recurrent import RecurrentEncoder, RecurrentState, make_cell, run_cell


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
