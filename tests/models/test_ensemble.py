"""Several models that predict together: the laws of their mean, whole passes and single steps."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.conftest import CONFIGS, Bench
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.errors import ConfigError
from jumok.models.ensemble import EnsembleSeq2Seq, mixed_log_probs
from jumok.models.interface import Seq2Seq

bench = Bench()
MEANS = st.sampled_from(["probabilities", "logs"])
NAMES = ("rnn-gru-two-layers", "luong-input-feeding", "transformer", "transformer-copy")


def members(*names: str) -> list[Seq2Seq]:
    return [bench.model(CONFIGS[name], n, shared=True) for n, name in enumerate(names or NAMES)]


def log_probs(model: Seq2Seq, batch: Any) -> Tensor:
    with torch.inference_mode():
        return bench.logits(model, batch).log_softmax(-1)


@st.composite
def distributions(draw: st.DrawFn) -> tuple[list[Tensor], list[float]]:
    """Logarithms of some distributions (3, V), and weights that add up to one."""
    count, V = draw(st.integers(1, 5)), draw(st.integers(2, 40))
    torch.manual_seed(draw(st.integers(0, 999)))
    weights = torch.rand(count, dtype=torch.float64) + 0.05
    spread = draw(st.sampled_from([0.1, 3.0, 60.0]))
    logs = [(spread * torch.randn(3, V, dtype=torch.float64)).log_softmax(-1) for _ in range(count)]
    return logs, (weights / weights.sum()).tolist()


@given(given_=distributions())
def test_the_mean_of_probabilities_is_one_and_sums_to_one(given_: tuple[list[Tensor], list[float]]) -> None:
    logs, weights = given_
    found = mixed_log_probs(logs, weights, "probabilities").exp()
    wanted = sum(weight * one.exp() for weight, one in zip(weights, logs, strict=True))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, dtype=torch.float64))


@given(given_=distributions())
def test_the_mean_of_logs_is_the_product_of_powers(given_: tuple[list[Tensor], list[float]]) -> None:
    logs, weights = given_
    found = mixed_log_probs(logs, weights, "logs").softmax(-1)
    wanted = torch.ones_like(logs[0])
    for weight, one in zip(weights, logs, strict=True):
        wanted = wanted * one.exp() ** weight
    torch.testing.assert_close(found, wanted / wanted.sum(-1, keepdim=True))


@given(given_=distributions(), mean=MEANS, order=st.randoms())
def test_the_order_does_not_matter(given_: tuple[list[Tensor], list[float]], mean: Any, order: Any) -> None:
    logs, weights = given_
    pairs = list(zip(logs, weights, strict=True))
    order.shuffle(pairs)
    other = mixed_log_probs([one for one, _ in pairs], [weight for _, weight in pairs], mean)
    torch.testing.assert_close(other, mixed_log_probs(logs, weights, mean))


@pytest.mark.parametrize("name", NAMES)
def test_an_ensemble_of_one_is_that_model_bit_for_bit(name: str) -> None:
    [model], batch = members(name), bench.batch([4, 2, 6], [3, 5, 1])
    both = EnsembleSeq2Seq([model]).eval()
    with torch.inference_mode():
        assert torch.equal(bench.logits(both, batch), bench.logits(model, batch))
        memory, own = both.encode(batch.source), model.encode(batch.source)
        steps = bench.step_by_step(both, batch.target_in, memory)
        assert torch.equal(steps, bench.step_by_step(model, batch.target_in, own))


@pytest.mark.parametrize("mean", ["probabilities", "logs"])
def test_a_model_with_itself_is_that_model(mean: Any) -> None:
    [model], batch = members("transformer"), bench.batch([4, 2, 6], [3, 5, 1])
    both = EnsembleSeq2Seq([model, model], [1, 3], mean).eval()
    torch.testing.assert_close(log_probs(both, batch), log_probs(model, batch), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("mean", ["probabilities", "logs"])
def test_members_of_all_kinds_say_together_what_their_mean_is(mean: Any) -> None:
    models, batch = members(), bench.batch([4, 2, 6], [3, 5, 1])
    both = EnsembleSeq2Seq(models, [2, 1, 1, 4], mean).eval()
    own = [log_probs(model, batch) for model in models]
    shares = [0.25, 0.125, 0.125, 0.5]
    assert both.weights == tuple(shares)
    if mean == "logs":
        wanted = sum(share * one for share, one in zip(shares, own, strict=True)).log_softmax(-1)
    else:
        wanted = sum(share * one.exp() for share, one in zip(shares, own, strict=True)).log()
    torch.testing.assert_close(log_probs(both, batch), wanted, atol=1e-5, rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=st.integers(0, 99), mean=MEANS)
def test_step_by_step_equals_all_at_once(lengths: list[int], seed: int, mean: Any) -> None:
    batch = bench.batch(lengths, 4, seed)
    both = EnsembleSeq2Seq(members(), mean=mean).eval()
    with torch.inference_mode():
        memory = both.encode(batch.source)
        steps = bench.step_by_step(both, batch.target_in, memory).log_softmax(-1)
        torch.testing.assert_close(steps, log_probs(both, batch), atol=1e-5, rtol=1e-5)


def test_rows_are_picked_and_joined_in_every_member() -> None:
    both, batch = EnsembleSeq2Seq(members()).eval(), bench.batch([4, 2, 6], 3)
    token = torch.tensor([5, 6, 7])
    with torch.inference_mode():
        memory = both.encode(batch.source)
        whole, _ = both.step(token, both.start(memory))
        picked, _ = both.step(token[[2, 0]], both.start(memory).select(torch.tensor([2, 0])))
        torch.testing.assert_close(picked, whole[[2, 0]])
        parts = [both.start(memory.select(rows)) for rows in ([0], [1, 2])]
        joined, _ = both.step(token, parts[0].join(parts[1]))
        torch.testing.assert_close(joined, whole)


def test_its_attention_is_that_of_the_member_that_leads() -> None:
    models, batch = members("rnn-tanh", "transformer"), bench.batch([4, 2], 3)
    both = EnsembleSeq2Seq(models, lead=1).eval()
    with torch.inference_mode():
        found = both.explain(batch.target_in, both.encode(batch.source))
        wanted = models[1].explain(batch.target_in, models[1].encode(batch.source))
    assert len(found) == 2
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_its_bounds_are_those_of_the_smallest_member() -> None:
    assert EnsembleSeq2Seq(members("transformer", "rnn-tanh")).most_positions is None
    both = EnsembleSeq2Seq(members("transformer", "transformer-learned"))
    assert (both.most_positions, both.vocabulary) == (64, bench.vocab)
    assert not both.fits_buffers


def test_nothing_looks_inside_all_of_them_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        EnsembleSeq2Seq(members()).using(RecordingBackend())
    assert str(caught.value) == (
        "this looks inside one model, and here are 4 that predict together\n"
        "  load one member by itself; votes shows what each of them wanted"
    )


@pytest.mark.parametrize("mean", ["logs", "probabilities"])
@pytest.mark.parametrize(("weights", "how"), [([1.0], "longer"), ([0.5, 0.25, 0.25], "shorter")])
def test_every_distribution_has_a_weight_of_its_own(weights: list[float], how: str, mean: Any) -> None:
    with pytest.raises(ValueError, match=rf"zip\(\) argument 2 is {how} than argument 1"):
        mixed_log_probs([torch.zeros(3), torch.zeros(3)], weights, mean)
