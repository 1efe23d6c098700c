"""Who wanted what: the votes of an ensemble against the scores of its members."""

from math import exp, prod

import pytest

import jumok
from jumok.errors import ConfigError
from jumok.explain.votes import BEST, votes
from jumok.model import load

TEXT = "den 5 mars 2024 kl. 14:30"
NAMES = ("rnn", "luong", "transformer")


@pytest.fixture(scope="module")
def together() -> jumok.Model:
    return load([f"demo/{name}" for name in NAMES])


def test_every_step_has_what_each_member_says_by_itself(together: jumok.Model) -> None:
    found = together.votes(TEXT)
    assert found.target == together.translate(TEXT).text
    assert [member.name for member in found.members] == list(NAMES)
    for n, name in enumerate(NAMES):
        alone = load(f"demo/{name}").score(TEXT, found.target)
        assert [step.members[n] for step in found.steps] == pytest.approx(
            [exp(token.logprob) for token in alone.tokens], abs=1e-4
        )
        agrees = sum(step.favourites[n] == step.id for step in found.steps)
        assert found.members[n].agrees == agrees
    for step in found.steps:
        assert step.p == pytest.approx(sum(step.members) / 3, abs=1e-5)


def test_the_product_of_the_steps_is_the_score(together: jumok.Model) -> None:
    found = together.votes(TEXT, "2024-03-05")
    assert found.target == "2024-03-05"
    whole = prod(step.p for step in found.steps)
    assert whole == pytest.approx(exp(together.score(TEXT, "2024-03-05").score), rel=1e-3)


def test_candidates_are_the_best_and_every_favourite(together: jumok.Model) -> None:
    for step in together.votes(TEXT, "1999-12-31").steps:
        ids = [one.id for one in step.candidates]
        assert {*step.favourites, step.id} <= set(ids)
        assert BEST <= len(ids) <= BEST + len(NAMES) + 1
        shares = [one.p for one in step.candidates]
        assert shares == sorted(shares, reverse=True)
        for n, id in enumerate(step.favourites):
            best = next(one for one in step.candidates if one.id == id)
            assert all(best.members[n] >= one.members[n] for one in step.candidates)


def test_a_mean_of_logs_says_so() -> None:
    found = load("demo/rnn+demo/luong", mean="logs").votes(TEXT)
    assert found.mean == "logs"
    assert found.to_dict()["members"][1]["name"] == "luong"


def test_a_single_model_is_its_own_member() -> None:
    found = votes(load("demo/luong"), TEXT)
    assert [(member.arch, member.weight) for member in found.members] == [("luong", 1.0)]
    assert all(step.members == (pytest.approx(step.p),) for step in found.steps)
    assert all(len(step.candidates) == 5 for step in found.steps)  # its favourite is among the best
    assert found.members[0].agrees == len(found.steps)


def test_no_text_has_no_votes(together: jumok.Model) -> None:
    with pytest.raises(ConfigError, match="the text is empty"):
        together.votes(" ")
