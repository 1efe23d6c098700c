"""What crosses to the C library when someone looks into a model or changes it, worked out without it."""

import ctypes
from typing import Any

import numpy as np
import pytest

from jumok.architectures import LuongConfig, RnnConfig, TransformerConfig
from jumok.edits import AttentionEdit, Edits, PositionEdit
from jumok.native.draws import DrawArrays, Draws
from jumok.native.library import CAttentionEdit, CBatch
from jumok.native.record import (
    NOTHING,
    EditArrays,
    Probe,
    TreeArrays,
    TreeWay,
    attentions,
    no_key,
    past_table,
    plain_shapes,
    stage_shapes,
)

MODEL = TransformerConfig(width=12, heads=2, feedforward=8, encoder_layers=1, decoder_layers=2, head_width=5)
LUONG = LuongConfig(width=8, layers=2, cell="lstm")


def cut(*cells: tuple[int, int, int]) -> AttentionEdit:
    return AttentionEdit(cut=cells)


@pytest.mark.parametrize(
    ("edits", "head", "query"),
    [
        (Edits({("enc_self", 0): cut((1, 2, 0), (1, 2, 1), (1, 2, 2))}), 1, 2),
        (Edits({("cross", 0): cut((0, 9, 0), (0, 9, 1), (0, 9, 2), (0, 9, 7))}), 0, 9),
        (Edits({("dec_self", 1): cut((1, 0, 1), (1, 1, 0), (1, 1, 1))}), 1, 1),
        # Of a row that keeps a key, and of a query that the source does not have, nothing is said.
        (Edits({("enc_self", 0): cut((0, 0, 0), (0, 3, 0), (0, 3, 1), (0, 3, 2))}), 0, 0),
        (
            Edits(
                {
                    ("cross", 1): cut((0, 1, 0), (0, 1, 1), (0, 1, 2)),
                    ("cross", 0): cut((1, 1, 0), (1, 1, 2), (1, 1, 1)),
                    ("dec_self", 0): cut((1, 1, 0)),
                }
            ),
            *(1, 1),
        ),
    ],
)
def test_the_first_query_without_a_key_is_named(edits: Edits, head: int, query: int) -> None:
    """Of a source of three tokens."""
    said = f"every key of head {head}, query {query} is cut: a query needs one key to look at"
    assert str(no_key(edits, 3)) == said


def test_the_position_that_a_table_does_not_have() -> None:
    assert past_table(None, 40, 30) == 39
    assert past_table(Edits(), 40, 30) == 39
    assert past_table(Edits(), 20, 30) == 30  # then it is the target's
    assert past_table(Edits(source_positions=PositionEdit("shift", by=25)), 20, 30) == 44
    assert past_table(Edits(source_positions=PositionEdit("none")), 40, 30) == 30


def test_attentions_in_the_order_of_the_library() -> None:
    assert attentions(MODEL) == [
        *(("enc_self", 0), ("dec_self", 0), ("dec_self", 1), ("cross", 0), ("cross", 1)),
    ]
    assert attentions(LUONG) == [("cross", 0)]
    assert attentions(RnnConfig(width=8)) == []


def test_shapes_of_what_is_kept() -> None:
    """Of a source of 3 tokens and a target of 4, for which there is room for 6."""
    plain = {name: (room, used) for name, room, used in plain_shapes(LUONG, 3, 6, 4)}
    assert plain == {
        **{"log_prob": ((6,), (4,)), "entropy": ((6,), (4,))},
        **{"top_log_prob": ((6, 5), (4, 5)), "top_id": ((6, 5), (4, 5))},
        **{"encoder": ((3, 8), (3, 8)), "decoder": ((6, 8), (4, 8)), "bridge": ((2, 2, 8), (2, 2, 8))},
    }
    assert [name for name, *_ in plain_shapes(MODEL, 3, 6, 4)] == list(plain)[:4]
    names = ("weights", "q", "k", "out", "bias")
    assert stage_shapes(MODEL, "enc_self", 3, 6, 4, names) == {
        "weights": ((2, 3, 3), (2, 3, 3)),
        **{"q": ((2, 3, 5), (2, 3, 5)), "k": ((2, 3, 5), (2, 3, 5)), "out": ((3, 12), (3, 12))},
    }
    assert stage_shapes(MODEL, "cross", 3, 6, 4, names) == {
        "weights": ((2, 6, 3), (2, 4, 3)),
        **{"q": ((2, 6, 5), (2, 4, 5)), "k": ((2, 3, 5), (2, 3, 5)), "out": ((6, 12), (4, 12))},
    }
    biased = TransformerConfig(width=12, heads=2, feedforward=8, positions="relative")
    for kind, found in (("dec_self", {"bias": ((2, 6, 6), (2, 4, 4))}), ("cross", {})):
        assert stage_shapes(biased, kind, 3, 6, 4, ("bias",)) == found  # type: ignore[arg-type]
    assert stage_shapes(LUONG, "cross", 3, 6, 4, ("q",)) == {"q": ((1, 6, 8), (1, 4, 8))}


def numbers(address: int, kind: Any, count: int) -> list[float]:
    return list((kind * count).from_address(address))


