"""Relative positions: which distances share a number, and what is added to the scores."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.nn.relative import Relative, RelativeBias, buckets_of
from jumok.nn.spans import tables_of

halves = st.integers(2, 20)


@given(half=halves, more=st.integers(1, 200), both=st.booleans(), distances=st.lists(st.integers(-400, 400)))
def test_buckets_are_those_of_t5(half: int, more: int, both: bool, distances: list[int]) -> None:  # noqa: FBT001
    modeling = pytest.importorskip("transformers.models.t5.modeling_t5")
    found = buckets_of(torch.tensor(distances), 2 * half, half + more, both=both)
    wanted = modeling.T5Attention._relative_position_bucket(
        torch.tensor(distances, dtype=torch.long), both, 2 * half, half + more
    )
    assert found.tolist() == wanted.tolist()


def test_buckets_by_hand() -> None:
    """Of 8 buckets to a distance of 8, each direction has 4: 0, 1, then 2 … 3, and all from 4 on."""
    distances = torch.tensor([0, -1, -2, -3, -4, -9, 1, 2, 3, 4, 9])
    assert buckets_of(distances, 8, 8, both=True).tolist() == [0, 1, 2, 2, 3, 3, 5, 6, 6, 7, 7]
    assert buckets_of(distances, 8, 8, both=False).tolist() == [0, 1, 2, 3, 4, 7, 0, 0, 0, 0, 0]


@given(half=halves, more=st.integers(1, 200), both=st.booleans())
def test_buckets_never_fall_with_the_distance_and_end(half: int, more: int, both: bool) -> None:  # noqa: FBT001
    found = buckets_of(-torch.arange(4 * (half + more)), 2 * half, half + more, both=both)
    assert (found.diff() >= 0).all()
    last = (half if both else 2 * half) - 1
    assert found[half + more :].eq(last).all()
    assert found[: (half if both else 2 * half) // 2].diff().eq(1).all()


def test_a_bias_has_a_number_for_each_head() -> None:
    bias = RelativeBias(4, 3, 8, 16, both=True)
    found = bias(torch.tensor([[[0, 5]], [[-1, 1]]]))  # (2, 1, 2)
    assert found.shape == (2, 3, 1, 2)
    assert torch.equal(found[0, :, 0, 0], bias.weight[0])
    assert torch.equal(found[0, :, 0, 1], bias.weight[3])
    assert torch.equal(found[1, :, 0], bias.weight[[1, 3]].T)


def test_tables_have_the_bias_of_their_places_wherever_these_are_said() -> None:
    bias, lengths = RelativeBias(8, 2, 6, 16, both=True), torch.tensor([5, 1, 2]).numpy()
    tables = tables_of(lengths, lengths, torch.device("cpu"), one=False)
    places = torch.cat([torch.arange(n) for n in lengths.tolist()])
    plain = Relative(bias, 5).over(tables)
    for said in (places, places + 7):  # a distance does not ask where it begins
        for one, other, (rows, length) in zip(
            plain, Relative(bias, 5, said).over(tables), tables.query_shapes, strict=True
        ):
            assert one.shape == (1, 2, length, length)
            assert other.shape == (rows, 2, length, length)
            torch.testing.assert_close(other[0], one[0])  # the longest of a table has no empty cells
