"""Laws of the positions: rotation by distance, lengths without end, and the table that does end."""

import gzip
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import jumok
from jumok.backends.torch import TorchBackend
from jumok.data.builtin import builtin_file
from jumok.nn.positions import (
    LearnedPositions,
    NoPositions,
    SinusoidalPositions,
    rotate,
    sinusoidal,
)

OPS = TorchBackend()


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
    far = SinusoidalPositions()(torch.zeros(2, 8), torch.tensor([1_000_000, 1_000_001]), None, OPS)
    assert far.isfinite().all()
    assert not torch.equal(far[0], far[1])


@pytest.mark.parametrize(
    "positions",
    [SinusoidalPositions(), LearnedPositions(20, 6), NoPositions()],
    ids=lambda p: type(p).__name__,
)
@settings(max_examples=15, deadline=None)
@given(cut=st.integers(1, 8))
def test_positions_in_two_pieces_equal_positions_at_once(positions: torch.nn.Module, cut: int) -> None:
    x, at = torch.randn(9, 6), torch.arange(9)
    pieces = positions(x[:cut], at[:cut], cut, OPS), positions(x[cut:], at[cut:], None, OPS)
    torch.testing.assert_close(torch.cat(pieces), positions(x, at, 9, OPS))


def test_no_positions_add_nothing() -> None:
    x = torch.randn(3, 4)
    assert NoPositions()(x, torch.arange(3), 3, OPS) is x


def test_learned_positions_add_one_row_each() -> None:
    learned = LearnedPositions(5, 4)
    added = learned(torch.zeros(3, 4), torch.arange(2, 5), None, OPS)
    assert torch.equal(added, learned.table[2:5])


def test_learned_positions_refuse_a_length_without_a_row() -> None:
    learned = LearnedPositions(5, 4)
    assert learned(torch.zeros(5, 4), torch.arange(5), 5, OPS).shape == (5, 4)
    message = (
        "position 6 has no learned row: the table ends at 5, so a sequence may have 5 tokens. "
        "Shorten it, or train with more model.max_positions or with sinusoidal positions."
    )
    for positions, end in (
        (torch.arange(4, 7), None),
        (torch.arange(4, 7), 7),
        (torch.tensor([6, 0, 1]), None),
    ):
        with pytest.raises(LookupError) as caught:
            learned(torch.zeros(3, 4), positions, end, OPS)
        assert str(caught.value) == message


@pytest.mark.parametrize("positions", [SinusoidalPositions(), LearnedPositions(20, 6), NoPositions()])
def test_without_positions_nothing_is_added(positions: torch.nn.Module) -> None:
    x = torch.randn(3, 6)
    assert positions(x, None, None, OPS) is x


def turned(x: Tensor, positions: Tensor) -> Tensor:
    """x (L, H, K) turned by these positions (L,)."""
    return rotate(x, sinusoidal(positions, x.shape[-1]).to(x.dtype))


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
    query, key = torch.randn(2, 1, 1, 2 * half, generator=generator, dtype=torch.float64)

    def product(at: int) -> Tensor:
        positions = torch.tensor([at + 100], dtype=torch.float64)
        return (turned(query, positions) * turned(key, positions + distance)).sum()

    torch.testing.assert_close(product(here), product(here + shift), atol=1e-3, rtol=1e-4)


def test_rotary_products_change_with_distance() -> None:
    x = turned(torch.ones(5, 1, 4), torch.arange(5))
    products = (x[0] * x).sum(dim=-1).flatten()
    assert len({round(one, 4) for one in products.tolist()}) == 5


def test_rotation_keeps_every_length_and_leaves_position_zero_alone() -> None:
    x = torch.randn(4, 3, 6)
    after = turned(x, torch.arange(4))
    torch.testing.assert_close(after.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(after[0], x[0])


def test_rotation_by_hand() -> None:
    after = turned(torch.tensor([[[1.0, 0.0]]]), torch.tensor([2]))
    assert after.flatten().tolist() == pytest.approx([math.cos(2), math.sin(2)])


@pytest.mark.parametrize(("position", "off"), [(10_000, 1e-3), (1_000_000, 0.07)])
def test_angles_are_as_exact_as_the_docstring_says(position: int, off: float) -> None:
    angles = position / 10_000 ** (np.arange(0, 512, 2) / 512)
    rows = sinusoidal(torch.tensor([position]), 512)[0]
    assert abs(rows[0::2].numpy() - np.sin(angles)).max() < off
    assert abs(rows[1::2].numpy() - np.cos(angles)).max() < off


def test_a_trained_model_does_not_read_positions_that_it_has_not_seen() -> None:
    """The docstring's claim on a few dates; benchmarks/shifted_positions.py has all of them."""
    lines = gzip.decompress(builtin_file("dates", "test").read_bytes()).decode().splitlines()[:50]
    sources, targets = zip(*(line.split("\t") for line in lines), strict=True)
    model = jumok.load("demo/transformer", "cpu")

    def right(by: int) -> float:
        with model.edit(jumok.positions("shift", side="source", by=by)) as shifted:
            found = shifted.translate(sources, beam=1)
        return sum(one.text == target for one, target in zip(found, targets, strict=True)) / len(lines)

    assert right(0) > 0.95
    assert right(20) < 0.15
    train = gzip.decompress(builtin_file("dates", "train").read_bytes()).decode().splitlines()[:6000]
    read = model.tokenizers.text_source.encode_many([line.split("\t")[0] for line in train])
    far = ["/" in line for line, ids in zip(train, read, strict=True) if len(ids) > 28]
    assert sum(far) / len(far) == pytest.approx(0.97, abs=0.02)  # spans, says the chapter
