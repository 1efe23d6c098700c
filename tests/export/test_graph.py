"""A graph built by hand runs and computes what its operators say."""

import numpy as np
import onnx
import onnxruntime
import torch

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
