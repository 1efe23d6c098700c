"""The API's description: complete, committed, and true to what the routes do."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from jumok.server.app import build_app
from jumok.server.gates.bodies import StrictRoute

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return build_app({})


@pytest.fixture(scope="module")
def document(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


def test_the_committed_document_is_fresh() -> None:
    spec = importlib.util.spec_from_file_location("make_openapi", ROOT / "scripts/make_openapi.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    committed = (ROOT / "docs/openapi.json").read_text(encoding="utf-8")
    assert committed == module.make_document(), "run .venv/bin/python scripts/make_openapi.py"


def test_every_endpoint_of_the_design_is_described(document: dict[str, Any]) -> None:
    found = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {
        ("POST", "/translate"),
        ("GET", "/languages"),
        ("POST", "/detect"),
        ("GET", "/health"),
        ("GET", "/frontend/settings"),
        ("POST", "/suggest"),
        ("POST", "/v1/corrections"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/{model}"),
        ("GET", "/v1/models/{model}/positions"),
        ("POST", "/v1/translate"),
        ("POST", "/v1/translate/stream"),
        ("POST", "/v1/score"),
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
        ("GET", "/metrics"),
    } <= found


def routes_of(app: FastAPI) -> list[APIRoute]:
    return [route for route in app.routes if isinstance(route, APIRoute)]


def test_every_route_that_reads_a_body_reads_it_strictly(app: FastAPI) -> None:
    loose = [
        route.path for route in routes_of(app) if route.body_field and not isinstance(route, StrictRoute)
    ]
    assert loose == []


def test_problems_of_v1_are_problem_documents(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if path.startswith("/v1/"):
                assert list(operation["responses"]["422"]["content"]) == ["application/problem+json"], path
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert set(document["components"]["schemas"]["ProblemOut"]["required"]) == {
        "type",
        "title",
        "status",
        "detail",
        "code",
        "request_id",
    }


def test_all_references_lead_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for part in json.dumps(document).split('"#/components/schemas/')[1:]:
        assert part.split('"')[0] in schemas


def test_the_frameworks_own_pages_are_off(app: FastAPI) -> None:
    assert (app.docs_url, app.redoc_url, app.openapi_url) == (None, None, None)


def test_the_document_says_what_is_refused() -> None:
    """Rules that a handler has and a schema can have, too."""
    document = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    schemas, paths = document["components"]["schemas"], document["paths"]
    assert schemas["CompareRequest"]["properties"]["models"]["uniqueItems"] is True
    for name in ("CompareRequest", "TraceRequest", "SweepRequest"):
        assert schemas[name]["properties"]["text"]["pattern"] == r"\S"
    [whole, _] = schemas["TranslateRequest"]["properties"]["seed"]["anyOf"]
    assert (whole["minimum"], whole["maximum"]) == (0, 2**53 - 1)
    forms = paths["/translate"]["post"]["requestBody"]["content"]
    form = forms["application/x-www-form-urlencoded"]["schema"]["properties"]
    assert {name: field.get("type") for name, field in form.items()} == {
        "q": "string",
        "api_key": "string",
        "source": "string",
        "target": "string",
        "format": "string",
        "alternatives": "integer",
    }
    [id] = paths["/v1/traces/{id}"]["get"]["parameters"]
    assert id["schema"]["pattern"] == "^[0-9a-f]{16}$"
    needs = next(
        one for one in paths["/v1/traces/{id}/tensors"]["get"]["parameters"] if one["name"] == "need"
    )
    assert re.search(needs["schema"]["items"]["pattern"], "cross.weights:1.0")
    assert not re.search(needs["schema"]["items"]["pattern"], "cross")
