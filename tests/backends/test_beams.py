"""Beams that change their order see what caches of their own would show."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.backends.beams import twin_past, twin_source
from jumok.nn.functional import fused_attention, merge_heads

B, H, K, T = 2, 2, 4, 8


@settings(max_examples=30, deadline=None)
@given(W=st.integers(1, 4), steps=st.integers(1, T), seed=st.integers(0, 999), scale=st.booleans())
def test_beams_that_change_places_see_what_a_reordered_cache_shows(
    W: int,
    steps: int,
    seed: int,
    scale: bool,  # noqa: FBT001
) -> None:
    numbers = torch.Generator().manual_seed(seed)
    past = torch.zeros(B, H, T * W, K), torch.zeros(B, H, T * W, K)
    ancestors = torch.full((B, W, T), -1, dtype=torch.int8)
    keys, values = torch.empty(B, W, H, 0, K), torch.empty(B, W, H, 0, K)  # the twin: a cache of its own each
    for step in range(steps):
        query, key, value = torch.randn(3, B, H, W, K, generator=numbers)
        place = torch.tensor([step])
        found = twin_past(query, (key, value), past, ancestors, place, places=T, scale=scale)
        keys = torch.cat((keys, key.transpose(1, 2)[:, :, :, None]), dim=3)  # (B, W, H, t, K)
        values = torch.cat((values, value.transpose(1, 2)[:, :, :, None]), dim=3)
        for b in range(B):
            one = query[b].transpose(0, 1)[:, :, None]
            wanted = fused_attention(one, keys[b], values[b], None, scale=scale)
            torch.testing.assert_close(found[b], merge_heads(wanted)[:, 0], atol=1e-5, rtol=1e-5)

        parents = torch.randint(W, (B, W), generator=numbers)
        family = parents[:, :, None].expand(B, W, T)
        ancestors = ancestors.gather(1, family)
        ancestors[:, :, step] = parents
        rows = torch.arange(B)[:, None]
        keys, values = keys[rows, parents], values[rows, parents]


@pytest.mark.parametrize("scale", [True, False])
def test_padding_of_a_source_is_not_seen(*, scale: bool) -> None:
    query, source = torch.randn(B, H, 3, K), torch.randn(2, B, H, 6, K)
    found = twin_source(query, (source[0], source[1]), torch.tensor([6, 2]), scale=scale)
    whole = fused_attention(query, *source, None, scale=scale)
    torch.testing.assert_close(found[:1], merge_heads(whole)[:1])
    short = fused_attention(query, *source[:, :, :, :2], None, scale=scale)
    torch.testing.assert_close(found[1:], merge_heads(short)[1:])
