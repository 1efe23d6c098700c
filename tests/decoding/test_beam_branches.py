"""Chains of tokens: what a hypothesis is, and which ways on are taken."""

from jumok.decoding.beam_branches import ROOT, Beam, BeamBranch, kept_at_limit
from jumok.text.tokenizer import EOS


def test_a_branch_is_the_chain_of_its_tokens() -> None:
    first = BeamBranch(ROOT, 7, -0.5, -0.5)
    last = BeamBranch(first, 9, -0.25, -0.75)
    answer = last.answer()
    assert (answer.ids, answer.log_probs, answer.finished) == ((7, 9), (-0.5, -0.25), False)
    ended = BeamBranch(last, EOS, -1.0, -1.75).answer()
    assert (ended.ids, ended.log_probs, ended.finished) == ((7, 9), (-0.5, -0.25, -1.0), True)


def test_the_best_ways_come_first_and_equal_ones_in_their_order() -> None:
    beam = Beam(sentence=0, limit=5, width=1)
    ways = [(-2.0, 0, 5, -2.0), (-1.0, 0, 6, -1.0), (-1.0, 0, 7, -1.0)]
    assert beam.order(ways) == [ways[1], ways[2]]
    assert beam.grown(ways[1]) == BeamBranch(ROOT, 6, -1.0, -1.0)
    assert kept_at_limit(None, beam.live) == [ROOT]
