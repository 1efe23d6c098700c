import pytest

from jumok.answers import Answer
from jumok.decoding.beam_branches import ROOT, Beam, BeamBranch, kept_at_limit
from jumok.decoding.constraints import Constraint, Progress
from jumok.decoding.jobs import Phrase, Spelling
from jumok.text.tokenizer import EOS

PIECES = [b"", b"", b"", b"", b"a", b"b"]
CONSTRAINT = Constraint((Phrase((Spelling("a", (4,)),)),), PIECES, 3)


def beam(constraint: Constraint | None) -> Beam:
    made = Beam(0, 9, 2, constraint)
    if constraint is not None:
        made.live = [ROOT._replace(progress=Progress())]
    return made


def test_a_branch_knows_its_whole_answer() -> None:
    end = BeamBranch(BeamBranch(ROOT, 4, -1.0, -1.0), EOS, -2.0, -3.0)
    assert end.answer() == Answer((4,), (-1.0, -2.0), finished=True)


def test_ways_are_taken_best_first_or_bank_by_bank() -> None:
    ways = [(-1.0, 0, 5, -1.0), (-2.0, 0, EOS, -2.0), (-9.0, 0, 4, -9.0)]
    assert [way[2] for way in beam(None).order(ways)] == [5, EOS, 4]
    assert [way[2] for way in beam(CONSTRAINT).order(ways)] == [4, 5, EOS]  # "a" is written: the highest bank


def test_progress_grows_with_the_branch() -> None:
    assert beam(CONSTRAINT).grown((-9.0, 0, 4, -9.0)).progress == Progress(1, b"a", (4,))
    assert beam(None).grown((-9.0, 0, 4, -9.0)).progress is None
    with pytest.raises(ValueError, match="this sentence has no phrases"):
        beam(None).after(0, 4)


def test_the_limit_keeps_what_has_its_phrases() -> None:
    one, other = (beam(CONSTRAINT).grown((-1.0, 0, token, -1.0)) for token in (4, 5))
    assert kept_at_limit(CONSTRAINT, [other, one]) == [one]
    assert kept_at_limit(CONSTRAINT, [other]) == [other]
    assert kept_at_limit(None, [other, one]) == [other, one]


def test_answers_are_ranked_by_score_and_those_with_their_phrases_first() -> None:
    good, poor = Answer((5,), (-1.0, -1.0), finished=True), Answer((4,), (-3.0, -1.0), finished=True)
    soft = Constraint((Phrase((Spelling("a", (4,)),), soft=True),), PIECES, 3)
    for constraint, order in ((None, [good, poor]), (soft, [poor, good])):
        made = beam(constraint)
        made.found = [poor, good]
        assert made.ranked(1.0) == order
