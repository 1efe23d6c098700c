"""One training step: every number again in a few lines of numpy, by small differences, or by the trainer."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.explain.conftest import COPYING, SMALL, Workshop

import jumok
from jumok.config import LuongConfig, TrainingConfig
from jumok.data.batch import lay_pairs
from jumok.errors import ConfigError, LimitError, RunError
from jumok.model import Model
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step

TEXT, ANSWER = "03/05/2024", "2024-03-05"  # the models read it day first
ARCHS = ("rnn", "luong", "transformer")


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {arch: jumok.load(f"demo/{arch}", "cpu", engine="torch") for arch in ARCHS}


@pytest.fixture(scope="module", params=ARCHS)
def model(request: pytest.FixtureRequest, models: dict[str, Model]) -> Model:
    return models[request.param]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_the_gradient_at_the_logits_is_what_was_said_minus_what_was_right(model: Model) -> None:
    found = model.training_step(TEXT, ANSWER)
    whole = model.forward_pass(TEXT, ANSWER)
    logits = whole["output", "logits"][0].astype(np.float64)
    N, p = len(logits), softmax(logits)
    losses = -np.log(p[np.arange(N), found.ids])
    np.testing.assert_allclose(found.losses, losses, rtol=2e-4, atol=1e-6)
    assert found.loss == pytest.approx(losses.mean(), rel=1e-5)
    assert found.token == losses.argmax()
    y = np.eye(p.shape[1])[found.ids[found.token]]
    np.testing.assert_allclose(found.p, p[found.token], atol=1e-6)
    np.testing.assert_allclose(found["output", "logits"].gradient, (p[found.token] - y) / N, atol=1e-6)


def test_h_and_w_out_get_their_share_by_the_chain_rule(model: Model) -> None:
    found = model.training_step(TEXT, ANSWER)
    W, h = model.model.head.detach().numpy(), found["output", "h, what W_out multiplies"]  # type: ignore[operator, union-attr]
    logits = found["output", "logits"]
    np.testing.assert_allclose(W @ h.values, logits.values, atol=1e-3)
    np.testing.assert_allclose(logits.gradient @ W, h.gradient, atol=1e-5)
    row, column = found.weight.index
    assert row == found.ids[found.token]
    mine = logits.gradient[row] * h.values[column]
    assert found.weight.by_token[found.token] == pytest.approx(mine, rel=1e-4)
    # Embedding and W_out are one table here, so that the rest comes from where its rows were read.
    read = {*model.tokenizers.target.encode(ANSWER), *model.tokenizers.source.encode(TEXT)}
    other = next(id for id in range(700, 800) if id not in read)
    alone = model.training_step(TEXT, ANSWER, index=(other, column)).weight
    assert sum(alone.by_token) == pytest.approx(alone.gradient, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_back_through_attention_by_the_jacobian_of_softmax(models: dict[str, Model], arch: str) -> None:
    found, whole = models[arch].training_step(TEXT, ANSWER), models[arch].forward_pass(TEXT, ANSWER)
    context, weights, scores = found.tensors[-3:]
    a, da = weights.values.astype(np.float64), weights.gradient.astype(np.float64)
    np.testing.assert_allclose(softmax(scores.values), a, atol=1e-5)
    jacobian = np.stack([np.diag(row) - np.outer(row, row) for row in a])  # of softmax, (H, S, S)
    np.testing.assert_allclose(np.einsum("hij,hj->hi", jacobian, da), scores.gradient, atol=1e-6)
    stage = "decoder layer 2", "cross-attention: V"
    values = whole[stage][0] if arch == "transformer" else whole["memory", "H, seen at every step"]
    np.testing.assert_allclose(np.einsum("hd,hsd->hs", context.gradient, values), da, atol=1e-5)
    for one in (context, weights, scores):  # each has the name that the forward pass gives it
        row = whole[one.stage, one.operation][0][..., found.token, :]
        np.testing.assert_allclose(row.reshape(one.values.shape), one.values, atol=1e-5)


@pytest.mark.parametrize("name", ["W_out", "second"])
def test_the_gradient_of_a_weight_is_the_slope_of_the_loss(model: Model, name: str) -> None:
    """By small differences in double precision, on a copy that this test changes."""
    names = [name for name, weight in model.model.named_parameters() if weight.dim() == 2]
    found = model.training_step(TEXT, ANSWER, weight=names[2] if name == "second" else name)
    network = copy.deepcopy(model.model).double()
    weight = dict(network.named_parameters())[found.weight.name]

    def loss(change: float) -> float:
        with torch.no_grad():
            weight[found.weight.index] += change
            logits = logits_of(network, model)
            weight[found.weight.index] -= change
        return -float(logits.log_softmax(-1)[range(len(found.ids)), found.ids].mean())

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert found.weight.gradient == pytest.approx(slope, rel=1e-3, abs=1e-7)


def logits_of(network: Any, model: Model) -> torch.Tensor:
    """The forward pass in the network's own precision."""
    other = copy.copy(model)
    other.model = network
    return torch.from_numpy(np.array(other.forward_pass(TEXT, ANSWER)["output", "logits"][0]))


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_four_updates_by_hand(models: dict[str, Model], optimizer: str) -> None:
    """m, v, their corrections, and the weight, from the gradients alone."""
    lr, index, m, v, after = 2e-3, (270, 34), 0.0, 0.0, None
    for t in range(1, 5):
        found = models["luong"].training_step(
            TEXT, ANSWER, optimizer=optimizer, lr=lr, steps=t - 1, index=index
        )
        one, rule = found.weight, found.rule
        assert (rule.number, rule.betas) == (t, (0.9, 0.98))
        assert one.m_before == pytest.approx(m, rel=1e-4)
        assert after is None or one.before == pytest.approx(after, abs=1e-6)
        g, decay = one.gradient, {"adamw": 0.01}.get(optimizer, 0.0)
        assert rule.weight_decay == decay
        if optimizer == "sgd":
            m = 0.9 * m + g
            after = one.before - lr * m
            assert one.v is one.v_before is None
        else:
            m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g * g
            m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.98**t)
            after = one.before * (1 - lr * decay) - lr * m_hat / (v_hat**0.5 + rule.eps)
            assert (one.v, rule.eps) == (pytest.approx(v, rel=1e-4), 1e-9)
        assert one.m == pytest.approx(m, rel=1e-4)
        assert one.after == pytest.approx(after, abs=1e-6)


