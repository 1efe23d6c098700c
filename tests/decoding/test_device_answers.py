from dataclasses import replace

import numpy as np

from jumok.decoding.device_answers import SearchRecord, unpack_answers
from jumok.native.model import SearchOptions

INF = np.inf


def bits(value: float) -> int:
    return int(np.array(value, dtype=np.float32).view(np.int32))


def make_record() -> SearchRecord:
    """Two sentences, two beams, two steps: 7 -> (8, 9), and the beams change places in the second step."""
    step = [[[0, 7, bits(-1)], [0, 6, bits(-2)]]] * 2, [[[1, 8, bits(-3)], [0, 9, bits(-4)]]] * 2
    return SearchRecord(
        done=np.array([True, True]),
        bad=np.array([False, False]),
        steps=np.array([2, 2]),
        limit=np.array([5, 2]),
        scores=np.array([[-4.0, -3.0, -INF, -INF], [-1.0, -INF, -INF, -INF]]),
        origins=np.array([[2, 3, 0, 0], [0, 0, 0, 0]]),  # after one step of beam 0 and of beam 1; at once
        ends=np.array([[-0.25, -0.5, 0, 0], [-0.75, 0, 0, 0]], dtype=np.float32),
        history=np.array([[list(one) for one in both] for both in step], dtype=np.int32).reshape(2, 2, 2, 3),
    )


def test_answers_that_ended_come_by_score_and_then_those_that_were_cut_off() -> None:
    first, second = unpack_answers(make_record(), SearchOptions(beam=2))
    assert [(a.ids, a.log_probs, a.finished) for a in first] == [
        ((6,), (-2.0, -0.5), True),
        ((7,), (-1.0, -0.25), True),
    ]
    assert [(a.ids, a.log_probs, a.finished) for a in second] == [
        ((), (-0.75,), True),
        ((6, 8), (-2.0, -3.0), False),
    ]


def test_no_more_answers_are_made_than_are_wanted() -> None:
    assert [[a.ids for a in one] for one in unpack_answers(make_record(), SearchOptions(beam=2, keep=1))] == [
        [(6,)],
        [()],
    ]
    assert SearchOptions(beam=2, keep=9).kept == 2


def test_a_sentence_before_its_limit_has_no_answer_that_was_cut_off() -> None:
    found = replace(make_record(), scores=np.full((2, 4), -INF))
    assert [len(answers) for answers in unpack_answers(found, SearchOptions(beam=2))] == [0, 2]


def test_a_beam_that_is_not_there_gives_no_answer() -> None:
    found = replace(make_record(), scores=np.full((2, 4), -INF))
    found.history[1, 1, 1, 2] = bits(-INF)
    assert [len(answers) for answers in unpack_answers(found, SearchOptions(beam=2))] == [0, 1]


def test_some_sentences_can_be_taken_out() -> None:
    both = unpack_answers(make_record(), SearchOptions(beam=2))
    assert unpack_answers(make_record().select(np.array([1])), SearchOptions(beam=2)) == both[1:]
    assert unpack_answers(make_record().select(np.array([], dtype=np.int64)), SearchOptions(beam=2)) == []
