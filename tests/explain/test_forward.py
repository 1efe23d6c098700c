"""The tensors of one pass: each follows from the ones before it by the equation in its name."""

import numpy as np
import pytest

import jumok
from jumok.explain.forward import ForwardPass

TEXT, ANSWER = "5. März 2024", "2024-03-05"


@pytest.fixture(scope="module")
def deep() -> ForwardPass:
    return jumok.load("demo/transformer", "cpu").forward_pass(TEXT, ANSWER)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def test_a_layer_from_end_to_end(deep: ForwardPass) -> None:
    layer = "encoder layer 1"
    x = deep["encoder", "+ positions"]
    q, k, v = (deep[layer, f"self-attention: {name}"] for name in "QKV")
    scores = deep[layer, "self-attention: Q Kᵀ"]
    np.testing.assert_allclose(q @ k.swapaxes(-1, -2), scores, rtol=1e-4, atol=1e-4)
    weights = deep[layer, "self-attention: softmax(Q Kᵀ / √d_k)"]
    np.testing.assert_allclose(softmax(scores / np.sqrt(q.shape[-1])), weights, atol=1e-5)
    np.testing.assert_allclose(weights @ v, deep[layer, "self-attention: weights V"], atol=1e-4)
    total = x + deep[layer, "self-attention: Concat(heads) W_O"]
    np.testing.assert_allclose(total, deep[layer, "self-attention: add, x + f(x)"], atol=1e-4)
    normed = deep[layer, "self-attention: norm"]
    network = jumok.load("demo/transformer", "cpu", engine="torch").model
    first = network.encoder[0].add_attention.norm  # type: ignore[union-attr, index]
    scale, shift = (one.detach().numpy() for one in (first.weight, first.bias))  # type: ignore[union-attr]
    np.testing.assert_allclose(norm(total) * scale + shift, normed, atol=1e-4)
    total = normed + deep[layer, "FFN: h W_2 + b_2"]
    np.testing.assert_allclose(total, deep[layer, "FFN: add, x + f(x)"], atol=1e-4)
    assert (deep[layer, "FFN: h = max(0, x W_1 + b_1)"] >= 0).all()


def test_the_end_of_the_pass_is_the_loss_of_the_target(deep: ForwardPass) -> None:
    logits, p = deep["output", "logits"], deep["output", "p = softmax(logits)"]
    np.testing.assert_allclose(softmax(logits), p, atol=1e-6)
    model = jumok.load("demo/transformer", "cpu")
    assert deep["output", "loss = -1/N · sum log p(y)"] == pytest.approx(
        -model.score(TEXT, ANSWER).score_per_token, abs=1e-4
    )
    assert deep.target == ANSWER


def test_without_a_target_it_is_the_models_own_answer() -> None:
    model = jumok.load("demo/luong", "cpu")
    found = model.forward_pass(TEXT)
    assert found.target == model.translate(TEXT).text
    c = found["attention", "α_t = softmax(E_t)"] @ found["memory", "H, seen at every step"]
    np.testing.assert_allclose(c, found["attention", "c_t = α_t H"], atol=1e-5)
    both = np.concatenate((c, found["decoder", "s_t = Cell(y_t-1, s_t-1)"]), axis=-1)
    np.testing.assert_allclose(both, found["attention", "[c_t; s_t]"], atol=1e-5)


def test_numbers_are_read_only_and_a_wrong_name_says_what_there_is(deep: ForwardPass) -> None:
    with pytest.raises(ValueError, match="read-only"):
        deep["output", "logits"][0] = 0
    with pytest.raises(KeyError, match="no tensor .*decoder layer 9.*there are"):
        deep["decoder layer 9", "logits"]
    assert {one.stage for one in deep} >= {"source", "encoder layer 2", "decoder layer 2", "output"}
