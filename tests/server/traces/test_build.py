"""How requests become traces: limits, fingerprints, the cache, the folder of `--keep`, and restarts."""

import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from safetensors.numpy import load
from tests.explain.conftest import counting
from tests.explain.seeing import picture, seeing
from tests.server.conftest import HELD, HeldModel, Running, Serve, serving, wait_until

from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, LimitError
from jumok.explain import trace as trace_module
from jumok.explain.manifest import build_manifest
from jumok.explain.ops import mask_head
from jumok.explain.trace import make_trace
from jumok.model import load as load_model
from jumok.server.analysis import CancelFlag
from jumok.server.gates.limits import Limits
from jumok.server.services import Services
from jumok.server.settings import ServerSettings
from jumok.server.traces.build import Question, check_ids, prepare

TEXT = "den 5 mars 2024 kl. 14:30"


def post(client: httpx2.Client, **body: Any) -> httpx2.Response:
    return client.post("/v1/trace", json={"text": TEXT, **body})


def test_ids_of_a_file_are_those_that_the_model_has() -> None:
    limits = Limits(trace_tokens=3)
    check_ids([0, 8, 0], 9, limits)
    for wrong in ([-1], [9], [1] * 4):
        with pytest.raises(ConfigError, match="ids that the model does not take"):
            check_ids(wrong, 9, limits)


