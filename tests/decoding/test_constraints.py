import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import beam_search

from jumok.answers import Answer
from jumok.decoding.constraints import (
    Constraint,
    Progress,
    begins_word,
    completions,
    in_turns,
    may_open,
    occurs,
)
from jumok.decoding.filters import NEVER, forbid, written
from jumok.decoding.jobs import SOFT, Phrase, Spelling
from jumok.text.tokenizer import EOS

PIECES = [b"", b"", b"", b"", b"a", b"b", b"ab", b" b"]
IDS = st.lists(st.integers(4, 7), min_size=1, max_size=3)


def phrase(*spellings: tuple[int, ...], **kinds: bool) -> Phrase:
    return Phrase(tuple(Spelling(written(ids, PIECES).decode().strip(), ids) for ids in spellings), **kinds)


PHRASES = st.builds(lambda ids, once: phrase(tuple(ids), once=once), IDS, st.booleans())


@pytest.mark.parametrize(
    ("before", "begins", "opens"),
    [
        ("", True, True),
        ("x", False, False),
        ("x ", True, True),
        ("7", False, False),
        ("(", True, True),
        ("x.", True, False),
        ("„", True, True),
        ("é", False, False),
        ("«", True, True),
        ("가", False, False),
        ("«가", False, False),
        ("가«", True, True),
        ("「", True, True),
        ("中", False, False),
    ],
)
def test_where_a_word_begins(before, begins, opens) -> None:
    assert begins_word(before.encode()) is begins
    assert may_open(before.encode()) is opens


def test_a_word_counts_with_its_ending_but_not_inside_another() -> None:
    file = Phrase((Spelling("file", (9,)),), word=True)
    assert occurs(file, b"the files")
    assert not occurs(file, b"profile")
    assert occurs(file, b"profile, file")
    assert not occurs(file, b"a file here", since=6)  # it ends before that
    assert occurs(Phrase((Spelling("file", (9,)),)), b"profile")


def test_progress_is_counted_in_tokens_of_phrases() -> None:
    constraint = Constraint((phrase((4, 5, 4)), phrase((7,), (6, 6))), PIECES)
    start = Progress()
    assert constraint.wanted(start) == [4, 7, 6]
    assert constraint.bank(start) == 0
    begun = constraint.replay([4, 5])
    assert constraint.bank(begun) == 2 + 2  # "b" of the second phrase is there: it counts with its longest
    assert constraint.wanted(begun) == [4]
    assert constraint.bank(constraint.replay([4, 5, 4])) == 3 + 2
    assert constraint.may_end(constraint.replay([6, 4]))  # the same bytes in other tokens


def test_a_word_is_begun_only_where_words_begin() -> None:
    def wanted(ids: tuple[int, ...], before: list[int]) -> list[int]:
        constraint = Constraint((phrase(ids, word=True),), PIECES)
        return constraint.wanted(constraint.replay(before))

    assert [wanted((5,), before) for before in ([], [4], [7])] == [[5], [], []]
    assert wanted((7,), [4]) == [7]  # it brings its own space
    assert wanted((5, 4), [5]) == [4]
    assert wanted((5, 4), [4, 5]) == []


def test_once_bans_what_would_write_it_again() -> None:
    constraint = Constraint((phrase((4, 5), once=True),), PIECES)
    assert constraint.banned(constraint.replay([4])) == set()
    assert constraint.banned(constraint.replay([6])) == {6}
    assert constraint.banned(constraint.replay([6, 4])) == {5, 6}
    assert completions("ab", PIECES) == [[6], [5]]


def test_an_answer_loses_some_nats_for_a_soft_phrase_that_it_lacks() -> None:
    constraint = Constraint((phrase((4,), soft=True), phrase((5,))), PIECES)
    without, having = (
        Answer((5,), (-1.0, -1.0), finished=True),
        Answer((4, 5), (-2.0, -1.0, -1.0), finished=True),
    )
    assert [constraint.lacking(one) for one in (without, having)] == [1, 0]
    assert constraint.normalised(without, 0.0) == -2 - SOFT
    assert constraint.normalised(having, 0.0) == -4
    assert constraint.ranked([without, having], 0.0) == [having, without]
    assert constraint.may_end(constraint.replay([5]))
    assert not constraint.may_end(constraint.replay([4]))


def test_among_answers_with_the_phrase_soft_and_strict_agree() -> None:
    """A reward inside the length penalty would prefer the short one, the more so the higher it is."""
    soft, strict = (Constraint((phrase((4,), soft=one),), PIECES) for one in (True, False))
    short, long = (
        Answer((4,), (-1.5, -1.5), finished=True),
        Answer((4, *[5] * 8), (-0.4,) * 10, finished=True),
    )
    for constraint in (soft, strict):
        assert constraint.ranked([short, long], 1.0) == [long, short]


