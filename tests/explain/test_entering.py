"""What enters the encoder is kept once, and its gradient can be asked for."""

import torch

from jumok.explain.entering import EntryBackend


def test_the_first_vectors_are_kept_and_take_gradients() -> None:
    ops = EntryBackend()
    first, second = torch.ones(2, 3), torch.zeros(2, 3)
    entered = ops.drop(first, 0.5, training=False)
    ops.drop(second, 0.5, training=False)
    assert ops.entered is entered
    assert entered.requires_grad
    assert torch.equal(entered, first)
