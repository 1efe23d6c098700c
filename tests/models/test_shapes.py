"""The shape trace against the notes and against the tensors themselves."""

from typing import Any

import pytest
import torch

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TextConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.models.shapes import trace_shapes
from jumok.models.tensor_rows import ShapeTrace
from jumok.text.tokenizer import BOS, EOS, Tokenizers, train_tokenizer

CONFIGS: list[ModelConfig] = [
    RnnConfig(width=8, layers=2, cell="lstm", bidirectional=True),
    LuongConfig(width=8),
    LuongConfig(width=8, score="dot"),
    LuongConfig(width=8, score="concat", input_feeding=True),
    TransformerConfig(width=12, heads=3, feedforward=20, encoder_layers=2, decoder_layers=1),
    TransformerConfig(width=12, heads=2, feedforward=20, norm="pre", positions="rotary", projection="split"),
    TransformerConfig(width=12, heads=2, feedforward=20, norm="none", residual=False, scaled=False),
]


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    config = TextConfig(kind="char", vocabulary=400)
    return Tokenizers(train_tokenizer(["3 May 2024"], config), train_tokenizer(["2024-05-03"], config))


def laid(source: list[int], target: list[int]) -> tuple[Sentences, Sentences]:
    rows = [*source, EOS], [BOS, *target]
    return tuple(Sentences.lay([row], torch.device("cpu")) for row in rows)  # type: ignore[return-value]


def shapes_of(model: Seq2Seq, config: ModelConfig, source: list[int], target: list[int]) -> ShapeTrace:
    return trace_shapes(model, config, *laid(source, target))


def trace(config: ModelConfig, tokenizers: Tokenizers) -> tuple[Seq2Seq, ShapeTrace]:
    sizes = tokenizers.source.size, tokenizers.target.size
    model = build_model(config, *sizes, shared=False).eval()
    return model, shapes_of(
        model, config, tokenizers.source.encode("3 May 2024"), tokenizers.target.encode("2024-05-03")
    )


@pytest.mark.parametrize("config", CONFIGS)
def test_letters_and_numbers_agree_in_every_row(config: ModelConfig, tokenizers: Tokenizers) -> None:
    _, found = trace(config, tokenizers)
    sizes = {"B": 1, "S": 11, "T": 11, "D": config.width, "V": tokenizers.target.size}
    assert found.sizes.items() >= sizes.items()
    for row in found.rows:
        letters = filter(None, row.axes.strip("[]").split(","))
        D = config.width
        wide = {"D/2": D // 2, "3D/2": 3 * D // 2, "2D": 2 * D, "3D": 3 * D, "4D": 4 * D}
        values = found.sizes | wide | {"1": 1}
        assert tuple(values[letter] for letter in letters) == row.shape, row
    assert found.path == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"


def test_the_models_own_back_end_stays(tokenizers: Tokenizers) -> None:
    model = build_model(RnnConfig(width=8), 400, 400, shared=True)
    before = model.ops
    shapes_of(model, RnnConfig(width=8), [5], [6])
    assert model.ops is before


def test_rows_are_the_shapes_of_the_models_own_tensors(tokenizers: Tokenizers) -> None:
    config = TransformerConfig(width=12, heads=3, feedforward=20, encoder_layers=2, decoder_layers=1)
    model, found = trace(config, tokenizers)
    source, target = laid(tokenizers.source.encode("3 May 2024"), tokenizers.target.encode("2024-05-03"))
    ops = RecordingBackend(record=True)
    memory = model.using(ops).encode(source)
    logits, own = model.using(ops).decode(target, memory).logits(), ops.stages
    shapes = {(row.stage, row.operation): row.shape for row in found.rows}
    assert shapes["memory", "seen by every decoder layer"] == (1, *memory.states.shape)
    assert shapes["encoder layer 2", "self-attention: Q Kᵀ"] == own["enc_self", 1].scores.shape
    assert shapes["decoder layer 1", "masked self-attention: V"] == own["dec_self", 0].value.shape
    assert shapes["decoder layer 1", "cross-attention: softmax(Q Kᵀ / √d_k)"] == own["cross", 0].weights.shape
    assert shapes["output", "logits"] == (1, *logits.shape)


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        ({}, ["add, x + f(x)", "norm"]),
        ({"norm": "pre"}, ["add, x + f(x)", "norm"]),
        ({"norm": "none"}, ["add, x + f(x)"]),
        ({"residual": False}, ["norm"]),
        ({"residual": False, "norm": "pre"}, ["norm"]),
        ({"residual": False, "norm": "none"}, []),
    ],
)
def test_rows_say_what_follows_a_sub_layer(
    change: dict[str, Any], ends: list[str], tokenizers: Tokenizers
) -> None:
    config = TransformerConfig(
        width=12, heads=3, feedforward=20, encoder_layers=1, decoder_layers=1, **change
    )
    _, found = trace(config, tokenizers)
    names = [row.operation for row in found.rows if row.stage == "decoder layer 1"]
    for sublayer in ("masked self-attention", "cross-attention", "FFN"):
        after = [name.partition(": ")[2] for name in names if name.startswith(f"{sublayer}: ")]
        assert [words for words in after if words.startswith(("add", "norm"))] == ends


