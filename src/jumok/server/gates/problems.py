"""What goes wrong, said to a client: problem documents that never hold the input, a path or a traceback."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import Scope

from jumok.errors import ConfigError, Error, LimitError

log = logging.getLogger("jumok.server")

LIBRE = ("/translate", "/languages", "/detect", "/suggest", "/frontend/settings", "/translate_file")
"""Paths whose errors have the form of LibreTranslate."""
LIBRE_FILES = "/download_file/"
UPLOADS = ("/v1/documents", "/translate_file")
"""Paths that take documents, which are larger than other bodies."""
PAIRS = ("/v1/training", "/v1/training/check")
"""Paths that take pairs to train on, which are larger, too."""
LIBRE_STATUS = {401: 403, 404: 400, 415: 400, 422: 400, 504: 500, 507: 500}

CODES = {400: "bad_request", 401: "key_missing", 404: "not_found", 405: "bad_method", 500: "internal"}
QUOTED = ("ids", "need", "weight", "wrong")
"""Fields whose errors repeat what the client wrote: ids and tokens spell a text, the others are names."""
PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
KIND = re.compile(r"constrained-\w+|[\w-]+\[.*\]")
"""What pydantic calls the kinds of values that one field may have, in the place of an error."""


class Problem(HTTPException):
    """A refusal with a status, a stable code word, a sentence for people, and the field that is wrong."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        *,
        field: str | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code, self.sentence, self.field = code, detail, field


def bad_field(field: str, reason: str, code: str = "bad_parameter", status: int = 422) -> Problem:
    """A refusal of one field of the request."""
    return Problem(status, code, f"{field}: {reason}", field=field)


def busy(detail: str, code: str = "queue_full", after: int = 1) -> Problem:
    """429: come back in a moment."""
    return Problem(429, code, detail, {"Retry-After": str(after)})


def internal() -> Problem:
    return Problem(500, "internal", "the server failed; its log says more under this request id")


def too_late(seconds: float) -> Problem:
    return Problem(504, "deadline", f"there was no answer within {seconds:g} seconds")


LACKING = {
    "engine_lacks": (422, None),
    "other_language": (422, None),
    "not_calibrated": (422, "confidence"),
    "bad_calibration": (422, "confidence"),
    "no_neighbours": (404, "model"),  # as of a model that is not there
    "bad_neighbours": (422, "model"),
}
"""What an engine or a model's folder lacks: the status, and the field that asked for it, if one did."""


def from_error(error: Error) -> Problem:
    """A mistake that our own code found; only its advice where its message may quote the input."""
    match error:
        case LimitError():
            return Problem(422, error.code, error.message, field=error.field)
        case ConfigError() if error.code in ("ensemble", "extra_missing"):
            return Problem(422, error.code, f"{error.message}: {error.hint}")
        case _ if error.code in LACKING:
            status, field = LACKING[error.code]
            return Problem(status, error.code, error.message, field=field)
        case ConfigError() if error.code == "no_language":
            return Problem(422, error.code, f"{error.field}: {error.message}", field=error.field)
        case ConfigError() if error.code in ("unknown_language", "unknown_direction"):
            # as of a model that is not there
            return Problem(404, error.code, f"{error.field}: {error.hint}", field=error.field)
        case ConfigError() if error.code == "bad_parameter":
            quoted = (error.field or "").rpartition(".")[2] in QUOTED
            said = (error.field or error.where, "" if quoted else error.message, error.hint)
            return Problem(422, error.code, ": ".join(part for part in said if part), field=error.field)
        case ConfigError():
            advice = f": {error.hint}" if error.hint else ""
            return Problem(422, "bad_parameter", f"these options cannot work together{advice}")
        case _ if error.code == "model_numeric_error":
            return Problem(500, error.code, "the model gave numbers that are not finite for this text")
        case _ if error.code == "bad_image":
            reason = error.message.partition(":")[0]  # what follows is the reader's own word for the bytes
            return Problem(422, error.code, f"{reason}: {error.hint}")
        case _ if error.code == "bad_glossary":
            return bad_field("glossary", error.hint)
        case _ if error.code == "bad_unicode":
            return Problem(400, "bad_utf8", "a text has half of a surrogate pair")
        case _:
            log.error("a request failed: %s", error.message)
            return internal()


