"""How requests are read: JSON in UTF-8 with finite numbers, unique keys, whole characters, bounded depth."""

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from jumok.server.gates.bounds import IN_FORCE
from jumok.server.gates.limits import DEFAULTS
from jumok.server.gates.problems import Problem

DIGITS = 309  # of the largest finite number in 64 bits; where a field has limits, it says so itself
EXACT = 1 << 53  # up to here every whole number has its float


def read_json(body: bytes, depth: int = DEFAULTS.depth) -> Any:
    """The value of a JSON body; what is wrong with any other is a Problem that never repeats the body."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad("bad_utf8", f"the body is not UTF-8: byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise bad("bad_json", "the body begins with a byte-order mark")
    try:
        value = json.loads(
            text,
            object_pairs_hook=unique,
            parse_float=finite,
            parse_int=whole,
            parse_constant=refuse_constant,
        )
        deep = depth_of(value) > depth
    except json.JSONDecodeError as error:
        raise bad("bad_json", f"the body is not JSON: character {error.pos}") from None
    except RecursionError:
        deep = True
    if deep:
        raise bad("bad_json", f"the body has more than {depth} lists or objects inside each other")
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise bad("bad_utf8", "a text has half of a surrogate pair") from None
    return value


def depth_of(value: Any) -> int:
    """How many lists and objects lie inside each other."""
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0) if isinstance(value, dict | list) else 0


def bad(code: str, detail: str) -> Problem:
    return Problem(400, code, detail)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; two members of one name would leave it open which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise bad("bad_json", "an object has the same name twice")
    return found


def finite(digits: str) -> float:
    """A number with a point or an exponent; 1.0 is a whole number, as in JSON Schema."""
    number = float(digits)
    if not math.isfinite(number):
        raise bad("bad_number", "a number is too large")
    return int(number) if number.is_integer() and abs(number) <= EXACT else number


def whole(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS:
        raise bad("bad_number", "a whole number is too large")
    return int(digits)


def refuse_constant(name: str) -> Any:
    raise bad("bad_number", "NaN and Infinity are not numbers of JSON")


def has_copy(request: Request, etag: str) -> bool:
    """Whether the client has this version already."""
    return etag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]


class StrictRequest(Request):
    """A request whose JSON is read by `read_json`."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body(), IN_FORCE.get().depth)
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
    403: problem_of("The page of another origin may not call, or the server does not do this."),
    404: problem_of("There is no such thing."),
    409: problem_of("The model is not the one the request was made for."),
    413: problem_of("The body is too large."),
    415: problem_of("The content type is not read."),
    422: problem_of(
        "A field is unknown, wrong or beyond a limit; or fields that are right by themselves do not go "
        "together, or not with this model: `detail` says which."
    ),
    429: problem_of("Busy: come back after Retry-After seconds."),
    500: problem_of("The server or the model failed."),
    503: problem_of("Not ready, or stopping."),
    504: problem_of("There was no answer within the deadline."),
}
"""What every route under `/v1` may answer besides success."""


def api_router(tag: str) -> APIRouter:
    """A router for `/v1`: strict requests, problem documents. Every router of the API is made here."""
    return APIRouter(tags=[tag], route_class=StrictRoute, responses=PROBLEMS)
