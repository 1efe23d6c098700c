"""Tensors by name: what there is, what there is not, and the bytes they travel in."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jumok.errors import ConfigError, DataError
from jumok.explain.tensors import (
    TensorNeed,
    TensorStore,
    atlas,
    check_need,
    exact_names,
    heads_of,
    names_of,
    pack,
    parse_need,
    read_tensor,
    unpack,
)

MANIFEST = {
    "model": {"arch": "transformer", "kinds": {"cross": {}, "enc_self": {}}},
    "attention": {"cross": {"shape": [2, 3, 4, 5], "stages": ["q", "weights", "out"]}},
    "rnn": None,
}
RNN = {"model": {"arch": "rnn", "kinds": {}}, "attention": {}, "rnn": {"encoder": [3, 4]}}
LUONG = {
    "model": {"arch": "luong", "kinds": {"cross": {}}},
    "attention": {"cross": {"shape": [1, 1, 4, 5], "stages": ["scores", "weights", "context", "out"]}},
    "rnn": {"encoder": [3, 4]},
}


def test_needs_are_a_name_and_what_to_pick() -> None:
    assert parse_need("cross.atlas") == TensorNeed("cross", "atlas")
    assert parse_need("enc_self.weights:2") == TensorNeed("enc_self", "weights", 2)
    assert parse_need("dec_self.q:2.13") == TensorNeed("dec_self", "q", 2, 13)


@pytest.mark.parametrize(
    "need", ["", "cross", "cross.q:", "cross.q:1.", "cross.q:-1", "cross.q:١", "x" * 999, "../q.r"]
)
def test_other_needs_are_refused_with_an_example(need: str) -> None:
    with pytest.raises(ConfigError, match="names no tensor") as caught:
        parse_need(need)
    assert caught.value.code == "bad_parameter"
    assert "cross.weights:2.3" in caught.value.hint


def test_what_names_no_tensor_is_quoted_in_short() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_need("x" * 81)
    assert caught.value.message == f"'{'x' * 80}' names no tensor"


def test_exact_numbers_are_those_of_all_heads_or_of_some() -> None:
    """`out` joins the heads of a layer, so it comes once for each layer, after them."""
    assert exact_names(MANIFEST, "cross", None) == ["cross.q", "cross.weights", "cross.out"]
    assert exact_names(MANIFEST, "cross", [(1, 2), (0, 0), (1, 0), (5, 0)]) == [
        *("cross.q:1.2", "cross.weights:1.2", "cross.q:0.0", "cross.weights:0.0"),
        *("cross.q:1.0", "cross.weights:1.0", "cross.out:0", "cross.out:1"),
    ]
    assert exact_names(MANIFEST, "cross", []) == []


def test_whole_tensors_are_read_whole_by_layer_and_by_head() -> None:
    q, out = np.arange(48.0).reshape(2, 3, 4, 2), np.arange(40.0).reshape(2, 4, 5)
    weights = np.full((2, 3, 4, 5), 0.25)
    store = TensorStore({"cross.q": q, "cross.out": out, "cross.weights": weights})
    for need, found in {
        "cross.q": q,
        "cross.q:1": q[1],
        "cross.q:1.2": q[1, 2],
        "cross.out:1": out[1],
        "cross.out:1.2": out[1],  # of all heads
        "cross.atlas:0.1": np.full((4, 5), 130),
    }.items():
        np.testing.assert_array_equal(read_tensor(store, check_need(parse_need(need), MANIFEST)), found)
    assert store.nbytes == 8 * (48 + 40 + 120)


def test_names_depend_on_the_model() -> None:
    assert names_of(MANIFEST) == ["cross.atlas", "cross.q", "cross.weights", "cross.out"]
    assert names_of(RNN) == ["rnn.encoder", "rnn.decoder", "rnn.bridge"]
    assert names_of(LUONG)[-4:] == ["luong.scores", "luong.weights", "luong.context", "luong.attentional"]


@pytest.mark.parametrize(
    ("need", "message", "hint"),
    [
        (
            TensorNeed("cross", "wieghts"),
            "this trace has no tensor cross.wieghts",
            "did you mean 'cross.weights'?",
        ),
        (TensorNeed("enc_self", "q"), "this trace was saved without enc_self.q", "cross.q"),
        (TensorNeed("rnn", "encoder"), "this trace has no tensor rnn.encoder", "known: cross.atlas"),
        (
            TensorNeed("cross", "q", 2),
            "cross has 2 layers, and layer 2 was asked for",
            "layers count from 0: 0 to 1",
        ),
        (
            TensorNeed("cross", "q", 0, 3),
            "cross has 3 heads, and head 3 was asked for",
            "heads count from 0: 0 to 2",
        ),
        (TensorNeed("cross", "q", None, 1), "head 1 of which layer of cross", ""),
    ],
)
def test_what_is_not_there_says_what_is(need: TensorNeed, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_need(need, MANIFEST)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.code == "bad_parameter"


def test_states_have_no_layers_and_one_head_is_only_head_0() -> None:
    with pytest.raises(ConfigError, match=r"rnn\.encoder has neither layers nor heads"):
        check_need(TensorNeed("rnn", "encoder", 0), RNN)
    with pytest.raises(ConfigError, match="cross has 1 head, and head 1 was asked for") as caught:
        check_need(TensorNeed("cross", "weights", 0, 1), LUONG)
    assert caught.value.hint == "heads count from 0: only 0"


def test_negative_numbers_count_from_the_end() -> None:
    assert check_need(TensorNeed("cross", "q", -1, -3), MANIFEST) == TensorNeed("cross", "q", 1, 0)


def test_a_file_says_what_it_does_not_hold() -> None:
    store = TensorStore({"cross.q:0.1": np.zeros((4, 2))})
    assert store.stage("cross", "q", 0, 1).shape == (4, 2)
    with pytest.raises(ConfigError, match=r"saved without cross\.q:1\.1") as caught:
        store.stage("cross", "q", 1, 1)
    assert "make the trace again" in caught.value.hint


weights = arrays(np.float32, (2, 3), elements=st.floats(0, 1, width=32))


@settings(max_examples=50, deadline=None)
@given(weights)
def test_an_atlas_keeps_order_and_half_a_step_of_precision(found: np.ndarray) -> None:
    bytes_of = atlas(found)
    assert bytes_of.dtype == np.uint8
    assert np.abs(bytes_of / 255 - np.sqrt(found)).max() <= 0.5 / 51 + 1e-6


def test_an_atlas_of_numbers_that_are_not_finite_is_dark() -> None:
    found = np.array([np.nan, np.inf, -1, 0, 1, 0.25], dtype=np.float32)
    assert atlas(found).tolist() == [0, 255, 0, 0, 255, 130]


def test_bytes_are_safetensors() -> None:
    data = pack({"a.b:1.2": np.arange(6, dtype=np.float32).reshape(2, 3).T}, {"manifest": "{}"})
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header["a.b:1.2"]["shape"] == [3, 2]
    assert header["a.b:1.2"]["dtype"] == "F32"
    metadata, found = unpack(data, "here")
    assert metadata == {"manifest": "{}"}
    assert found["a.b:1.2"].tolist() == [[0, 3], [1, 4], [2, 5]]


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="not a trace of jumok: it holds no readable tensors") as caught:
        unpack(data, "x.trace")
    assert (caught.value.code, caught.value.where) == ("bad_trace", "x.trace")


def test_of_heads_only_those_are_kept_that_are_there() -> None:
    manifest = {"attention": {"cross": {"shape": [2, 3, 9, 9]}}}
    asked = [(0, 0), (2, 0), (1, 2), (0, 3), (-1, 0), (0, -1), (9, 9)]
    assert heads_of(manifest, "cross", asked) == [(0, 0), (1, 2)]
