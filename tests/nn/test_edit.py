"""Every edit has exactly its own effect: what it does not name stays as it was, to the bit."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.edits import Edits
from jumok.nn.attention import LuongAttention
from jumok.nn.edit import AttentionEdit
from jumok.nn.functional import Stages, attention_stages, causal_mask, length_mask

B, H, T, S, K = 2, 3, 4, 5, 6
MASK = length_mask(torch.tensor([5, 3]), S)[:, None, None, :]


def stages(edit: AttentionEdit | None = None, mask: Tensor = MASK, **options: int | Tensor) -> Stages:
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(B, H, T, K, generator=generator)
    key, value = torch.randn(2, B, H, S, K, generator=generator)
    return attention_stages(query, key, value, mask, edit=edit, **options)


def others(tensor: Tensor, *cells: tuple[int, int]) -> Tensor:
    """All rows (B, H, T, ·) but those of these heads and queries."""
    keep = torch.ones(H, T, dtype=torch.bool)
    for head, q in cells:
        keep[head, q] = False
    return tensor[:, keep]


def test_an_empty_edit_changes_no_bit() -> None:
    plain, edited = stages(), stages(AttentionEdit())
    for name in ("scores", "scaled", "mask", "weights", "context"):
        assert torch.equal(getattr(plain, name), getattr(edited, name)), name


def test_without_scaling_the_softmax_reads_the_scores() -> None:
    plain, edited = stages(), stages(AttentionEdit(scaled=False))
    assert torch.equal(edited.scaled, plain.scores)
    expected = plain.scores.masked_fill(~MASK, -torch.inf).softmax(dim=-1)
    torch.testing.assert_close(edited.weights, expected)


def test_a_factor_multiplies_the_context_of_one_head() -> None:
    plain, edited = stages(), stages(AttentionEdit(factors=((1, 0.0), (2, -1.5), (2, 2.0), (9, 0.0))))
    assert torch.equal(edited.weights, plain.weights)
    assert torch.equal(edited.context[:, 0], plain.context[:, 0])
    assert not edited.context[:, 1].any()
    torch.testing.assert_close(edited.context[:, 2], -3 * plain.context[:, 2])


def test_a_cut_key_gets_nothing_and_the_row_renormalises_over_the_rest() -> None:
    plain, edited = stages(), stages(AttentionEdit(cut=((1, 2, 0), (1, 2, 1))))
    row = edited.weights[:, 1, 2]
    assert not row[:, :2].any()
    left = plain.weights[:, 1, 2].clone()
    left[:, :2] = 0
    torch.testing.assert_close(row, left / left.sum(dim=-1, keepdim=True))
    assert edited.mask.expand(B, H, T, S)[0, 1, 2].tolist() == [False, False, True, True, True]
    assert torch.equal(others(edited.weights, (1, 2)), others(plain.weights, (1, 2)))
    assert torch.equal(others(edited.context, (1, 2)), others(plain.context, (1, 2)))
    assert torch.equal(edited.scaled, plain.scaled)


def test_a_row_may_not_lose_every_key() -> None:
    every = AttentionEdit(cut=tuple((0, 7, k) for k in range(3)))  # all keys of the shorter sentence
    message = "every key of head 0, query 7 is cut: a query needs one key to look at"
    with pytest.raises(ValueError, match=message):
        stages(every, first=5)
    with pytest.raises(ValueError, match=message):
        stages(every, first=torch.tensor([5, 6]))
    assert torch.equal(stages(every).weights, stages().weights)  # there is no query 7 here


def test_a_uniform_head_shares_equally_among_allowed_keys() -> None:
    plain, edited = stages(), stages(AttentionEdit(uniform=(1, 9), cut=((1, 3, 0),)))
    assert edited.weights[0, 1, 0].tolist() == pytest.approx([0.2] * 5)
    assert edited.weights[1, 1, 0].tolist() == pytest.approx([1 / 3] * 3 + [0, 0])
    assert edited.weights[1, 1, 3].tolist() == pytest.approx([0, 0.5, 0.5, 0, 0])
    assert torch.equal(edited.weights[:, [0, 2]], plain.weights[:, [0, 2]])
    causal = stages(AttentionEdit(uniform=(0,)), causal_mask(5)[:T])
    assert causal.weights[0, 0, 1].tolist() == [0.5, 0.5, 0, 0, 0]


def test_a_set_row_is_normalised_and_nothing_else_changes() -> None:
    plain = stages()
    edited = stages(AttentionEdit(rows=((2, 1, ((0, 1.0), (4, 3.0))),)))
    assert edited.weights[0, 2, 1].tolist() == [0.25, 0, 0, 0, 0.75]
    assert edited.weights[1, 2, 1].tolist() == [1, 0, 0, 0, 0]  # key 4 is padding there
    torch.testing.assert_close(edited.context, edited.weights @ plain.value)
    assert torch.equal(others(edited.weights, (2, 1)), others(plain.weights, (2, 1)))


@pytest.mark.parametrize("keys", [((5, 1.0),), ((0, 0.0),), ()])
def test_a_set_row_without_a_key_in_sight_stays_as_it_is(keys: tuple[tuple[int, float], ...]) -> None:
    edited = stages(AttentionEdit(rows=((0, 1, keys), (9, 0, ((0, 1.0),)))))
    assert torch.equal(edited.weights, stages().weights)


def test_rows_are_set_after_cuts_and_uniform_heads_and_before_factors() -> None:
    edit = AttentionEdit(
        factors=((0, 2.0),), cut=((0, 0, 0),), uniform=(0,), rows=((0, 0, ((0, 1.0), (1, 1.0))),)
    )
    edited = stages(edit)
    assert edited.weights[0, 0, 0].tolist() == [0.5, 0.5, 0, 0, 0]
    assert edited.weights[0, 0, 1].tolist() == pytest.approx([0.2] * 5)
    torch.testing.assert_close(edited.context[:, 0], 2 * edited.weights[:, 0] @ edited.value[:, 0])


@pytest.mark.parametrize("first", [0, 3])
def test_query_positions_are_absolute(first: int) -> None:
    edit = AttentionEdit(
        cut=((1, first + 2, 0),), rows=((0, first, ((1, 1.0),)), (0, first + T, ((0, 1.0),)))
    )
    at_zero = AttentionEdit(cut=((1, 2, 0),), rows=((0, 0, ((1, 1.0),)),))
    assert torch.equal(stages(edit, first=first).weights, stages(at_zero).weights)


def test_sentences_that_begin_at_different_places_are_edited_each_at_its_own() -> None:
    """Sentence 0 stands at positions 2 … and its keys at 0 …; sentence 1 has two places less of a past."""
    begin, first = torch.tensor([0, 2]), torch.tensor([2, 0])
    mask = (torch.arange(S) >= begin[:, None])[:, None, None, :]
    edit = AttentionEdit(cut=((1, 2, 1),), rows=((0, 3, ((0, 1.0), (2, 1.0))),))
    plain, edited = (stages(one, mask, first=first, begin=begin) for one in (None, edit))
    assert edited.weights[0, 1, 0, 1] == 0  # query 2 is row 0, key 1 is column 1
    assert edited.weights[1, 1, 2, 3] == 0  # query 2 is row 2, key 1 is column 3
    assert edited.weights[0, 0, 1].tolist() == [0.5, 0, 0.5, 0, 0]
    assert edited.weights[1, 0, 3].tolist() == [0, 0, 0.5, 0, 0.5]
    changed = (edited.weights != plain.weights).any(dim=-1).nonzero().tolist()
    assert changed == [[0, 0, 1], [0, 1, 0], [1, 0, 3], [1, 1, 2]]


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_luongs_attention_is_edited_as_head_0_and_knows_no_scaling(score: str) -> None:
    torch.manual_seed(0)
    attention, query, memory = LuongAttention(6, score), torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    mask = length_mask(torch.tensor([5, 3]), 5)[:, None]

    def run(edit: AttentionEdit, first: int = 0) -> Stages:
        ops = RecordingBackend(Edits({("cross", 0): edit}), record=True)
        s, keys = attention.queries(query), attention.keys(memory)
        scores = attention.compare(s, keys)
        pair = (scores, scores)
        _, context = ops.weigh_grid(s, keys, memory, pair, mask, where=("cross", 0), first=first)
        ops.output(("cross", 0), attention.attentional(context, query))
        return ops.stages["cross", 0]

    plain = run(AttentionEdit())
    assert torch.equal(run(AttentionEdit(scaled=False)).out, plain.out)
    assert torch.equal(run(AttentionEdit(uniform=(1,), factors=((1, 0.0),))).out, plain.out)
    masked = run(AttentionEdit(factors=((0, 0.0),)))
    nothing = torch.cat((torch.zeros_like(query), query), dim=-1)
    torch.testing.assert_close(masked.out, attention.w_c(nothing).tanh())
    cut = run(AttentionEdit(cut=((0, 8, 1),)), first=7)
    assert (cut.weights[:, 0, 1, 1] == 0).all()
    assert torch.equal(cut.out[:, [0, 2]], plain.out[:, [0, 2]])
    assert not torch.allclose(cut.out[:, 1], plain.out[:, 1])


def test_an_edit_is_a_value() -> None:
    edit = AttentionEdit(cut=((0, 2, 1),))
    stages(edit)
    assert edit == replace(edit)
    assert hash(edit) == hash(AttentionEdit(cut=((0, 2, 1),)))
