"""Problems: what they say, and what they never say."""

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from jumok.errors import ConfigError, DataError, Error, LimitError, ModelError, RunError
from jumok.server.gates.problems import (
    LACKING,
    Problem,
    as_problem,
    busy,
    dump,
    field_path,
    from_error,
    from_validation,
    is_libre,
    is_upload,
    json_answer,
    render,
    too_late,
)
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


def wrong(kind: str, *places: str | int, msg: str = "Input should be X") -> dict[str, Any]:
    return {"type": kind, "loc": ("body", *places), "msg": msg}


@pytest.mark.parametrize(
    ("errors", "field", "detail"),
    [
        ([wrong("extra_forbidden", "beem")], "beem", "unknown field"),
        ([wrong("model_type", msg="Input should be a dict of A")], "body", "an object is needed"),
        ([wrong("string_pattern_mismatch", "id", msg="X ^a$")], "id", "it has characters, or a length, that"),
        ([wrong("too_short", "q", msg="List of 1 item after validation, not 0")], "q", "list of 1 item, not"),
        ([wrong("value_error", "glossary", "GEHEIM", msg="No")], "glossary", "no"),
        ([wrong("value_error", "texts", "glossary", msg="No")], "texts.glossary", "no"),
        ([wrong("int_type", "a"), wrong("too_long", "b")], "a", "input should be X"),
        ([wrong("int_type", "a"), wrong("too_long", "ab")], "a", "input should be X"),
        ([wrong("string_type", "q", "constrained-str"), wrong("a", "q", "list[x]", msg="Y")], "q", "y"),
        ([wrong("a", "q", "constrained-str", msg="Y"), wrong("list_type", "q", "list[x]")], "q", "y"),
        ([wrong("string_type", "q"), wrong("string_type", "q", "list[x]", 3, msg="Y")], "q.3", "y"),
    ],
)
def test_the_first_wrong_field_is_told_in_the_kind_that_was_given(
    errors: list[dict[str, Any]], field: str, detail: str
) -> None:
    found = from_validation(errors)
    assert found.field == field
    assert found.sentence.startswith(f"{field}: {detail}")


def test_our_own_check_of_a_field_tells_its_advice_and_its_place() -> None:
    ours = ConfigError("GEHEIM", hint="give two", field="edits.0.with")
    found = from_validation([{**wrong("value_error", "edits"), "ctx": {"error": ours}}])
    assert (found.sentence, found.field) == ("edits.0.with: give two", "edits.0.with")
    nowhere = {**wrong("value_error", "edits"), "ctx": {"error": ConfigError("no", hint="give two")}}
    assert from_validation([nowhere]).sentence == "edits: input should be X"


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


LACKS: list[tuple[Error, int, str, str | None]] = [
    (ConfigError("no n-grams", code="engine_lacks"), 422, "no n-grams", None),
    (DataError("of German", code="other_language"), 422, "of German", None),
    (ModelError("none fitted", code="not_calibrated"), 422, "none fitted", "confidence"),
    (ModelError("of another", code="bad_calibration"), 422, "of another", "confidence"),
    (ModelError("no index", code="no_neighbours"), 404, "no index", "model"),
    (ModelError("old index", code="bad_neighbours"), 422, "old index", "model"),
    (ConfigError("two", hint="one", code="ensemble", field="x"), 422, "two: one", None),
    (ConfigError("ONNX", hint="install", code="extra_missing"), 422, "ONNX: install", None),
    (ConfigError("of three", hint="x", code="no_language", field="to"), 422, "to: of three", "to"),
    (
        ConfigError("xx", hint="known: de", code="unknown_language", field="to"),
        404,
        "to: known: de",
        "to",
    ),
    (ConfigError("xx", hint="no such", code="unknown_direction", field="to"), 404, "to: no such", "to"),
    (LimitError("512 at most", code="too_long", field="text"), 422, "512 at most", "text"),
]


@pytest.mark.parametrize(
    ("error", "status", "detail", "field"), LACKS, ids=lambda value: getattr(value, "code", None)
)
def test_what_a_model_lacks_is_told_with_the_field_that_asked_for_it(
    error: Error, status: int, detail: str, field: str | None
) -> None:
    found = from_error(error)
    assert (found.status_code, found.code, found.sentence) == (status, error.code, detail)
    assert found.field == field


def test_whatever_a_model_may_lack_is_in_the_table_above() -> None:
    assert {error.code for error, *_ in LACKS} >= LACKING.keys()


def test_a_glossary_is_refused_by_advice_alone() -> None:
    found = from_error(DataError("GEHEIM is no term", hint="write a=b", code="bad_glossary"))
    assert (found.status_code, found.code) == (422, "bad_parameter")
    assert (found.sentence, found.field) == ("glossary: write a=b", "glossary")


