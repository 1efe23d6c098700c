"""Problems: what they say, and what they never say."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, ValidationError

from jumok.errors import ConfigError, DataError, Error, LimitError, ModelError, RunError
from jumok.server.gates.problems import Problem, dump, field_path, from_error, from_validation, render
from jumok.server.schema import RequestBody
from jumok.server.translate.libretranslate import LibreFields

SCOPE = {"path": "/v1/translate", "method": "POST", "state": {"request_id": "r1"}}


@pytest.mark.parametrize(
    ("error", "status", "code", "detail"),
    [
        (LimitError("too many pieces", code="too_long"), 422, "too_long", "too many pieces"),
        (
            ConfigError("beam='GEHEIM'", hint="choose less"),
            422,
            "bad_parameter",
            "these options cannot work together: choose less",
        ),
        (
            ConfigError("kind: there is none", hint="it has cross", where="a line", code="bad_parameter"),
            422,
            "bad_parameter",
            "a line: kind: there is none: it has cross",
        ),
        (
            ConfigError(
                "[5] spell 'GEHEIM'", hint="give the text", code="bad_parameter", field="interventions.0.ids"
            ),
            422,
            "bad_parameter",
            "interventions.0.ids: give the text",
        ),
        (ConfigError("GEHEIM"), 422, "bad_parameter", "these options cannot work together"),
        (
            RunError("bad", where="for the text 'GEHEIM'", code="model_numeric_error"),
            500,
            "model_numeric_error",
            "the model gave numbers that are not finite for this text",
        ),
        (
            DataError("damaged: GEHEIM", hint="copy it again", code="bad_image"),
            422,
            "bad_image",
            "damaged: copy it again",
        ),
        (DataError("GEHEIM", code="bad_unicode"), 400, "bad_utf8", "a text has half of a surrogate pair"),
        (
            ModelError("/home/GEHEIM is damaged"),
            500,
            "internal",
            "the server failed; its log says more under this request id",
        ),
    ],
)
def test_our_errors_become_problems_without_the_input(
    error: Error, status: int, code: str, detail: str
) -> None:
    found = from_error(error)
    assert (found.status_code, found.code, found.sentence) == (status, code, detail)
    assert "GEHEIM" not in found.sentence


def test_the_form_follows_the_path() -> None:
    problem = Problem(422, "bad_parameter", "no", {"Retry-After": "1"})
    ours = render(problem, SCOPE)
    assert ours.status_code == 422
    assert ours.media_type == "application/problem+json"
    assert ours.headers["retry-after"] == "1"
    assert ours.headers["cache-control"] == "no-store"
    theirs = render(problem, {**SCOPE, "path": "/translate"})
    assert (theirs.status_code, theirs.body) == (400, b'{"error":"no"}')
    page = render(problem, {**SCOPE, "path": "/translate", "method": "GET"})
    assert page.media_type == "application/problem+json"


@pytest.mark.parametrize(
    ("status", "theirs"),
    [
        (400, 400),
        (401, 403),
        (404, 400),
        (405, 405),
        (415, 400),
        (422, 400),
        (429, 429),
        (500, 500),
        (504, 500),
    ],
)
def test_clients_of_libretranslate_get_the_statuses_that_they_know(status: int, theirs: int) -> None:
    problem = Problem(status, "code", "no")
    assert render(problem, {**SCOPE, "path": "/translate", "method": "POST"}).status_code == theirs
    assert render(problem, SCOPE).status_code == status


def test_the_field_that_is_wrong_is_a_member_of_the_document() -> None:
    found = from_validation([{"type": "missing", "loc": ("body", "texts", 3), "msg": "Field required"}])
    assert found.field == json.loads(render(found, SCOPE).body)["field"] == "texts.3"
    error = ConfigError("no layer 9", code="bad_parameter", field="interventions.0.layer")
    assert from_error(error).field == "interventions.0.layer"
    assert b"field" not in render(Problem(404, "not_found", "no"), SCOPE).body


def test_paths_of_fields_show_plain_names_only() -> None:
    assert field_path(("body", "texts", 3)) == "texts.3"
    assert field_path(("body",)) == "body"
    assert field_path(("body", "<script>", "a" * 65, "ok")) == "?.?.ok"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"type": "too_long", "loc": ("body", "texts"), "msg": "X"}, "too_many_texts"),
        ({"type": "too_long", "loc": ("body", "ban"), "msg": "X"}, "bad_parameter"),
        ({"type": "string_too_long", "loc": ("body", "text"), "msg": "X"}, "too_long"),
        ({"type": "missing", "loc": ("body", "text"), "msg": "Field required"}, "bad_parameter"),
    ],
)
def test_codes_of_validation(error: dict[str, object], code: str) -> None:
    assert from_validation([error]).code == code


def test_json_of_ours_never_has_a_nan() -> None:
    assert dump({"a": "나", "b": 1.5}) == '{"a":"나","b":1.5}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump(float("inf"))


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("POST", "/v1/models", 405, "bad_method"),
        ("GET", "/v1/translate", 405, "bad_method"),
        ("DELETE", "/v1/models/rnn", 405, "bad_method"),
        ("GET", "/v1/models/", 404, "not_found"),
    ],
)
def test_the_frameworks_own_errors_are_problems_too(
    client: httpx2.Client, method: str, path: str, status: int, code: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    document = answer.json()
    assert list(document) == ["type", "title", "status", "detail", "code", "request_id"]
    assert (document["status"], document["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


WRONG: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "x" * 10**5,
    [],
    ["x"] * 1000,
    [1],
    ["x" * 10**5],
    {},
    {"a": 1},
]


def bodies(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in kind.__subclasses__():
        yield one
        yield from bodies(one)


def test_no_name_of_a_type_is_told() -> None:
    """Every field of every request with all kinds of wrong values: paths name fields, no pydantic types."""
    tried = 0
    for body in {*bodies(RequestBody), *bodies(LibreFields)}:
        schema = json.dumps(body.model_json_schema())
        for field in body.model_fields:
            for value in WRONG:
                try:
                    body.model_validate({field: value})
                except ValidationError as error:
                    errors = error.errors(include_url=False)
                else:
                    continue
                mine = [{**one, "loc": ("body", *one["loc"])} for one in errors if one["loc"][0] == field]
                if not mine:
                    continue
                tried += 1
                problem = from_validation(mine)
                assert problem.field is not None
                own = json.dumps(value, default=str)  # a client may name its own keys, such as terms
                for part in problem.field.split("."):
                    assert part.isdecimal() or f'"{part}"' in schema + own, (body, field, problem.field)
                assert not re.search(r"constrained|function-|\[|validation", problem.sentence)
    assert tried > 200


@pytest.mark.parametrize("path", ["/translate", "/languages", "/detect", "/suggest", "/frontend/settings"])
@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE"])
def test_another_method_is_a_405_in_the_form_of_libretranslate(
    client: httpx2.Client, method: str, path: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()) == (405, {"error": "method not allowed"})
    assert answer.headers["allow"]