def test_a_search_goes_on_while_a_live_one_may_win() -> None:
    constraint = Constraint((phrase((4,), soft=True),), PIECES)
    answers = [Answer((5,), (-1.0, -1.0), finished=True)]
    assert not constraint.is_done(answers, -1.5 - SOFT, 9, beam=2, n_best=1, alpha=0.0)
    assert constraint.is_done(answers, -2.5 - SOFT, 9, beam=2, n_best=1, alpha=0.0)
    assert not constraint.is_done(answers * 2, -5.0, 9, beam=2, n_best=1, alpha=0.0)
    having = [Answer((4,), (-9.0, -9.0), finished=True)]
    assert constraint.is_done(having * 2, -5.0, 9, beam=2, n_best=1, alpha=0.0)


def test_a_search_goes_on_while_the_last_answer_asked_for_may_be_better() -> None:
    constraint = Constraint((phrase((4,), soft=True),), PIECES)
    answers = [Answer((4,), (-1.0, score), finished=True) for score in (-1.0, -8.0)]
    found = [
        constraint.is_done(answers, best, 9, beam=3, n_best=2, alpha=0.0) for best in (-5.0, -9.0, -10.0)
    ]
    assert found == [False, True, True]


@given(st.lists(st.integers(0, 4), max_size=12))
def test_turns_are_fair(banks) -> None:
    order = in_turns(banks)
    assert sorted(order) == list(range(len(banks)))
    turns = [sum(banks[other] == banks[place] for other in range(place)) for place in order]
    assert turns == sorted(turns)  # nobody has a second one before all had a first


def search(bench, seed: int, phrases, beam: int, limit: int = 12) -> list[Answer]:
    model = bench.toy(seed, len(PIECES))
    constraint = Constraint(tuple(phrases), PIECES, beam + sum(one.size for one in phrases))
    memory = bench.memory(model, [[4]])
    options = {"beam": beam, "n_best": beam, "constraints": [constraint]}
    [answers] = beam_search(model, memory, [limit], [forbid(NEVER)], **options)
    return answers


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(1, 4), phrases=st.lists(PHRASES, min_size=1, max_size=1))
def test_a_required_phrase_is_always_there_and_once_is_once(bench, seed, beam, phrases) -> None:
    text = phrases[0].spellings[0].text.encode()
    for answer in search(bench, seed, phrases, beam):
        count = written(answer.ids, PIECES).count(text)
        assert count == 1 if phrases[0].once else count >= 1


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(1, 4), ids=IDS)
def test_scores_stay_the_models_own(bench, seed, beam, ids) -> None:
    model = bench.toy(seed, len(PIECES))
    memory = bench.memory(model, [[4]])
    for answer in search(bench, seed, [phrase(tuple(ids))], beam):
        assert answer.log_probs == pytest.approx(bench.own_log_probs(model, memory, 0, answer), abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(2, 4), soft=st.booleans())
def test_neighbours_change_nothing(bench, seed, beam, soft) -> None:
    model = bench.toy(seed, len(PIECES))
    constraint = Constraint((phrase((4, 5), soft=soft),), PIECES, beam + 2)
    both = bench.memory(model, [[4], [5]])
    options = {"beam": beam, "constraints": [constraint, None]}
    first, second = beam_search(model, both, [9, 9], [forbid(NEVER)], **options)
    [alone] = beam_search(
        model, bench.memory(model, [[4]]), [9], [forbid(NEVER)], beam=beam, constraints=[constraint]
    )
    [free] = beam_search(model, bench.memory(model, [[5]]), [9], [forbid(NEVER)], beam=beam)
    assert [one.ids for one in first] == [one.ids for one in alone]
    assert [one.ids for one in second] == [one.ids for one in free]


def test_the_end_waits_for_what_is_missing(bench) -> None:
    model = bench.toy(3, len(PIECES))
    model.table.data[:, :, EOS] = 50.0
    [best, *_] = search(bench, 3, [phrase((4, 5, 4))], 2)
    assert torch.tensor(best.ids).tolist() != []
    assert b"aba" in written(best.ids, PIECES)


@pytest.mark.parametrize(
    ("text", "since", "there"),
    [
        ("a", 0, True),
        ("a", 1, False),
        ("ab", 1, True),
        ("ab", 2, False),
        ("xaby", 2, True),
        ("xaby", 3, False),
    ],
)
def test_what_ended_before_is_not_found_again(text: str, since: int, *, there: bool) -> None:
    wanted = phrase((4,) if text == "a" else (4, 5))
    assert occurs(wanted, text.encode(), since) == there
    assert occurs(wanted, text.encode())
