from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.architectures import LuongConfig, ModelConfig, TransformerConfig
from jumok.errors import ModelError
from jumok.native.library import available
from jumok.native.weights import (
    PackedWeights,
    Type,
    differences,
    layout,
    pack_weights,
    padded,
    parameter_count,
    unpack_weights,
    wrong_weights,
)

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("shared", [True, False])
def test_what_is_packed_comes_back_bit_for_bit(name: str, *, shared: bool) -> None:
    config = CONFIGS[name]
    _, arrays = make(config, shared=shared)
    found = unpack_weights(config, pack_weights(config, arrays, shared=shared), shared=shared)
    assert found.keys() == arrays.keys()
    for key, array in arrays.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_are_counted_once(name: str) -> None:
    config = CONFIGS[name]
    for shared, left in ((True, VOCABULARY), (False, 265)):
        model, _ = make(config, shared=shared)
        count = parameter_count(config, left, VOCABULARY, shared=shared)
        assert count == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", CONFIGS)
def test_codes_are_within_half_a_step(name: str) -> None:
    config = CONFIGS[name]
    _, arrays = make(config)
    parts = pack_weights(config, arrays, shared=True, type="int8")
    found = unpack_weights(config, parts, shared=True)
    for part in layout(config, VOCABULARY, VOCABULARY):
        assert parts[part.name].type == ("int8" if part.packed else "float32")
        wanted, got = part.matrix(arrays[part.weight]), part.matrix(found[part.weight])
        step = np.abs(wanted).max(axis=1, keepdims=True) / 127 if part.packed else 0
        assert (np.abs(wanted - got) <= step * 0.5001).all(), part.name
        if part.bias:
            np.testing.assert_array_equal(found[part.bias], arrays[part.bias])


def test_what_is_tied_or_shared_is_packed_once() -> None:
    _, arrays = make(CONFIGS["transformer"])
    parts = pack_weights(CONFIGS["transformer"], arrays, shared=True)
    assert parts["output"] is parts["target_embedding"] is parts["source_embedding"]
    _, arrays = make(CONFIGS["pre"], shared=False)
    parts = pack_weights(CONFIGS["pre"], arrays)
    assert len({id(parts[name]) for name in ("output", "target_embedding", "source_embedding")}) == 3


def test_one_embedding_may_be_stored_once() -> None:
    _, arrays = make(CONFIGS["rnn"])
    del arrays["source_embedding.weight"]
    parts = pack_weights(CONFIGS["rnn"], arrays)
    assert parts["source_embedding"] is parts["target_embedding"]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_packed_memory_is_laid_out_as_the_header_says(rows: int, columns: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    config = TransformerConfig(width=2, heads=1, feedforward=2, encoder_layers=1, decoder_layers=1)
    _, arrays = make(config)
    embedding = np.resize(matrix, (max(rows, 1), 2))
    arrays["target_embedding.weight"] = arrays["source_embedding.weight"] = embedding
    for kind in ("float32", "int8"):
        one = pack_weights(config, arrays, shared=True, type=kind)["output"]
        assert one.data.ctypes.data % 64 == 0
        assert (one.rows, one.columns) == embedding.shape
        blocks = ceil(len(embedding) / 16)
        size = blocks * 2 * 16 * 4 if kind == "float32" else blocks * 16 * 4
        assert one.data.nbytes == size
        if kind == "float32":
            np.testing.assert_array_equal(one.data.reshape(blocks, 2, 16)[0, 1, 0], embedding[0, 1])
    assert padded(rows) % 16 == 0
    assert 0 <= padded(rows) - rows < 16


@pytest.mark.parametrize("kind", ["float32", "int8"])
@pytest.mark.parametrize("name", ["target_embedding.weight", "encoder.0.feedforward.inner.bias"])
def test_numbers_that_are_not_finite_are_named(name: str, kind: Type) -> None:
    _, arrays = make(CONFIGS["transformer"])
    arrays[name].flat[3] = np.nan
    with pytest.raises(
        ModelError, match=f"{name}: 1 of .* numbers are not finite\n  here\n  the weights are"
    ):
        pack_weights(CONFIGS["transformer"], arrays, shared=True, type=kind, where="here")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder.0.cross.output.linear.bias": None}, "decoder.0.cross.output.linear.bias is missing"),
        ({"more": np.zeros(2, np.float32)}, "more is unexpected"),
        ({"encoder_norm.weight": np.zeros(3, np.float32)}, "encoder_norm.weight is unexpected"),
        (
            {"encoder.0.feedforward.inner.bias": np.zeros(3, np.float32)},
            r"encoder.0.feedforward.inner.bias is float32 \(3,\), not float32 \(20,\)",
        ),
        (
            {"encoder.0.feedforward.inner.bias": np.zeros(20, np.int64)},
            r"encoder.0.feedforward.inner.bias is int64 \(20,\), not float32 \(20,\)",
        ),
        (
            {"target_embedding.weight": None, "source_embedding.weight": None},
            "target_embedding.weight is miss",
        ),
    ],
)
def test_weights_of_another_model_are_named(change: dict[str, np.ndarray | None], message: str) -> None:
    _, arrays = make(CONFIGS["transformer"])
    changed = {name: array for name, array in (arrays | change).items() if array is not None}
    with pytest.raises(ModelError, match=f"the weights do not fit the model's settings: {message}"):
        pack_weights(CONFIGS["transformer"], changed, shared=True)


