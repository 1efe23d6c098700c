"""Manifests hold to their schema, for every architecture, and to JSON, whatever the numbers are."""

import json
from dataclasses import replace
from math import inf, nan

import jsonschema_rs
import numpy as np
import pytest
import torch
from tests.explain.conftest import COPYING, Workshop

from jumok.config import LuongConfig, RnnConfig, TransformerConfig
from jumok.decoding.translator import Translator
from jumok.explain.capture import capture
from jumok.explain.documents import KindSize, Manifest
from jumok.explain.manifest import (
    build_manifest,
    finite,
    hashed,
    kind_sizes,
    model_block,
    weights_fingerprint,
)
from jumok.explain.subject import subjects_of
from jumok.explain.trace import make_trace
from jumok.text.tokenizer import EOS

SCHEMA = Manifest.model_json_schema()
TEXT = "a man rides 🇰 영화를 봤다."


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(SCHEMA)


def test_manifests_of_every_architecture_keep_to_it(
    translator: Translator, validator: jsonschema_rs.Validator
) -> None:
    for options in ({}, {"beam": 1, "max_len": 3, "min_len": 3}, {"sample": True}, {"mbr": 3}):
        manifest = make_trace(translator, TEXT, options=options).manifest
        validator.validate(json.loads(json.dumps(manifest, allow_nan=False)))
    given = make_trace(translator, TEXT, target="").manifest
    validator.validate(given)
    assert (given["target"]["origin"], given["decode"]["method"], given["beam"]) == ("given", "given", None)


@pytest.mark.parametrize("key", sorted(SCHEMA["required"]))
def test_every_key_is_needed(workshop: Workshop, validator: jsonschema_rs.Validator, key: str) -> None:
    manifest = make_trace(workshop.translator("rnn"), TEXT, target="one").manifest
    assert validator.is_valid({**manifest, "something_new": 1})
    assert not validator.is_valid({name: value for name, value in manifest.items() if name != key})


def test_what_a_transformer_says(workshop: Workshop) -> None:
    manifest = make_trace(workshop.translator("transformer"), TEXT, name="ko en/1").manifest
    model = manifest["model"]
    assert (model["name"], model["arch"], model["score"]) == ("ko en/1", "transformer", "scaled_dot")
    assert model["kinds"]["enc_self"] == {"layers": 1, "heads": 2, "d_head": 8}
    assert model["kinds"]["cross"] == {"layers": 2, "heads": 2, "d_head": 8}
    assert (model["dtype"], model["device"], model["positions"]) == ("float32", "cpu", "sinusoidal")
    assert manifest["rnn"] is None
    assert manifest["positions"]["href"] == "/v1/models/ko%20en%2F1/positions?n=64"
    assert manifest["beam"]["href"] == f"/v1/traces/{manifest['id']}/beam"
    for kind, about in manifest["attention"].items():
        sizes = model["kinds"][kind]
        lengths = [len(manifest[about[side]]["tokens"]) for side in ("q", "k")]
        assert about["shape"] == [sizes["layers"], sizes["heads"], *lengths]
        assert len(about["fingerprint"]["label"]) == sizes["layers"]
    read = [token["id"] for token in manifest["target_in"]["tokens"]]
    assert read == [0, *(token["id"] for token in manifest["target"]["tokens"][:-1])]


def test_only_a_model_that_copies_says_where_it_points_and_how_much(
    workshop: Workshop, validator: jsonschema_rs.Validator
) -> None:
    manifest = make_trace(workshop.translator(COPYING), TEXT, target="one two").manifest
    assert list(manifest["model"]["kinds"]) == ["enc_self", "dec_self", "cross", "copy"]
    assert manifest["model"]["kinds"]["copy"] == {"layers": 1, "heads": 1, "d_head": 16}
    about = manifest["attention"]["copy"]
    assert (about["q"], about["k"], about["causal"]) == ("target", "source", False)
    assert about["shape"] == [1, 1, *(len(manifest[side]["tokens"]) for side in ("target", "source"))]
    assert all(0 < step["copied"] < 1 for step in manifest["steps"])
    steps = [{**manifest["steps"][0], "copied": 1.5}, *manifest["steps"][1:]]
    assert not validator.is_valid({**manifest, "steps": steps})
    for arch in ("rnn", "luong", "transformer"):
        other = make_trace(workshop.translator(arch), TEXT, target="one two").manifest
        assert "copy" not in other["model"]["kinds"] | other["attention"]
        assert "cop" not in json.dumps(other)


def test_a_transformer_that_does_not_divide_its_scores_says_so(
    workshop: Workshop, validator: jsonschema_rs.Validator
) -> None:
    config = replace(workshop.small, scaled=False, norm="none", residual=False)
    trace = make_trace(workshop.translator(config), TEXT, target="one two")
    assert trace.manifest["model"]["score"] == "dot"
    validator.validate(trace.manifest)
    np.testing.assert_array_equal(trace.tensor("cross.scaled"), trace.tensor("cross.scores"))


