"""How the API describes itself: the OpenAPI document."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from jumok.server.gates.bounds import within
from jumok.server.runs.schema import RunEvent
from jumok.server.schema import ProblemOut, StreamFinal, StreamPartial, StreamStart
from jumok.server.traces.schema import SweepRowOut

STREAMED = (ProblemOut, StreamStart, StreamPartial, StreamFinal, SweepRowOut, RunEvent)
"""What routes send besides their answers: the data of events, and refusals."""


def describe(app: FastAPI) -> None:
    """Give the app its OpenAPI document, made once from the typed handlers."""

    def openapi() -> dict[str, Any]:
        known = app.openapi_schema is not None
        with within(app.state.services.limits):
            document = FastAPI.openapi(app)
        if not known:
            schemas = document["components"]["schemas"]
            _, more = models_json_schema(
                [(model, "validation") for model in STREAMED], ref_template="#/components/schemas/{model}"
            )
            schemas |= more["$defs"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{}, {"key": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]
