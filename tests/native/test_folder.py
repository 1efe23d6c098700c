from typing import Any

import numpy as np
import pytest
from tests.native.making import CONFIGS, VOCABULARY, make

from jumok.architectures import TransformerConfig
from jumok.errors import ModelError
from jumok.native.folder import check_certificate, codes_shape, dump_parts, no_certificate, parse_parts
from jumok.native.library import available
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.tensors import dump_tensors, parse_tensors
from jumok.native.weights import pack_weights

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")

SIZES = (VOCABULARY, VOCABULARY)
FINGERPRINT = "0123456789abcdef" * 4


def file_of(name: str, *, shared: bool = True) -> bytes:
    _, arrays = make(CONFIGS[name], shared=shared)
    return dump_parts(pack_weights(CONFIGS[name], arrays, shared=shared, type="int8"), FINGERPRINT)


def changed(data: bytes, arrays: dict[str, Any] | None = None, **metadata: str) -> bytes:
    """The file with other arrays or another metadata; None takes an array away."""
    found, about = parse_tensors(data, "")
    kept = {name: array for name, array in (found | (arrays or {})).items() if array is not None}
    return dump_tensors(kept, about | metadata)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("shared", [True, False])
def test_parts_come_back_and_answer_the_same(name: str, *, shared: bool) -> None:
    config = CONFIGS[name]
    _, arrays = make(config, shared=shared)
    parts = pack_weights(config, arrays, shared=shared, type="int8")
    sizes = (parts["source_embedding"].rows, VOCABULARY)
    found, fingerprint = parse_parts(dump_parts(parts, FINGERPRINT), config, sizes, "here", shared=shared)
    assert fingerprint == FINGERPRINT
    assert found.keys() == parts.keys()
    for key, part in parts.items():
        np.testing.assert_array_equal(found[key].data.reshape(-1), part.data.reshape(-1))
        assert (found[key].scale is None, found[key].bias is None) == (part.scale is None, part.bias is None)
    sources, limits, options = [(260, 261), (262,)], [6, 6], SearchOptions(beam=2)
    one, two = NativeModel(config, parts), NativeModel(config, found)
    assert one.search(sources, limits, options) == two.search(sources, limits, options)


def test_what_is_tied_is_there_once() -> None:
    arrays, metadata = parse_tensors(file_of("transformer"), "")
    assert "target_embedding.codes" in arrays
    assert not {"output.codes", "source_embedding.codes"} & arrays.keys()
    assert arrays["target_embedding.codes"].shape == codes_shape(VOCABULARY, 12) == (18, 3, 16, 4)
    assert metadata["format"] == "jumok-native/1"
    assert metadata["type"] == "int8"


def test_the_folder_is_for_int8() -> None:
    _, arrays = make(CONFIGS["rnn"])
    with pytest.raises(ValueError, match="target_embedding is a matrix of float32; the folder is for int8"):
        dump_parts(pack_weights(CONFIGS["rnn"], arrays, shared=True), FINGERPRINT)


BAD = {
    "a later format": ({}, {"format": "jumok-native/2"}, "has the format 'jumok-native/2'; this jumok reads"),
    "another dtype": ({}, {"type": "float16"}, "holds weights of type 'float16'; this engine reads int8"),
    "a vocabulary of another model": (
        {},
        {"target_vocabulary": "300"},
        "the vocabularies do not match: the weights have 300 target tokens, and the tokenizer has 277",
    ),
    "nobody's model": ({}, {"model_fingerprint": ""}, "does not say which model it was made from"),
    "a missing part": ({"decoder.0.hidden.scale": None}, {}, "decoder.0.hidden.scale is missing"),
    "one too many": ({"more": np.zeros(2, np.float32)}, {}, "more is unexpected"),
    "another shape": (
        {"decoder.0.hidden.bias": np.zeros(3, np.float32)},
        {},
        "decoder.0.hidden.bias is float32 (3,), not float32 (32,)",
    ),
    "another type": (
        {"decoder.0.hidden.bias": np.zeros(32, np.uint8)},
        {},
        "decoder.0.hidden.bias is uint8 (32,), not float32 (32,)",
    ),
    "no numbers": (
        {"decoder.0.hidden.scale": np.full(32, np.nan, np.float32)},
        {},
        "decoder.0.hidden.scale: 32 of 32 numbers are not finite",
    ),
    "a negative scale": (
        {"decoder.0.hidden.scale": np.full(32, -1, np.float32)},
        {},
        "decoder.0.hidden.scale is negative",
    ),
    "a code that is none": (
        {"decoder.0.hidden.codes": np.zeros((2, 2, 16, 4), np.uint8)},
        {},
        "decoder.0.hidden.codes has a code below -127",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_does_not_fit_is_refused(what: str) -> None:
    arrays, metadata, message = BAD[what]
    data = changed(file_of("rnn"), arrays, **metadata)
    with pytest.raises(ModelError) as caught:
        parse_parts(data, CONFIGS["rnn"], SIZES, "native.safetensors", shared=True)
    assert message in caught.value.message
    assert caught.value.where == "native.safetensors"


def test_settings_of_another_model() -> None:
    with pytest.raises(ModelError, match="the packed weights do not fit the model's settings: "):
        parse_parts(file_of("rnn"), CONFIGS["luong"], SIZES, "", shared=True)
    forged = TransformerConfig(width=12, heads=2, decoder_layers=1024)
    with pytest.raises(ModelError, match="config.json has 1,030 layers"):
        parse_parts(file_of("transformer"), forged, SIZES, "", shared=True)


def test_a_file_that_was_cut() -> None:
    with pytest.raises(ModelError, match="holds no readable tensors"):
        parse_parts(file_of("rnn")[:-100], CONFIGS["rnn"], SIZES, "", shared=True)


GOOD = {
    "schema": "jumok-certificate/1",
    "format": "native",
    "type": "int8",
    "model_fingerprint": FINGERPRINT,
    "passed": True,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "x"}, "its schema is 'x', and this jumok reads jumok-certificate/1"),
        ({"schema": "x" * 81}, f"its schema is '{'x' * 80}', and this"),
        ({"format": "y" * 41, "type": "z" * 41}, f": it is for {'y' * 40} in {'z' * 40}"),
        ({"format": "ctranslate2"}, "it is for ctranslate2 in int8"),
        ({"type": "float32"}, "it is for native in float32"),
        ({"model_fingerprint": "f" * 64}, "made for the model ffffffffffff…, and this is 0123456789ab…"),
        ({"model_fingerprint": None}, "it was made for the model None…"),
        ({"passed": False}, "the model did not pass its comparison"),
        ({"passed": "yes"}, "the model did not pass its comparison"),
    ],
)
def test_a_certificate_of_something_else(change: dict[str, Any], message: str) -> None:
    check_certificate(GOOD, FINGERPRINT, "here")
    with pytest.raises(ModelError) as caught:
        check_certificate(GOOD | change, FINGERPRINT, "here")
    assert caught.value.message.startswith("the certificate is not this model's: ")
    assert message in caught.value.message
    assert caught.value.code == "wrong_certificate"


def test_without_a_certificate_there_is_a_word_for_it() -> None:
    assert no_certificate("here").code == "no_certificate"
    assert "has no certificate" in no_certificate("here").message
