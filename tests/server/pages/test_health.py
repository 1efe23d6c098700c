"""Health, readiness and the API's own description."""

import asyncio
import math
from typing import Any

import httpx2
import pytest
import torch
from tests.decoding.conftest import TINY, untrained

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.pages.health import self_test
from jumok.server.services import Services
from jumok.server.settings import ServerSettings
from jumok.server.translate.order import make_order


def test_alive_and_ready(client: httpx2.Client) -> None:
    assert client.get("/health/live").json() == {"status": "ok"}
    assert client.get("/health/ready").json() == {"status": "ok"}


def test_a_model_that_cannot_write_a_token_is_not_ready() -> None:
    broken = Translator(untrained(TINY["rnn"]))
    with torch.no_grad():
        for parameter in broken.model.parameters():
            parameter.fill_(torch.nan)
    services = Services({"fine": Translator(untrained(TINY["rnn"])), "broken": broken}, ServerSettings())
    with pytest.raises(Problem, match="the self-test of broken failed") as found:
        asyncio.run(self_test(services))
    assert (found.value.status_code, found.value.code) == (503, "not_ready")
    assert services.tested == {"fine"}
    services.close()


def test_a_worker_that_has_ended_is_not_ready(tiny_models: dict[str, Translator]) -> None:
    services = Services(tiny_models, ServerSettings())
    services.models["luong"].worker.close()
    with pytest.raises(Problem, match="the worker of luong has ended"):
        asyncio.run(self_test(services))
    services.close()


def test_a_model_that_is_busy_from_the_start_is_ready_when_its_turn_has_come(
    tiny_models: dict[str, Translator],
) -> None:
    services = Services({"rnn": tiny_models["rnn"]}, ServerSettings(limits=Limits(queue=0)))
    worker = services.models["rnn"].worker
    with pytest.raises(Problem, match="0 requests are waiting"):
        asyncio.run(worker.translate(make_order(worker.translator, ["a man"], {}, Limits()), math.inf))
    asyncio.run(self_test(services))
    assert services.tested == {"rnn"}
    services.close()


def test_the_description_is_served(client: httpx2.Client) -> None:
    document: dict[str, Any] = client.get("/openapi.json").json()
    assert document["info"]["title"] == "jumok"
    assert "/v1/translate" in document["paths"]
