"""Laws of the positions: rotation by distance, lengths without end, and the table that does end."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jumok.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, rotate, sinusoidal


def shift_matrix(distance: int, width: int) -> Tensor:
    """M with PE(p + distance) = PE(p) M for every p: one rotation per pair of sine and cosine."""
    matrix = torch.zeros(width, width, dtype=torch.float64)
    for i in range(0, width, 2):
        angle = distance / 10_000 ** (i / width)
        sine, cosine = math.sin(angle), math.cos(angle)
        # sin(a + b) = sin a cos b + cos a sin b;  cos(a + b) = cos a cos b - sin a sin b
        matrix[i : i + 2, i : i + 2] = torch.tensor([[cosine, -sine], [sine, cosine]])
    return matrix


@settings(max_examples=50, deadline=None)
@given(p=st.integers(0, 2000), k=st.integers(0, 500), half=st.integers(1, 32))
def test_a_later_position_is_a_linear_map_of_an_earlier_one(p: int, k: int, half: int) -> None:
    width = 2 * half
    positions = torch.tensor([p, p + k], dtype=torch.float64)
    here, there = sinusoidal(positions, width)
    torch.testing.assert_close(here.double() @ shift_matrix(k, width), there.double(), atol=2e-4, rtol=0)


def test_sinusoidal_positions_by_hand() -> None:
    table = sinusoidal(torch.arange(3), 4)
    for p in range(3):
        expected = [math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)]
        assert table[p].tolist() == pytest.approx(expected)


def test_sinusoidal_positions_have_no_longest_length() -> None:
    far = SinusoidalPositions()(torch.zeros(1, 2, 8), first=1_000_000)
    assert far.isfinite().all()
    assert not torch.equal(far[0, 0], far[0, 1])


@pytest.mark.parametrize(
    "positions",
    [SinusoidalPositions(), LearnedPositions(20, 6), NoPositions()],
    ids=lambda p: type(p).__name__,
)
@settings(max_examples=15, deadline=None)
@given(cut=st.integers(1, 8))
def test_positions_in_two_pieces_equal_positions_at_once(positions: torch.nn.Module, cut: int) -> None:
    x = torch.randn(2, 9, 6)
    pieces = positions(x[:, :cut]), positions(x[:, cut:], first=cut)
    torch.testing.assert_close(torch.cat(pieces, dim=1), positions(x))


def test_no_positions_add_nothing() -> None:
    x = torch.randn(2, 3, 4)
    assert NoPositions()(x) is x


def test_learned_positions_add_one_row_each() -> None:
    learned = LearnedPositions(5, 4)
    added = learned(torch.zeros(2, 3, 4), first=2)
    assert torch.equal(added[0], learned.table[2:5])
    assert torch.equal(added[1], learned.table[2:5])


def test_learned_positions_refuse_a_length_without_a_row() -> None:
    learned = LearnedPositions(5, 4)
    assert learned(torch.zeros(1, 5, 4)).shape == (1, 5, 4)
    message = (
        "position 6 has no learned row: the table ends at 5, so a sequence may have 5 tokens. "
        "Shorten it, or train with more model.max_positions or with sinusoidal positions."
    )
    with pytest.raises(LookupError) as caught:
        learned(torch.zeros(1, 3, 4), first=4)
    assert str(caught.value) == message


@settings(max_examples=50, deadline=None)
@given(
    here=st.integers(0, 300),
    distance=st.integers(-100, 100),
    shift=st.integers(0, 300),
    half=st.integers(1, 16),
    seed=st.integers(0, 99),
)
def test_rotary_products_depend_on_distance_only(
    here: int, distance: int, shift: int, half: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 1, 1, 1, 2 * half, generator=generator, dtype=torch.float64)

    def product(at: int) -> Tensor:
        positions = torch.tensor([at + 100], dtype=torch.float64)
        return (rotate(query, positions) * rotate(key, positions + distance)).sum()

    torch.testing.assert_close(product(here), product(here + shift), atol=1e-3, rtol=1e-4)


def test_rotary_products_change_with_distance() -> None:
    x = torch.ones(1, 1, 5, 4)
    turned = rotate(x, torch.arange(5))
    products = (turned[0, 0, 0] * turned[0, 0]).sum(dim=-1)
    assert len({round(one, 4) for one in products.tolist()}) == 5


def test_rotation_keeps_every_length_and_leaves_position_zero_alone() -> None:
    x = torch.randn(2, 3, 4, 6)
    turned = rotate(x, torch.arange(4))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(turned[:, :, 0], x[:, :, 0])


def test_rotation_by_hand() -> None:
    turned = rotate(torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([2]))
    assert turned.flatten().tolist() == pytest.approx([math.cos(2), math.sin(2)])
