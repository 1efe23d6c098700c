from pathlib import Path

import numpy as np
import pytest

from jumok.errors import ModelError
from jumok.importing.stored import Parts, Stored
from jumok.importing.t5_family import is_scaled, is_tied, no_layer_bias, t5_config
from jumok.importing.their_settings import TheirSettings

FIELDS = {"num_layers": 2, "d_model": 12, "num_heads": 3, "d_kv": 8, "d_ff": 20}


def test_settings_of_the_three_kinds() -> None:
    parts = Parts({}, "here")
    first = t5_config("t5", TheirSettings(FIELDS, "here"), parts)
    assert (first.activation, first.gated, first.head_width, first.decoder_layers) == ("relu", False, 8, 2)
    assert (first.tied, first.embedding_scaled, first.rms_norm, first.scaled) == (True, True, True, False)
    gated = {**FIELDS, "d_kv": 4, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    later = t5_config("t5", TheirSettings(gated, "here"), parts)
    assert (later.activation, later.gated, later.head_width) == ("gelu_tanh", True, 0)
    assert not later.embedding_scaled
    assert t5_config("mt5", TheirSettings(FIELDS, "here"), parts).gated
    with pytest.raises(ModelError, match="the activation 'tanh' is unknown"):
        t5_config("t5", TheirSettings({**FIELDS, "feed_forward_proj": "gated-tanh"}, "here"), parts)
    with pytest.raises(ModelError, match="should have a name as feed_forward_proj, and says '3'"):
        t5_config("t5", TheirSettings({**FIELDS, "feed_forward_proj": 3}, "here"), parts)


def test_tables_are_tied_where_they_have_the_same_numbers(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(np.array([1, 2, 1, 2, 3, 4], dtype="<f4").tobytes())
    one, same, other = (Stored(path, at, "F32", (2,)) for at in (0, 8, 16))
    said = TheirSettings({}, "here")
    assert is_tied(said, Parts({"shared.weight": one}, ""))
    assert is_tied(said, Parts({"shared.weight": one, "lm_head.weight": same}, ""))
    assert not is_tied(said, Parts({"shared.weight": one, "lm_head.weight": other}, ""))
    untied = TheirSettings({"tie_word_embeddings": False}, "here")
    assert not is_tied(untied, Parts({"shared.weight": one, "lm_head.weight": same}, ""))
    assert not is_scaled("t5", untied)
    assert is_scaled("t5", TheirSettings({"tie_word_embeddings": False, "scale_decoder_outputs": True}, ""))


def test_tables_in_each_layer_are_refused() -> None:
    assert "a model of type umt5 has a table of distances in each layer" in str(no_layer_bias("umt5", "here"))


def test_what_a_folder_leaves_out_is_as_in_its_program() -> None:
    from transformers import T5Config

    full = T5Config(**FIELDS).to_dict()
    full.pop("num_decoder_layers")
    for bare in (FIELDS, {**FIELDS, "feed_forward_proj": "gated-gelu"}):
        less, more = (TheirSettings(one, "here") for one in (bare, {**full, **bare}))
        assert t5_config("t5", less, Parts({}, "here")) == t5_config("t5", more, Parts({}, "here"))
