"""Models that read pictures, looked into: patches are tokens, and weights over them sum to 1."""

from pathlib import Path

import jsonschema_rs
import numpy as np
import pytest
from tests.explain.conftest import Workshop
from tests.explain.seeing import picture, seeing

from jumok.errors import ConfigError
from jumok.explain.documents import Manifest
from jumok.explain.html import trace_html
from jumok.explain.influence import sweep
from jumok.explain.ops import mask_head, replace_source
from jumok.explain.side_by_side import side_by_side
from jumok.explain.tokens import ended, endless, hidden, is_picture, source_ids_of
from jumok.explain.trace import open_trace
from jumok.images.patches import PatchReader
from jumok.model import Model

ARCHS = ("rnn", "luong", "transformer")


@pytest.fixture(scope="module", params=ARCHS)
def model(request: pytest.FixtureRequest) -> Model:
    return seeing(request.param)


def test_a_picture_has_no_end_and_text_has_one() -> None:
    patches = (b"abc", b"def")
    assert is_picture(patches)
    assert not is_picture((5, 6))
    assert not is_picture(())
    assert ended(patches) == endless(patches) == patches
    assert endless(ended((5, 6))) == (5, 6)


def test_a_hidden_patch_has_the_mean_colour() -> None:
    assert hidden([bytes([0, 10, 20] * 4), bytes([10, 30, 20] * 4)]) == bytes([5, 20, 20] * 4)


def test_the_manifest_shows_the_picture_as_patches(model: Model) -> None:
    manifest = model.trace(picture()).manifest
    jsonschema_rs.validator_for(Manifest.model_json_schema()).validate(manifest)
    source = manifest["source"]
    assert source["image"] == {"url": source["text"], "rows": 4, "columns": 4}
    assert [token["type"] for token in source["tokens"]] == ["patch"] * 16
    assert [token["text"] for token in source["tokens"]][3:6] == ["1,4", "2,1", "2,2"]
    assert [word["tokens"] for word in source["words"]] == [[i] for i in range(16)]
    assert manifest["model"]["image"] == {"size": 32, "patch": 8}
    assert PatchReader(32, 8).encode(source["text"]) == PatchReader(32, 8).encode(picture())


def test_what_was_shown_larger_is_the_same_trace_as_what_the_model_saw(model: Model) -> None:
    large = model.trace(picture(size=64))
    assert model.trace(large.manifest["source"]["text"]).id == large.id
    assert model.trace(picture(1)).id != large.id


@pytest.mark.parametrize("arch", ARCHS[1:])
def test_weights_over_patches_sum_to_one(arch: str) -> None:
    model = seeing(arch)
    trace = model.trace(picture())
    weights = trace.tensor("cross.weights")
    assert weights.shape[-1] == 16
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert np.max(np.array(trace.manifest["attention"]["cross"]["fingerprint"]["special"])) == 0
    assert trace.tensor("cross.k", 0, 0).shape[0] == 16


def test_every_patch_has_an_influence(model: Model) -> None:
    trace = model.trace(picture())
    found = trace.influence()
    assert found.values.shape == (len(trace.target_ids), 16)
    assert [unit.text for unit in found.units][:2] == ["1,1", "1,2"]
    assert np.abs(found.values).max() > 0
    with pytest.raises(ConfigError, match="a patch cannot be dropped from a picture"):
        trace.influence(replace="drop")


def test_a_trace_of_a_picture_is_kept_in_a_file(model: Model, tmp_path: Path) -> None:
    trace = model.trace(picture())
    again = open_trace(trace.save(tmp_path / "a.safetensors"))
    assert again.manifest == trace.manifest
    assert source_ids_of(model.tokenizers, again.manifest["source"]) == trace.source_ids
    beam = trace.beam()
    assert beam is not None
    assert beam["schema"] == "beam/1"


def test_one_file_holds_the_picture_once_for_its_card_and_trace(model: Model) -> None:
    page = trace_html(model.trace(picture()))
    assert "<title>▦ →" in page
    assert '"source":"image","image":{"size":32,"patch":8}' in page


def test_interventions_reach_into_a_model_that_sees() -> None:
    model = seeing()
    assert model.what_if(picture(), [mask_head("cross", 1, 0)]).edited_trace.manifest["interventions"]
    assert len(list(sweep(model, picture(), "a red square"))) == 5  # layers of all kinds
    with pytest.raises(ConfigError, match="replace_source writes words anew, and a picture has none"):
        model.what_if(picture(), [replace_source(0, "x")])


def test_models_that_see_are_compared_with_their_kind(workshop: Workshop) -> None:
    found = side_by_side([seeing("rnn"), seeing("transformer")], picture(), cuts=[1])
    assert found.source == PatchReader(32, 8).decode(PatchReader(32, 8).encode(picture()))
    assert [column.influence.values.shape[1] for column in found.columns] == [16, 16]
    assert found.grow == ()
    with pytest.raises(ConfigError, match="do not all read text, or pictures of one size"):
        side_by_side([seeing("rnn"), workshop.translator("rnn")], picture())
