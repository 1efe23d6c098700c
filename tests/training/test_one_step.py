"""What a training step says of itself."""

import json

import pytest

import jumok
from jumok.training.one_step import TrainingStep


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