def test_rows_of_a_model_that_does_not_divide_say_so(tokenizers: Tokenizers) -> None:
    config = TransformerConfig(
        width=12, heads=3, feedforward=20, encoder_layers=1, decoder_layers=1, scaled=False
    )
    names = [row.operation for row in trace(config, tokenizers)[1].rows]
    assert "cross-attention: softmax(Q Kᵀ)" in names
    assert not any("√d_k" in name for name in names)


def test_rows_of_a_model_that_copies_show_where_it_points(tokenizers: Tokenizers) -> None:
    source = tokenizers.source
    config = TransformerConfig(width=12, heads=2, feedforward=20, copy=True)
    model = build_model(config, source.size, source.size, shared=True).eval()
    found = shapes_of(model, config, source.encode("3 May 2024"), source.encode("2024"))
    rows = {row.operation: row.shape for row in found.rows if row.stage == "copying"}
    assert rows == {
        "q(s)": (1, 5, 12),
        "k(H)": (1, 11, 12),
        "a = softmax(q kᵀ / √D)": (1, 5, 11),
        "a H": (1, 5, 12),
        "1 - g: the share copied": (1, 5, 1),
    }


def test_the_fixed_vector_is_named(tokenizers: Tokenizers) -> None:
    _, found = trace(RnnConfig(width=8), tokenizers)
    known = [(row.stage, row.operation, row.axes) for row in found.rows if row.operation[:5] != "layer"]
    assert known == [
        ("source", "ids", "[B,S]"),
        ("encoder", "W_emb", "[V_src,D]"),
        ("encoder", "X, embedding", "[B,S,D]"),
        ("memory", "H, which the decoder never sees", "[B,S,D]"),
        ("memory", "h_final: the fixed vector, all that the decoder gets", "[B,N,C,D]"),
        ("target", "ids, shifted right", "[B,T]"),
        ("decoder", "W_emb", "[V,D]"),
        ("decoder", "y, embedding", "[B,T,D]"),
        ("decoder", "s_t = Cell(y_t-1, s_t-1)", "[B,T,D]"),
        ("output", "W_out", "[D,V]"),
        ("output", "logits", "[B,T,V]"),
        ("output", "p = softmax(logits)", "[B,T,V]"),
        ("output", "y, the right ids", "[B,T]"),
        ("output", "-log p(y), of each token", "[B,T]"),
        ("output", "loss = -1/N · sum log p(y)", "[]"),
    ]
    plain = {"W_emb", "W_out", "y, the right ids", "-log p(y), of each token"}
    outline = [row.operation for row in found.outline().rows]
    assert outline == [operation for _, operation, _ in known if operation not in plain]


def test_luong_rows_follow_the_note(tokenizers: Tokenizers) -> None:
    _, found = trace(LuongConfig(width=8), tokenizers)
    rows = [(row.operation, row.axes) for row in found.rows if row.stage == "attention"]
    assert rows == [
        ("W_a", "[D,D]"),
        ("s_t W_a", "[B,T,D]"),
        ("E_t = (s_t W_a) Hᵀ", "[B,T,S]"),
        ("α_t = softmax(E_t)", "[B,T,S]"),
        ("c_t = α_t H", "[B,T,D]"),
        ("[c_t; s_t]", "[B,T,2D]"),
        ("W_c", "[2D,D]"),
        ("[c_t; s_t] W_c", "[B,T,D]"),
        ("s̃_t = tanh([c_t; s_t] W_c)", "[B,T,D]"),
    ]


def test_input_feeding_shows_its_steps(tokenizers: Tokenizers) -> None:
    _, found = trace(LuongConfig(width=8, input_feeding=True), tokenizers)
    times = {row.operation: n for row, n in zip(found.rows, found.times, strict=True)}
    assert times["s̃_t = tanh([c_t; s_t] W_c)"] == 11
    assert times["α_t = softmax(E_t)"] == 11


def test_to_dict_is_plain(tokenizers: Tokenizers) -> None:
    _, found = trace(RnnConfig(width=8), tokenizers)
    plain = found.to_dict()
    assert plain["rows"][0] == {
        "stage": "source",
        "operation": "ids",
        "axes": "[B,S]",
        "shape": (1, 11),
        "dtype": "int64",
        "times": 1,
    }
