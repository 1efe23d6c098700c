"""How the API describes itself: the OpenAPI document."""

from typing import Any

from fastapi import FastAPI

from jumok.server.schema import ProblemOut


def describe(app: FastAPI) -> None:
    """Give the app its OpenAPI document, made once from the typed handlers."""

    def openapi() -> dict[str, Any]:
        known = app.openapi_schema is not None
        document = FastAPI.openapi(app)
        if not known:
            schemas = document["components"]["schemas"]
            schemas["ProblemOut"] = ProblemOut.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{}, {"key": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]
