"""`/v1/compare` over HTTP."""

from typing import Any

import httpx2
import numpy as np
import pytest
from tests.server.conftest import Serve

from jumok.checkpoint.bundled import EXAMPLES
from jumok.decoding.translator import Translator
from jumok.explain.side_by_side import side_by_side
from jumok.server.gates.limits import Limits

TEXT = EXAMPLES[3]
ALL = ["transformer", "rnn", "luong"]


def post(client: httpx2.Client, **body: Any) -> httpx2.Response:
    return client.post("/v1/compare", json={"models": ALL, "text": TEXT, **body})


def test_columns_and_cuts_are_those_of_the_library(
    trio_client: httpx2.Client, trio: dict[str, Translator]
) -> None:
    found = post(trio_client, cuts=[3, 40, 3], beam=2).json()
    expected = side_by_side(trio, TEXT, cuts=[3, 40], beam=2).to_dict()
    assert found["source"] == expected["source"]
    assert found["pseudo_reference"] == "transformer"
    assert [one["model"] for one in found["results"]] == ["rnn", "luong", "transformer"]
    for mine, other in zip(found["results"], expected["results"], strict=True):
        assert (mine["id"], mine["text"]) == (other["id"], other["text"])
        assert mine["influence"]["units"] == other["influence"]["units"]
        assert np.allclose(mine["influence"]["values"], other["influence"]["values"], atol=1e-3)
        assert mine["chrf"] is None
    assert [cut["words"] for cut in found["grow"]] == [3, 14]
    assert found["grow"] == expected["grow"]


def test_every_column_is_a_trace_under_the_name_of_its_model(trio_client: httpx2.Client) -> None:
    for column in post(trio_client).json()["results"]:
        manifest = trio_client.get(f"/v1/traces/{column['id']}").json()
        assert manifest["model"]["name"] == column["model"]
        assert manifest["target"]["text"] == column["text"]
        same = trio_client.post("/v1/trace", json={"model": column["model"], "text": TEXT}).json()
        assert same["id"] == column["id"]
        assert trio_client.get(f"/v1/traces/{column['id']}/beam").status_code == 200


def test_a_reference_gives_scores(trio_client: httpx2.Client) -> None:
    reference = "1998-03-24T20:35/1998-11-09T07:12"
    found = post(trio_client, reference=reference, models=["rnn", "transformer"]).json()
    assert [one["model"] for one in found["results"]] == ["rnn", "transformer"]
    assert found["pseudo_reference"] is None
    scores = [one["chrf"] for one in found["results"]]
    assert all(0 <= score <= 100 for score in scores)
    assert found["grow"] == []


@pytest.mark.parametrize(
    ("body", "status", "code", "detail"),
    [
        ({"models": ["rnn", "none"]}, 404, "unknown_model", "known: luong, rnn, transformer"),
        ({"models": ["rnn", "rnn"]}, 422, "bad_parameter", "models: name each one once"),
        ({"models": ["rnn"]}, 422, "bad_parameter", "models: list should have at least 2 items"),
        ({"models": [*ALL, "x"]}, 422, "bad_parameter", "models: list should have at most 3 items"),
        ({"text": "  "}, 422, "empty_text", "text: a sentence is needed"),
        ({"cuts": list(range(1, 34))}, 422, "bad_parameter", "cuts: list should have at most 32 items"),
        ({"cuts": [0]}, 422, "bad_parameter", "cuts.0: input should be greater than or equal to 1"),
        ({"beam": 2, "n_best": 4}, 422, "bad_parameter", "these options cannot work together: a beam of 2"),
        ({"model": "rnn"}, 422, "bad_parameter", "model: input should be None"),
        ({"beam": 16, "cuts": list(range(1, 15))}, 422, "too_large", "the request costs "),
    ],
)
def test_what_cannot_be_compared(
    trio_client: httpx2.Client, body: dict[str, Any], status: int, code: str, detail: str
) -> None:
    answer = post(trio_client, **body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.json()["detail"].startswith(detail)


def test_limits_of_tokens_and_of_new_tokens(serve: Serve, trio: dict[str, Translator]) -> None:
    limits = Limits(trace_tokens=20, new_tokens=8)
    with serve(models=trio, limits=limits) as running, running.client() as client:
        answer = post(client, text="9" * 20)
        assert (answer.status_code, answer.json()["code"]) == (422, "too_long")
        found = post(client, text="9" * 19, min_len=5).json()
        assert all(len(one["tokens"]) <= 8 for one in found["results"])
        shown = client.get(f"/v1/traces/{found['results'][0]['id']}").json()
        assert shown["decode"]["max_len"] == 8
