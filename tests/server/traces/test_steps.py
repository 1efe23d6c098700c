"""What one pair shows, over HTTP: the library's numbers, limits, ends."""

import json
from typing import Any

import httpx2
import pytest
from tests.server.conftest import Serve, wait_until
from tests.server.traces.test_what_if import held_analyst

from jumok.decoding.translator import Translator, load
from jumok.errors import LimitError
from jumok.explain.free_running import free_running
from jumok.explain.neighbours import neighbours
from jumok.explain.votes import votes
from jumok.server import services
from jumok.server.analysis import AnalysisCancelled, CancelFlag
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.traces.schema import TrainingStepOut, TrainingStepRequest
from jumok.server.traces.steps import check_pair, take_step
from jumok.training.by_hand import StepPlan, training_step

ARCHS = ("rnn", "luong", "transformer")
PAIR = {"text": "03/05/2024", "target": "2024-03-05"}
STEP, FREE, VOTES = "/v1/training-step", "/v1/free-running", "/v1/votes"
NEAR = "/v1/neighbours"


def ask(client: httpx2.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json={**PAIR, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("arch", ARCHS)
def test_a_step_is_that_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    asked = {"optimizer": "adamw", "lr": 0.01, "steps": 2, "token": 6, "index": [270, 3], "rates": [0.1]}
    found = ask(trio_client, STEP, model=arch, **asked)
    own = trio[arch].on_torch("training_step")
    plan = StepPlan("adamw", 0.01, 2, 6, "W_out", [270, 3], [0.1])
    expected = training_step(own, PAIR["text"], PAIR["target"], plan)
    spell = own.tokenizers.target.pieces
    assert found == json.loads(json.dumps(expected.to_dict(lambda id: spell([id])[0])))
    TrainingStepOut.model_validate(found, strict=False)
    before = trio_client.post(
        "/v1/score", json={"model": arch, "sources": [PAIR["text"]], "targets": [PAIR["target"]]}
    )
    again = ask(trio_client, STEP, model=arch)
    score = before.json()["results"][0]["score_per_token"]
    assert again["loss"] == pytest.approx(-score, rel=1e-3)  # nothing has changed the model that is served


@pytest.mark.parametrize("arch", ARCHS)
def test_the_runs_are_those_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], arch: str
) -> None:
    own = trio[arch].on_torch("free_running")
    for asked in ({}, {"slip": 5}, {"slip": 6, "wrong": "7"}, {"slip": 6, "wrong": 272}):
        found = ask(trio_client, FREE, model=arch, **asked)
        expected = free_running(own, PAIR["text"], PAIR["target"], **asked)  # type: ignore[arg-type]
        assert found == json.loads(expected.to_json())


@pytest.mark.parametrize("asked", [{}, {"count": 50, "target": "2024-03-06"}, {"count": 1, "points": True}])
def test_the_neighbours_are_those_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator], asked: dict[str, Any]
) -> None:
    found = ask(trio_client, NEAR, model="transformer", **asked)
    given = {"target": PAIR["target"], "count": 5, **asked}
    assert found == json.loads(neighbours(trio["transformer"], PAIR["text"], **given).to_json())
    cards = {card["name"]: card["neighbours"] for card in trio_client.get("/v1/models").json()["models"]}
    assert cards == {"rnn": False, "luong": False, "transformer": True}