def test_edits_as_the_library_takes_them() -> None:
    one = AttentionEdit(
        scaled=False,
        factors=((1, 2.0), (1, 0.25), (7, 9.0)),
        cut=((1, 2, 3), (0, 5, 6), (1, 2, 3)),
        rows=((1, 4, ((3, 0.5), (2, 1.5), (3, 2.5))),),
        uniform=(1,),
    )
    edits = Edits({("cross", 1): one, ("copy", 0): one, ("enc_self", 0): AttentionEdit()})
    arrays = EditArrays(MODEL, edits, np.array([0, 3, 5]), 4)
    assert arrays.c.count == 2  # pointing has no place there
    first, second = (CAttentionEdit * 2).from_address(arrays.c.attention)
    assert (first.kind, first.layer, first.no_scale, first.cuts, first.cells) == (2, 1, 1, 2, 2)
    assert numbers(first.factors, ctypes.c_float, 2) == [1.0, 0.5]
    assert numbers(first.uniform, ctypes.c_uint8, 2) == [0, 1]
    assert numbers(first.cut, ctypes.c_int32, 6) == [0, 5, 6, 1, 2, 3]
    assert numbers(first.cell, ctypes.c_int32, 6) == [1, 4, 2, 1, 4, 3]
    assert numbers(first.weight, ctypes.c_float, 2) == [1.5, 2.5]
    assert (second.kind, second.layer, second.no_scale, second.cuts, second.cells) == (0, 0, 0, 0, 0)
    assert (second.factors, second.uniform) == (None, None)


def test_other_positions_as_the_library_takes_them() -> None:
    moved = PositionEdit("shift", by=-1)
    both = EditArrays(MODEL, Edits({}, moved, moved), np.array([0, 3, 5]), 4).c
    assert numbers(both.source_positions, ctypes.c_int32, 5) == [0, 0, 1, 0, 0]
    assert numbers(both.target_positions, ctypes.c_int32, 4) == [0, 0, 1, 2]
    assert (both.target_count, both.no_source_positions, both.no_target_positions) == (4, 0, 0)
    none = PositionEdit("none")
    source = EditArrays(MODEL, Edits({}, none), np.array([0, 3]), 4).c
    assert (source.no_source_positions, source.no_target_positions, source.target_count) == (1, 0, 0)
    target = EditArrays(MODEL, Edits({}, None, none), np.array([0, 3]), 4).c
    assert (target.no_source_positions, target.no_target_positions, target.target_count) == (0, 1, 4)
    bridge = np.arange(4, dtype=np.float64).reshape(1, 1, 4)
    held = EditArrays(RnnConfig(width=4), Edits(bridge=bridge), np.array([0, 3]), 4)  # type: ignore[arg-type]
    assert numbers(held.c.bridge, ctypes.c_float, 4) == [0, 1, 2, 3]


def test_the_ways_of_a_search_step_by_step() -> None:
    tree = TreeArrays(3)
    for name, values in (
        ("step", [0, 0, 1]),
        ("row", [0, 0, 1]),
        ("token", [5, 6, 7]),
        ("place", [0, -1, -2]),
    ):
        tree.arrays[name][:] = values
    tree.arrays["log_prob"][:] = [-0.5, -1.0, -0.25]
    for count, full in ((2, False), (3, False), (4, True)):
        tree.c.count = count
        assert tree.full == full
    first = [TreeWay(0, 0, 5, 0, -0.5), TreeWay(0, 0, 6, -1, -1.0)]
    assert tree.steps() == [first, [TreeWay(1, 1, 7, -2, -0.25)]]
    tree.c.count = 1
    assert tree.steps() == [first[:1]]
    assert (tree.c.room, tree.c.step) == (3, tree.arrays["step"].ctypes.data)


def test_who_does_not_look_puts_nothing_into_a_batch() -> None:
    batch, tree = CBatch(), TreeArrays(2)
    assert NOTHING.put(batch, MODEL, np.array([0, 3]), 4) is None
    assert not any((batch.edits, batch.recording, batch.tree, batch.watch))
    changed = Probe(Edits(), tree=tree).put(batch, MODEL, np.array([0, 3]), 4)
    assert changed is not None
    assert (batch.edits, batch.tree) == (ctypes.addressof(changed.c), ctypes.addressof(tree.c))
    assert not any((batch.recording, batch.watch))


def test_random_numbers_lie_sentence_by_sentence() -> None:
    tables = [np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.5], [0.6]]), np.array([[0.7], [0.8]])]
    arrays = DrawArrays(Draws(tables, 0.5, 1 << 40, 0.25), 2, np.array([2, 1, 1], np.int32))
    assert arrays.places.tolist() == [0, 4, 6]
    assert numbers(arrays.c.uniforms, ctypes.c_double, 8) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert (arrays.c.temperature, arrays.c.top_p, arrays.c.top_k) == (0.5, 0.25, 2**31 - 1)
    for beam, limits in ((3, [2, 1, 1]), (2, [2, 1]), (2, [2, 2, 1])):
        with pytest.raises(
            ValueError, match=r"^random numbers of the shapes \[\(2, 2\), \(2, 1\), \(2, 1\)\]"
        ):
            DrawArrays(Draws(tables), beam, np.array(limits, np.int32))
