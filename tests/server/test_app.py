"""The whole application under requests that nobody would write by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.middleware.gzip import GZipMiddleware

from jumok.decoding.translator import Translator
from jumok.server.app import ROUTERS, build_app
from jumok.server.middleware import BodyLimit, ContentTypeCheck, HostCheck, KeyCheck, OriginCheck, RequestId
from jumok.server.settings import ServerSettings

EXAMPLES = 12  # for each operation
ENDLESS = "/events"  # a stream of a run goes on until the client leaves


@pytest.fixture(scope="module")
def app(tiny_models: dict[str, Translator], tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    runs: Path = tmp_path_factory.mktemp("runs")
    made = build_app(tiny_models, settings=ServerSettings(allowed_hosts=("testserver",), runs=runs))
    yield made
    made.state.services.close()


@pytest.fixture(scope="module")
def api(app: FastAPI) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", app)


schema = schemathesis.pytest.from_fixture("api")


@schema.exclude(path_regex=ENDLESS).parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_no_request_breaks_it_or_gets_an_answer_of_another_shape(case: Case) -> None:
    answer = case.call()
    case.validate_response(
        answer,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
            negative_data_rejection,
        ],
    )


def test_gates_stand_in_order(app: FastAPI) -> None:
    assert [one.cls for one in app.user_middleware] == [
        RequestId,
        HostCheck,
        BodyLimit,
        OriginCheck,
        ContentTypeCheck,
        KeyCheck,
        GZipMiddleware,
    ]


def test_services_are_on_the_app_for_every_router(app: FastAPI) -> None:
    services = app.state.services
    assert list(services.models) == ["rnn", "luong", "transformer"]
    assert services.draining is False
    assert len(ROUTERS) >= 5


def test_an_app_without_models_answers_too() -> None:
    assert build_app({}).state.services.models == {}
