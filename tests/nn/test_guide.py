"""The loss of a head that is taught where to look."""

import pytest
import torch

from jumok.nn.guide import guided_loss


def test_it_is_the_cross_entropy_of_what_is_known() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 4, requires_grad=True)
    mask = torch.tensor([[[True, True, True, True]], [[True, True, False, False]]])
    aligned = torch.tensor([[0, -1, 3], [1, -1, -1]])
    found = guided_loss(scores, mask, aligned)
    wanted = -(
        scores[0, 0].log_softmax(0)[0] + scores[0, 2].log_softmax(0)[3] + scores[1, 0, :2].log_softmax(0)[1]
    )
    assert float(found.detach()) == pytest.approx(float(wanted.detach()), rel=1e-6)
    found.backward()
    assert scores.grad is not None
    assert scores.grad[0, 1].abs().sum() == 0
    assert scores.grad[1, 0, 2:].abs().sum() == 0


def test_without_links_there_is_nothing_to_learn() -> None:
    assert float(guided_loss(torch.randn(1, 2, 3), torch.ones(1, 1, 3).bool(), torch.full((1, 2), -1))) == 0
