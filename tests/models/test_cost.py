"""Predicted cost against what the real models have and do."""

import ast
import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.models.cache import KeyValues
from jumok.models.cost import count_parameters, forward_cost, measured_flops, parameters
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences

LAYERS = st.integers(1, 3)
recurrent: dict[str, Any] = {
    "cell": st.sampled_from(["rnn", "gru", "lstm"]),
    "width": st.integers(1, 12).map(lambda half: 2 * half),
    "layers": LAYERS,
    "bidirectional": st.booleans(),
    "tied": st.booleans(),
}
rnns = st.builds(RnnConfig, **recurrent)
luongs = st.builds(
    LuongConfig,
    **recurrent,
    score=st.sampled_from(["dot", "general", "concat"]),
    input_feeding=st.booleans(),
)


@st.composite
def transformers(draw: st.DrawFn) -> TransformerConfig:
    heads = draw(st.integers(1, 3))
    return TransformerConfig(
        encoder_layers=draw(LAYERS),
        decoder_layers=draw(LAYERS),
        heads=heads,
        width=heads * 2 * draw(st.integers(1, 5)),
        feedforward=draw(st.integers(1, 20)),
        norm=draw(st.sampled_from(["post", "pre", "none"])),
        residual=draw(st.booleans()),
        scaled=draw(st.booleans()),
        positions=draw(st.sampled_from(["sinusoidal", "learned", "rotary", "relative", "none"])),
        buckets=draw(st.sampled_from([4, 32])),
        head_width=draw(st.sampled_from([0, 2, 6])),
        gated=draw(st.booleans()),
        rms_norm=draw(st.booleans()),
        embedding_norm=draw(st.booleans()),
        logits_bias=draw(st.booleans()),
        max_positions=draw(st.integers(30, 40)),
        projection=draw(st.sampled_from(["merged", "split"])),
        tied=draw(st.booleans()),
        copy=draw(st.booleans()),
    )


configs = st.one_of(rnns, luongs, transformers())


@settings(deadline=None, max_examples=150)
@given(configs, st.integers(4, 30), st.integers(4, 30), st.booleans())
def test_parameters_equal_the_real_models(
    config: ModelConfig,
    V_s: int,
    V_t: int,
    shared: bool,  # noqa: FBT001
) -> None:
    V_s = V_t if shared else V_s
    model = build_model(config, V_s, V_t, shared=shared)
    predicted = parameters(config, V_s, V_t, shared=shared)
    assert sum(part.count for part in predicted) == count_parameters(model)


def test_parameters_of_the_papers_base_model() -> None:
    predicted = {p.part: p.count for p in parameters(TransformerConfig(), 37_000, 37_000, shared=True)}
    assert predicted == {
        "embedding": 37_000 * 512,
        "attention": 18 * 4 * (512 * 512 + 512),
        "feed-forward": 12 * (2 * 512 * 2048 + 2048 + 512),
        "norms": 30 * 2 * 512,
        "output": 0,
    }
    assert sum(predicted.values()) == 63_082_496  # 65 M in the paper's table 3


@pytest.mark.parametrize(
    ("norm", "formula", "norms"),
    [("post", "(2N_e + 3N_d)·2D", 30), ("pre", "(2N_e + 3N_d + 2)·2D", 32), ("none", "none", 0)],
)
def test_norms_by_formula(norm: Any, formula: str, norms: int) -> None:
    found = {p.part: p for p in parameters(TransformerConfig(norm=norm), 9, 9, shared=True)}["norms"]
    assert (found.formula, found.count) == (formula, norms * 2 * 512)


