"""A graph built by hand runs and computes what its operators say."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch.nn import functional as F

from jumok.export.graph import IR, OPSET, Graph


def run(graph: Graph, **values: np.ndarray) -> list[np.ndarray]:
    model = graph.model()
    onnx.checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, values)


def test_the_file_is_of_an_old_enough_kind() -> None:
    graph = Graph("small")
    graph.output("y", graph.add("Relu", graph.input("x", [2])), [2])
    model = graph.model()
    assert (model.ir_version, model.opset_import[0].version) == (IR, OPSET)
    assert run(graph, x=np.array([-1, 2], dtype=np.float32))[0].tolist() == [0, 2]


def test_the_same_name_is_stored_once() -> None:
    graph, table = Graph("small"), torch.eye(3)
    ids = graph.input("ids", ["batch"], "INT64")
    rows = graph.embed("table", table, ids, 2.0)
    graph.output("y", graph.log_probs("table", table, rows), ["batch", 3])
    assert [one.name for one in graph.model().graph.initializer].count("table") == 1
    expected = (2 * torch.eye(3)[[2, 0]]).log_softmax(dim=-1)
    np.testing.assert_allclose(run(graph, ids=np.array([2, 0]))[0], expected, rtol=1e-6)


def test_masked_places_get_no_weight_at_all() -> None:
    graph = Graph("small")
    scores = graph.input("scores", ["batch", "length"])
    mask = graph.real_tokens(scores, graph.input("lengths", ["batch"], "INT64"))
    graph.output("y", graph.masked_softmax(scores, mask), ["batch", "length"])
    given = np.array([[0, 0, 50], [1, 1, 1]], dtype=np.float32)
    [weights] = run(graph, scores=given, lengths=np.array([2, 1]))
    assert weights.tolist() == [[0.5, 0.5, 0], [1, 0, 0]]


def test_splitting_into_one_part_adds_nothing() -> None:
    graph = Graph("small")
    assert graph.split("x", [4], axis=0) == ["x"]
    assert graph.nodes == []


@pytest.mark.parametrize("width", [4, None])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_attention_is_that_of_torch(width: int | None, *, masked: bool, biased: bool) -> None:
    torch.manual_seed(0)
    B, H, T, S, K = 2, 3, 5, 6, 4
    q, k, v = torch.randn(B, H, T, K), torch.randn(B, H, S, K), torch.randn(B, H, S, K)
    seen, bias = torch.ones(B, 1, 1, S, dtype=torch.bool), torch.randn(1, H, T, S)
    seen[0, ..., 3:] = False
    graph, given = Graph("small"), {"q": q, "k": k, "v": v}
    names = [graph.input(name, list(x.shape)) for name, x in given.items()]
    mask = graph.input("mask", [B, 1, 1, S], "BOOL") if masked else None
    more = graph.input("bias", [1, H, T, S]) if biased else None
    graph.output("y", graph.attention(*names, mask, width, more), [B, T, H * K])
    given |= ({"mask": seen} if masked else {}) | ({"bias": bias} if biased else {})
    [found] = run(graph, **{name: x.numpy() for name, x in given.items()})
    added = (bias if biased else torch.zeros(1)).expand(B, H, T, S)
    added = added.masked_fill(~seen, -torch.inf) if masked else added
    scale = 1 / 2 if width else 1.0
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale)
    np.testing.assert_allclose(found, wanted.transpose(1, 2).flatten(2), atol=1e-6)


def in_onnx(x: torch.Tensor, part: Callable[[Graph, str], str]) -> np.ndarray:
    """What becomes of a tensor."""
    graph = Graph("small")
    graph.output("y", part(graph, graph.input("x", list(x.shape))), list(x.shape))
    return run(graph, x=x.numpy())[0]


def test_norms_are_those_of_torch_for_each_token() -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(2, 3, 5), torch.randn(5), torch.randn(5)
    found = in_onnx(x, lambda graph, name: graph.layer_norm(name, "norm", weight, bias, 0.1))
    np.testing.assert_allclose(found, F.layer_norm(x, (5,), weight, bias, 0.1), atol=1e-6)
    found = in_onnx(x, lambda graph, name: graph.rms_norm(name, "norm", weight, 0.1))
    np.testing.assert_allclose(found, F.rms_norm(x, (5,), weight, 0.1), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("relu", F.relu),
        ("silu", F.silu),
        ("gelu", F.gelu),
        ("gelu_tanh", partial(F.gelu, approximate="tanh")),
    ],
)
def test_activations_are_those_of_torch(name: Any, plain: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.linspace(-4, 4, 33)
    found = in_onnx(x, lambda graph, given: graph.activate(given, name))
    np.testing.assert_allclose(found, plain(x), atol=1e-6)


def test_a_product_of_every_token_with_and_without_a_bias() -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(2, 3, 4), torch.randn(4, 4), torch.randn(4)
    for added in (bias, None):
        found = in_onnx(x, lambda graph, name, added=added: graph.linear(name, "w", weight, added))
        np.testing.assert_allclose(found, F.linear(x, weight, added), atol=1e-6)


def test_logits_may_have_a_bias() -> None:
    torch.manual_seed(0)
    x, table, bias = torch.randn(2, 3), torch.randn(3, 3), torch.randn(3)
    found = in_onnx(x, lambda graph, name: graph.log_probs("table", table, name, bias))
    np.testing.assert_allclose(found, F.linear(x, table, bias).log_softmax(dim=-1), atol=1e-6)
