"""An ONNX graph, written operator by operator: every method adds a node and gives the name of its result.

Letters in shapes: B batch, S source, T tokens written so far, D width, H heads, K width of one head.
"""

from importlib import import_module
from math import pi, sqrt
from typing import Any

import torch
from torch import Tensor

from jumok.nn.layers import EPSILON, Activation

OPSET, IR = 17, 8
"""The oldest that have layer norm as one operator: programs of 2022 and later read them."""
MASKED = -torch.inf

Shape = list[str | int]


class Graph:
    """One file of ONNX in the making. Names of values are strings; weights are stored once."""

    def __init__(self, name: str) -> None:
        self.onnx: Any = import_module("onnx")  # by name, so that it is needed only here
        self.name = name
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._constants: dict[str, Any] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """One node with one result."""
        return self.several(1, operator, *inputs, **attributes)[0]

    def several(self, count: int, operator: str, *inputs: str, **attributes: Any) -> list[str]:
        """One node with `count` results."""
        names = [f"{operator}_{len(self.nodes)}_{n}" for n in range(count)]
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), names, **attributes))
        return names

    def weight(self, name: str, tensor: Tensor) -> str:
        """Stored numbers under a name; the same name again is the same numbers."""
        if name not in self._constants:
            array = tensor.detach().contiguous().numpy()
            self._constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def integers(self, *numbers: int) -> str:
        """A list of whole numbers, for shapes and axes."""
        return self.weight(f"integers_{'_'.join(map(str, numbers))}", torch.tensor(numbers))

    def integer(self, number: int) -> str:
        return self.weight(f"integer_{number}", torch.tensor(number))

    def number(self, number: float) -> str:
        return self.weight(f"number_{number!r}", torch.tensor(number, dtype=torch.float32))

    def input(self, name: str, shape: Shape, kind: str = "FLOAT") -> str:
        self.inputs.append(self._value(name, shape, kind))
        return name

    def output(self, name: str, value: str, shape: Shape, kind: str = "FLOAT") -> None:
        """Hand a value out under a name of its own."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self._value(name, shape, kind))

    def _value(self, name: str, shape: Shape, kind: str) -> Any:
        number = getattr(self.onnx.TensorProto, kind)
        return self.onnx.helper.make_tensor_value_info(name, number, shape)

    def model(self) -> Any:
        """The finished ONNX model."""
        helper, weights = self.onnx.helper, list(self._constants.values())
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, weights)
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR, producer_name="jumok")

    # What both architectures are made of.

    def linear(self, x: str, name: str, weight: Tensor, bias: Tensor | None = None) -> str:
        """x W^T + b over the last axis; weight (out, in)."""
        y = self.add("MatMul", x, self.weight(f"{name}.weight", weight.T))
        return y if bias is None else self.add("Add", y, self.weight(f"{name}.bias", bias))

    def embed(self, name: str, table: Tensor, ids: str, scale: float = 1.0) -> str:
        """Rows of the table (V, D) by id, times the scale."""
        rows = self.add("Gather", self.weight(name, table), ids)
        return rows if scale == 1 else self.add("Mul", rows, self.number(scale))

    def log_probs(self, name: str, table: Tensor, states: str, bias: Tensor | None = None) -> str:
        """log softmax(states W^T + b): states (B, D), table (V, D), bias (V,) -> (B, V)."""
        added = [] if bias is None else [self.weight("logits_bias", bias)]
        logits = self.add("Gemm", states, self.weight(name, table), *added, transB=1)
        return self.add("LogSoftmax", logits, axis=-1)

    def layer_norm(self, x: str, name: str, weight: Tensor, bias: Tensor, epsilon: float = EPSILON) -> str:
        names = (self.weight(f"{name}.weight", weight), self.weight(f"{name}.bias", bias))
        return self.add("LayerNormalization", x, *names, axis=-1, epsilon=epsilon)

    def rms_norm(self, x: str, name: str, weight: Tensor, epsilon: float) -> str:
        """x / sqrt(mean(x²) + epsilon) * weight."""
        square = self.add("ReduceMean", self.add("Mul", x, x), axes=[-1], keepdims=1)
        root = self.add("Sqrt", self.add("Add", square, self.number(epsilon)))
        return self.add("Mul", self.add("Div", x, root), self.weight(f"{name}.weight", weight))

    def activate(self, x: str, activation: Activation) -> str:
        """Of numbers between two matrices; the operators of these names are younger than our opset."""
        half, one = self.number(0.5), self.number(1.0)
        match activation:
            case "relu":
                return self.add("Relu", x)
            case "silu":
                return self.add("Mul", x, self.add("Sigmoid", x))
            case "gelu":
                inner = self.add("Erf", self.add("Mul", x, self.number(sqrt(0.5))))
            case "gelu_tanh":
                cubed = self.add("Mul", self.add("Mul", x, self.add("Mul", x, x)), self.number(0.044715))
                inner = self.add(
                    "Tanh", self.add("Mul", self.add("Add", x, cubed), self.number(sqrt(2 / pi)))
                )
        return self.add("Mul", self.add("Mul", x, half), self.add("Add", inner, one))

    def size(self, x: str, axis: int) -> str:
        """One entry of the shape, as a single number."""
        return self.add("Gather", self.add("Shape", x), self.integer(axis))

    def count(self, begin: str, end: str) -> str:
        """begin, begin + 1, … up to before `end`."""
        return self.add("Range", begin, end, self.integer(1))

    def reshape(self, x: str, *shape: int) -> str:
        """0 keeps an axis, -1 is what is left."""
        return self.add("Reshape", x, self.integers(*shape))

    def unsqueeze(self, x: str, *axes: int) -> str:
        return self.add("Unsqueeze", x, self.integers(*axes))

    def split(self, x: str, widths: list[int], axis: int) -> list[str]:
        """The parts of these widths along one axis."""
        if len(widths) == 1:
            return [x]
        return self.several(len(widths), "Split", x, self.integers(*widths), axis=axis)

    def masked_softmax(self, scores: str, mask: str) -> str:
        """Softmax over the last axis with weight 0 where the mask is false."""
        seen = self.add("Where", mask, scores, self.weight("masked", torch.tensor(MASKED)))
        return self.add("Softmax", seen, axis=-1)

    def real_tokens(self, source: str, lengths: str) -> str:
        """(B, S), true at tokens that are no padding."""
        places = self.count(self.integer(0), self.size(source, 1))
        return self.add("Less", places, self.unsqueeze(lengths, 1))

    def attention(
        self, query: str, key: str, value: str, mask: str | None, width: int | None, bias: str | None = None
    ) -> str:
        """softmax(Q K^T / sqrt(d_k) + bias) V, heads joined: (B, H, T, K) -> (B, T, D).

        No width: not divided.
        """
        scores = self.add("MatMul", query, self.add("Transpose", key, perm=[0, 1, 3, 2]))
        if width is not None:
            scores = self.add("Mul", scores, self.number(1 / sqrt(width)))
        if bias is not None:
            scores = self.add("Add", scores, bias)
        weights = self.add("Softmax", scores, axis=-1) if mask is None else self.masked_softmax(scores, mask)
        context = self.add("Transpose", self.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        return self.reshape(context, 0, 0, -1)
