from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from tests.decoding.conftest import TINY, untrained

from jumok.answers import Answer
from jumok.config import DecodingConfig
from jumok.decoding.jobs import Job, make_request
from jumok.decoding.results import Joint
from jumok.decoding.stream import Partial
from jumok.decoding.torch_engine import TorchEngine
from jumok.text.sentences import whole


@pytest.fixture(scope="module")
def engine() -> TorchEngine:
    loaded = untrained(TINY["luong"])
    return TorchEngine(loaded.model, loaded)


def test_it_lacks_nothing_and_says_what_it_is(engine: TorchEngine) -> None:
    assert engine.lacks(make_request(DecodingConfig(), {"sample": True, "ban": "a"})) == ""
    assert engine.about == {"name": "torch", "type": "float32", "level": "cpu"}
    assert engine.to_torch() is engine


def test_every_job_gets_its_answers(engine: TorchEngine) -> None:
    jobs = [Job((260 + n,) * (n + 1)) for n in range(5)]
    request = make_request(DecodingConfig(max_len=6), {"beam": 2, "batch_tokens": 10})
    found: dict[Job, list[Answer]] = {}
    for batch, answers in engine.answers(jobs, request, lambda _: nullcontext()):
        found.update(zip(batch, answers, strict=True))
    assert found.keys() == set(jobs)
    assert all(len(one.log_probs) <= 6 for answers in found.values() for one in answers)


def test_a_stream_ends_with_the_answers(engine: TorchEngine) -> None:
    request = make_request(DecodingConfig(max_len=6), {"beam": 2})
    *partials, last = engine.grow(
        [Job((260, 261))], request, lambda _: nullcontext(), lambda: True, Joint(whole("a"))
    )
    assert partials
    assert all(isinstance(one, Partial) for one in partials)
    [(_, [answers])] = list(engine.answers([Job((260, 261))], request, lambda _: nullcontext()))
    assert isinstance(last, list)
    assert last[0][0] == answers[0]


def test_scores_have_one_number_for_each_piece_and_the_end(engine: TorchEngine) -> None:
    jobs = [Job((260,), (261, 262)), Job((263,), ())]
    found = dict(
        pair
        for batch, scores in engine.scores(jobs, 100, lambda _: nullcontext())
        for pair in zip(batch, scores, strict=True)
    )
    assert [len(found[job]) for job in jobs] == [3, 1]


def test_a_chosen_budget_reaches_the_search_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, budgets = untrained(TINY["transformer"]), list[int | None]()

    def search(*_: object, budget: int | None) -> Iterator[Any]:
        budgets.append(budget)
        return iter(())

    monkeypatch.setattr("jumok.decoding.torch_engine.preferred", lambda device: True)
    monkeypatch.setattr("jumok.decoding.device.DeviceSearch.search", search)
    for options in ({}, {"batch_tokens": 4096}, {"batch_tokens": 100}):
        request = make_request(DecodingConfig(), options)
        list(TorchEngine(loaded.model, loaded).answers([Job((260,))], request, lambda _: nullcontext()))
    assert budgets == [None, 4096, 100]


@pytest.mark.parametrize(("beam", "sizes"), [(1, [1, 1, 2, 3]), (2, [1, 1, 1, 1, 1, 2])])
def test_hypotheses_times_source_tokens_and_their_end_stay_within_the_budget(
    engine: TorchEngine, beam: int, sizes: list[int]
) -> None:
    """Sources of 1 to 7 tokens: of 8, 7, 6 … places with their end, of which 12 may be in a batch."""
    jobs = [Job((260,) * n) for n in range(1, 8)]
    request = make_request(DecodingConfig(max_len=2), {"beam": beam, "batch_tokens": 12})
    found = [batch for batch, _ in engine.answers(jobs, request, lambda _: nullcontext())]
    assert [len(batch) for batch in found] == sizes
    for batch in found:
        assert len(batch) == 1 or len(batch) * beam * max(len(job.source) + 1 for job in batch) <= 12


def test_pairs_that_are_scored_stay_within_the_budget_too(engine: TorchEngine) -> None:
    jobs = [Job((260,) * n, (261,) * (4 - n)) for n in range(5)]  # of 5, 4, 3, 4 and 5 places with their end
    found = [len(batch) for batch, _ in engine.scores(jobs, 10, lambda _: nullcontext())]
    assert found == [2, 2, 1]