def test_it_is_the_trainers_own_step(model: Model) -> None:
    found = model.training_step(TEXT, ANSWER, optimizer="adamw", lr=3e-3, steps=1)
    network = copy.deepcopy(model.model).requires_grad_()
    config = TrainingConfig(optimizer="adamw", lr=3e-3, weight_decay=0.01, clip=0.0, label_smoothing=0.0)
    optimizers = Optimizers(network, config)
    batch = lay_pairs([model.tokenizers.source.encode(TEXT)], [model.tokenizers.target.encode(ANSWER)])
    for step in (1, 2):
        last = train_step(network, optimizers, [batch], config, lr=3e-3, step=step, seed=1).read()
    assert found.loss == pytest.approx(last.loss, rel=1e-4)
    total = np.sqrt(sum(one.norm**2 for one in found.gradients))
    assert total == pytest.approx(last.grad_norm, rel=1e-3)
    weight = dict(network.named_parameters())[found.weight.name]
    assert found.weight.after == pytest.approx(float(weight[found.weight.index].detach()), abs=1e-5)


def test_the_model_that_was_asked_stays_as_it_is(model: Model) -> None:
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    one = model.training_step(TEXT, ANSWER, lr=0.1, steps=2)
    assert all(torch.equal(value, before[name]) for name, value in model.model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.model.parameters())
    again = model.training_step(TEXT, ANSWER, lr=0.1, steps=2)
    assert (one.weight, one.loss_after) == (again.weight, again.loss_after)


def test_a_small_rate_lowers_the_loss_and_a_large_one_raises_it(model: Model) -> None:
    rates = (1e-4, 1e-3, 1e-1)
    found = model.training_step(TEXT, ANSWER, rates=rates)
    assert found.rates[1e-3] == pytest.approx(found.loss_after, rel=1e-5)
    assert found.loss_after < found.loss
    again = {rate: model.training_step(TEXT, ANSWER, lr=rate).loss_after for rate in rates}
    assert found.rates == pytest.approx(again, rel=1e-5)
    later = model.training_step(TEXT, ANSWER, lr=1e-4, steps=2, rates=(1e-4,))
    assert later.rates[1e-4] == pytest.approx(later.loss_after, rel=1e-5)  # from what the optimiser remembers
    high = model.training_step(TEXT, ANSWER, lr=1.0)
    assert high.loss_after > high.loss


def test_without_a_target_the_models_own_answer_is_learned(models: dict[str, Model]) -> None:
    found = models["luong"].training_step(TEXT)
    assert found.target == models["luong"].translate(TEXT).text
    assert found.loss < 0.01


@pytest.mark.parametrize("kind", ["rnn", "luong", LuongConfig(width=16), "transformer", COPYING], ids=str)
def test_every_kind_of_model_has_it(workshop: Workshop, kind: Any) -> None:
    """Input feeding goes step by step, copying mixes two distributions, a fresh model has dropout."""
    model = workshop.model(kind)
    found = model.training_step("a man rides", "the dog sees")
    assert len(found.tensors) == (2 if kind == "rnn" else 5)
    assert found.loss_after < found.loss
    assert found.loss == pytest.approx(-model.score("a man rides", "the dog sees").score_per_token, rel=1e-4)
    for token in range(len(found.ids)):  # the same loss is behind every token
        seen = model.training_step("a man rides", "the dog sees", token=token)
        assert (seen.token, seen.loss) == (token, found.loss)
        if seen.tensors[2:]:
            a, da = seen.tensors[-2].values, seen.tensors[-2].gradient
            by_hand = a * (da - (a * da).sum(-1, keepdims=True))
            np.testing.assert_allclose(by_hand, seen.tensors[-1].gradient, atol=1e-6)


