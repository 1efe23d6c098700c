"""What the fast back ends share: kept tables, and a bias whose gradient another op sums."""

import gc
import weakref

import torch

from jumok.backends.branch import Sums, plain_sums
from jumok.backends.fast import FastBackend, settled, values_and_biases
from jumok.backends.values import Projected
from jumok.nn.positions import sinusoidal


class PlainSums(FastBackend):
    @property
    def sums(self) -> Sums:
        return plain_sums


def test_a_table_of_positions_stays_as_long_as_its_back_end() -> None:
    """A captured step reads it where it lies, whatever else is computed meanwhile."""
    ops, places = PlainSums(), torch.tensor([0, 5, 2])
    for end in range(6, 40):
        torch.testing.assert_close(ops.sinusoids(places, end, 16, torch.float32), sinusoidal(places, 16))
    assert sorted(rows for rows, *_ in ops.kept) == [8, 16, 32, 64]  # a few serve all lengths
    table = next(iter(ops.kept.values()))
    ops.sinusoids(places, 6, 16, torch.float32)
    assert next(iter(ops.kept.values())) is table
    gone = weakref.ref(table)
    del ops, table
    gc.collect()
    assert gone() is None


def test_a_table_made_while_translating_serves_training() -> None:
    ops, places = PlainSums(), torch.tensor([1])
    with torch.inference_mode():
        ops.sinusoids(places, 2, 4, torch.float32)
    weight = torch.ones(4, requires_grad=True)
    (ops.sinusoids(places, 2, 4, torch.float32) * weight).sum().backward()
    assert weight.grad is not None


def test_positions_whose_end_nobody_knows_are_computed() -> None:
    ops = PlainSums()
    far = torch.tensor([1_000_000])
    torch.testing.assert_close(ops.sinusoids(far, None, 8, torch.float32), sinusoidal(far, 8))
    assert not ops.kept


def test_a_bias_that_is_owed_gets_its_gradient_where_it_is_settled() -> None:
    x, weight, bias = torch.randn(4, 3), torch.randn(5, 3), torch.randn(5, requires_grad=True)
    owed, _ = PlainSums().branch(x, weight, bias, owed=True)
    assert owed.bias is bias
    assert not owed.values.requires_grad
    (paid,) = settled((owed,))
    torch.testing.assert_close(paid.values, x @ weight.T + bias)
    paid.values.sum().backward()
    assert bias.grad is not None
    assert bias.grad.tolist() == [4] * 5


def test_biases_are_handed_on_for_all_products_or_for_none() -> None:
    x, bias = torch.randn(2, 3), torch.randn(3, requires_grad=True)
    values, biases = values_and_biases((Projected(x, bias), Projected(x, bias)))
    assert biases == (bias, bias)
    assert values[0] is x
    values, biases = values_and_biases((Projected(x, bias), Projected(x)))
    assert biases == ()
    assert values[0].requires_grad


def test_the_plain_product_is_taken_where_a_gradient_is_not_ours_or_types_differ() -> None:
    x, weight, bias = torch.randn(4, 3), torch.randn(5, 3, requires_grad=True), torch.zeros(5)
    y, after = PlainSums().branch(x, weight, bias, own=False, owed=True)
    assert after is x
    assert y.bias is None
    with torch.autocast("cpu", torch.bfloat16):
        y, _ = PlainSums().branch(x.bfloat16(), weight, bias, owed=True)
    assert y.values.dtype == torch.bfloat16
    assert y.bias is None
