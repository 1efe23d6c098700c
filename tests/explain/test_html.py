"""Files from traces: what is inside answers the page as the server would, and says what it holds."""

import base64
import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load
from tests.explain.conftest import Workshop
from tests.explain.test_page import Reader, text_of

from jumok.decoding.translator import Translator
from jumok.errors import ConfigError
from jumok.explain import html
from jumok.explain.capture import STAGES
from jumok.explain.html import (
    choose_heads,
    choose_kinds,
    full_size,
    names_of_models,
    shorter,
    shown_manifest,
    start_address,
    title_of,
    trace_html,
)
from jumok.explain.ops import mask_head
from jumok.explain.trace import Trace, make_trace, open_trace

TEXT = "a man rides 영화를 봤다."
HOSTILE = "<img src=x onerror=alert(1)> </script><!-- one \u2028two"

pytestmark = pytest.mark.usefixtures("built")


def data_of(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(page, "jumok-data"))
    return found


def tensors_of(page: str, id: str) -> dict[str, np.ndarray[Any, Any]]:
    packed = text_of(page, f"jumok-tensors-{id}")
    return dict(load(gzip.decompress(base64.b64decode(packed))))


@pytest.fixture(scope="module")
def trace(workshop: Workshop) -> Trace:
    return make_trace(workshop.translator("transformer"), TEXT)


def test_every_tensor_of_a_small_trace_is_inside(trace: Trace) -> None:
    page = trace_html(trace)
    found = tensors_of(page, trace.id)
    kinds = ("enc_self", "dec_self", "cross")
    assert set(found) == {f"{kind}.{part}" for kind in kinds for part in ("atlas", *STAGES)}
    for name, array in found.items():
        np.testing.assert_array_equal(array, trace.tensor(name))
    [manifest] = data_of(page)["traces"]
    assert manifest["file"] == {"kinds": list(kinds), "tensors": sorted(found)}
    own = {key: value for key, value in manifest.items() if key != "file"}
    assert own == json.loads(json.dumps(trace.manifest))


def test_the_size_is_known_before_the_numbers_are(translator: Translator) -> None:
    trace = make_trace(translator, TEXT)
    kinds = list(trace.manifest["attention"])
    arrays = [trace.tensor(f"{kind}.{part}") for kind in kinds for part in STAGES]
    assert full_size(trace.manifest, kinds) == sum(array.nbytes for array in arrays)


def test_the_size_counts_what_relative_positions_add(workshop: Workshop) -> None:
    trace = make_trace(workshop.translator(replace(workshop.small, positions="relative")), TEXT)
    about = trace.manifest["attention"]
    arrays = [trace.tensor(f"{kind}.{part}") for kind in about for part in about[kind]["stages"]]
    assert "bias" in about["enc_self"]["stages"]
    assert full_size(trace.manifest, list(about)) == sum(array.nbytes for array in arrays)


def test_the_page_gets_the_servers_answers(translator: Translator) -> None:
    trace = make_trace(translator, TEXT)
    data = data_of(trace_html(trace))
    here, answers = f"/v1/traces/{trace.id}", data["answers"]
    found = answers[f"{here}/influence?unit=words&replace=unk"]
    assert found["units"] == trace.influence().to_dict()["units"]
    np.testing.assert_allclose(found["values"], trace.influence().values, rtol=1e-6)
    assert answers[f"{here}/beam"] == shorter(trace.beam())
    positions = answers.get("/v1/models/tiny/positions?n=64")
    if translator.config.model.arch == "transformer":
        assert positions["positions"] == "sinusoidal"
        assert positions["rows"] == shorter(trace.positions().tolist(), digits=5)  # type: ignore[union-attr]
    else:
        assert positions is None
    [card] = data["models"]
    model = trace.manifest["model"]
    assert card == {
        **{name: model[name] for name in ("name", "arch", "fingerprint", "max_length", "d_model", "kinds")},
        "source_language": "en",
        "target_language": "ko",
        "parameters": 7,
        "positions": model["positions"],
        "score": "general" if model["arch"] == "luong" else None,
        "decoding": {"beam": 2, "length_penalty": 1.0, "max_len": 16},
        "limits": {},
        "run": None,
        "examples": [TEXT],
        "context": False,
        "source": "text",
        "image": None,
        "members": [],
    }


def test_a_recurrent_model_has_its_states_inside(rnn: Translator) -> None:
    trace = make_trace(rnn, TEXT)
    page = trace_html(trace)
    assert set(tensors_of(page, trace.id)) == {"rnn.encoder", "rnn.decoder", "rnn.bridge"}
    assert data_of(page)["models"][0]["kinds"] == {}


