"""Every tensor of a pass follows from the ones that it says it was made of: recomputed here in NumPy."""

from dataclasses import replace
from math import erf, pi, sqrt
from typing import Any

import numpy as np
import pytest
import torch

from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.models.sentences import Sentences
from jumok.models.shapes import trace_shapes
from jumok.models.tensor_rows import ShapeRow, ShapeTrace
from jumok.nn.patches import Patches
from jumok.text.tokenizer import BOS

SMALL: dict[str, Any] = {"width": 12, "heads": 3, "feedforward": 20, "encoder_layers": 2, "decoder_layers": 1}
CONFIGS: list[ModelConfig] = [
    RnnConfig(width=8, layers=2, cell="lstm", bidirectional=True),
    RnnConfig(width=8, layers=2, cell="gru", bidirectional=False),
    RnnConfig(width=8, cell="rnn", bidirectional=True),
    LuongConfig(width=8),
    LuongConfig(width=8, score="dot", cell="lstm"),
    LuongConfig(width=8, score="concat"),
    LuongConfig(width=8, score="concat", input_feeding=True, layers=2),
    TransformerConfig(**SMALL),
    TransformerConfig(**SMALL, norm="pre", positions="rotary", projection="split"),
    TransformerConfig(**SMALL, norm="pre", positions="learned", tied=False),
    TransformerConfig(**SMALL, norm="none", residual=False, scaled=False, positions="none"),
    TransformerConfig(**SMALL, copy=True),
    TransformerConfig(
        **SMALL, positions="relative", rms_norm=True, norm="pre", activation="gelu_tanh", gated=True
    ),
    TransformerConfig(
        **SMALL, positions="relative", scaled=False, rms_norm=True, activation="silu", head_width=5
    ),
    TransformerConfig(
        **SMALL,
        positions="learned",
        activation="gelu",
        embedding_norm=True,
        embedding_scaled=False,
        logits_bias=True,
    ),
    TransformerConfig(
        **SMALL, embedding_norm=True, rms_norm=True, norm="pre", gated=True, projection="split"
    ),
]
OPAQUE = {
    "h_t-1",
    "c_t-1",
    "h_final: the fixed vector, all that the decoder gets",
    "h_final, where the decoder starts",
    "[y_t-1; s̃_t-1]",
    "q(s)",
    "k(H)",
    "a = softmax(q kᵀ / √D)",
    "a H",
    "1 - g: the share copied",
    "logits",
}
"""What several steps make at once; logits only of a model that copies."""


def traced(config: ModelConfig, *, shared: bool = True) -> ShapeTrace:
    torch.manual_seed(3)
    model = build_model(config, 30, 30 if shared else 40, shared=shared).eval()
    for parameter in model.parameters():  # biases start at 0, and norms at 1: nothing would show
        parameter.data += 0.1 * torch.randn_like(parameter)
    source, target = (Sentences.lay([row], torch.device("cpu")) for row in ([5, 9, 7, 9, 2], [BOS, 6, 8, 11]))
    return trace_shapes(model, config, source, target, [6, 8, 11, 2])


