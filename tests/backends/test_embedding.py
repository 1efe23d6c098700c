"""The embedding's own backward pass against torch's."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.backends.embedding import Embed


@given(ids=st.lists(st.integers(0, 6), min_size=1), scale=st.sampled_from([1.0, 2.5]))
def test_rows_and_their_gradients(ids: list[int], scale: float) -> None:
    weight, places = torch.randn(7, 3).double().requires_grad_(), torch.tensor(ids, dtype=torch.int32)
    wanted = weight[places.long()] * scale
    found = Embed.apply(places, weight, scale)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(found, wanted)
    d_rows = torch.randn_like(wanted)
    one, other = (torch.autograd.grad(rows, weight, d_rows) for rows in (found, wanted))
    torch.testing.assert_close(one, other)


def test_the_gradient_of_a_bfloat16_embedding_is_summed_in_float32() -> None:
    weight = torch.zeros(2, 1, dtype=torch.bfloat16, requires_grad=True)
    rows = Embed.apply(torch.zeros(1000, dtype=torch.int32), weight, 1.0)  # type: ignore[no-untyped-call]
    rows.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[1000.0], [0.0]]  # adding ones in bfloat16 would stop at 256
