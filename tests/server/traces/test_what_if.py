"""`/v1/what-if` and `/v1/sweep` over HTTP: the library's numbers, turns, deadlines, clients that leave."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.conftest import HELD, HeldModel, Running, Serve, wait_until

from jumok.decoding.translator import Translator
from jumok.explain.influence import sweep
from jumok.explain.ops import parse_ops
from jumok.explain.what_if import what_if
from jumok.server import events as server_events
from jumok.server import services
from jumok.server.gates.limits import Limits
from jumok.server.traces.schema import SweepRowOut, WhatIfOut

TEXT = "5. März 2024"
INSIDE: dict[str, dict[str, Any]] = {
    "rnn": {"op": "bridge", "mode": "swap", "text": "1. Mai 1999"},
    "luong": {"op": "uniform", "kind": "cross", "layer": 0, "head": 0},
    "transformer": {"op": "mask_head", "kind": "cross", "layer": "*", "head": "*"},
}
JSON = {"Accept": "application/json"}


def ask(client: httpx2.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json={"text": TEXT, **body}, headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("arch", INSIDE)
@pytest.mark.parametrize(
    "more", [[], [{"op": "ban", "text": ["2024"]}], [{"op": "replace_source", "unit": 2, "text": "2025"}]]
)
def test_what_if_is_that_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str, more: list[dict[str, Any]]
) -> None:
    ops = [INSIDE[arch], *more]
    found = ask(trio_client, "/v1/what-if", model=arch, interventions=ops, beam=2)
    expected = what_if(trio[arch], TEXT, parse_ops(ops), beam=2).to_dict()
    for side in ("baseline", "edited"):
        assert {**found[side], "score": 0, "tokens": 0} == {**expected[side], "score": 0, "tokens": 0}
        assert found[side]["score"] == pytest.approx(expected[side]["score"], abs=1e-4)
        for one, other in zip(found[side]["tokens"], expected[side]["tokens"], strict=True):
            assert (one["text"], one["id"]) == (other["text"], other["id"])
        assert trio_client.get(f"/v1/traces/{found[side]['id']}").status_code == 200
    assert found["diff"] == expected["diff"]
    assert found["first_divergence"] == expected["first_divergence"]
    under = expected["baseline_logprob_under_edit"]
    assert found["baseline_logprob_under_edit"] == pytest.approx(under, abs=1e-3)
    baseline = trio_client.post("/v1/trace", json={"model": arch, "text": TEXT, "beam": 2}).json()
    assert baseline["id"] == found["baseline"]["id"]


def test_without_interventions_nothing_changes(trio_client: httpx2.Client) -> None:
    found = ask(trio_client, "/v1/what-if")
    assert found["baseline"] == found["edited"]
    assert found["first_divergence"] is None
    assert found["baseline_logprob_under_edit"] == pytest.approx(found["baseline"]["score"], abs=1e-4)


def test_a_given_target_stays_the_target(trio_client: httpx2.Client) -> None:
    ops = [INSIDE["transformer"]]
    found = ask(trio_client, "/v1/what-if", model="transformer", target="2024-03-05", interventions=ops)
    assert found["edited"]["text"] == found["baseline"]["text"] == "2024-03-05"
    assert found["edited"]["score"] < found["baseline"]["score"]
    assert found["baseline_logprob_under_edit"] == pytest.approx(found["edited"]["score"], abs=1e-4)


def test_a_row_that_loses_every_key_is_refused(trio_client: httpx2.Client) -> None:
    op = {"op": "mask_edge", "kind": "dec_self", "layer": 0, "head": 0, "q": 2, "k": [0, 1, 2]}
    body = {"model": "transformer", "text": TEXT, "interventions": [op]}
    answer = trio_client.post("/v1/what-if", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
    assert "position 2 of dec_self would lose every key" in answer.json()["detail"]


def test_an_intervention_that_the_model_does_not_have(trio_client: httpx2.Client) -> None:
    for arch, op, detail in (
        ("rnn", INSIDE["luong"], "this model (rnn) has no cross attention"),
        ("transformer", INSIDE["rnn"], "a Transformer has no bridge"),
        ("luong", {"op": "positions", "mode": "none"}, "a recurrent model (luong) knows the order"),
    ):
        body = {"model": arch, "text": TEXT, "interventions": [op]}
        for path in ("/v1/what-if", "/v1/trace", "/v1/sweep"):
            answer = trio_client.post(path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
            assert detail in answer.json()["detail"]


@pytest.mark.parametrize("arch", INSIDE)
def test_a_sweep_is_that_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    found = ask(trio_client, "/v1/sweep", model=arch)
    answer = trio[arch].translate(TEXT)
    expected: dict[str, list[Any]] = {}
    for row in sweep(trio[arch], TEXT, [token.id for token in answer.tokens]):
        expected.setdefault(row.kind, []).append(row.values)
    sizes = trio[arch].config.model.attention
    assert set(found["kinds"]) == set(expected) == set(sizes)
    for kind, rows in found["kinds"].items():
        assert np.shape(rows) == sizes[kind]  # type: ignore[index]
        assert np.allclose(rows, expected[kind], atol=1e-3)
    assert found["baseline_logprob"] == pytest.approx(answer.score, abs=1e-4)


def events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n") if not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in blocks]


@pytest.mark.parametrize("arch", INSIDE)
def test_a_sweep_as_events(trio_client: httpx2.Client, trio_running: Running, arch: str) -> None:
    whole = ask(trio_client, "/v1/sweep", model=arch, interventions=[{"op": "ban", "text": ["x"]}])
    body = {"model": arch, "text": TEXT, "interventions": [{"op": "ban", "text": ["x"]}]}
    answer = trio_client.post("/v1/sweep", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *rows, (last, final) = events(answer.text)
    assert (last, final) == ("final", whole)
    found: dict[str, list[Any]] = {}
    for name, row in rows:
        assert name == "row"
        SweepRowOut.model_validate(row)
        assert row["layer"] == len(found.setdefault(row["kind"], []))
        found[row["kind"]].append(row["values"])
    assert found == final["kinds"]
    wait_until(lambda: not trio_running.services.turns._busy)


def test_some_kinds_only(trio_client: httpx2.Client) -> None:
    found = ask(trio_client, "/v1/sweep", model="transformer", kinds=["cross"])
    assert list(found["kinds"]) == ["cross"]
    for arch, known in (("rnn", "it has none"), ("luong", "it has cross")):
        body = {"model": arch, "text": TEXT, "kinds": ["enc_self"]}
        answer = trio_client.post("/v1/sweep", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
        assert answer.json()["detail"] == f"kinds: this model has no enc_self attention: {known}"


def start(running: Running, path: str, body: dict[str, Any], address: str = "127.0.0.1") -> threading.Thread:
    """A client of an address that asks and waits."""

    def ask() -> None:
        transport = httpx2.HTTPTransport(local_address=address)
        with httpx2.Client(base_url=running.url, timeout=120, transport=transport) as client:
            client.post(path, json=body)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


LONG = {"text": "a man", "min_len": 90, "max_len": 100, "interventions": [{"op": "bridge", "mode": "zero"}]}


@contextmanager
def held_analyst(running: Running) -> Iterator[None]:
    """The thread for analyses is busy while the block lasts."""
    held = threading.Event()
    running.services.analyst._pool.submit(held.wait, 120)
    try:
        yield
    finally:
        held.set()


def test_one_at_a_time_per_client(
    serve: Serve, tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "PATIENCE_S", 0.02)
    model = tiny_models["luong"]
    with serve(models={"m": model, "n": model}) as running, running.client() as client:
        with held_analyst(running):
            threads = [start(running, "/v1/what-if", LONG)]
            wait_until(lambda: running.services.turns._busy)
            others = (("/v1/what-if", {}), ("/v1/sweep", {}), ("/v1/compare", {"models": ["m", "n"]}))
            for path, more in others:
                body = {"text": "a", **more}
                answer = client.post(path, json=body)
                assert (answer.status_code, answer.json()["code"]) == (429, "queue_full")
                assert answer.headers["retry-after"] == "1"
            assert client.post("/v1/translate", json={"texts": ["a"], "max_len": 2}).status_code == 200
            threads.append(start(running, "/v1/what-if", {"text": "a", "max_len": 2}, "127.0.0.2"))
            wait_until(lambda: len(running.services.turns._busy) == 2)  # another client has its own turn
        for one in threads:
            one.join(120)
        wait_until(lambda: not running.services.turns._busy)
        assert client.post("/v1/what-if", json={"text": "a", "max_len": 2}).status_code == 200


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_client_that_leaves_ends_its_sweep(serve: Serve, held_luong: HeldModel, accept: str) -> None:
    held_luong.go_on.set()
    body = json.dumps({"text": "a man", "target": "a dog sees " * 20}).encode()
    head = (
        f"POST /v1/sweep HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nAccept: {accept}\r\n"
    )
    with serve(models={"m": held_luong.translator}) as running:
        with held_analyst(running):  # it has to wait
            with running.connect() as sock:
                sock.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
                wait_until(lambda: running.services.analyst.waiting)
            wait_until(lambda: running.services.analyst.waiting == 0)
            wait_until(lambda: not running.services.turns._busy)
            wait_until(lambda: running.services.streams.taken == 0)
            count = held_luong.passes
        running.services.analyst._pool.submit(int).result(120)
        assert held_luong.passes == count  # it never began


@pytest.mark.parametrize("path", ["/v1/what-if", "/v1/trace"])
def test_the_deadline_ends_the_work(serve: Serve, held_luong: HeldModel, path: str) -> None:
    limits, models = Limits(deadline_s=0.4), {"m": held_luong.translator}
    with serve(models=models, limits=limits) as running, running.client() as client:
        held_luong.passes = 0  # of the self-test there were some
        answer = client.post(path, json=LONG)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")
        assert answer.json()["detail"] == "there was no answer within 0.4 seconds"
        held_luong.go_on.set()
        running.services.analyst._pool.submit(int).result(120)
        assert held_luong.passes <= HELD
        wait_until(lambda: not running.services.turns._busy)


def test_a_late_sweep_ends_with_an_error_event(
    serve: Serve, tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"text": "a man", "target": "a"}
    with serve(models={"m": tiny_models["luong"]}) as running, running.client() as client:
        assert client.post("/v1/trace", json=body).status_code == 200
        monkeypatch.setattr(server_events, "deadline_of", lambda *_: time.monotonic() + 0.1)
        with held_analyst(running):
            answer = client.post("/v1/sweep", json=body)
        [(name, problem)] = events(answer.text)
        assert (name, problem["code"], problem["status"]) == ("error", "deadline", 504)
        wait_until(lambda: not running.services.turns._busy)


small = st.integers(0, 3)
places = st.lists(small, min_size=1, max_size=3)
heads = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["enc_self", "dec_self", "cross"]),
        "layer": small | st.just("*"),
        "head": small | places,
    }
)
ops = st.one_of(
    st.builds(lambda head: {"op": "mask_head", **head}, heads),
    st.builds(lambda head, x: {"op": "scale_head", **head, "factor": x}, heads, st.floats(-1000, 1000)),
    st.builds(lambda head, q, k: {"op": "mask_edge", **head, "q": q, "k": k}, heads, places, places),
    st.builds(
        lambda head, q, w: {"op": "set_row", **head, "q": q, "weights": w},
        heads,
        small,
        st.dictionaries(st.sampled_from("0123"), st.floats(0, 10), min_size=1),
    ),
    st.builds(lambda head: {"op": "uniform", **head}, heads),
    st.builds(lambda kind: {"op": "no_scale", "kind": kind}, st.sampled_from(["enc_self", "cross"])),
    st.builds(
        lambda mode, by: {"op": "positions", "mode": mode, "by": by},
        st.sampled_from(["none", "shuffle", "shift"]),
        st.integers(-9, 9),
    ),
    st.builds(lambda mode: {"op": "bridge", "mode": mode, "text": "a"}, st.sampled_from(["mean", "swap"])),
    st.builds(lambda ids: {"op": "force_prefix", "ids": ids}, st.lists(st.integers(0, 400), max_size=2)),
    st.builds(lambda text: {"op": "ban", "text": [text]}, st.text("a m", min_size=1, max_size=2)),
    st.builds(lambda unit, text: {"op": "replace_source", "unit": unit, "text": text}, small, st.text("a ")),
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(INSIDE)), st.lists(ops, min_size=1, max_size=3))
def test_any_interventions_are_applied_or_refused(
    client: httpx2.Client, arch: str, asked: list[dict[str, Any]]
) -> None:
    body = {"model": arch, "text": "a man rides", "max_len": 5, "interventions": asked}
    answer = client.post("/v1/what-if", json=body)
    found = answer.json()
    if answer.status_code == 422:
        assert found["code"] == "bad_parameter"
        assert len(found["detail"]) > 20
    else:
        assert answer.status_code == 200, answer.text
        WhatIfOut.model_validate(found)
