"""One step in tensors against one step of `BeamSearch`; whole searches are compared in test_device.py."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.answers import length_penalty
from jumok.decoding.beam import BeamSearch
from jumok.decoding.slots import SearchRecord, Slots, finish, first_places, grow, penalties, unpack_answers
from jumok.native.model import SearchOptions
from jumok.text.tokenizer import EOS

CPU = torch.device("cpu")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 9999),
    beam=st.integers(1, 4),
    n_best=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 1.0]),
    limits=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    whole=st.booleans(),
)
def test_steps_are_those_of_beam_search_even_between_equal_scores(
    seed, beam, n_best, alpha, limits, whole
) -> None:
    """The model is a table; all that it says is given to both."""
    n_best = min(n_best, beam)
    table = torch.randn(9, 9, generator=torch.Generator().manual_seed(seed)) * 2
    log_probs = (table.round() if whole else table).log_softmax(dim=1)
    log_probs[:, 3] = -torch.inf  # one piece is never allowed
    twin = BeamSearch(limits, beam=beam, n_best=n_best, length_penalty=alpha)
    B, k = len(limits), min(2 * beam, 9)
    slots, penalty = Slots.make(B + 1, beam, CPU), penalties(6, alpha, CPU)
    slots.start(torch.tensor(limits), penalty)
    values, ids = log_probs.sort(dim=1, descending=True, stable=True)
    for step in range(max(limits)):
        live = ~slots.done
        assert [beam.sentence for beam in twin._live] == live.nonzero().squeeze(1).tolist()
        tokens = [slots.token[b][slots.total[b] > -torch.inf].tolist() for b in range(B) if live[b]]
        assert sum(tokens, []) == twin.tokens
        grow(
            slots, values[slots.token, :k], ids[slots.token, :k], torch.tensor([step]), penalty, n_best=n_best
        )
        if not twin.done:
            twin.advance(log_probs[twin.token])
    assert twin.done
    assert slots.done.all()
    assert not slots.bad.any()
    for b, answers in enumerate(twin.answers()):
        finished = [a.score / length_penalty(len(a.log_probs), alpha) for a in answers if a.finished]
        scores = slots.scores[b].sort(descending=True).values[: len(finished)].tolist()
        assert scores == pytest.approx(finished)
        assert slots.steps[b] <= limits[b]


def test_a_number_that_is_not_finite_is_told_of_live_beams_only() -> None:
    slots, penalty = Slots.make(3, 2, CPU), penalties(4, 1.0, CPU)
    slots.start(torch.tensor([4, 4]), penalty)
    log_probs = torch.full((3, 2, 4), -1.0)
    log_probs[0, 1] = torch.nan  # a beam that is not there yet
    log_probs[1, 0] = torch.nan
    log_probs[2] = torch.nan  # a slot that is empty
    ids = torch.arange(4, 8).expand(3, 2, 4)
    grow(slots, log_probs, ids, torch.tensor([0]), penalty, n_best=1)
    assert slots.bad.tolist() == [False, True, False]
    assert slots.token[0].tolist() == [4, 5]


def test_only_an_end_among_the_best_is_taken() -> None:
    slots, penalty = Slots.make(1, 2, CPU), penalties(4, 1.0, CPU)
    slots.start(torch.tensor([4]), penalty)
    log_probs = torch.tensor([-1.0, -2.0, -3.0, -4.0]).expand(1, 2, 4)
    for place, count in ((1, 1), (2, 1)):  # second, then third in order
        ids = torch.tensor([5, 6, 7, 8])
        ids[place] = EOS
        grow(slots, log_probs, ids.expand(1, 2, 4), torch.tensor([place - 1]), penalty, n_best=2)
        assert slots.count.tolist() == [count]
    assert slots.scores[0, 0] == -2.0  # lp(1) = 1
    assert slots.origins[0, 0] == 0


def test_what_cannot_be_written_is_no_beam_and_no_answer() -> None:
    for ids, count in (([5, EOS, 6, 7], 0), ([5, 6, EOS, 7], 0)):
        slots, penalty = Slots.make(1, 3, CPU), penalties(4, 1.0, CPU)
        slots.start(torch.tensor([4]), penalty)
        log_probs = torch.tensor([-1.0, *[-torch.inf] * 3]).expand(1, 3, 4)
        growth = grow(
            slots, log_probs, torch.tensor(ids).expand(1, 3, 4), torch.tensor([0]), penalty, n_best=1
        )
        assert slots.total.tolist() == [[-1, -torch.inf, -torch.inf]]
        assert growth.log_prob.tolist() == [[-1, -torch.inf, -torch.inf]]
        assert slots.count.tolist() == [count]
    slots.start(torch.tensor([4]), penalty)
    log_probs = torch.tensor([-1.0, -2.0, -3.0, -torch.inf]).expand(1, 3, 4)
    grow(slots, log_probs, torch.tensor([5, EOS, 6, 7]).expand(1, 3, 4), torch.tensor([0]), penalty, n_best=2)
    assert slots.total.tolist() == [[-1, -3, -torch.inf]]
    assert (slots.count.tolist(), slots.scores[0, 0].item()) == ([1], -2.0)


def test_a_penalty_for_each_length() -> None:
    assert penalties(3, 1.0, CPU).tolist() == [length_penalty(length, 1.0) for length in range(4)]


def test_the_first_marks_are_found_in_order() -> None:
    marks = torch.tensor([[0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]], dtype=torch.bool)
    assert first_places(marks, 2).tolist() == [[1, 3], [0, 0], [0, 0]]


def test_a_slot_has_room_for_two_answers_of_each_beam() -> None:
    slots = Slots.make(4, 3, CPU)
    assert slots.scores.shape == slots.origins.shape == slots.ends.shape == (4, 6)


def test_slots_can_be_kept_and_started_again() -> None:
    slots = Slots.make(4, 2, CPU)
    slots.start(torch.tensor([3, 5, 7]), penalties(9, 1.0, CPU))
    assert slots.done.tolist() == [False, False, False, True]
    slots.keep(torch.tensor([2, 0]))
    assert slots.first(2).limit.tolist() == [7, 3]
    assert slots.first(2).home.tolist() == [2, 0]
    slots.start(torch.tensor([6]), penalties(9, 1.0, CPU))
    assert slots.limit.tolist() == [6, 1, 1, 1]
    assert slots.home.tolist() == [0, 1, 2, 3]
    assert slots.limit_penalty[0] == length_penalty(6, 1.0)


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


@pytest.mark.parametrize(("n_best", "done"), [(1, [True, True, False]), (2, [False, True, False])])
def test_a_sentence_is_done_when_its_nth_answer_beats_what_lives(n_best: int, done: list[bool]) -> None:
    """No penalty: the best live beam may still become -3, -6 and -1."""
    slots, penalty = Slots.make(3, 4, CPU), penalties(9, 0.0, CPU)
    slots.start(torch.tensor([9, 9, 9]), penalty)
    slots.count.copy_(torch.tensor([2, 2, 2]))
    slots.scores[:, :2] = torch.tensor([[-2.0, -5.0], [-5.0, -2.0], [-2.0, -2.0]])
    leader = torch.tensor([-3.0, -6.0, -1.0], dtype=slots.total.dtype)
    finish(slots, leader, torch.tensor([3]), n_best=n_best)
    assert slots.done.tolist() == done
    assert slots.steps.tolist() == [4, 4, 4]