WRONG: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "blank": (STEP, {"text": " "}, "empty_text", "text: a sentence is needed"),
    "optimizer": (STEP, {"optimizer": "muon"}, "bad_parameter", "optimizer: input should be 'sgd', 'adam'"),
    "rate": (STEP, {"lr": 0}, "bad_parameter", "lr: input should be greater than 0"),
    "steps": (STEP, {"steps": 101}, "bad_parameter", "steps: input should be less than or equal to 100"),
    "token": (STEP, {"token": 11}, "bad_parameter", "token: token is 11, and the target has 11 tokens"),
    "weight": (STEP, {"weight": "secret"}, "bad_parameter", "weight: give W_out or the name of a parameter"),
    "index": (STEP, {"index": [800, 0]}, "bad_parameter", "give 2 whole numbers: 0 to 799 and 0 to 63"),
    "rates": (STEP, {"rates": [0.1] * 17}, "bad_parameter", "rates: list should have at most 16 items"),
    "unknown": (STEP, {"beam": 2}, "bad_parameter", "beam: unknown field"),
    "long": (STEP, {"target": "1" * 200}, "too_long", "the target has 201 tokens, its end included"),
    "no target": (FREE, {"target": None}, "bad_parameter", "target: input should be a valid string"),
    "slip": (FREE, {"slip": 11}, "bad_parameter", "slip: slip is 11, and the target has 11 tokens"),
    "wrong": (FREE, {"slip": 1, "wrong": "secret"}, "bad_parameter", "wrong: give an id, or a token as the"),
    "right": (FREE, {"slip": 6, "wrong": "3"}, "bad_parameter", "wrong: give another one, or another place"),
    "too many": (NEAR, {"count": 51}, "bad_parameter", "count: input should be less than or equal to 50"),
    "none": (NEAR, {"count": 0}, "bad_parameter", "count: input should be greater than or equal to 1"),
    "long target": (NEAR, {"target": "1" * 200}, "too_long", "the target has 201 tokens, its end included"),
    "long source": (FREE, {"text": "1 " * 150}, "too_long", "and 128 x 128 are the most"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_in_words(trio_client: httpx2.Client, case: str) -> None:
    path, body, code, detail = WRONG[case]
    answer = trio_client.post(path, json={"model": "luong", **PAIR, **body})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, code)
    assert detail in problem["detail"]
    assert "secret" not in answer.text


def test_a_model_without_an_index_has_no_neighbours(trio_client: httpx2.Client) -> None:
    answer = trio_client.post(NEAR, json={"model": "rnn", **PAIR})
    assert (answer.status_code, answer.json()["code"]) == (404, "no_neighbours")
    assert answer.json()["detail"] == "the model has no index of training states"


def test_a_rate_that_breaks_the_model_is_the_clients(
    serve: Serve, tiny_models: dict[str, Translator]
) -> None:
    body = {"text": "a man", "target": "a dog", "optimizer": "sgd", "lr": 1000, "steps": 50}
    with serve(models=tiny_models) as running, running.client() as client:
        answers = [client.post(STEP, json={**body, "model": arch}) for arch in tiny_models]
    assert {answer.status_code for answer in answers} <= {200, 422}
    for answer in answers:
        if answer.status_code == 422:
            assert "the loss is not finite: choose a smaller rate" in answer.json()["detail"]


def test_a_model_that_is_too_large_says_so(serve: Serve, tiny_models: dict[str, Translator]) -> None:
    models, limits = {"m": tiny_models["luong"]}, Limits(step_parameters=100)
    with serve(models=models, limits=limits) as running, running.client() as client:
        answer = client.post(STEP, json={"text": "a man", "target": "a dog"})
        assert (answer.status_code, answer.json()["code"]) == (422, "too_large")
        assert "parameters, and 100 may take a step here" in answer.json()["detail"]
        assert client.get("/v1/models").json()["models"][0]["limits"]["step_parameters"] == 100
        assert client.post(FREE, json={"text": "a man", "target": "a dog"}).status_code == 200


def test_one_step_at_a_time_per_client(
    serve: Serve, tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "PATIENCE_S", 0.02)
    body = json.dumps({"text": "a man", "target": "a dog"}).encode()
    head = f"POST {STEP} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with serve(models={"m": tiny_models["rnn"]}) as running, running.client() as client:
        with held_analyst(running), running.connect() as sock:
            sock.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
            wait_until(lambda: running.services.analyst.waiting)
            answer = client.post(STEP, json={"text": "a man", "target": "a dog"})
            assert (answer.status_code, answer.json()["code"]) == (429, "queue_full")
        wait_until(lambda: running.services.analyst.waiting == 0)  # the client that left has ended its own
        wait_until(lambda: not running.services.turns._busy)
        assert client.post(STEP, json={"text": "a man", "target": "a dog"}).status_code == 200


