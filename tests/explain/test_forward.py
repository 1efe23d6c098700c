"""The tensors of one pass: each follows from the ones before it by the equation in its name."""

from pathlib import Path

import numpy as np
import pytest
import torch

import jumok
from jumok.explain.forward import ForwardPass, check_place, part_of, whole
from jumok.explain.tensors import TensorNeed

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


@pytest.mark.parametrize("arch", ["transformer", "luong", "rnn"])
def test_a_trace_has_the_same_pass_and_its_numbers_by_place(arch: str) -> None:
    model = jumok.load(f"demo/{arch}", "cpu")
    own, trace = model.forward_pass(TEXT, ANSWER), model.trace(TEXT, ANSWER)
    rows = trace.forward()["tensors"]
    assert [(row["stage"], row["operation"], row["axes"]) for row in rows] == [
        (one.stage, one.operation, one.axes) for one in own
    ]
    needs = [f"forward.tensor:{place}" for place in range(len(rows))]
    for (_, found), one, row in zip(trace.tensors(needs), own, rows, strict=True):
        np.testing.assert_allclose(found, one.values, atol=1e-6)
        assert list(found.shape) == row["shape"]
    last = len(rows) - 3  # ids of the answer
    np.testing.assert_array_equal(trace.tensor(f"forward.tensor:{last}.1"), own.tensors[last].values[0, 1])
    np.testing.assert_array_equal(trace.tensor("forward.tensor", 1, 7), own.tensors[1].values[7])


@pytest.mark.parametrize(
    ("need", "reason"),
    [
        ("forward.tensor", "(?s)names no tensor of the pass.*such as forward.tensor:4"),
        ("forward.numbers:1", "forward.numbers names no tensor"),
        ("forward.tensor:999", "the pass has 213 tensors, and 999 was asked for"),
        ("forward.tensor:0.11", "tensor 0 has 11 parts, counted from 0, and part 11 was asked for"),
        ("forward.tensor:212.0", "tensor 212 is one number, and part 0 was asked for"),
    ],
)
def test_a_place_that_is_not_there_says_what_is(need: str, reason: str) -> None:
    trace = jumok.load("demo/transformer", "cpu").trace(TEXT, ANSWER)
    with pytest.raises(jumok.ConfigError, match=reason):
        trace.tensor(need)


def test_places_and_parts_do_not_count_from_the_end() -> None:
    trace = jumok.load("demo/rnn", "cpu").trace(TEXT, ANSWER)
    count = len(trace.forward()["tensors"])
    for place in (-1, count):
        with pytest.raises(jumok.ConfigError, match=f"and {place} was asked for\n  .*: 0 to {count - 1}"):
            trace.tensor("forward.tensor", place)
    with pytest.raises(jumok.ConfigError, match="tensor 0 has .* parts, counted from 0, and part -1 was"):
        trace.tensor("forward.tensor", 0, -1)
    assert trace.tensor("forward.tensor", count - 1).shape == ()


def test_a_changed_model_and_a_file_have_no_forward_pass(tmp_path: Path) -> None:
    model = jumok.load("demo/transformer", "cpu")
    edited = model.edit(jumok.mask_head("cross", 0, 0)).trace(TEXT, ANSWER)
    with pytest.raises(jumok.ConfigError, match="(?s)shows the model as it is.*without them"):
        edited.forward()
    saved = model.trace(TEXT, ANSWER).save(tmp_path / "one.trace")
    with pytest.raises(jumok.ConfigError, match="a file that was saved without the forward pass"):
        jumok.open_trace(saved).tensor("forward.tensor:0")


def test_an_answer_that_was_cut_has_no_end() -> None:
    model = jumok.load("demo/luong", "cpu")
    trace = model.trace(TEXT, max_len=3)
    rows = trace.forward()["tensors"]
    right = next(place for place, row in enumerate(rows) if row["operation"] == "y, the right ids")
    assert trace.tensor(f"forward.tensor:{right}").tolist() == [trace.target_ids]
    assert len(trace.target_ids) == 3


def test_the_steps_of_a_loop_are_one_tensor_that_numpy_has() -> None:
    one, two = torch.ones(1, 1, 3), torch.full((1, 1, 3), 2.5)
    joined = whole([one, two.bfloat16()])
    assert joined.tolist() == [[[1.0] * 3, [2.5] * 3]]
    alone = whole([two.bfloat16()])
    assert (alone.dtype, alone.shape, alone.flags.writeable) == (np.float32, (1, 1, 3), False)
    assert whole([torch.tensor([[5, 6]])]).dtype == np.int64


def test_a_part_is_along_the_first_axis_after_the_batch() -> None:
    values = np.arange(12).reshape(1, 3, 4)
    need = TensorNeed("forward", "tensor", 0, 2)
    assert part_of(values, need, "[B,S,D]").tolist() == [8, 9, 10, 11]
    assert part_of(values[0], need, "[V,D]").tolist() == [8, 9, 10, 11]
    assert part_of(values, TensorNeed("forward", "tensor", 0), "[B,S,D]") is values
    rows = [{"axes": "[V,D]", "shape": [3, 4]}, {"axes": "[B,S]", "shape": [1, 3]}]
    assert [check_place(TensorNeed("forward", "tensor", place, 2), rows) for place in (0, 1)] == [0, 1]
    for place in (0, 1):
        with pytest.raises(jumok.ConfigError, match=f"tensor {place} has 3 parts, .* part 3 was asked for"):
            check_place(TensorNeed("forward", "tensor", place, 3), rows)