def test_a_model_without_attention_has_a_full_manifest(workshop: Workshop) -> None:
    manifest = make_trace(workshop.translator("rnn"), TEXT).manifest
    S, T = len(manifest["source"]["tokens"]), len(manifest["target"]["tokens"])
    assert manifest["attention"] == {}
    assert manifest["rnn"] == {
        "encoder": [S, 16],
        "decoder": [T, 16],
        "bridge": [1, 1, 16],
        "layers": 1,
        "cell": "gru",
        "bidirectional": False,
        "input_feeding": False,
    }
    assert len(manifest["steps"]) == T
    assert manifest["positions"] is None
    assert manifest["model"]["kinds"] == {}


def test_luong_says_which_score_it_uses(workshop: Workshop) -> None:
    manifest = make_trace(workshop.translator("luong"), TEXT).manifest
    assert manifest["model"]["score"] == "general"
    assert manifest["model"]["kinds"] == {"cross": {"layers": 1, "heads": 1, "d_head": 16}}
    assert manifest["rnn"]["input_feeding"] is True
    assert list(manifest["attention"]) == ["cross"]


def test_the_score_is_the_sum_of_the_steps(translator: Translator) -> None:
    manifest = make_trace(translator, TEXT).manifest
    total = sum(step["logprob"] for step in manifest["steps"])
    assert manifest["decode"]["score"] == pytest.approx(total)
    assert manifest["decode"]["score_per_token"] == pytest.approx(total / len(manifest["steps"]))
    assert [step["id"] for step in manifest["steps"]] == [t["id"] for t in manifest["target"]["tokens"]]
    assert manifest["decode"]["score"] == pytest.approx(translator.translate(TEXT).score, abs=1e-4)


def test_numbers_that_are_not_finite_are_named() -> None:
    assert finite({"a": nan, "b": [1.0, [-inf]], "c": {"d": inf}, "e": (1, "x"), "f": None}) == {
        "a": None,
        "a_nonfinite": "nan",
        "b": [1.0, [None]],
        "b_nonfinite": "-inf",
        "c": {"d": None, "d_nonfinite": "inf"},
        "e": [1, "x"],
        "f": None,
    }


def test_a_damaged_model_still_gives_json(workshop: Workshop, validator: jsonschema_rs.Validator) -> None:
    translator = workshop.translator(workshop.small)
    (subject,) = subjects_of(translator, [TEXT], targets=["one two"])
    with torch.no_grad():
        translator.model.target_embedding.weight.fill_(nan)
    (captured,) = capture(translator.model, [subject.source_ids], [subject.target_ids])
    manifest = build_manifest(model_block(translator), translator.tokenizers, subject, captured)
    validator.validate(json.loads(json.dumps(manifest, allow_nan=False)))
    assert manifest["steps"][0]["logprob"] is None
    assert manifest["steps"][0]["logprob_nonfinite"] == "nan"
    assert manifest["decode"]["score_nonfinite"] == "nan"
    assert manifest["attention"]["cross"]["fingerprint"]["entropy_nonfinite"] == "nan"


def test_a_model_from_no_folder_is_known_by_its_weights(workshop: Workshop) -> None:
    one = workshop.translator(workshop.small)
    before = weights_fingerprint(one)
    assert weights_fingerprint(workshop.translator(workshop.small)) == before
    with torch.no_grad():
        next(one.model.parameters())[EOS] += 1
    assert weights_fingerprint(one) != before
    rotary = replace(workshop.small, positions="rotary")
    assert isinstance(rotary, TransformerConfig)
    assert model_block(workshop.translator(rotary))["fingerprint"] == "tiny-transformer"


def test_a_picture_is_known_by_its_bytes() -> None:
    names = {hashed(patches) for patches in ([b"ab", b"cd"], [b"ab", b"ce"], [b"cd", b"ab"])}
    assert len(names) == 3
    assert all(len(name) == 64 for name in names)


def test_the_sizes_of_each_kind_of_attention() -> None:
    assert kind_sizes(RnnConfig()) == {}
    assert list(kind_sizes(LuongConfig())) == ["cross"]
    deep = TransformerConfig(encoder_layers=3, decoder_layers=2, width=64, heads=4)
    assert kind_sizes(deep) == {
        "enc_self": KindSize(layers=3, heads=4, d_head=16),
        "dec_self": KindSize(layers=2, heads=4, d_head=16),
        "cross": KindSize(layers=2, heads=4, d_head=16),
    }
    copying = kind_sizes(replace(deep, copy=True))
    assert copying == {**kind_sizes(deep), "copy": KindSize(layers=1, heads=1, d_head=64)}
