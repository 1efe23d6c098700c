"""The cache of traces: what stays, what goes, and what is counted."""

import pytest

from jumok.decoding.translator import Translator
from jumok.explain.trace import Trace, make_trace
from jumok.server.gates.limits import Limits
from jumok.server.metrics import Metrics
from jumok.server.traces.cache import LIFETIME_S, TraceCache


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def traces(tiny_models: dict[str, Translator]) -> list[Trace]:
    model = tiny_models["transformer"]
    return [make_trace(model, "a man", target=target) for target in ("a", "b", "c", "d")]


def cache(clock: Clock | None = None, **limits: int) -> TraceCache:
    return TraceCache(Limits(**limits), Metrics(), clock=clock or Clock())


def test_what_is_put_is_found_until_there_are_too_many(traces: list[Trace]) -> None:
    kept = cache(traces=2)
    for one in traces[:2]:
        kept.put(one)
    assert kept.get(traces[0].id) is not None  # used: the other is the oldest now
    kept.put(traces[2])
    assert len(kept) == 2
    found = [kept.get(one.id) is not None for one in traces[:3]]
    assert found == [True, False, True]
    assert (
        kept.metrics.value("jumok_trace_cache_hits_total"),
        kept.metrics.value("jumok_trace_cache_misses_total"),
    ) == (3, 1)


def test_bytes_count_and_grow_with_the_stages_asked_for(tiny_models: dict[str, Translator]) -> None:
    one, two = (make_trace(tiny_models["transformer"], text, target="a") for text in ("a man", "a dog"))
    room = one.nbytes + two.nbytes
    kept = cache(traces_bytes=room)
    kept.put(one)
    kept.put(two)
    assert kept.metrics.value("jumok_trace_cache_bytes") == room
    assert len(kept) == 2  # at the limit
    two.tensor("cross.scores")
    kept.trim()  # above it
    assert (kept.get(one.id), len(kept)) == (None, 1)
    assert kept.metrics.value("jumok_trace_cache_bytes") == two.nbytes > room / 2


def test_what_was_worked_out_counts_too(traces: list[Trace]) -> None:
    kept = cache(traces_bytes=10**6)
    kept.put(traces[0])
    kept.put(traces[1]).extra["beam"] = 10**6
    kept.trim()
    assert len(kept) == 1
    assert (
        kept.metrics.value("jumok_trace_cache_bytes") > 10**6
    )  # the last one used stays, however large it is


def test_half_an_hour_without_use_is_the_end(traces: list[Trace]) -> None:
    clock = Clock()
    kept = cache(clock)
    for one in traces[:2]:
        kept.put(one)
    clock.now = LIFETIME_S - 1
    assert kept.get(traces[0].id) is not None
    clock.now = LIFETIME_S + 1
    assert kept.get(traces[1].id) is None
    assert kept.get(traces[0].id) is not None


def test_a_question_finds_its_trace_and_goes_with_it(traces: list[Trace]) -> None:
    kept = cache(traces=1)
    kept.put(traces[0], "one")
    kept.put(traces[0], "another")
    for question in ("one", "another"):
        found = kept.answering(question)
        assert found is not None
        assert found.trace is traces[0]
    assert kept.answering("else") is None
    kept.put(traces[1], "else")
    assert kept.answering("one") is None
    assert kept.answering("else") is not None


def test_a_trace_with_its_model_takes_the_place_of_one_without(traces: list[Trace]) -> None:
    kept = cache()
    first = traces[0]
    bare = Trace(lambda: first.manifest, first._store)
    assert kept.put(bare).trace is bare
    assert kept.put(first).trace is first
    assert kept.put(bare).trace is first


def test_one_question_may_have_had_two_traces(traces: list[Trace]) -> None:
    kept = cache(traces=2)
    for one in traces[:2]:
        kept.put(one, "question")
    for one in traces[2:]:
        kept.put(one)
    assert (len(kept), kept.answering("question")) == (2, None)


def test_what_is_put_again_is_used_again(traces: list[Trace]) -> None:
    clock = Clock()
    kept = cache(clock, traces=2)
    for one in (traces[0], traces[1], traces[0]):
        kept.put(one)
    kept.put(traces[2])  # of the first two the second was used longest ago
    assert [kept.get(one.id) is not None for one in traces[:3]] == [True, False, True]
    clock.now = LIFETIME_S
    kept.put(traces[0])
    clock.now = LIFETIME_S + 1
    assert [kept.get(one.id) is not None for one in (traces[0], traces[2])] == [True, False]


def test_a_trace_that_is_just_half_an_hour_old_is_there(traces: list[Trace]) -> None:
    clock = Clock()
    kept = cache(clock)
    kept.put(traces[0])
    clock.now = 1800.0
    assert kept.get(traces[0].id) is not None
    clock.now = 3600.5
    assert kept.get(traces[0].id) is None
    assert kept.metrics.value("jumok_trace_cache_bytes") == 0


def test_a_question_whose_trace_has_gone_was_never_asked(traces: list[Trace]) -> None:
    """It is no miss either: only who asks for a trace by its id misses one."""
    kept = cache(traces=1)
    assert kept.metrics.value("jumok_trace_cache_bytes") == 0
    kept.put(traces[0], "one")
    kept.put(traces[1], "other")
    assert kept.answering("one") is None
    assert kept.metrics.value("jumok_trace_cache_misses_total") == 0
    kept.put(traces[2])  # no request made it
    assert kept.answering("other") is kept.answering("") is None
