"""Ranges of who sees whom: both halves agree; and the same sentences as rectangles."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.packing import own_ranges, reads_and_readers
from torch import Tensor

from jumok.nn.spans import Spans, causal_spans, cross_spans, own_spans, span_mask, tables_of, to_device

lengths = st.integers(1, 7)
pairs = st.lists(st.tuples(lengths, lengths), max_size=5)
some_pairs = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=9)
fillers = st.integers(1, 4)
CPU = torch.device("cpu")


def readers_of(mask: Tensor) -> Tensor:
    """The first and one past the last query that see each key, from a mask (T, S) without holes."""
    begin = (mask.cumsum(dim=0) == 0).sum(dim=0)
    return torch.stack((begin, begin + mask.sum(dim=0)))  # (2, S)


@settings(max_examples=50)
@given(pairs, st.tuples(fillers, fillers), st.sampled_from(["own", "causal", "cross"]))
def test_both_halves_of_the_spans_say_the_same(
    pairs: list[tuple[int, int]], filler: tuple[int, int], kind: str
) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    spans = spans_of(kind, sources, targets, filler)
    for x in (spans.key_begin, spans.key_end, spans.query_begin, spans.query_end):
        assert x.dtype == torch.int32
        assert (x.diff() >= 0).all(), "ranges never go back"
    assert (spans.key_begin < spans.key_end).all(), "every query sees a key"
    assert (spans.key_end <= len(spans.query_begin)).all()
    assert (spans.query_end <= len(spans.key_begin)).all()
    real_targets = sum(targets) if kind == "cross" else len(spans.key_begin)
    real_sources = sum(sources) if kind == "cross" else len(spans.query_begin)
    begin, end = readers_of(span_mask(spans)[:real_targets])
    assert torch.equal(spans.query_begin[:real_sources].long(), begin[:real_sources])
    assert torch.equal(spans.query_end[:real_sources].long(), end[:real_sources])
    assert torch.equal(spans.query_begin[real_sources:], spans.query_end[real_sources:])


def spans_of(kind: str, sources: list[int], targets: list[int], filler: tuple[int, int]) -> Spans:
    if kind == "cross":
        return cross_spans(*reads_and_readers(sources, targets, filler))
    own = own_ranges(targets, filler[1])
    return own_spans(own) if kind == "own" else causal_spans(own)


def test_a_mask_of_two_sentences() -> None:
    own = own_ranges([2, 1], 1)
    whole = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert span_mask(own_spans(own)).int().tolist() == whole
    assert span_mask(causal_spans(own)).int().tolist() == [[1, 0, 0, 0], *whole[1:]]


@given(some_pairs, st.booleans())
def test_tables_hold_each_pair_in_one_row(sizes: list[tuple[int, int]], one: bool) -> None:  # noqa: FBT001
    queries, keys = (np.array(side) for side in zip(*sizes, strict=True))
    tables = tables_of(queries, keys, CPU, one=one)
    asks, answers = (torch.arange(1, n.sum() + 1)[:, None] for n in (queries, keys))
    seen = []
    rows = zip(tables.queries(asks), tables.keys(answers), tables.masks(causal=False), strict=True)
    for query, key, mask in rows:
        assert torch.equal(mask[:, 0, 0], key[:, :, 0] != 0)  # what is seen is what is there
        shortest = (query[:, :, 0] != 0).sum(dim=1).min()
        assert one or 2 * shortest > query.shape[1]  # at most half of a table is empty
        for q, k in zip(query[:, :, 0].tolist(), key[:, :, 0].tolist(), strict=True):
            seen.append(([i for i in q if i], [i for i in k if i]))
    parts = [torch.split(x[:, 0], n.tolist()) for x, n in ((asks, queries), (answers, keys))]
    wanted = [(q.tolist(), k.tolist()) for q, k in zip(*parts, strict=True)]
    assert seen == wanted if one else sorted(seen) == sorted(wanted)
    assert len(tables.query_shapes) == 1 or not one


@given(some_pairs, st.booleans(), st.integers(0, 3))
def test_what_goes_into_tables_comes_out_as_it_lay(
    sizes: list[tuple[int, int]],
    one: bool,  # noqa: FBT001
    filler: int,
) -> None:
    queries, keys = (np.array(side) for side in zip(*sizes, strict=True))
    tables, x = tables_of(queries, keys, CPU, one=one), torch.randn(int(queries.sum()) + filler, 3)
    found = tables.laid(list(tables.queries(x)), len(x))
    assert torch.equal(found[: queries.sum()], x[: queries.sum()])
    assert found.shape == x.shape
    assert not found[queries.sum() :].any()


@given(st.lists(lengths, min_size=1, max_size=5))
def test_tables_of_causal_spans_look_back(sizes: list[int]) -> None:
    spans = causal_spans(own_ranges(sizes, 0), np.array(sizes))
    assert spans.causal
    for (mask,), tables in ((spans.table.masks(causal=True), spans.table),):
        for row, n in enumerate(sizes):
            assert torch.equal(mask[row, 0, :n, :n], torch.ones(n, n, dtype=torch.bool).tril())
        assert tables.query_shapes == ((len(sizes), max(sizes)),)


def test_arrays_come_apart_as_they_were_joined() -> None:
    one, other = to_device(CPU, np.arange(3), np.arange(2))
    assert (one.tolist(), other.tolist()) == ([0, 1, 2], [0, 1])
