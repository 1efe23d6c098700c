"""The whole application under requests that nobody would write by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send
from tests.server.fuzzing import CHECKS

from jumok.decoding.translator import Translator
from jumok.server.app import ROUTERS, build_app
from jumok.server.gates.middleware import (
    BodyLimit,
    HeaderChecks,
    RequestId,
    check_content_type,
    check_host,
    check_key,
    check_origin,
)
from jumok.server.settings import ServerSettings

EXAMPLES = 12  # for each operation
WALKS = 6  # from one request to the next; benchmarks/api_fuzz.py does all of this at full size
DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
ENDLESS = "/events"  # a stream of a run goes on until the client leaves


@pytest.fixture(scope="module")
def app(tiny_models: dict[str, Translator], tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    runs: Path = tmp_path_factory.mktemp("runs")
    kept = runs.with_name("corrections.tmx")
    settings = ServerSettings(allowed_hosts=("testserver",), runs=runs, remember=kept)
    made = build_app(tiny_models, settings=settings)
    yield made
    made.state.services.close()


@pytest.fixture(scope="module")
def api(app: FastAPI) -> Any:
    async def always_on(scope: Scope, receive: Receive, send: Send) -> None:
        """The app without its end: the client ends it after each request."""
        if scope["type"] == "lifespan":
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await app(scope, receive, send)

    return schemathesis.openapi.from_asgi("/openapi.json", always_on)


def operations() -> list[tuple[str, str]]:
    paths = json.loads(DOCUMENT.read_text(encoding="utf-8"))["paths"]
    return [(path, method) for path, methods in paths.items() for method in methods if ENDLESS not in path]


@pytest.mark.parametrize(("path", "method"), operations())
def test_no_request_breaks_it_or_gets_an_answer_of_another_shape(api: Any, path: str, method: str) -> None:
    operation = api[path][method.upper()]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    )
    def answers_in_shape(case: Case) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    answers_in_shape()


def test_what_one_answer_names_another_request_finds(api: Any) -> None:
    """The document's links: a trace that was made is there, and so are its beam and its influence."""
    links = api["/v1/trace"]["POST"].definition.raw["responses"]["200"]["links"]
    known = {api[path][method.upper()].definition.raw["operationId"] for path, method in operations()}
    assert {link["operationId"] for link in links.values()} <= known
    parts = ("trace", "forward", "beam", "influence", "html", "tensors")
    assert set(links) == {f"show_{part}" for part in parts}

    class Walk(api.as_state_machine()):  # type: ignore[misc]
        def validate_response(self, response: Any, case: Case, **options: Any) -> None:
            case.validate_response(response, checks=CHECKS)

    Walk.run(
        settings=settings(
            max_examples=WALKS,
            stateful_step_count=4,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
    )


def test_gates_stand_in_order(app: FastAPI) -> None:
    assert [(one.cls, one.args[1:]) for one in app.user_middleware] == [
        (RequestId, ()),
        (HeaderChecks, (check_host, check_origin)),
        (BodyLimit, ()),
        (HeaderChecks, (check_content_type, check_key)),
        (GZipMiddleware, ()),
    ]
    shared = build_app({}, settings=ServerSettings(allow_origins=("https://friend.test",)))
    assert shared.user_middleware[3].cls is CORSMiddleware


def test_services_are_on_the_app_for_every_router(app: FastAPI) -> None:
    services = app.state.services
    assert list(services.models) == ["rnn", "luong", "transformer"]
    assert services.draining is False
    assert len(ROUTERS) >= 5


def test_an_app_without_models_answers_too() -> None:
    assert build_app({}).state.services.models == {}
