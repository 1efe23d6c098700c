"""The kernels against their twin under a mask, on a GPU, or without one in Triton's interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, runs_kernels
from torch import Tensor

from jumok.backends.beams import twin_past, twin_source
from jumok.nn.functional import split_heads

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}


def random(*shape: int, dtype: torch.dtype, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


@runs_kernels
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    ("W", "K", "place", "scale"),
    [(5, 64, 0, True), (5, 16, 15, True), (3, 32, 31, False), (1, 16, 7, True), (17, 16, 9, True)],
)
def test_beams_see_their_ancestors_and_leave_their_keys(
    W: int, K: int, place: int, dtype: torch.dtype, *, scale: bool
) -> None:
    from jumok.backends.triton.beams import attend_past

    B, H, T, N = 3, 2, 32, 2
    qkv = random(B, W, 3 * H * K, dtype=dtype, seed=0)
    query, key, value = (split_heads(part, H) for part in qkv.chunk(3, dim=2))
    past = random(2, B, N, H, T * W, K, dtype=dtype, seed=1)
    own, other = ((one[0][:, 1], one[1][:, 1]) for one in (past, past.clone()))  # the second layer
    ancestors = torch.randint(W, (B, W, T), generator=torch.Generator().manual_seed(2)).to(DEVICE, torch.int8)
    ancestors[:, :, place:] = -1
    now = torch.tensor([place], device=DEVICE)
    expected = twin_past(query, (key, value), own, ancestors, now, places=T, scale=scale)
    found = attend_past(query, (key, value), other, ancestors, now, scale=scale)
    torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    assert all(torch.equal(one, two) for one, two in zip(own, other, strict=True))


@runs_kernels
def test_keys_with_other_strides_than_the_query_are_taken() -> None:
    from jumok.backends.triton.beams import attend_past

    B, H, W, K, T = 2, 2, 4, 16, 8
    query, key, value = (random(B, H, W, K, dtype=torch.float32, seed=n) for n in range(3))
    past = random(2, B, H, T * W, K, dtype=torch.float32, seed=3)
    ancestors = torch.zeros(B, W, T, dtype=torch.int8, device=DEVICE)
    ancestors[:, :, 2:] = -1
    now = torch.tensor([2], device=DEVICE)
    expected = twin_past(query, (key, value), tuple(past.clone()), ancestors, now, places=T)
    turned = key.transpose(1, 2).contiguous().transpose(1, 2)
    torch.testing.assert_close(attend_past(query, (turned, value), tuple(past), ancestors, now), expected)


@runs_kernels
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(("W", "K", "S", "scale"), [(5, 64, 80, True), (1, 16, 3, False), (2, 128, 65, True)])
def test_beams_read_the_real_tokens_of_their_source(
    W: int, K: int, S: int, dtype: torch.dtype, *, scale: bool
) -> None:
    from jumok.backends.triton.beams import attend_source

    B, H = 4, 2
    query = split_heads(random(B, W, H * K, dtype=dtype, seed=0), H)
    keys, values = random(2, B, H, S, K, dtype=dtype, seed=1)
    lengths = torch.tensor([1, S, S - 1, 2], device=DEVICE)
    expected = twin_source(query, (keys, values), lengths, scale=scale)
    for row, length in enumerate(lengths.tolist()):
        keys[row, :, length:] = torch.nan  # padding is not even read
        values[row, :, length:] = torch.nan
    found = attend_source(query, (keys, values), lengths, scale=scale)
    torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@runs_kernels
def test_the_backend_asks_the_kernels_and_torch_where_they_do_not_run() -> None:
    from jumok.backends.triton.backend import TritonBackend

    B, H, W, K, T = 2, 2, 4, 16, 8
    query, key, value = (random(B, H, W, K, dtype=torch.float32, seed=n) for n in range(3))
    past = random(2, B, H, T * W, K, dtype=torch.float32, seed=3)
    ancestors = torch.zeros(B, W, T, dtype=torch.int8, device=DEVICE)
    ancestors[:, :, 2:] = -1
    now, lengths = torch.tensor([2], device=DEVICE), torch.tensor([T, 5], device=DEVICE)
    wanted = twin_past(query, (key, value), tuple(past.clone()), ancestors, now, places=T)
    source = (past[0], past[1])
    read = twin_source(query, source, lengths)
    for off in (set(), {"beams"}):
        ops = TritonBackend()
        ops.guard.off |= off
        given = query, (key, value), tuple(past.clone()), ancestors, now, T
        torch.testing.assert_close(ops.attend_past(*given, scale=True), wanted)
        torch.testing.assert_close(ops.attend_source(query, source, lengths, scale=True), read)
        assert ops.guard.off == off  # no kernel failed