def test_a_vocabulary_of_another_size() -> None:
    _, arrays = make(CONFIGS["rnn"])
    with pytest.raises(
        ModelError, match=r"target_embedding.weight is float32 \(277, 8\), not float32 \(300, 8\)"
    ):
        pack_weights(CONFIGS["rnn"], arrays, shared=True, sizes=(300, 300))


def test_a_forged_number_of_layers_takes_no_time() -> None:
    _, arrays = make(CONFIGS["transformer"])
    forged = TransformerConfig(width=12, heads=2, encoder_layers=1024)
    with pytest.raises(ModelError, match="config.json has 1,030 layers, and the file "):
        pack_weights(forged, arrays, shared=True)


def test_half_precision_is_widened() -> None:
    _, arrays = make(CONFIGS["rnn"])
    half = {name: array.astype(np.float16) for name, array in arrays.items()}
    found = pack_weights(CONFIGS["rnn"], half, shared=True)["output"]
    assert isinstance(found, PackedWeights)
    np.testing.assert_array_equal(found.unpacked(), half["target_embedding.weight"].astype(np.float32))


def test_five_faults_are_named_and_the_others_counted() -> None:
    few, many = ([f"a{n} is missing" for n in range(count)] for count in (5, 6))
    said = "the weights do not fit the model's settings: a0 is missing; a1 is missing; a2 is missing; a3 is missing; a4 is missing"  # noqa: E501
    hint = "\n  here\n  config.json and the weights come from different models: copy the folder again"
    assert str(wrong_weights(few, "here")) == said + hint
    assert str(wrong_weights(many, "here")) == f"{said}, and 1 more{hint}"
    assert wrong_weights(few, "here").code == "wrong_weights"


def test_differences_are_missing_then_unexpected_then_of_another_shape() -> None:
    expected = {"a": ("float32", (2,)), "b": ("float32", (3, 4)), "c": ("float32", (5,))}
    stored = {"b": ("float16", (4, 3)), "x" * 81: ("float32", (1,)), "c": ("int8", (5,))}
    assert differences(expected, stored) == [
        "a is missing",
        f"{'x' * 80} is unexpected",
        "b is float16 (4, 3), not float32 (3, 4)",
        "c is int8 (5,), not float32 (5,)",
    ]
    assert differences(expected, expected | {"a": ("float16", (2,))}) == []


def test_as_many_layers_as_tensors_are_believed() -> None:
    _, arrays = make(CONFIGS["transformer"])
    forged = TransformerConfig(width=12, heads=2, encoder_layers=len(arrays) - 6)
    with pytest.raises(ModelError, match=r"attention\.\S+ is missing"):
        pack_weights(forged, arrays, shared=True)
    more = replace(forged, encoder_layers=len(arrays) - 5)
    with pytest.raises(ModelError, match=f"has {len(arrays) + 1} layers, and the file {len(arrays)} tensors"):
        pack_weights(more, arrays, shared=True)


PARTS: dict[str, tuple[ModelConfig, str]] = {
    "small": (
        TransformerConfig(width=4, heads=2, feedforward=6, encoder_layers=1, decoder_layers=1),
        """target_embedding 9 4 | source_embedding 8 4 | output 9 4
        encoder.0.qkv 12 4 | encoder.0.out 4 4 | encoder.0.inner 6 4 | encoder.0.outer 4 6
        encoder.0.norm1.weight 1 4 | encoder.0.norm1.bias 1 4
        encoder.0.norm2.weight 1 4 | encoder.0.norm2.bias 1 4
        decoder.0.qkv 12 4 | decoder.0.out 4 4
        decoder.0.cross_q 4 4 | decoder.0.cross_kv 8 4 | decoder.0.cross_out 4 4
        decoder.0.inner 6 4 | decoder.0.outer 4 6
        decoder.0.norm1.weight 1 4 | decoder.0.norm1.bias 1 4
        decoder.0.norm2.weight 1 4 | decoder.0.norm2.bias 1 4
        decoder.0.norm3.weight 1 4 | decoder.0.norm3.bias 1 4""",
    ),
    "luong": (
        LuongConfig(width=4, layers=2, cell="gru", score="concat", input_feeding=True, bidirectional=True),
        """target_embedding 9 4 | source_embedding 8 4 | output 9 4
        encoder.0.0.input 6 4 | encoder.0.0.hidden 6 2 | encoder.0.1.input 6 4 | encoder.0.1.hidden 6 2
        encoder.1.0.input 6 4 | encoder.1.0.hidden 6 2 | encoder.1.1.input 6 4 | encoder.1.1.hidden 6 2
        decoder.0.input 12 8 | decoder.0.hidden 12 4 | decoder.1.input 12 4 | decoder.1.hidden 12 4
        attention.w_query 4 4 | attention.w_memory 4 4 | attention.v_a 1 4 | attention.w_c 4 8""",
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_have_the_names_and_sizes_of_the_header(name: str) -> None:
    config, said = PARTS[name]
    found = [f"{part.name} {part.rows} {part.columns}" for part in layout(config, 8, 9)]
    assert found == [one.strip() for line in said.splitlines() for one in line.split("|")]
