"""The best of each row, without a sort."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.backends.best import CHUNK, k_best, ranks, twin_peaks, unpacked
from jumok.decoding.search import top


@settings(max_examples=100, deadline=None)
@given(
    rows=st.integers(1, 5),
    vocabulary=st.integers(CHUNK, 5 * CHUNK),
    k=st.integers(1, 12),
    whole=st.booleans(),
    seed=st.integers(0, 9999),
)
def test_the_best_are_those_of_a_sort_and_of_equals_the_lower_ids(
    rows: int,
    vocabulary: int,
    k: int,
    whole: bool,  # noqa: FBT001
    seed: int,
) -> None:
    numbers = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, vocabulary, generator=numbers) * 2
    if whole:
        logits = logits.round()  # many are equal
    E = CHUNK * int(torch.randint(0, vocabulary // CHUNK + 1, (1,), generator=numbers))
    bias = torch.where(torch.rand(rows, E, generator=numbers) < 0.5, 0, -torch.inf)
    closed = torch.rand(rows, generator=numbers) < 0.3
    if E:
        bias[:, 0] = 0
    else:
        closed[:] = False
    own = logits.log_softmax(dim=1)
    allowed = own.clone()
    allowed[:, :E] += bias
    allowed[closed, E:] = -torch.inf
    values, ids = top(allowed, k)
    found, places = k_best(logits.clone(), k, bias, closed, twin_peaks)
    assert torch.equal(found, values)
    real = values > -torch.inf
    assert torch.equal(places[real], ids[real])
    assert torch.equal(found[real], own.gather(1, places)[real])


def test_a_row_that_is_no_number_has_no_number_at_its_head() -> None:
    logits = torch.randn(2, 3 * CHUNK)
    logits[1, 5] = torch.nan
    bias = torch.zeros(2, CHUNK)
    bias[:, 0] = -torch.inf
    logits = logits[:, : 2 * CHUNK + 9]
    found, ids = k_best(logits.clone(), 4, bias, torch.zeros(2, dtype=torch.bool), twin_peaks)
    assert ids.max() < logits.shape[1]
    assert found.isfinite().all(dim=1).tolist() == [True, False]
    assert not found[1, 0].isfinite()


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=9))
def test_ranks_order_numbers_as_they_are_and_can_be_undone(values: list[float]) -> None:
    scores = torch.tensor([values])
    keys = ranks(scores)
    back, ids = unpacked(keys)
    assert torch.equal(back, scores)
    assert ids.tolist() == [list(range(len(values)))]
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if a > b:
                assert keys[0, i] > keys[0, j]