def softmax(x: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True)) * (1 if mask is None else mask)
    return e / e.sum(-1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def heads(x: np.ndarray, like: tuple[int, ...]) -> np.ndarray:
    """(1, L, D) as (1, H, L, D / H) where the row has heads."""
    return x if len(like) == 3 else x.reshape(1, x.shape[1], like[1], -1).swapaxes(1, 2)


def gate(x: Any, h: Any, wx: Any, bx: Any, wh: Any, bh: Any, *r: Any, number: float | None) -> np.ndarray:
    count = wx.shape[1] // h.shape[-1]
    at = slice(int(number or 0) * h.shape[-1], (int(number or 0) + 1) * h.shape[-1])
    of_x, of_h = (x @ wx + bx)[..., at], (h @ wh + bh)[..., at]
    total = of_x + (r[0] * of_h if r else of_h)
    return np.tanh(total) if (count, number) in {(1, None), (3, 2), (4, 2)} else sigmoid(total)


def again(row: ShapeRow, x: list[np.ndarray]) -> np.ndarray:  # noqa: C901
    n = row.number
    match row.how:
        case "same":
            return x[0]
        case "lookup":
            return n * x[1][x[0]]
        case "product":
            made = x[0] @ x[1] + (x[2] if len(x) == 3 else 0)
            return heads(made, row.shape)
        case "sum":
            return x[0] + x[1]
        case "rotate":
            sin, cos = x[1][0, :, 0::2], x[1][0, :, 1::2]
            z = (x[0][..., 0::2] + 1j * x[0][..., 1::2]) * (cos + 1j * sin)
            return np.stack((z.real, z.imag), -1).reshape(x[0].shape)
        case "scores":
            return x[0] @ x[1].swapaxes(-1, -2)
        case "additive":
            return np.tanh(x[0][:, :, None] + x[1][:, None]) @ x[2]
        case "divide":
            return x[0] / n
        case "softmax":
            return softmax(x[0], x[1][:, None] if len(x) == 2 else None)
        case "weigh":
            return x[0] @ x[1]
        case "join":
            return x[0].swapaxes(1, 2).reshape(row.shape)
        case "beside":
            return np.concatenate(x, -1)
        case "mean":
            return x[0].mean(-1, keepdims=True)
        case "variance":
            return x[0].var(-1, keepdims=True)
        case "norm":
            return (x[0] - x[1]) / np.sqrt(x[2] + n) * x[3] + x[4]
        case "square":
            return (x[0] ** 2).mean(-1, keepdims=True)
        case "rms":
            return x[0] / np.sqrt(x[1] + n) * x[2]
        case "relu":
            return np.maximum(0, x[0])
        case "gelu":
            return x[0] * np.vectorize(lambda one: (1 + erf(one / sqrt(2))) / 2)(x[0])
        case "gelu_tanh":
            return x[0] * (1 + np.tanh(sqrt(2 / pi) * (x[0] + 0.044715 * x[0] ** 3))) / 2
        case "silu":
            return x[0] * sigmoid(x[0])
        case "times":
            return x[0] * x[1]
        case "tanh":
            return np.tanh(x[0])
        case "gate":
            return gate(*x, number=n)
        case "cell" if len(x) == 4:
            return x[1] * x[3] + x[0] * x[2]
        case "cell" if len(x) == 3:
            return (1 - x[0]) * x[1] + x[0] * x[2]
        case "cell":
            return x[0] * np.tanh(x[1])
        case "loss":
            return -np.log(np.take_along_axis(x[0], x[1][..., None], -1))[..., 0]
        case "average":
            return x[0].mean()
        case "pixels":
            return x[0] / n - 1
    raise AssertionError(row)


def check(found: ShapeTrace) -> set[str]:
    """Recompute all rows; the names of those that cannot be."""
    values = [
        np.concatenate([one.numpy() for one in steps], axis=1) if len(steps) > 1 else steps[0].numpy()
        for steps in found.values
    ]
    opaque = set()
    for row, value in zip(found.rows, values, strict=True):
        if row.how == "opaque":
            opaque.add(row.operation.rpartition(": ")[2] if "_t-1" in row.operation else row.operation)
        elif row.how != "given":
            whole = replace(row, shape=value.shape)
            inputs = [values[place] for place in row.inputs]
            np.testing.assert_allclose(again(whole, inputs), value, rtol=1e-4, atol=1e-5, err_msg=str(row))
    return opaque


@pytest.mark.parametrize("config", CONFIGS)
def test_every_tensor_follows_from_the_ones_that_made_it(config: ModelConfig) -> None:
    found = traced(config)
    opaque = check(found)
    assert opaque <= OPAQUE
    assert ("logits" in opaque) == (isinstance(config, TransformerConfig) and config.copy)
    made = [row for row in found.rows if row.how not in ("given", "opaque")]
    assert made
    assert all(row.inputs and all(place >= 0 for place in row.inputs) for row in made)


def test_a_mistake_would_be_found() -> None:
    found = traced(TransformerConfig(**SMALL))
    at = next(i for i, row in enumerate(found.rows) if row.operation == "self-attention: W_V")
    values = [list(one) for one in found.values]
    values[at] = [values[at][0] + 0.01]
    with pytest.raises(AssertionError, match="self-attention: V"):
        check(replace(found, values=tuple(map(tuple, values))))


def test_the_whole_chain_leads_from_the_loss_to_the_ids() -> None:
    found = traced(TransformerConfig(**SMALL))
    seen, left = set(), [len(found.rows) - 1]
    while left:
        place = left.pop()
        seen.add(place)
        left += [one for one in found.rows[place].inputs if one not in seen]
    assert seen == set(range(len(found.rows)))  # nothing that the loss does not depend on, nothing in the air


def test_a_source_vocabulary_of_its_own_has_its_own_letter() -> None:
    found = traced(TransformerConfig(**SMALL), shared=False)
    assert (found.sizes["V_src"], found.sizes["V"]) == (30, 40)


@pytest.mark.parametrize("config", [TransformerConfig(**SMALL), LuongConfig(width=8), RnnConfig(width=8)])
def test_a_picture_is_followed_from_its_bytes(config: ModelConfig) -> None:
    patches = Patches(6, 4)
    model = build_model(config, 0, 30, shared=False, patches=patches).eval()
    rows = torch.randint(0, 256, (4, 6), dtype=torch.uint8)
    source = Sentences.lay([[bytes(row.tolist()) for row in rows]], torch.device("cpu"))
    target = Sentences.lay([[BOS, 6]], torch.device("cpu"))
    found = trace_shapes(model, config, source, target, [6, 2])
    assert check(found) <= OPAQUE
    names = [row.operation for row in found.rows[:6]]
    assert names[:5] == ["patches", "patch / 127.5 - 1", "W", "b", "patch W + b"]
    assert "+ positions" not in [row.operation for row in found.rows if row.stage == "encoder"]


def test_only_what_is_asked_for_is_kept() -> None:
    config = TransformerConfig(**SMALL)
    model = build_model(config, 30, 30, shared=True).eval()
    source, target = (Sentences.lay([row], torch.device("cpu")) for row in ([5, 2], [BOS, 6]))
    found = trace_shapes(model, config, source, target, [6, 2], keep={0, 7})
    assert [place for place, values in enumerate(found.values) if values] == [0, 7]
    assert len(found.rows) == len(trace_shapes(model, config, source, target, [6, 2]).rows)
