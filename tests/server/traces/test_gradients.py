"""`/v1/gradients` over HTTP: the library's numbers, limits, turns, deadlines, clients that leave."""

import json
from typing import Any

import httpx2
import pytest
from tests.server.conftest import HELD, HeldModel, Serve, wait_until

from jumok.decoding.translator import Translator
from jumok.explain.gradients import gradients
from jumok.server.gates.limits import Limits
from jumok.server.traces.schema import GradientsOut

TEXT, TARGET = "5. März 2024", "2024-03-05"
PATH = "/v1/gradients"


@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
@pytest.mark.parametrize("fresh", [None, 7])
def test_gradients_are_those_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str, fresh: int | None
) -> None:
    body = {"model": arch, "text": TEXT, "target": TARGET, "lengths": [4, 30], "fresh": fresh}
    answer = trio_client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    found = GradientsOut.model_validate(answer.json())
    expected = gradients(trio[arch].on_torch("gradients"), TEXT, TARGET, lengths=[4, 30], fresh=fresh)
    assert found.tokens == list(expected.tokens)
    assert found.norms == pytest.approx(expected.norms, rel=1e-4)
    assert [one.length for one in found.by_length] == [4, 30]
    assert [one.first for one in found.by_length] == pytest.approx(
        [one.first for one in expected.by_length], rel=1e-3
    )
    assert (found.target, found.fresh) == (TARGET, fresh)


def test_without_a_target_it_is_the_models_answer(trio_client: httpx2.Client) -> None:
    found = trio_client.post(PATH, json={"model": "transformer", "text": TEXT}).json()
    assert found["target"] == TARGET
    assert found["by_length"] == []
    one = {"model": "rnn", "text": TEXT, "target": TARGET, "fresh": 0, "lengths": [80], "directions": 1}
    [far] = trio_client.post(PATH, json=one).json()["by_length"]
    assert far["first"] < 1e-9


@pytest.mark.parametrize(
    ("more", "code", "detail"),
    [
        ({"model": "no"}, "unknown_model", "luong"),
        ({"text": " "}, "empty_text", "text: a sentence is needed"),
        ({"lengths": [128]}, "bad_parameter", "less than 128"),
        ({"lengths": [1] * 17}, "bad_parameter", "16"),
        ({"fresh": -1}, "bad_parameter", "greater than or equal to 0"),
        ({"directions": 1}, "bad_parameter", "trained weights have the directions that they have"),
        ({"directions": 1, "fresh": 1}, "bad_parameter", "a transformer reads in no direction"),
        ({"target": "2024 " * 60}, "too_long", "the target has"),
        ({"text": "2024 " * 60}, "too_long", "and this model takes 96"),
        ({"beam": 3}, "bad_parameter", "beam"),
    ],
)
def test_what_is_refused(trio_client: httpx2.Client, more: dict[str, Any], code: str, detail: str) -> None:
    answer = trio_client.post(PATH, json={"model": "transformer", "text": TEXT, **more})
    problem = answer.json()
    assert answer.status_code in (404, 422)
    assert detail in problem["detail"], problem
    assert problem["code"] == code


def test_the_servers_own_limit_counts(serve: Serve, tiny_models: dict[str, Translator]) -> None:
    limits = Limits(trace_tokens=20)
    with serve(models={"m": tiny_models["luong"]}, limits=limits) as running, running.client() as client:
        answer = client.post(PATH, json={"text": "a man", "target": "a", "lengths": [20]})
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_parameter")
        assert "lengths.0: input should be less than 20" in answer.json()["detail"]


def test_the_deadline_ends_the_work(serve: Serve, held_luong: HeldModel) -> None:
    limits, models = Limits(deadline_s=0.4), {"m": held_luong.translator}
    with serve(models=models, limits=limits) as running, running.client() as client:
        held_luong.passes = 0  # of the self-test there were some
        body = {"text": "a man", "target": "a dog", "lengths": list(range(4, 16))}
        answer = client.post(PATH, json=body)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")
        held_luong.go_on.set()
        running.services.analyst._pool.submit(int).result(120)
        assert held_luong.passes <= HELD + 1
        wait_until(lambda: not running.services.turns._busy)


def test_a_client_that_leaves_ends_it(serve: Serve, held_luong: HeldModel) -> None:
    body = json.dumps({"text": "a man", "target": "a dog", "lengths": list(range(4, 16))}).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n".encode()
    with serve(models={"m": held_luong.translator}) as running:
        held_luong.passes = 0
        with running.connect() as sock:
            sock.sendall(head + b"Content-Type: application/json\r\n\r\n" + body)
            wait_until(lambda: held_luong.passes == HELD)
        wait_until(lambda: running.services.analyst.waiting == 0)
        held_luong.go_on.set()
        running.services.analyst._pool.submit(int).result(120)
        assert held_luong.passes <= HELD + 1
        wait_until(lambda: not running.services.turns._busy)