def test_a_given_target_has_no_beam(transformer: Translator) -> None:
    trace = make_trace(transformer, TEXT, target="one two")
    answers = data_of(trace_html(trace))["answers"]
    assert sorted(path.split("?")[0].split("/")[-1] for path in answers) == ["influence", "positions"]


def test_models_of_one_name_are_numbered() -> None:
    def of(id: str, name: str, fingerprint: str) -> Any:
        return SimpleNamespace(id=id, manifest={"model": {"name": name, "fingerprint": fingerprint}})

    traces = [of("1", "a", "x"), of("2", "b", "x"), of("3", "a", "y"), of("4", "a", "z"), of("5", "a", "y")]
    assert names_of_models(traces) == {"1": "a", "2": "b", "3": "a (2)", "4": "a (3)", "5": "a (2)"}


def test_a_trace_that_just_fits_is_whole(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert html.ROOM == 3_000_000  # as the pages say
    kinds = list(trace.manifest["attention"])
    size = full_size(trace.manifest, kinds)
    for room, whole in ((2 * size, True), (2 * size - 1, False)):
        monkeypatch.setattr(html, "ROOM", room)
        assert (choose_heads([trace, trace], kinds, None)[trace.id] is None) is whole


def test_a_large_trace_keeps_the_last_layer_of_cross(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "ROOM", full_size(trace.manifest, list(trace.manifest["attention"])) - 1)
    page = trace_html(trace)
    found = tensors_of(page, trace.id)
    maps = {f"{kind}.atlas" for kind in trace.manifest["attention"]}
    heads = {f"cross.{part}:1.{head}" for head in (0, 1) for part in STAGES if part != "out"}
    assert set(found) == maps | heads | {"cross.out:1"}
    np.testing.assert_array_equal(found["cross.scaled:1.0"], trace.tensor("cross.scaled", 1, 0))
    np.testing.assert_array_equal(found["cross.out:1"], trace.tensor("cross.out", 1))
    [manifest] = data_of(page)["traces"]
    assert manifest["warnings"][-1] == {
        "code": "part_of_trace",
        "message": "this file has exact numbers for some heads only (layer.head): cross 2.1, cross 2.2",
    }


def test_kinds_and_heads_can_be_chosen(trace: Trace) -> None:
    page = trace_html(trace, kinds=["cross", "enc_self"], heads=[(0, 1), (1, 0)])
    found = tensors_of(page, trace.id)
    assert {name.split(".")[0] for name in found} == {"cross", "enc_self"}
    assert {name for name in found if ".weights" in name} == {
        "cross.weights:0.1",
        "cross.weights:1.0",
        "enc_self.weights:0.1",
    }
    data = data_of(page)
    assert set(data["traces"][0]["attention"]) == set(data["models"][0]["kinds"]) == {"cross", "enc_self"}


def test_a_file_says_what_it_leaves_out(trace: Trace) -> None:
    def warned(kinds: list[Any], heads: dict[Any, Any] | None) -> list[str]:
        shown = shown_manifest(trace.manifest, "m", kinds, heads)
        assert (shown["model"]["name"], set(shown["attention"])) == ("m", set(kinds))
        assert set(shown["model"]["kinds"]) == set(kinds)
        own = len(trace.manifest["warnings"])
        assert shown["warnings"][:own] == trace.manifest["warnings"]
        return [one["message"] for one in shown["warnings"][own:]]

    said = "this file has exact numbers for some heads only (layer.head): "
    assert warned(["cross"], {"cross": [(0, 1), (1, 0)]}) == [said + "cross 1.2, cross 2.1"]
    assert warned(["cross"], {}) == [said + "none"]
    assert warned(["cross"], None) == warned([], {}) == []
    assert choose_kinds([trace], ["cross", "enc_self"]) == ["enc_self", "cross"]
    assert choose_kinds([trace], []) == []


def test_what_is_not_there_cannot_be_chosen(trace: Trace) -> None:
    with pytest.raises(ConfigError, match="'crss' is no kind of attention") as found:
        trace_html(trace, kinds=["crss"])  # type: ignore[list-item]
    assert "cross" in found.value.hint
    with pytest.raises(ConfigError, match="no attention has head 2 of layer 0") as found:
        trace_html(trace, heads=[(0, 2)])
    assert found.value.hint == "they count from 0, and there are 2 layers of 2 heads"
    with pytest.raises(ConfigError, match="there is no trace to write"):
        trace_html([])


def test_hostile_texts_and_names_stay_data(workshop: Workshop) -> None:
    translator = workshop.translator("luong", name="<b>&'\u2029")
    trace = make_trace(translator, HOSTILE)
    page = trace_html(trace, title=HOSTILE)
    scripts = Reader(page).all("script")
    assert [attributes.get("type") for attributes, _ in scripts] == [
        "application/json",
        "application/json",
        "text/plain",
        None,
        None,
    ]
    assert not Reader(page).all("img")
    data = data_of(page)
    assert data["traces"][0]["source"]["text"] == trace.manifest["source"]["text"]
    assert data["models"][0]["name"] == "<b>&'\u2029"
    assert not set("\u2028\u2029") & set(page)


def test_several_traces_share_a_file(workshop: Workshop) -> None:
    one, other = workshop.translator("luong"), workshop.translator("rnn")
    traces = [make_trace(one, TEXT), make_trace(one, "나는"), make_trace(other, TEXT), make_trace(one, TEXT)]
    page = trace_html(traces)
    data = data_of(page)
    assert [card["name"] for card in data["models"]] == ["tiny", "tiny (2)"]
    assert [card["examples"] for card in data["models"]] == [[TEXT, "나는"], [TEXT]]
    assert [one["id"] for one in data["traces"]] == [one.id for one in traces[:3]]
    assert [one["model"]["name"] for one in data["traces"]] == ["tiny", "tiny", "tiny (2)"]
    assert set(tensors_of(page, traces[2].id)) == {"rnn.encoder", "rnn.decoder", "rnn.bridge"}


def test_it_opens_on_what_it_holds(transformer: Translator) -> None:
    edited = make_trace(transformer, "a man & 봤다.", ops=[mask_head("cross", 0, "*")])
    address = data_of(trace_html(edited))["start"]
    assert address == start_address("translate", edited.manifest)
    path, query = address.split("?")
    asked = dict(part.split("=") for part in query.split("&"))
    assert path == "/translate"
    assert asked["m"] == "tiny"
    assert asked["s"] == "a%20man%20%26%20%EB%B4%A4%EB%8B%A4."
    plain = base64.urlsafe_b64decode(asked["w"] + "=" * (-len(asked["w"]) % 4))
    assert json.loads(plain) == edited.manifest["interventions"]


def test_a_trace_from_a_file_gives_what_was_saved(transformer: Translator, tmp_path: Path) -> None:
    trace = make_trace(transformer, TEXT)
    live = data_of(trace_html(trace))  # asks for influence, beam and positions, which the trace then keeps
    saved = open_trace(trace.save(tmp_path / "a.trace"))
    kept = data_of(trace_html(saved))
    assert len(live["answers"]) == 3
    assert kept["answers"] == live["answers"]
    assert kept["models"][0]["parameters"] == 0
    assert tensors_of(trace_html(saved), saved.id).keys() == tensors_of(trace_html(trace), trace.id).keys()


def test_a_trace_without_a_model_leaves_out_what_it_cannot_say(
    transformer: Translator, tmp_path: Path
) -> None:
    bare = open_trace(make_trace(transformer, TEXT).save(tmp_path / "a.trace", heads=[(1, 0)]))
    page = trace_html(bare)
    assert data_of(page)["answers"] == {}
    names = set(tensors_of(page, bare.id))
    assert "cross.weights" in names
    assert "cross.q" not in names


def test_a_file_is_written_whole(trace: Trace, tmp_path: Path) -> None:
    path = trace.save_html(tmp_path / "a.html", title="한글")
    assert path.read_text(encoding="utf-8") == trace_html(trace, title="한글")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "static"]


def test_numbers_of_an_answer_are_as_long_as_they_need_be() -> None:
    plain = {"a": [0.1 + 0.2, 1, "x", None, True], "b": float(np.float32(1.1))}
    assert shorter(plain) == {"a": [0.3, 1, "x", None, True], "b": 1.1}
    assert shorter(sys.float_info.max) > 1e308


def test_the_title_of_a_file_is_what_it_shows(trace: Trace) -> None:
    own = f"{TEXT} → {trace.manifest['target']['text']} · jumok"
    assert title_of(trace.manifest) == own
    picture = {**trace.manifest, "source": {**trace.manifest["source"], "image": {}}}
    assert title_of(picture) == f"▦ → {trace.manifest['target']['text']} · jumok"
    page = trace_html(trace)
    assert f"<title>{own}</title>" in page
    assert data_of(page)["start"].startswith("/translate?m=tiny&s=")
