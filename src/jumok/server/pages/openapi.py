"""How the API describes itself: the OpenAPI document."""

from typing import Any

from fastapi import FastAPI

from jumok.server.schema import ProblemOut


def describe(app: FastAPI) -> None:
    """Give the app its OpenAPI document, made once from the typed handlers."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = FastAPI.openapi(app)
            parts = document["components"]
            schemas = parts["schemas"]
            schemas["ProblemOut"] = ProblemOut.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{}, {"key": []}]
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
