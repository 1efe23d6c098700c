"""How the API describes itself: the OpenAPI document."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from jumok import __version__
from jumok.server.runs.schema import RunEvent
from jumok.server.schema import ProblemOut, StreamFinal, StreamPartial, StreamStart
from jumok.server.traces.schema import SweepRowOut

STREAMED = (ProblemOut, StreamStart, StreamPartial, StreamFinal, SweepRowOut, RunEvent)
"""What routes send besides their answers: the data of events, and refusals."""


def describe(app: FastAPI) -> None:
    """Give the app its OpenAPI document, made once from the typed handlers."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title="jumok",
                version=__version__,
                summary="Translation, and every step of it, from sequence-to-sequence models.",
                routes=app.routes,
                separate_input_output_schemas=False,
            )
            parts = document.setdefault("components", {})
            schemas = parts.setdefault("schemas", {})
            _, more = models_json_schema(
                [(model, "validation") for model in STREAMED], ref_template="#/components/schemas/{model}"
            )
            schemas |= more["$defs"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{}, {"key": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