def test_interventions_stay_in_force(models: dict[str, Model]) -> None:
    masked = models["transformer"].edit(jumok.mask_head("cross", "*", "*"))
    assert masked.training_step(TEXT, ANSWER).loss != models["transformer"].training_step(TEXT, ANSWER).loss


def test_the_document_has_the_tokens_that_matter(models: dict[str, Model]) -> None:
    found = models["transformer"].training_step(TEXT, ANSWER)
    plain = found.to_dict(lambda id: f"<{id}>")
    shown = plain["candidates"]
    assert len(shown) == 8
    assert [one["y"] for one in shown].count(1) == 1
    gradient = np.abs(found["output", "logits"].gradient)
    assert [abs(one["gradient"]) for one in shown] == sorted(gradient, reverse=True)[:8]
    assert shown[0]["text"] == f"<{shown[0]['id']}>"
    assert models["transformer"].training_step(TEXT, ANSWER, index=(0, 0)).weight.index == (0, 0)
    other = models["transformer"].training_step(TEXT, ANSWER, index=(700, 3))
    assert 700 in [one["id"] for one in other.to_dict()["candidates"]]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "optimizer": ({"optimizer": "adm"}, "optimizer='adm' is unknown\n  did you mean 'adam'?"),
    "no rate": ({"lr": 0}, "lr is 0\n  give a number above 0, at most 1000"),
    "nan": ({"lr": float("nan")}, "lr is nan\n  give a number above 0, at most 1000"),
    "rates": ({"rates": (1e-3, -1)}, "rates is -1\n  give a number above 0, at most 1000"),
    "many rates": ({"rates": [1e-3] * 17}, "there are 17 rates\n  give at most 16"),
    "steps": ({"steps": 101}, "steps is 101\n  give a whole number from 0 to 100"),
    "half": ({"steps": 0.5}, "steps is 0.5\n  give a whole number from 0 to 100"),
    "decay": ({"weight_decay": 2}, "weight_decay is 2\n  give a number from 0 to 1"),
    "token": (
        {"token": 11},
        "token is 11, and the target has 11 tokens, its end included\n  give a whole number from 0 to 10",
    ),
    "weight": (
        {"weight": "attention.w_b"},
        "weight='attention.w_b' is no parameter of this model\n  did you mean 'attention.w_a'?",
    ),
    "index": (
        {"weight": "attention.w_a", "index": (3, 64)},
        "index is [3, 64], and the parameter has the shape [64, 64]\n"
        "  give 2 whole numbers: 0 to 63 and 0 to 63",
    ),
    "bias": (
        {"weight": "decoder.bias_ih_l0", "index": (1, 2)},
        "index is [1, 2], and the parameter has the shape [192]\n  give 1 whole number: 0 to 191",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_in_words(models: dict[str, Model], case: str) -> None:
    options, said = WRONG[case]
    with pytest.raises(ConfigError) as caught:
        models["luong"].training_step(TEXT, ANSWER, **options)
    assert str(caught.value) == said


def test_texts_that_no_model_can_learn(models: dict[str, Model], workshop: Workshop) -> None:
    with pytest.raises(ConfigError, match="the text is empty"):
        models["rnn"].training_step(" ", ANSWER)
    with pytest.raises(LimitError, match="give a shorter one"):
        models["rnn"].training_step(TEXT, "1" * 2000)
    far = workshop.model(replace(SMALL, norm="none"), name="far")
    with pytest.raises(ConfigError) as caught:
        far.training_step("a man", "the dog", lr=1000, optimizer="sgd", steps=1)
    said = "after update 1 at the rate 1000 the loss is not finite\n  choose a smaller rate"
    assert str(caught.value) == said
    with torch.no_grad():
        far.model.head.fill_(torch.nan)  # type: ignore[operator, union-attr]
    with pytest.raises(RunError, match="the model gave numbers that are not finite"):
        far.training_step("a man", "the dog")


def test_it_says_how_far_it_is_and_can_be_stopped(models: dict[str, Model]) -> None:
    said: list[tuple[int, int | None]] = []
    models["luong"].training_step(
        TEXT, ANSWER, steps=2, rates=(0.1,), progress=lambda what, done, total: said.append((done, total))
    )
    assert said == [(n, 5) for n in range(5)]

    def stop(what: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        models["luong"].training_step(TEXT, ANSWER, progress=stop)
