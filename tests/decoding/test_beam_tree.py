"""A tree of the C library's steps is the tree of the same search."""

import pytest

from jumok.answers import Answer
from jumok.decoding.beam_tree import BeamTree, replay
from jumok.native.record import TreeWay

STEPS = [
    [TreeWay(0, 0, 300, 0, -0.5), TreeWay(0, 0, 301, 1, -1.0), TreeWay(0, 0, 302, -1, -3.0)],
    [
        TreeWay(1, 0, 2, -2, -0.25),
        TreeWay(1, 0, 303, 1, -2.0),
        TreeWay(1, 1, 304, 0, -0.5),
        TreeWay(1, 1, 305, -1, -4.0),
    ],
]


def test_steps_become_nodes_with_their_fates_and_sums() -> None:
    tree = BeamTree(2, 1.0)
    replay(tree, STEPS, Answer((300,), (-0.5, -0.25), finished=True))
    fates = [(node.id, node.parent, node.state, node.beam) for node in tree.nodes[1:]]
    assert fates == [
        (300, 0, "expanded", 0),
        (301, 0, "expanded", 1),
        (302, 0, "pruned", None),
        (2, 1, "finished", None),
        (303, 1, "expanded", 1),
        (304, 2, "expanded", 0),
        (305, 2, "pruned", None),
    ]
    assert [node.score for node in tree.nodes[4:]] == pytest.approx([-0.75, -2.5, -1.5, -5.0])
    assert tree.chosen == (0, 1, 4)
    assert tree.stable_prefix == 0  # one hypothesis in the running begins with 301


def test_a_search_that_is_not_done_has_chosen_nothing() -> None:
    tree = BeamTree(2, 1.0)
    assert (tree.chosen, tree.stable_prefix, len(tree.nodes)) == ((), 0, 1)