@pytest.mark.parametrize("path", [STEP, FREE])
def test_the_deadline_ends_the_work(
    serve: Serve, tiny_models: dict[str, Translator], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(deadline_s=0.2)
    with (
        serve(models={"m": tiny_models["luong"]}, limits=limits) as running,
        running.client() as client,
        held_analyst(running),
    ):
        answer = client.post(path, json={"text": "a man", "target": "a dog"})
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")
        wait_until(lambda: running.services.analyst.waiting == 0)


def test_a_long_training_ends_between_two_updates(tiny_models: dict[str, Translator]) -> None:
    """Between two updates the work looks whether anybody still waits."""
    flag, looks = CancelFlag(), []

    def look() -> None:
        looks.append(flag.raised)
        if len(looks) == 3:
            flag.raised = True
            raise AnalysisCancelled

    flag.check = look  # type: ignore[method-assign]
    body = TrainingStepRequest(text="a man", target="a dog", steps=100)
    with pytest.raises(AnalysisCancelled):
        take_step(flag, tiny_models["luong"], body, Limits())
    assert len(looks) == 3


@pytest.fixture(scope="module")
def together() -> Translator:
    return load([f"demo/{arch}" for arch in ARCHS])


def test_an_ensemble_is_served_like_any_model(serve: Serve, together: Translator) -> None:
    """Translated, streamed in the running batch, scored; its card names its members."""
    text, body = PAIR["text"], {"texts": [PAIR["text"]], "beam": 3}
    with serve(models={"together": together}) as running, running.client() as client:
        [card] = client.get("/v1/models").json()["models"]
        assert card["members"] == list(ARCHS)
        [answer] = client.post("/v1/translate", json=body).json()["results"]
        assert answer["text"] == together.translate(text, beam=3).text
        streamed = client.post("/v1/translate/stream", json={"text": text, "beam": 3})
        assert json.loads(streamed.text.split("event: final")[1].split("data: ")[1].split("\n")[0])
        pair = {"sources": [text], "targets": [PAIR["target"]]}
        [scored] = client.post("/v1/score", json=pair).json()["results"]
        assert scored["score"] == pytest.approx(together.score(text, PAIR["target"]).score, abs=1e-4)


def test_votes_are_those_of_the_library(serve: Serve, together: Translator) -> None:
    with serve(models={"together": together}) as running, running.client() as client:
        found = ask(client, VOTES)
        assert found == json.loads(votes(together.on_torch("votes"), *PAIR.values()).to_json())
        own = client.post(VOTES, json={"text": PAIR["text"]}).json()
        assert own["target"] == together.translate(PAIR["text"]).text
        long = client.post(VOTES, json={**PAIR, "target": "1" * 200}).json()
        assert (long["code"], "the target has 201 tokens" in long["detail"]) == ("too_long", True)


def test_the_inside_of_an_ensemble_is_refused_in_words(serve: Serve, together: Translator) -> None:
    with serve(models={"together": together}) as running, running.client() as client:
        for path in ("/v1/trace", "/v1/forward", "/v1/gradients", STEP):
            answer = client.post(path, json={"text": PAIR["text"]})
            assert (answer.status_code, answer.json()["code"]) == (422, "ensemble"), path
            assert answer.json()["detail"] == (
                "this looks inside one model, and here are 3 that predict together: "
                "load one member by itself; votes shows what each of them wanted"
            )


@pytest.mark.parametrize("arch", ARCHS)
def test_a_pair_has_the_tokens_of_a_trace_with_its_ends(
    tiny_models: dict[str, Translator], arch: str
) -> None:
    """Two pieces and an end on either side; blanks around a text do not count."""
    model, text = tiny_models[arch], "a man"
    assert len(model.tokenizers.target.encode(text)) == len(model.read([text])[0].ids) == 2
    check_pair(model, text, f"  {text} ", Limits(trace_tokens=3))
    check_pair(model, "a", None, Limits(trace_tokens=2))
    for source, target, side in ((text, "a", "source"), ("a", text, "target"), (text, text, "source")):
        with pytest.raises(LimitError) as refused:
            check_pair(model, source, target, Limits(trace_tokens=2))
        assert refused.value.message == f"the {side} has 3 tokens, its end included, and 2 x 2 are the most"
    for blank in ("", " \n"):
        with pytest.raises(Problem) as found:
            check_pair(model, blank, text, Limits())
        assert (found.value.code, found.value.sentence) == ("empty_text", "text: a sentence is needed")