def is_libre(scope: Scope) -> bool:
    """Whether a client of LibreTranslate asks: `GET /translate` is a screen of the page."""
    path: str = scope["path"]
    screen = path == "/translate" and scope["method"] in ("GET", "HEAD")
    return (path in LIBRE and not screen) or path.startswith(LIBRE_FILES)


def is_upload(path: str, method: str) -> bool:
    """Whether a request brings a document."""
    return path in UPLOADS and method == "POST"


def render(problem: Problem, scope: Scope) -> Response:
    """The answer of a refusal, in the form that the path speaks."""
    headers = {"Cache-Control": "no-store", **(problem.headers or {})}
    if is_libre(scope):
        status = LIBRE_STATUS.get(problem.status_code, problem.status_code)
        return Response(dump({"error": problem.sentence}), status, headers, "application/json")
    return Response(
        dump(document(problem, request_id(scope))),
        problem.status_code,
        headers,
        "application/problem+json",
    )


def document(problem: Problem, request: str) -> dict[str, Any]:
    """The members of a problem document (RFC 9457, with `code`, `request_id` and perhaps `field`)."""
    field = {} if problem.field is None else {"field": problem.field}
    return {
        "type": f"urn:jumok:problem:{problem.code}",
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "detail": problem.sentence,
        "code": problem.code,
        "request_id": request,
        **field,
    }


def request_id(scope: Scope) -> str:
    return str(scope.get("state", {}).get("request_id", ""))


def dump(value: object) -> bytes:
    """Compact JSON; a number that is not finite is a fault of ours and raises."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_answer(value: object) -> Response:
    return Response(dump(value), media_type="application/json")


def handle_problems(app: FastAPI) -> None:
    """Let every error of this app leave as a problem document."""

    async def answer(request: Request, error: Exception) -> Response:
        return render(as_problem(error), request.scope)

    for kind in (StarletteHTTPException, RequestValidationError, Error):
        app.add_exception_handler(kind, answer)


def as_problem(error: Exception) -> Problem:
    """What a client is told about any error; one that we did not expect is logged."""
    match error:
        case Problem():
            return error
        case StarletteHTTPException(status_code=status):
            phrase = HTTPStatus(status).phrase.lower()
            return Problem(status, CODES.get(status, "bad_request"), phrase, error.headers)
        case RequestValidationError():
            return from_validation(error.errors())
        case Error():
            return from_error(error)
        case _:
            log.error("a request failed", exc_info=error)
            return internal()


def from_validation(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """422 that names the first wrong field by its path and says what it should be, not what it was."""
    first = best_of(errors)
    ours = first.get("ctx", {}).get("error")
    if isinstance(ours, ConfigError) and ours.field:  # its message may quote the input, its hint never does
        return bad_field(field_path(["body", *ours.field.split(".")]), ours.hint)
    path = field_path(first["loc"])
    kind = str(first["type"])
    if kind == "extra_forbidden":
        return bad_field(path, "unknown field")
    code = "bad_parameter"
    if kind == "too_long" and path in ("texts", "sources", "targets", "q"):
        code = "too_many_texts"
    elif kind == "string_too_long":
        code = "too_long"
    reason = "an object is needed" if path == "body" else str(first["msg"]).replace(" after validation", "")
    if kind == "string_pattern_mismatch":  # nobody wants to read a regular expression
        reason = "it has characters, or a length, that are not allowed here"
    return bad_field(path, f"{reason[:1].lower()}{reason[1:]}", code)


def best_of(errors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The first error; where a field may be of several kinds, that of the kind which was given."""
    place = field_path(errors[0]["loc"])
    same = [one for one in errors if f"{field_path(one['loc'])}.".startswith(f"{place}.")]
    return max(same, key=lambda one: (not str(one["type"]).endswith("_type"), len(one["loc"])))


def field_path(places: Sequence[str | int]) -> str:
    """`texts.3`; a name that is not plain ASCII is left out, for it is the client's own text."""
    if list(places[1:2]) == ["glossary"]:  # what follows are the client's own terms
        return "glossary"
    parts = [str(place) for place in places[1:] if not KIND.fullmatch(str(place))] or ["body"]
    return ".".join(part if PLAIN_NAME.fullmatch(part) else "?" for part in parts)