@pytest.mark.parametrize("word", ["ids", "need", "weight", "wrong"])
def test_a_field_that_quotes_the_client_is_told_without_its_message(word: str) -> None:
    error = ConfigError("GEHEIM", hint="give others", code="bad_parameter", field=f"edits.0.{word}")
    assert from_error(error).sentence == f"edits.0.{word}: give others"
    plain = ConfigError("no head 9", hint="there are 8", code="bad_parameter", field="edits.0.head")
    assert from_error(plain).sentence == "edits.0.head: no head 9: there are 8"


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (400, "bad_request", "bad request"),
        (401, "key_missing", "unauthorized"),
        (404, "not_found", "not found"),
        (405, "bad_method", "method not allowed"),
        (418, "bad_request", "i'm a teapot"),
        (500, "internal", "internal server error"),
    ],
)
def test_the_frameworks_statuses_have_words_and_keep_their_headers(
    status: int, code: str, sentence: str
) -> None:
    found = as_problem(HTTPException(status, "GEHEIM", {"Allow": "GET"}))
    assert (found.status_code, found.code, found.sentence) == (status, code, sentence)
    assert found.headers == {"Allow": "GET"}
    assert as_problem(found) is found


def test_only_what_nobody_expected_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    missing = [{"type": "missing", "loc": ("body", "texts"), "msg": "Field required"}]
    told = [
        as_problem(error)
        for error in (RequestValidationError(missing), LimitError("long"), KeyError("x"), ModelError("bad"))
    ]
    assert [one.status_code for one in told] == [422, 422, 500, 500]
    assert [one.code for one in told] == ["bad_parameter", "too_large", "internal", "internal"]
    said = [(one.name, one.levelno, one.getMessage(), one.exc_info is None) for one in caplog.records]
    assert said == [
        ("jumok.server", logging.ERROR, "a request failed", False),
        ("jumok.server", logging.ERROR, "a request failed: bad", True),
    ]


def test_who_is_to_come_back_is_told_when() -> None:
    later, soon, late = busy("no room", "too_often", 41), busy("full"), too_late(0.5)
    assert (later.status_code, later.code, later.headers) == (429, "too_often", {"Retry-After": "41"})
    assert (soon.status_code, soon.code, soon.headers) == (429, "queue_full", {"Retry-After": "1"})
    assert (late.status_code, late.code) == (504, "deadline")
    assert late.sentence == "there was no answer within 0.5 seconds"
    assert too_late(30.0).sentence == "there was no answer within 30 seconds"


def test_a_problem_document_whole() -> None:
    answer = render(Problem(404, "no_such", "나 is not here", field="model"), SCOPE)
    assert answer.body.decode() == (  # type: ignore[union-attr]
        '{"type":"urn:jumok:problem:no_such","title":"Not Found","status":404,"detail":"나 is not here",'
        '"code":"no_such","request_id":"r1","field":"model"}'
    )
    nameless = render(Problem(404, "no_such", "no"), {"path": "/v1/x", "method": "GET"})
    assert json.loads(bytes(nameless.body))["request_id"] == ""
    theirs = render(Problem(429, "queue_full", "no"), {"path": "/detect", "method": "POST"})
    assert (theirs.media_type, theirs.headers["cache-control"]) == ("application/json", "no-store")
    right = json_answer({"a": [1, None]})
    assert (right.status_code, right.media_type, right.body) == (200, "application/json", b'{"a":[1,null]}')


@pytest.mark.parametrize(
    ("path", "libre", "upload"),
    [
        ("/translate", {"POST", "PUT"}, set()),
        ("/detect", {"GET", "HEAD", "POST", "PUT"}, set()),
        ("/frontend/settings", {"GET", "HEAD", "POST", "PUT"}, set()),
        ("/translate_file", {"GET", "HEAD", "POST", "PUT"}, {"POST"}),
        ("/download_file/3/a.txt", {"GET", "HEAD", "POST", "PUT"}, set()),
        ("/download_file", set(), set()),
        ("/v1/documents", set(), {"POST"}),
        ("/v1/documents/3", set(), set()),
        ("/v1/translate", set(), set()),
    ],
)
def test_which_paths_speak_as_libretranslate_and_which_take_documents(
    path: str, libre: set[str], upload: set[str]
) -> None:
    methods = ("GET", "HEAD", "POST", "PUT")
    assert {method for method in methods if is_libre({"path": path, "method": method})} == libre
    assert {method for method in methods if is_upload(path, method)} == upload
