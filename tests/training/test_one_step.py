"""What a training step says of itself."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import jumok
from jumok.training.one_step import BackwardTensor, ParameterGradient, TrainingStep, UpdateRule, WeightUpdate


@pytest.fixture(scope="module")
def step() -> TrainingStep:
    return jumok.load("demo/luong", "cpu").training_step("03/05/2024", "2024-03-05", rates=(0.01, 0.1))


def test_its_document_is_plain_and_small(step: TrainingStep) -> None:
    plain = step.to_dict()
    said = json.dumps(plain, allow_nan=False)
    assert len(said) < 30_000
    assert [token["text"] for token in plain["tokens"]] == list(step.tokens)
    assert plain["loss_after"] == step.loss_after == pytest.approx(sum(plain["losses_after"]) / 11, rel=1e-5)
    assert plain["rates"] == [{"lr": lr, "loss": loss} for lr, loss in step.rates.items()]
    assert [one["operation"] for one in plain["tensors"]] == [one.operation for one in step.tensors[1:]]
    assert plain["vocabulary"] == 800
    assert "".join(plain["source_tokens"]).strip("␣ ") == "03/05/2024</s>"
    assert len(plain["source_tokens"]) == len(plain["tensors"][-1]["values"][0])


def test_numbers_are_read_only_and_a_wrong_name_says_what_there_is(step: TrainingStep) -> None:
    with pytest.raises(ValueError, match="read-only"):
        step["output", "logits"].gradient[0] = 0
    with pytest.raises(KeyError, match="no tensor .*'encoder'.*there are .*'attention', 'c_t = α_t H'"):
        step["encoder", "X"]


def small_step(row: int = 11) -> TrainingStep:
    """The second of two tokens, whose id is 3; logits of twelve, and a weight in the row of token `row`."""
    gradient = np.array([0.1, -0.2, 0.3, -0.9, 0.5, -0.3, 0.6, 0.7, -0.8, 0.05, 0.2, 0.01])
    logits = BackwardTensor("output", "logits", "V", np.log(np.arange(1.0, 13.0)), gradient)
    hidden = BackwardTensor("decoder", "h", "D", np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    return TrainingStep(
        source="ein",
        source_tokens=("ein", "</s>"),
        target="a",
        tokens=("a", "</s>"),
        ids=(5, 3),
        token=1,
        rule=UpdateRule("adam", 0.5, 7, (0.9, 0.99), 1e-8, 0.0),
        losses=np.array([1.0, 2.0]),
        losses_after=np.array([0.5, 1.0]),
        tensors=(logits, hidden),
        gradients=(ParameterGradient("W_out", (12, 2), 1.5),),
        weight=WeightUpdate("W_out", (row, 1), 0.1, 0.2, (0.3, -0.1), 0.4, 0.5, 0.6, 0.7, 0.8),
        rates={0.1: 1.25, 10.0: None},
    )


def test_eight_tokens_are_shown_by_their_gradients_with_the_right_one_and_the_weights() -> None:
    """Of equal gradients the first; whatever theirs are, the right token and the weight's row are there."""
    assert small_step().shown() == [3, 8, 7, 6, 4, 2, 5, 11]
    assert small_step(9).shown() == [3, 8, 7, 6, 4, 2, 5, 9]
    assert small_step(3).shown() == [3, 8, 7, 6, 4, 2, 5, 1]
    other = replace(small_step(), token=0, ids=(0, 3))
    assert other.shown() == [3, 8, 7, 6, 4, 2, 0, 11]
    elsewhere = replace(small_step(), weight=replace(small_step().weight, name="W_1", by_token=()))
    assert elsewhere.shown() == [3, 8, 7, 6, 4, 2, 5, 1]


def test_the_document_of_a_small_step() -> None:
    step = small_step()
    assert step.p.tolist() == pytest.approx([n / 78 for n in range(1, 13)])
    plain = step.to_dict(lambda id: f"<{id}>")
    [first, *_, last] = plain.pop("candidates")
    assert first == {
        "id": 3,
        "text": "<3>",
        "logit": pytest.approx(math.log(4)),
        "p": pytest.approx(4 / 78),
        "y": 1,
        "gradient": -0.9,
    }
    assert (last["id"], last["y"]) == (11, 0)
    assert plain == {
        "source": "ein",
        "source_tokens": ["ein", "</s>"],
        "target": "a",
        "token": 1,
        "rule": {
            "name": "adam",
            "lr": 0.5,
            "number": 7,
            "betas": (0.9, 0.99),
            "eps": 1e-8,
            "weight_decay": 0.0,
        },
        "tokens": [{"text": "a", "id": 5}, {"text": "</s>", "id": 3}],
        "loss": 1.5,
        "loss_after": 0.75,
        "losses": [1.0, 2.0],
        "losses_after": [0.5, 1.0],
        "vocabulary": 12,
        "tensors": [
            {"stage": "decoder", "operation": "h", "axes": "D", "values": [1.0, 2.0], "gradient": [3.0, 4.0]}
        ],
        "gradients": [{"name": "W_out", "shape": (12, 2), "norm": 1.5}],
        "weight": {
            "name": "W_out",
            "index": (11, 1),
            "before": 0.1,
            "gradient": 0.2,
            "by_token": (0.3, -0.1),
            "m_before": 0.4,
            "v_before": 0.5,
            "m": 0.6,
            "v": 0.7,
            "after": 0.8,
        },
        "rates": [{"lr": 0.1, "loss": 1.25}, {"lr": 10.0, "loss": None}],
    }
