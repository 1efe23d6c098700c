"""`/v1/translate/stream`: what comes, in which order, and how a client comes back to it."""

import json
from typing import Any

import httpx2
import pytest
from tests.decoding.conftest import TINY, untrained
from tests.server.conftest import Running, Serve, WorkerGate, wait_until

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.schema import StreamFinal, StreamPartial, StreamStart

Found = tuple[str, str, dict[str, Any]]
BODY = {"text": "a man rides a horse. the dog sees a man! one two three four", "beam": 3, "max_len": 8}


def parse(text: str) -> list[Found]:
    """(event, id, data) of each block; comments are left out."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":") and line)
        if fields:
            events.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
    return events


def stream(client: httpx2.Client, headers: dict[str, str] | None = None, **body: Any) -> list[Found]:
    answer = client.post("/v1/translate/stream", json={**BODY, **body}, headers=headers or {})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"  # a proxy does not collect them
    return parse(answer.text)


@pytest.mark.parametrize("model", TINY)
def test_start_partials_final(client: httpx2.Client, model: str) -> None:
    start, *partials, final = stream(client, model=model)
    assert start[0] == "start"
    assert start[2]["model"] == model
    assert start[2]["source_tokens"][:3] == [" a", " man", " ride"]
    assert {name for name, _, _ in partials} == {"partial"}
    assert [data["t"] for _, _, data in partials] == list(range(1, len(partials) + 1))
    for (_, _, one), (_, _, after) in zip(partials, partials[1:], strict=False):
        assert after["tokens"][: one["stable"]] == one["tokens"][: one["stable"]]
    assert final[0] == "final"
    whole = client.post("/v1/translate", json={**without_text(), "texts": [BODY["text"]], "model": model})
    [result] = whole.json()["results"]
    assert final[2]["text"] == result["text"]
    assert final[2]["score"] == pytest.approx(result["score"], abs=1e-4)
    assert partials[-1][2]["tokens"] == [one["text"] for one in result["tokens"] if one["text"] != "</s>"]
    assert final[2]["ms"] >= 0
    StreamStart.model_validate(start[2])
    for _, _, partial in partials:
        StreamPartial.model_validate(partial)
    StreamFinal.model_validate(final[2])


def without_text() -> dict[str, Any]:
    return {name: value for name, value in BODY.items() if name != "text"}


def test_a_model_whose_folder_says_mbr_answers_with_it(serve: Serve) -> None:
    model = Translator(untrained(TINY["luong"], mbr=5, temperature=0.3))
    text = BODY["text"]
    expected = model.translate(text)
    with serve(models={"drawn": model}) as running, running.client() as client:
        [whole] = client.post("/v1/translate", json={"texts": [text]}).json()["results"]
        answer = client.post("/v1/translate/stream", json={"text": text})
        [searched] = client.post("/v1/translate", json={"texts": [text], "beam": 2}).json()["results"]
    _, *partials, (_, _, final) = parse(answer.text)
    assert whole["text"] == final["text"] == expected.text
    assert searched["text"] == model.translate(text, beam=2).text != expected.text
    sure: list[str] = []
    for _, _, part in partials:
        assert part["tokens"][: len(sure)] == sure
        sure = part["tokens"][: part["stable"]]
    assert sure == [one["text"] for one in final["tokens"] if one["text"] != "</s>"]


def test_greedy_search_is_stable_all_along(client: httpx2.Client) -> None:
    for _, _, data in stream(client, beam=1)[1:-1]:
        assert data["stable"] == len(data["tokens"])


def test_blank_text(client: httpx2.Client) -> None:
    (_, _, start), (name, _, final) = stream(client, text=" ")
    assert start["source_tokens"] == []
    assert (name, final["text"]) == ("final", " ")


def test_a_paragraph_grows_sentence_by_sentence(client: httpx2.Client) -> None:
    text = "A man.\n\n- The dog!\n"
    (_, _, start), *partials, (_, _, final) = stream(client, text=text)
    assert start["source_tokens"]
    texts = [one["text"] for _, _, one in partials]
    assert any(one.count("\n\n- ") for one in texts)
    for _, _, one in partials:
        sure = one["text"][: one["sure"]]
        assert final["text"].startswith(sure)
    assert final["text"].endswith("\n")
    assert len(final["sentences"]) == 2


def test_a_client_that_comes_back_gets_the_rest(client: httpx2.Client) -> None:
    events = stream(client)
    for cut in (0, 3, len(events) - 2):
        rest = stream(client, {"Last-Event-ID": events[cut][1]})
        assert [one[:2] for one in rest] == [one[:2] for one in events[cut + 1 :]]
        assert rest[-1][2]["text"] == events[-1][2]["text"]


@pytest.mark.parametrize("last", ["x", "0123456789abcdef.3", "", "3", ".", "0123456789abcdef.-1"])
def test_an_id_of_another_stream_begins_anew(client: httpx2.Client, last: str) -> None:
    assert stream(client, {"Last-Event-ID": last})[0][0] == "start"


def test_the_id_belongs_to_the_request(client: httpx2.Client) -> None:
    names = {
        stream(client, **other)[0][2]["id"] for other in ({}, {"beam": 2}, {"model": "luong"}, {"text": "a"})
    }
    assert len(names) == 4


def test_what_is_wrong_from_the_start_is_no_stream(client: httpx2.Client) -> None:
    for body, status in (({"model": "none"}, 404), ({"text": 1}, 422), ({"texts": ["a"]}, 422)):
        answer = client.post("/v1/translate/stream", json={**BODY, **body})
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"


def test_leaving_a_stream_ends_the_work(running: Running) -> None:
    body = json.dumps({**BODY, "max_len": 500, "min_len": 500}).encode()
    head = f"POST /v1/translate/stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    worker, said = running.services.models["rnn"].worker, b""
    with WorkerGate(worker) as gate:
        with running.connect() as sock:
            sock.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
            wait_until(lambda: worker._tickets)
            gate.let(2)
            while b"event: partial" not in said:
                said += sock.recv(65536)
            assert b"event: start" in said
            assert running.services.streams.taken == 1
        wait_until(lambda: running.services.streams.taken == 0)
        gate.let()
        assert not worker._tickets


def test_the_deadline_holds_although_the_thread_hangs(
    serve: Serve, tiny_models: dict[str, Translator]
) -> None:
    with serve(limits=Limits(deadline_s=0.2), models={"rnn": tiny_models["rnn"]}) as running:
        with WorkerGate(running.services.models["rnn"].worker), running.client() as client:
            events = stream(client)
        assert [name for name, _, _ in events][-1] == "error"
        assert events[-1][2]["code"] == "deadline"