class ProductOutputs(TorchDispatchMode):
    """Sums the numbers that matrix products give."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func._schema.name in ("aten::mm", "aten::addmm", "aten::bmm", "aten::mv"):
            self.numbers += out.numel()
        return out


@settings(deadline=None, max_examples=25)
@given(configs, st.integers(2, 30), st.integers(2, 30))
def test_flops_and_activations_equal_what_torch_counts(config: ModelConfig, S: int, T: int) -> None:
    model = build_model(config, 20, 20, shared=True).double().eval()
    predicted = forward_cost(config, S, T, 20)
    unseen = 2 * S * T * config.width if isinstance(config, LuongConfig) and config.score == "concat" else 0
    assert predicted.flops == measured_flops(model, S, T) + unseen  # torch counts no matrix times vector
    with torch.no_grad(), ProductOutputs() as outputs:
        run(model, S, T)
    assert predicted.activation_bytes == 4 * outputs.numbers


def run(model: Seq2Seq, S: int, T: int) -> None:
    """A forward pass stage by stage, in float64: no kernel hides its products."""
    source, target = (Sentences.lay([[0] * n], torch.device("cpu")) for n in (S, T))
    model.using(RecordingBackend())(source, target).logits()


def numbers(value: object) -> dict[int, int]:
    """Where the numbers of a decoding state lie, and how many; masks and row numbers left out."""
    if isinstance(value, torch.Tensor):
        return {value.data_ptr(): value.numel()} if value.is_floating_point() else {}
    if isinstance(value, KeyValues):
        return numbers((value.keys, value.values))
    parts = value if isinstance(value, tuple) else vars(value).values() if hasattr(value, "__dict__") else ()
    return {place: count for part in parts for place, count in numbers(part).items()}


@settings(deadline=None, max_examples=30)
@given(configs, st.integers(1, 9), st.integers(1, 9))
def test_state_bytes_equal_the_state_after_t_steps(config: ModelConfig, S: int, T: int) -> None:
    model = build_model(config, 20, 20, shared=True).eval()
    with torch.no_grad():
        state = model.start(model.encode(Sentences.lay([[0] * S], torch.device("cpu"))))
        for _ in range(T):
            _, state = model.step(torch.zeros(1, dtype=torch.int64), state)
    assert forward_cost(config, S, T, 20).state_bytes == 4 * sum(numbers(state).values())


def test_attention_grows_with_the_square_of_the_length_and_the_rest_in_proportion() -> None:
    short, long = (forward_cost(TransformerConfig(), n, n, 8000) for n in (100, 200))
    growth = {a.part: b.flops / a.flops for a, b in zip(short.work, long.work, strict=True)}
    assert growth == {"projections": 2, "attention": 4, "feed-forward": 2, "output": 2}


@pytest.mark.parametrize(
    "config",
    [
        RnnConfig(cell="lstm"),
        LuongConfig(),
        TransformerConfig(),
        TransformerConfig(copy=True),
        TransformerConfig(positions="relative", gated=True, rms_norm=True, norm="pre", head_width=40),
        TransformerConfig(embedding_norm=True, logits_bias=True, tied=False),
        TransformerConfig(embedding_norm=True, norm="none", logits_bias=True),
        TransformerConfig(embedding_norm=True, norm="pre"),
    ],
)
def test_formulas_written_beside_the_numbers_give_them(config: ModelConfig) -> None:
    names = {"S": 30, "T": 20, "D": config.width, "V": 8000, "G": 3, "d": 2, "N": 1}
    if isinstance(config, TransformerConfig):
        names |= {"F": 2048, "N_e": 6, "N_d": 6, "H": 8, "E": 8 * config.d_k, "R": 32}
    if isinstance(config, RnnConfig):
        names |= {"G": 4, "d": 1}
    names |= {"h": config.width // names["d"], "D_in": config.width}
    for part in forward_cost(config, 30, 20, 8000).work:
        assert value_of(part.formula, names) == part.flops, part
    for part in parameters(config, 8000, 8000, shared=True):
        assert part.formula == "tied" or value_of(part.formula, names) == part.count, part


def value_of(formula: str, names: dict[str, int]) -> int:
    """A printed formula's value: `2DF` and `2·D·F` are products, `²` squares."""
    words = re.findall(r"N_e|N_d|D_in|[A-Za-z]|[0-9]+|²|[-+()·]", formula)
    text = ""
    for before, word in zip(["(", *words], words, strict=False):
        beside = before not in ("(", "+", "-", "·") and word not in (")", "+", "-", "·", "²")
        text += "*" * beside + {"²": "**2", "·": "*"}.get(word, str(names.get(word, word)))
    return calculate(ast.parse(text, mode="eval").body)


def calculate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    assert isinstance(node, ast.BinOp)
    left, right = calculate(node.left), calculate(node.right)
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case _:
            return int(left**right)
