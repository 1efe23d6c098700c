"""`/v1/trace` and `/v1/traces` over HTTP, for every architecture."""

import json
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import numpy as np
import pytest
from safetensors.numpy import load
from tests.decoding.conftest import COPYING, untrained
from tests.server.conftest import Running, Serve

from jumok.decoding.translator import Translator
from jumok.explain import page
from jumok.explain.documents import BeamDocument, ForwardDocument, Manifest
from jumok.explain.tensors import atlas
from jumok.explain.trace import make_trace
from jumok.server.gates.limits import Limits

ARCHS = ("rnn", "luong", "transformer")
TEXT = "1998년 3월 24일 화요일"
NEEDS = {
    "rnn": ["rnn.encoder", "rnn.decoder", "rnn.bridge"],
    "luong": ["cross.atlas", "cross.weights", "luong.scores", "luong.attentional", "rnn.bridge"],
    "transformer": ["cross.atlas", "enc_self.weights:1", "dec_self.scaled:1.3", "cross.out:0", "cross.v:0.0"],
}


def post(client: httpx2.Client, **body: Any) -> Any:
    answer = client.post("/v1/trace", json={"text": TEXT, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def tensors(client: httpx2.Client, id: str, *needs: str) -> dict[str, Any]:
    answer = client.get(f"/v1/traces/{id}/tensors", params={"need": list(needs)})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/octet-stream"
    return load(answer.content)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_trace_is_that_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    manifest = post(trio_client, model=arch)
    jsonschema_rs.validator_for(Manifest.model_json_schema()).validate(manifest)
    own = make_trace(trio[arch], TEXT, name=arch)
    assert manifest["id"] == own.id
    assert manifest["model"] == own.manifest["model"]
    assert manifest["target"]["text"] == "1998-03-24"
    assert manifest["decode"]["ms"] > 0
    assert trio_client.get(f"/v1/traces/{manifest['id']}").json() == manifest
    for name, found in tensors(trio_client, own.id, *NEEDS[arch]).items():
        assert np.allclose(found, own.tensor(name), atol=1e-5), name


@pytest.mark.parametrize("arch", ARCHS)
def test_the_forward_pass_is_that_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    body = {"model": arch, "text": TEXT, "target": "1998-03-24"}
    answer = trio_client.post("/v1/forward", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    jsonschema_rs.validator_for(ForwardDocument.model_json_schema()).validate(found)
    own = make_trace(trio[arch], TEXT, target="1998-03-24", name=arch)
    assert found == own.forward()
    assert trio_client.get(f"/v1/traces/{found['id']}/forward").json() == found
    places = {row["operation"]: place for place, row in enumerate(found["tensors"])}
    names = [
        "y, the right ids",
        "p = softmax(logits)",
        "-log p(y), of each token",
        "loss = -1/N · sum log p(y)",
    ]
    needs = [f"forward.tensor:{places[name]}" for name in names]
    held = tensors(trio_client, own.id, *needs)
    right, p, each, loss = (held[need] for need in needs)
    assert right[0].tolist() == [token["id"] for token in found["target"]["tokens"]]
    np.testing.assert_allclose(-np.log(np.take_along_axis(p, right[..., None], -1))[..., 0], each, atol=1e-4)
    assert loss == pytest.approx(each.mean(), abs=1e-6)
    steps = [step["logprob"] for step in own.manifest["steps"]]
    np.testing.assert_allclose(-each[0], steps, atol=1e-4)
    one = f"forward.tensor:{places['logits']}.2"
    assert tensors(trio_client, own.id, one)[one].shape == (found["sizes"]["V"],)


def test_what_has_no_forward_pass_says_why(trio_client: httpx2.Client) -> None:
    masked = {"op": "mask_head", "kind": "cross", "layer": 0, "head": 0}
    body = {"model": "transformer", "text": TEXT, "interventions": [masked]}
    answer = trio_client.post("/v1/forward", json=body)
    assert answer.status_code == 422
    assert "shows the model as it is" in answer.json()["detail"]
    answer = trio_client.post("/v1/forward", json={"model": "rnn", "text": ""})
    assert (answer.status_code, answer.json()["code"]) == (422, "empty_text")
    assert trio_client.post("/v1/forward", json={"model": "none", "text": TEXT}).status_code == 404
    assert trio_client.get("/v1/traces/0123456789abcdef/forward").status_code == 404
    manifest = post(trio_client, model="rnn")
    get = f"/v1/traces/{manifest['id']}/tensors"
    answer = trio_client.get(get, params={"need": "forward.tensor:9999"})
    assert (answer.status_code, "tensors, and 9999 was asked for" in answer.json()["detail"]) == (422, True)


def test_a_forward_pass_keeps_to_the_limits(serve: Serve, trio: dict[str, Translator]) -> None:
    limits = Limits(trace_tokens=16, trace_bytes=20_000)
    models = {"transformer": trio["transformer"]}
    with serve(models=models, limits=limits) as running, running.client() as client:
        answer = client.post("/v1/forward", json={"text": "1 " * 40, "target": "1"})
        assert (answer.status_code, answer.json()["code"]) == (422, "too_long")
        found = client.post("/v1/forward", json={"text": "1998", "target": "1998-03-24"}).json()
        places = {row["operation"]: place for place, row in enumerate(found["tensors"])}
        get, need = f"/v1/traces/{found['id']}/tensors", f"forward.tensor:{places['W_out']}"
        answer = client.get(get, params={"need": need})
        assert (answer.status_code, answer.json()["code"]) == (422, "too_large")
        assert client.get(get, params={"need": f"{need}.0"}).status_code == 200


def test_a_model_that_copies_shows_where_it_points(serve: Serve) -> None:
    copying = Translator(untrained(COPYING))
    with serve(models={"copying": copying}) as running, running.client() as client:
        size = {"layers": 1, "heads": 1, "d_head": COPYING.width}
        assert client.get("/v1/models/copying").json()["kinds"]["copy"] == size
        manifest = post(client, text="a man")
        jsonschema_rs.validator_for(Manifest.model_json_schema()).validate(manifest)
        own = make_trace(copying, "a man", name="copying")
        assert manifest["id"] == own.id
        assert client.get(f"/v1/traces/{own.id}/forward").json() == own.forward()
        (found,) = tensors(client, own.id, "copy.out").values()
        copied = [step["copied"] for step in manifest["steps"]]
        np.testing.assert_allclose(found.flatten(), copied, atol=1e-6)
        body = {"text": "a man", "kinds": ["enc_self", "dec_self", "cross", "copy"]}
        accept = {"Accept": "application/json"}
        assert list(client.post("/v1/sweep", json=body, headers=accept).json()["kinds"]) == body["kinds"]
        silent = {"op": "mask_head", "kind": "copy", "layer": 0, "head": 0}
        assert {step["copied"] for step in post(client, text="a man", interventions=[silent])["steps"]} == {0}


@pytest.mark.parametrize("arch", ARCHS)
def test_log_probabilities_are_those_of_translate(trio_client: httpx2.Client, arch: str) -> None:
    manifest = post(trio_client, model=arch)
    [result] = trio_client.post("/v1/translate", json={"model": arch, "texts": [TEXT]}).json()["results"]
    assert [step["id"] for step in manifest["steps"]] == [one["id"] for one in result["tokens"]]
    expected = [one["logprob"] for one in result["tokens"]]
    assert [step["logprob"] for step in manifest["steps"]] == pytest.approx(expected, abs=1e-4)
    assert manifest["decode"]["score"] == pytest.approx(result["score"], abs=1e-4)


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_rows_sum_to_one_and_the_atlas_shows_the_weights(trio_client: httpx2.Client, arch: str) -> None:
    manifest = post(trio_client, model=arch)
    for kind, about in manifest["attention"].items():
        found = tensors(trio_client, manifest["id"], f"{kind}.weights", f"{kind}.atlas")
        weights = found[f"{kind}.weights"]
        assert list(weights.shape) == about["shape"]
        assert np.abs(weights.sum(axis=-1) - 1).max() < 1e-5
        assert np.array_equal(found[f"{kind}.atlas"], atlas(weights))
        one = tensors(trio_client, manifest["id"], f"{kind}.weights:0.0")
        assert np.array_equal(one[f"{kind}.weights:0.0"], weights[0, 0])


@pytest.mark.parametrize("arch", ARCHS)
def test_the_beam_leads_to_the_answer(trio_client: httpx2.Client, arch: str) -> None:
    for options in ({}, {"beam": 1}, {"beam": 3, "ban": ["-03"], "prefix": "19"}):
        manifest = post(trio_client, model=arch, **options)
        tree = trio_client.get(f"/v1/traces/{manifest['id']}/beam").json()
        jsonschema_rs.validator_for(BeamDocument.model_json_schema()).validate(tree)
        chosen = [tree["nodes"][n]["id"] for n in tree["chosen"][1:]]
        assert chosen == [token["id"] for token in manifest["target"]["tokens"]]
        assert (manifest["beam"] is None) == (options.get("beam") == 1)


@pytest.mark.parametrize("options", [{"target": "2024-01-01"}, {"sample": True, "seed": 3}])
def test_a_target_that_no_beam_found_has_none(trio_client: httpx2.Client, options: dict[str, Any]) -> None:
    manifest = post(trio_client, **options)
    answer = trio_client.get(f"/v1/traces/{manifest['id']}/beam")
    assert (answer.status_code, answer.json()["code"], manifest["beam"]) == (404, "no_beam", None)


@pytest.mark.parametrize("arch", ARCHS)
def test_influence_of_words_and_pieces(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    own = make_trace(trio[arch], TEXT, name=arch)
    path = f"/v1/traces/{post(trio_client, model=arch)['id']}/influence"
    for unit in ("words", "tokens"):
        for replace in ("unk", "drop"):
            found = trio_client.get(path, params={"unit": unit, "replace": replace}).json()
            expected = own.influence(unit=unit, replace=replace).to_dict()  # type: ignore[arg-type]
            assert found["units"] == expected["units"]
            assert (found["unit"], found["replace"]) == (unit, replace)
            assert np.allclose(found["values"], expected["values"], atol=1e-4)
    assert len(trio_client.get(path).json()["units"]) == 4


def events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n") if not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in blocks]


def test_influence_as_events(serve: Serve, trio: dict[str, Translator]) -> None:
    with serve(models={"m": trio["luong"]}) as running, running.client() as client:
        id = post(client)["id"]
        answer = client.get(f"/v1/traces/{id}/influence", headers={"Accept": "text/event-stream"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        *told, (last, final) = events(answer.text)
        assert {name for name, _ in told} == {"progress"}
        assert told[-1][1] == {"done": 5, "total": 5}
        assert last == "final"
        assert final == client.get(f"/v1/traces/{id}/influence").json()
        assert running.services.streams.taken == 0


@pytest.mark.parametrize("arch", ARCHS)
def test_a_given_target_and_interventions(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    given = post(trio_client, model=arch, target="2024-01-01")
    assert given["target"]["origin"] == "given"
    assert given["id"] == make_trace(trio[arch], TEXT, target="2024-01-01").id
    inside = {"op": "bridge", "mode": "zero"}
    if arch == "transformer":
        inside = {"op": "mask_head", "kind": "cross", "layer": 1, "head": [2]}  # type: ignore[dict-item]
    for ops in (
        [inside],
        [{"op": "force_prefix", "text": "20"}, {"op": "replace_source", "unit": 1, "text": "5월"}],
    ):
        edited = post(trio_client, model=arch, interventions=ops)
        assert edited["interventions"] == ops
        assert edited["id"] not in (given["id"], post(trio_client, model=arch)["id"])
        again = trio_client.get(f"/v1/traces/{edited['id']}/beam").json()
        chosen = [again["nodes"][n]["id"] for n in again["chosen"][1:]]
        assert chosen == [token["id"] for token in edited["target"]["tokens"]]
    assert edited["source"]["text"] == "1998년 5월 24일 화요일"
    assert edited["target"]["text"].startswith("20")


def test_tensors_never_change(trio_client: httpx2.Client) -> None:
    id = post(trio_client, model="transformer")["id"]
    path = f"/v1/traces/{id}/tensors?need=cross.atlas"
    answer = trio_client.get(path)
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    etag = answer.headers["etag"]
    assert id in etag
    assert trio_client.get(path + "&need=cross.weights").headers["etag"] != etag
    again = trio_client.get(path, headers={"If-None-Match": f'"x", {etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


@pytest.mark.parametrize(
    ("arch", "need", "detail"),
    [
        (
            "transformer",
            "cross.atlas:9",
            "cross has 2 layers, and layer 9 was asked for: layers count from 0: 0 to 1",
        ),
        (
            "transformer",
            "cross.q:0.7",
            "cross has 4 heads, and head 7 was asked for: heads count from 0: 0 to 3",
        ),
        ("transformer", "cross.spice", "this trace has no tensor cross.spice: did you mean 'cross.scores'?"),
        ("transformer", "rnn.encoder", "this trace has no tensor rnn.encoder: known: cross.atlas,"),
        (
            "luong",
            "enc_self.atlas",
            "this trace has no tensor enc_self.atlas: did you mean 'cross.atlas'?",
        ),
        (
            "rnn",
            "cross.atlas",
            "this trace has no tensor cross.atlas: known: rnn.bridge, rnn.decoder, rnn.encoder",
        ),
        ("rnn", "rnn.encoder:0", "rnn.encoder has neither layers nor heads: ask for rnn.encoder"),
    ],
)
def test_an_unknown_tensor_names_what_there_is(
    trio_client: httpx2.Client, arch: str, need: str, detail: str
) -> None:
    id = post(trio_client, model=arch)["id"]
    answer = trio_client.get(f"/v1/traces/{id}/tensors", params={"need": need})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
    assert answer.json()["detail"].startswith(detail)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("need", ["GEHEIM", "../cross", "cross.atlas:-1", "cross.atlas:1.2.3", "", "x" * 65])
def test_a_need_that_is_none(trio_client: httpx2.Client, need: str) -> None:
    id = post(trio_client, model="transformer")["id"]
    answer = trio_client.get(f"/v1/traces/{id}/tensors", params={"need": need})
    assert answer.status_code == 422
    assert trio_client.get(f"/v1/traces/{id}/tensors").status_code == 422
    assert "GEHEIM" not in answer.text


def test_tensors_of_more_than_the_limit_are_refused(serve: Serve, trio: dict[str, Translator]) -> None:
    trace = make_trace(trio["transformer"], TEXT)
    size = trace.tensor("cross.weights").nbytes
    for most, status in ((size, 200), (size - 1, 422)):
        limits = Limits(trace_bytes=most)
        with serve(models={"m": trio["transformer"]}, limits=limits) as running, running.client() as client:
            path = f"/v1/traces/{post(client)['id']}/tensors"
            answer = client.get(path, params={"need": ["cross.weights", "cross.weights"]})
            assert answer.status_code == status
            if status == 422:
                assert answer.json()["code"] == "too_large"
                assert f"more than {most:,} bytes" in answer.json()["detail"]


UNKNOWN = ["0123456789abcdef", "x", "..", "0123456789ABCDEF", "%2e%2e%2fx", "0123456789abcdef%0a", "０" * 16]


@pytest.mark.parametrize("id", UNKNOWN)
@pytest.mark.parametrize("path", ["", "/tensors?need=cross.atlas", "/beam", "/influence", "/html"])
def test_an_unknown_trace(trio_client: httpx2.Client, id: str, path: str) -> None:
    answer = trio_client.get(f"/v1/traces/{id}{path}")
    if id == "..":  # the client itself takes it out of the path
        assert answer.status_code == 404
        return
    assert (answer.status_code, answer.json()["code"]) in ((404, "unknown_trace"), (404, "not_found"))


def test_the_page_knows_the_path_of_a_trace(trio_client: httpx2.Client) -> None:
    assert trio_client.get("/t/0123456789abcdef").headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("arch", ARCHS)
def test_one_file_to_take_away(
    trio_client: httpx2.Client, arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = post(trio_client, model=arch)["id"]
    monkeypatch.setattr(page, "STATIC", tmp_path)
    answer = trio_client.get(f"/v1/traces/{id}/html")
    assert (answer.status_code, answer.json()["code"]) == (503, "page_not_built")
    (tmp_path / "file-1a.js").write_text("1")
    (tmp_path / "file-1a.css").write_text("a{}")
    answer = trio_client.get(f"/v1/traces/{id}/html")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{id}.html"'
    assert answer.headers["content-security-policy"] == "sandbox"
    assert f'"id":"{id}"' in answer.text


def test_leaving_influence_ends_it(running: Running) -> None:
    with running.client() as client:
        id = post(client, text="a man", max_len=4)["id"]
        with client.stream(
            "GET", f"/v1/traces/{id}/influence?unit=tokens", headers={"Accept": "text/event-stream"}
        ) as answer:
            next(answer.iter_lines())
    for _ in range(200):
        if running.services.streams.taken == running.services.analyst.waiting == 0:
            break
        with running.client() as client:
            client.get("/health/live")
    assert running.services.streams.taken == running.services.analyst.waiting == 0


def test_every_endpoint_is_described(trio_client: httpx2.Client) -> None:
    paths = trio_client.get("/openapi.json").json()["paths"]
    one = "/v1/traces/{id}"
    for path in ("/v1/trace", "/v1/what-if", "/v1/sweep", "/v1/compare"):
        assert "post" in paths[path]
    for path in (one, f"{one}/tensors", f"{one}/beam", f"{one}/influence", f"{one}/html"):
        assert "get" in paths[path]
    kinds = paths["/v1/sweep"]["post"]["responses"]["200"]["content"]
    assert set(kinds) == {"application/json", "text/event-stream"}
    assert set(paths[f"{one}/tensors"]["get"]["responses"]["200"]["content"]) == {"application/octet-stream"}