def test_a_fingerprint_must_be_the_models(trio_client: httpx2.Client) -> None:
    [*cards] = trio_client.get("/v1/models").json()["models"]
    for card in cards:
        whole = card["fingerprint"]
        for given in (whole, whole[:12], f"sha256:{whole[:12]}"):
            answer = post(trio_client, model=card["name"], fingerprint=given)
            assert answer.status_code == 200
            assert answer.json()["model"]["fingerprint"] == whole
    answer = post(trio_client, model=cards[0]["name"], fingerprint=cards[1]["fingerprint"])
    assert (answer.status_code, answer.json()["code"]) == (409, "fingerprint_differs")
    assert cards[0]["fingerprint"][:16] in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "code", "detail"),
    [
        ({"model": "none"}, 404, "unknown_model", "known: luong, rnn, transformer"),
        ({"text": " \n "}, 422, "empty_text", "text: a sentence is needed"),
        ({"text": ""}, 422, "empty_text", "text: a sentence is needed"),
        ({"text": "a" * 5001}, 422, "too_long", "text: string should have at most 5000 characters"),
        ({"beam": 17}, 422, "bad_parameter", "beam: input should be less than or equal to 16"),
        ({"n_best": 17}, 422, "bad_parameter", "n_best: input should be"),
        ({"max_len": 513}, 422, "bad_parameter", "max_len: input should be less than or equal to 512"),
        ({"beam": 2, "n_best": 3}, 422, "bad_parameter", "these options cannot work together: a beam of 2"),
        ({"spice": 1}, 422, "bad_parameter", "spice: unknown field"),
        (
            {"interventions": [{"op": "fly"}]},
            422,
            "bad_parameter",
            "interventions.0.op: known: ban",
        ),
        (
            {"interventions": [{"op": "no_scale", "kind": "cross"}]},
            422,
            "bad_parameter",
            "interventions.0.kind: no_scale",
        ),
        (
            {"interventions": [{"op": "replace_source", "unit": 99, "text": "GEHEIM"}]},
            422,
            "bad_parameter",
            "interventions.0.unit: replace_source: unit 99 does not exist: the source has words 0 to 8",
        ),
        (
            {"interventions": [{"op": "force_prefix", "ids": [300, 5]}]},
            422,
            "bad_parameter",
            "interventions.0.ids: give [",
        ),
        (
            {
                "model": "transformer",
                "interventions": [{"op": "uniform", "kind": "cross", "layer": 7, "head": 0}],
            },
            422,
            "bad_parameter",
            "interventions.0.layer: uniform: layer 7 does not exist: cross has layers 0 to 1",
        ),
        (
            {"interventions": [{"op": "ban", "text": ["GEHEIM"]}, {"op": "force_prefix", "text": "GEHEIM"}]},
            422,
            "bad_parameter",
            "these options cannot work together: take the text out of one of them",
        ),
    ],
)
def test_what_cannot_be_traced(
    trio_client: httpx2.Client, body: dict[str, Any], status: int, code: str, detail: str
) -> None:
    answer = post(trio_client, **body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.json()["detail"].startswith(detail)
    assert "GEHEIM" not in answer.text


@pytest.mark.parametrize(
    ("op", "field"),
    [
        ({"op": "uniform", "kind": "cross", "layer": 7, "head": 0}, "layer"),
        ({"op": "uniform", "kind": "cross", "layer": "x", "head": 0}, "layer"),
        ({"op": "no_scale", "kind": "fly"}, "kind"),
        ({"op": "replace_source", "unit": 99, "text": "a"}, "unit"),
        ({"op": "force_prefix", "ids": [300, 5]}, "ids"),
    ],
)
def test_the_field_that_is_wrong_has_its_path(
    trio_client: httpx2.Client, op: dict[str, Any], field: str
) -> None:
    answer = post(trio_client, model="transformer", interventions=[{"op": "ban", "text": ["x"]}, op])
    assert (answer.status_code, answer.json()["field"]) == (422, f"interventions.1.{field}")


def test_128_tokens_at_the_limit_and_one_above(trio_client: httpx2.Client) -> None:
    at = post(trio_client, model="luong", target="9" * 127)
    assert at.json()["attention"]["cross"]["shape"][2] == 128
    above = post(trio_client, model="luong", target="9" * 128)
    assert (above.status_code, above.json()["code"]) == (422, "too_long")
    expected = "the target has 129 tokens, its end included, and 128 x 128 are the most"
    assert above.json()["detail"] == expected


def test_the_limit_holds_for_the_source_too(serve: Serve, trio: dict[str, Translator]) -> None:
    with serve(models=trio, limits=Limits(trace_tokens=20)) as running, running.client() as client:
        for arch in trio:
            assert post(client, model=arch, text="9" * 19, target="9" * 19).status_code == 200
            for target in ({}, {"target": "9"}):
                above = post(client, model=arch, text="9" * 20, **target)
                assert (above.status_code, above.json()["code"]) == (422, "too_long")
                expected = "the source has 21 tokens, its end included, and 20 x 20 are the most"
                assert above.json()["detail"] == expected


def test_an_answer_that_is_too_long_is_refused_too(trio_client: httpx2.Client) -> None:
    answer = post(trio_client, model="rnn", text="! " * 60, min_len=128, max_len=140)
    assert (answer.status_code, answer.json()["code"]) == (422, "too_long")
    assert answer.json()["detail"].startswith("the target has 1")


def test_a_source_that_is_too_long_for_the_model_is_cut_with_a_warning(client: httpx2.Client) -> None:
    answer = client.post("/v1/trace", json={"text": "a " * 20, "max_len": 4})
    assert [one["code"] for one in answer.json()["warnings"]][0] == "source_truncated"
    assert len(answer.json()["source"]["tokens"]) == 13
    answer = client.post("/v1/trace", json={"text": "a " * 20, "max_len": 4, "long": "error"})
    assert (answer.status_code, answer.json()["code"]) == (422, "too_long")


def test_work_beyond_the_limit(serve: Serve, trio: dict[str, Translator]) -> None:
    with serve(models=trio, limits=Limits(work=400)) as running, running.client() as client:
        assert post(client, beam=1).status_code == 200
        answer = post(client, beam=16)
        assert (answer.status_code, answer.json()["code"]) == (422, "too_large")


def test_the_same_request_is_answered_from_memory(serve: Serve, trio: dict[str, Translator]) -> None:
    with serve(models=trio) as running, running.client() as client:
        metrics = running.services.metrics
        before = metrics.value("jumok_translate_sentences_total", model="rnn", side="source")
        first, again = post(client).json(), post(client).json()
        assert first == again
        assert (
            metrics.value("jumok_trace_cache_hits_total"),
            metrics.value("jumok_trace_cache_misses_total"),
        ) == (1, 0)
        assert metrics.value("jumok_trace_cache_bytes") > 0
        decoded = metrics.value("jumok_translate_sentences_total", model="rnn", side="source") - before
        assert decoded == 1  # by the worker
        for path in ("beam", "influence"):
            before = metrics.value("jumok_trace_cache_bytes")
            assert client.get(f"/v1/traces/{first['id']}/{path}").status_code == 200
            assert metrics.value("jumok_trace_cache_bytes") > before
        assert "jumok_trace_cache_hits_total 3" in client.get("/metrics").text


def test_a_trace_that_has_gone_comes_back_with_the_same_id(serve: Serve, trio: dict[str, Translator]) -> None:
    with serve(models=trio, limits=Limits(traces=2)) as running, running.client() as client:
        first = post(client).json()
        for target in ("a", "b"):
            assert post(client, target=target).status_code == 200
        answer = client.get(f"/v1/traces/{first['id']}")
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_trace")
        again = post(client).json()
        assert again["id"] == first["id"]
        assert client.get(f"/v1/traces/{first['id']}").status_code == 200


def test_edited_models_decode_beside_the_worker(serve: Serve, trio: dict[str, Translator]) -> None:
    with serve(models=trio) as running, running.client() as client:
        decoded = partial(
            running.services.metrics.value,
            "jumok_translate_sentences_total",
            model="luong",
            side="source",
        )
        before = decoded()
        ops = [{"op": "mask_head", "kind": "cross", "layer": 0, "head": 0}]
        manifest = post(client, model="luong", interventions=ops).json()
        assert decoded() == before
        expected = make_trace(trio["luong"], TEXT, ops=[mask_head("cross", 0, 0)])
        assert manifest["id"] == expected.id
        assert manifest["target"]["text"] == expected.manifest["target"]["text"]


def tensors(client: httpx2.Client, id: str, need: str) -> Any:
    answer = client.get(f"/v1/traces/{id}/tensors", params={"need": need})
    assert answer.status_code == 200, answer.text
    return load(answer.content)[need]


@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
def test_kept_traces_outlive_the_server(
    serve: Serve, trio: dict[str, Translator], tmp_path: Path, arch: str
) -> None:
    need = "rnn.decoder" if arch == "rnn" else "cross.scaled"
    ops = [{"op": "bridge", "mode": "zero"}] if arch == "rnn" else []
    with serve(models={"old": trio[arch]}, keep=tmp_path) as running, running.client() as client:
        manifest = post(client, interventions=ops).json()
        numbers = tensors(client, manifest["id"], need)
        about = {
            path: client.get(f"/v1/traces/{manifest['id']}/{path}").json() for path in ("beam", "influence")
        }
    with serve(models={"new": trio[arch]}, keep=tmp_path) as running, running.client() as client:
        found = client.get(f"/v1/traces/{manifest['id']}").json()
        assert found["model"]["name"] == "new"
        assert {**found, "model": 0, "positions": 0} == {**manifest, "model": 0, "positions": 0}
        assert np.allclose(tensors(client, manifest["id"], need), numbers, atol=1e-6)
        assert client.get(f"/v1/traces/{manifest['id']}/beam").json() == about["beam"]
        influence = client.get(f"/v1/traces/{manifest['id']}/influence").json()
        assert np.allclose(influence["values"], about["influence"]["values"], atol=1e-5)
        assert client.get(f"/t/{manifest['id']}").status_code == 200
        assert post(client, interventions=ops).json()["id"] == manifest["id"]


def test_a_kept_trace_of_a_model_that_is_not_here(
    serve: Serve, trio: dict[str, Translator], tmp_path: Path
) -> None:
    with serve(models={"m": trio["transformer"]}, keep=tmp_path) as running, running.client() as client:
        id = post(client).json()["id"]
    with serve(models={"m": trio["luong"]}, keep=tmp_path) as running, running.client() as client:
        assert client.get(f"/v1/traces/{id}").json()["model"]["arch"] == "transformer"
        assert tensors(client, id, "cross.atlas").dtype == np.uint8
        for path in ("tensors?need=cross.scaled:0.0", "influence", "beam"):
            answer = client.get(f"/v1/traces/{id}/{path}")
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
            assert "saved without" in answer.json()["detail"]


def test_a_trace_that_python_saved_is_opened(
    serve: Serve, trio: dict[str, Translator], tmp_path: Path
) -> None:
    made = load_model("demo/transformer").trace(TEXT)
    made.save(tmp_path / f"{made.id}.trace")
    for models in (trio, {"rnn": trio["rnn"]}):
        with serve(models=models, keep=tmp_path) as running, running.client() as client:
            found = client.get(f"/v1/traces/{made.id}").json()
            assert found["steps"] == made.manifest["steps"]
            own = made.tensor("cross.scaled", 1, 2)
            assert np.allclose(tensors(client, made.id, "cross.scaled:1.2"), own, atol=1e-5)
            if "transformer" in models:
                assert post(client, model="transformer").json()["id"] == made.id


def test_a_hostile_kept_file_is_shown_from_the_file_or_not_at_all(
    serve: Serve, trio: dict[str, Translator], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = make_trace(trio["luong"], TEXT)
    made.manifest["source"]["tokens"][0]["id"] = 10**9  # no such piece
    made.save(tmp_path / f"{made.id}.trace", heads=())
    (tmp_path / "0123456789abcdef.trace").write_bytes(b"x" * 100)
    with serve(models=trio, keep=tmp_path) as running, running.client() as client:
        assert client.get(f"/v1/traces/{made.id}").status_code == 200
        assert client.get(f"/v1/traces/{made.id}/tensors?need=cross.q").status_code == 422
        with caplog.at_level(logging.WARNING, "jumok.server"):
            assert client.get("/v1/traces/0123456789abcdef").status_code == 404


def test_many_at_once_get_each_their_own(trio_running: Running) -> None:
    texts = [f"{day}. März 2024" for day in range(1, 5)]
    arches = ["rnn", "luong", "transformer"]

    def ask(n: int) -> tuple[str, str]:
        with trio_running.client() as client:
            answer = client.post("/v1/trace", json={"model": arches[n % 3], "text": texts[n // 3]})
            return answer.json()["source"]["text"], answer.json()["model"]["name"]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(12)))
    assert found == [(texts[n // 3], arches[n % 3]) for n in range(12)]


def test_leaving_ends_the_decoding_of_an_edited_model(serve: Serve, held_luong: HeldModel) -> None:
    with serve(models={"m": held_luong.translator}) as running:
        held_luong.passes = 0  # of the self-test there were some
        ops = [{"op": "bridge", "mode": "zero"}]
        asked = {"text": "a man", "min_len": 400, "max_len": 500, "interventions": ops}
        body = json.dumps(asked).encode()
        head = f"POST /v1/trace HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        with running.connect() as sock:
            sock.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
            wait_until(lambda: held_luong.passes == HELD)
        wait_until(lambda: running.services.analyst.waiting == 0)
        held_luong.go_on.set()
        running.services.analyst._pool.submit(int).result(120)  # its thread is free
        assert held_luong.passes == HELD


def test_the_event_loop_never_makes_a_manifest(
    running: Running, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def watched(*args: Any) -> dict[str, Any]:
        threads.append(threading.current_thread().name)
        return build_manifest(*args)

    monkeypatch.setattr(trace_module, "build_manifest", watched)
    edit = {"op": "mask_head", "kind": "cross", "layer": 0, "head": 0}
    for body in ({"target": "the dog"}, {"model": "luong", "interventions": [edit]}, {}):
        assert client.post("/v1/trace", json={"text": "one man and no loop", **body}).status_code == 200
    body = {"models": ["rnn", "luong"], "text": "two men and no loop"}
    assert client.post("/v1/compare", json=body).status_code == 200
    assert len(threads) == 5
    assert all(name.startswith("jumok-") for name in threads), threads


def test_pictures_over_http(serve: Serve, tmp_path: Path) -> None:
    model = seeing()
    with serve(models={"seer": model}, keep=tmp_path) as running, running.client() as client:
        assert client.get("/health/ready").status_code == 200
        card = client.get("/v1/models/seer").json()
        assert (card["source"], card["image"]) == ("image", {"size": 32, "patch": 8})
        found = client.post("/v1/trace", json={"text": picture(size=200)}).json()
        assert found["source"]["image"]["rows"] == 4
        assert found == {**model.trace(picture(size=200)).manifest, "decode": found["decode"]} | {
            "model": found["model"],
            "positions": found["positions"],
        }
        again = client.post("/v1/trace", json={"text": found["source"]["text"]}).json()
        assert again["id"] == found["id"]
        weights = load(client.get(f"/v1/traces/{found['id']}/tensors?need=cross.weights:1.0").content)
        np.testing.assert_allclose(weights["cross.weights:1.0"].sum(axis=-1), 1, atol=1e-5)
        assert client.get(f"/v1/traces/{found['id']}/influence").status_code == 200
        answer = client.post("/v1/translate", json={"texts": [picture(), ""]}).json()
        assert [one["text"] for one in answer["results"]] == [model.translate(picture()).text, ""]
    with serve(models={"seer": model}, keep=tmp_path) as running, running.client() as client:  # kept
        assert client.get(f"/v1/traces/{found['id']}/beam").status_code == 200


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("/etc/passwd", "bad_image"),
        ("file:///etc/passwd", "bad_image"),
        ("http://example.org/a.png", "bad_image"),
        ("data:text/plain;base64,AAAA", "bad_image"),
        ("data:image/png;base64,AAAA", "bad_image"),
        ("data:image/png;base64,***", "bad_image"),
        ("data:image/png;base64," + "A" * 700_000, "too_long"),
        ("x" * 5001, "too_long"),
    ],
)
def test_what_is_no_picture_is_refused(seer_client: httpx2.Client, text: str, code: str) -> None:
    for path, body in (("translate", {"texts": [text]}), ("trace", {"text": text})):
        answer = seer_client.post(f"/v1/{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, code)
        assert "passwd" not in answer.text


def test_a_picture_is_too_long_a_text(client: httpx2.Client) -> None:
    answer = client.post("/v1/trace", json={"text": "data:image/png;base64," + "A" * 6000})
    assert (answer.status_code, answer.json()["code"]) == (422, "too_long")


@pytest.fixture(scope="module")
def seer_client(static: Path) -> Iterator[httpx2.Client]:
    settings = ServerSettings(port=0, static=static)
    with serving({"seer": seeing("rnn")}, settings) as running, running.client() as found:
        yield found


def test_only_models_that_read_text_know_languages(seer_client: httpx2.Client) -> None:
    assert seer_client.post("/detect", json={"q": "hello"}).json() == []
    answer = seer_client.post("/translate", json={"q": "hello", "source": "auto", "target": "en"})
    assert answer.json()["error"].startswith("no model that reads text is loaded")


def test_a_text_is_tokenised_once(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = {"op": "mask_head", "kind": "cross", "layer": 0, "head": 0}
    for n, body in enumerate(({}, {"target": "the dog"}, {"interventions": [silent]})):
        text = f"a man sees {n} dogs"
        with counting(monkeypatch) as read:
            assert post(client, model="transformer", text=text, **body).status_code == 200
        assert read[text] == 1, body


def test_the_source_of_a_trace_has_its_limit_to_the_token(tiny_models: dict[str, Translator]) -> None:
    """Seven pieces and the end are eight tokens; this is said before anything is decoded."""
    services = Services({"m": tiny_models["luong"]}, ServerSettings(limits=Limits(trace_tokens=8)))
    served = services.model("m")
    for pieces in (7, 8):
        text = " ".join(["a"] * pieces)
        assert len(served.translator.tokenizers.source.encode(text)) == pieces
        question = Question(served, text, None, {"max_len": 2}, ())
        if pieces == 7:
            assert prepare(CancelFlag(), question, services.limits).order is not None
        else:
            with pytest.raises(LimitError, match="the source has 9 tokens, its end included, and 8 x 8"):
                prepare(CancelFlag(), question, services.limits)
    services.close()
