"""How requests are read and how the API describes itself: our JSON reader, and the OpenAPI document."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from fastapi.routing import APIRoute

from jumok import __version__
from jumok.server.gates.bodies import read_json
from jumok.server.schema import ProblemOut


class StrictRequest(Request):
    """A request whose JSON is read by `read_json`."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route whose requests are strict."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


def problem_of(about: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemOut"}
    return {"description": about, "content": {"application/problem+json": {"schema": schema}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: problem_of("Malformed: not JSON, not UTF-8, numbers that are none."),
    401: problem_of("An API key is needed."),
    403: problem_of("The page of another origin may not call."),
    404: problem_of("There is no such thing."),
    409: problem_of("The model is not the one the request was made for."),
    413: problem_of("The body is too large."),
    415: problem_of("The content type is not read."),
    422: problem_of("A field is unknown, wrong or beyond a limit."),
    429: problem_of("Busy: come back after Retry-After seconds."),
    500: problem_of("The server or the model failed."),
    503: problem_of("Not ready, or stopping."),
    504: problem_of("There was no answer within the deadline."),
}
"""What every route under `/v1` may answer besides success."""


def api_router(tag: str) -> APIRouter:
    """A router for `/v1`: strict requests, problem documents. Every router of the API is made here."""
    return APIRouter(tags=[tag], route_class=StrictRoute, responses=PROBLEMS)


def describe(app: FastAPI) -> None:
    """Give the app its OpenAPI document, made once from the typed handlers."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title="jumok",
                version=__version__,
                summary="Translation, and every step of it, from sequence-to-sequence models.",
                routes=app.routes,
            )
            parts = document.setdefault("components", {})
            schemas = parts.setdefault("schemas", {})
            schemas["ProblemOut"] = ProblemOut.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{}, {"key": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
