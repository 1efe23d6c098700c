"""The gates: request ids, hosts, origins, content types, keys; and what a crash looks like from outside."""

import asyncio
import base64
import gzip
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.datastructures import Headers
from tests.server.conftest import Running, serving

from jumok.decoding.translator import Translator
from jumok.server.app import build_app
from jumok.server.gates.limits import Limits
from jumok.server.gates.middleware import (
    BodyLimit,
    HeaderChecks,
    RequestId,
    check_host,
    record,
)
from jumok.server.metrics import Metrics
from jumok.server.settings import ServerSettings

KEY = "0123456789abcdef"
BODY = {"texts": ["a man"], "beam": 1, "max_len": 2}


def test_a_request_id_is_echoed_or_made(client: httpx2.Client) -> None:
    assert client.get("/health", headers={"X-Request-ID": "a.B-9_"}).headers["x-request-id"] == "a.B-9_"
    for bad in ("", "x" * 65, "a b", "a\tb", "<b>", "é"):
        made = client.get("/health", headers={"X-Request-ID": bad.encode()}).headers["x-request-id"]
        assert len(made) == 16
        assert int(made, 16) >= 0
    problem = client.get("/v1/models/none", headers={"X-Request-ID": "mine"})
    assert problem.json()["request_id"] == problem.headers["x-request-id"] == "mine"


HOSTS = {
    "localhost": 200,
    "LOCALHOST": 200,
    "localhost:1": 200,
    "127.0.0.1": 200,
    "127.0.0.1:7717": 200,
    "[::1]": 200,
    "[::1]:7717": 200,
    "jumok.example.org": 200,
    "jumok.example.org:443": 200,
    "example.org": 400,
    "evil.jumok.example.org": 400,
    "jumok.example.org.evil.test": 400,
    "localhost.evil.test": 400,
    "evil.test:localhost": 400,
    "localhost@evil.test": 400,
    "127.0.0.1.nip.io": 400,
    "127.0.0.2": 400,
    "127.1": 400,
    "0.0.0.0": 400,
    "[::]": 400,
    "::1": 400,
    "localhost:": 400,
    "localhost:x": 400,
    "localhost ": 200,  # white space around a header is not part of it
    "": 400,
}


@pytest.fixture(scope="module")
def open_app(tiny_models: dict[str, Translator]) -> FastAPI:
    settings = ServerSettings(allowed_hosts=("jumok.example.org",), allow_origins=("https://friend.test",))
    return build_app({"rnn": tiny_models["rnn"]}, settings=settings)


@pytest.fixture(scope="module")
def named(tiny_models: dict[str, Translator], static: Path) -> Iterator[Running]:
    """A server that answers to one more name."""
    settings = ServerSettings(port=0, static=static, allowed_hosts=("jumok.example.org",))
    with serving({"rnn": tiny_models["rnn"]}, settings) as found:
        yield found


def ask_as(running: Running, host: str) -> tuple[int, bytes]:
    return running.raw(f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())


@pytest.mark.parametrize("host", HOSTS)
def test_the_server_answers_to_its_own_names_only(named: Running, running: Running, host: str) -> None:
    """The name that was added is one of them where it was added, and nowhere else."""
    for server, wanted in ((named, HOSTS[host]), (running, 400 if "jumok" in host else HOSTS[host])):
        status, answer = ask_as(server, host)
        assert status == wanted
        assert (b'"code":"bad_host"' in answer) == (wanted == 400)
        assert (b"start it with --allowed-host and the name" in answer) == (wanted == 400)


def test_probes_ask_by_address_or_without_a_host(running: Running) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        for lines in ("Host: 10.42.0.7:7717\r\n", "Host: evil.test\r\n"):
            head = f"GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"
            assert running.raw(head.encode())[0] == 200
        assert running.raw(f"GET {path} HTTP/1.0\r\n\r\n".encode())[0] == 200
    assert ask_as(running, "10.42.0.7:7717")[0] == 400  # everything else is for names that were given


def test_the_log_has_a_line_for_each_request(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    scope = {"method": "BREW", "state": {"request_id": "mine"}}
    with caplog.at_level(logging.INFO, "jumok.access"):
        record(metrics, scope, 418, 0.25)
    assert caplog.messages == ["other unmatched 418 250.0 ms mine"]


async def ask(app: FastAPI, method: str, path: str, **options: Any) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:7717") as client:
        return await client.request(method, path, **options)


def call(app: FastAPI, method: str, path: str, **options: Any) -> httpx2.Response:
    return asyncio.run(ask(app, method, path, **options))


def test_two_host_headers_and_none_are_refused(running: Running) -> None:
    for lines in ("Host: localhost\r\nHost: evil.test\r\n", ""):
        status, _ = running.raw(f"GET /metrics HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        assert status == 400
    assert running.raw(b"GET /metrics HTTP/1.0\r\n\r\n")[0] == 400


ORIGINS = {
    None: 200,
    "http://localhost:7717": 200,
    "HTTP://LOCALHOST:7717": 200,
    "https://localhost:7717": 200,  # behind something that speaks TLS
    "https://friend.test": 200,
    "http://friend.test": 403,
    "https://friend.test.evil.test": 403,
    "https://evil.test/https://friend.test": 403,
    "http://localhost": 403,
    "http://localhost:7718": 403,
    "http://127.0.0.1:7717": 403,  # another name is another origin
    "http://evil.test": 403,
    "http://localhost:7717.evil.test": 403,
    "null": 403,
    "file://": 403,
    "": 403,
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_pages_of_other_origins_cannot_post(open_app: FastAPI, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    for path, body in (("/v1/translate", BODY), ("/translate", {"q": "a", "source": "en", "target": "ko"})):
        answer = call(open_app, "POST", path, json=body, headers=headers)
        assert answer.status_code == ORIGINS[origin], answer.text
        shared = answer.headers.get("access-control-allow-origin")
        assert shared == (origin if origin == "https://friend.test" else None)
    form = {"q": "a", "source": "en", "target": "ko"}
    assert call(open_app, "POST", "/translate", data=form, headers=headers).status_code == ORIGINS[origin]
    assert call(open_app, "GET", "/health", headers=headers).status_code == 200


def test_a_preflight_is_answered_for_allowed_origins_only(open_app: FastAPI) -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    answer = call(open_app, "OPTIONS", "/v1/translate", headers={"Origin": "https://friend.test", **asked})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-methods"] == "GET, POST, PATCH, DELETE"
    answer = call(open_app, "OPTIONS", "/v1/translate", headers={"Origin": "https://evil.test", **asked})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    assert "access-control-allow-methods" not in answer.headers


TYPES = {
    "application/json": 200,
    "APPLICATION/JSON": 200,
    "application/json; charset=utf-8": 200,
    'application/json;charset="UTF-8"': 200,
    "application/json; charset=utf-16": 415,
    "application/json; boundary=x": 415,
    "application/x-www-form-urlencoded": 415,
    "multipart/form-data; boundary=x": 415,
    "text/plain": 415,
    "text/json": 415,
    "application/problem+json": 415,
    "application/jsonx": 415,
    "": 415,
}


@pytest.mark.parametrize("kind", TYPES)
def test_bodies_are_json_in_utf_8(running: Running, kind: str) -> None:
    body = b'{"texts": ["a man"], "beam": 1, "max_len": 2}'
    status, answer = running.post_raw("/v1/translate", body, Content_Type=kind)
    assert status == TYPES[kind]
    assert status == 200 or answer["code"] == "bad_content_type"


def test_packed_bodies_are_refused(running: Running) -> None:
    for coding in ("gzip", "br", "deflate", "identity, gzip"):
        packed = gzip.compress(b'{"texts": ["a man"]}')
        status, answer = running.post_raw("/v1/translate", packed, Content_Encoding=coding)
        assert (status, answer["code"]) == (415, "bad_content_type")
    status, _ = running.post_raw("/v1/translate", b'{"texts": [""]}', Content_Encoding="identity")
    assert status == 200


@pytest.fixture(scope="module")
def locked(tiny_models: dict[str, Translator]) -> FastAPI:
    settings = ServerSettings(keys=(KEY, KEY[::-1]))
    return build_app({"rnn": tiny_models["rnn"]}, settings=settings)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (f"Bearer {KEY}", 200),
        (f"bearer  {KEY}", 200),
        (f"Bearer {KEY[::-1]}", 200),
        (basic(f"anyone:{KEY}"), 200),
        (basic(f":{KEY}"), 200),
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        (f"Bearer {KEY}0", 401),
        (f"Bearer {KEY[:-1]}", 401),
        (f"Bearer {KEY.upper()}", 401),
        (KEY, 401),
        (f"Token {KEY}", 401),
        (basic(KEY), 401),
        ("Basic !!!", 401),
        ("Basic /w==", 401),
    ],
)
def test_everything_but_health_is_behind_the_key(locked: FastAPI, given: str | None, status: int) -> None:
    headers = {} if given is None else {"Authorization": given}
    for path in ("/v1/models", "/metrics", "/openapi.json", "/", "/translate"):
        answer = call(locked, "GET", path, headers=headers)
        assert answer.status_code == status, path
        assert status == 200 or "Basic" in answer.headers["www-authenticate"]
    assert call(locked, "POST", "/v1/translate", json=BODY, headers=headers).status_code == status
    assert call(locked, "GET", "/languages", headers=headers).status_code == (200 if status == 200 else 403)
    for path in ("/health", "/health/live", "/health/ready"):
        assert call(locked, "GET", path, headers=headers).json() == {"status": "ok"}


def test_clients_of_libretranslate_put_the_key_into_the_body(locked: FastAPI) -> None:
    asked = {"q": "a man", "source": "en", "target": "ko"}
    for path in ("/translate", "/detect"):
        assert call(locked, "POST", path, json={**asked, "api_key": KEY}).status_code == 200
        for wrong in ({}, {"api_key": ""}, {"api_key": KEY + "0"}, {"api_key": None}):
            answer = call(locked, "POST", path, json={**asked, **wrong})
            assert (answer.status_code, answer.json()) == (403, {"error": "an API key is needed"})
    assert call(locked, "POST", "/translate", data={**asked, "api_key": KEY}).status_code == 200
    answer = call(locked, "POST", "/translate", json=asked, headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 403


def test_a_crash_is_a_500_that_tells_nothing(
    tiny_models: dict[str, Translator], caplog: pytest.LogCaptureFixture
) -> None:
    app = build_app({"rnn": tiny_models["rnn"]})

    async def crash() -> None:
        raise RuntimeError("secret: /home/someone")

    app.add_api_route("/crash", crash)
    answer = call(app, "GET", "/crash", headers={"X-Request-ID": "c1"})
    assert answer.status_code == 500
    assert answer.json() == {
        "type": "urn:jumok:problem:internal",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "the server failed; its log says more under this request id",
        "code": "internal",
        "request_id": "c1",
    }
    assert "secret: /home/someone" in caplog.text


def test_the_access_log_has_no_text(
    tiny_models: dict[str, Translator], caplog: pytest.LogCaptureFixture
) -> None:
    app = build_app({"rnn": tiny_models["rnn"]})
    with caplog.at_level("INFO", "jumok.access"):
        call(app, "POST", "/v1/translate", json={**BODY, "texts": ["GEHEIM"]}, headers={"X-Request-ID": "r1"})
        call(app, "GET", "/GEHEIM?q=GEHEIM")
    lines = [record.getMessage() for record in caplog.records if record.name == "jumok.access"]
    assert lines[0].startswith("POST /v1/translate 200 ")
    assert lines[0].endswith(" ms r1")
    assert lines[1].startswith("GET unmatched 404 ")
    assert "GEHEIM" not in caplog.text


def test_while_it_drains_new_requests_are_refused(tiny_models: dict[str, Translator]) -> None:
    app = build_app({"rnn": tiny_models["rnn"]})
    app.state.services.draining = True
    answer = call(app, "POST", "/v1/translate", json=BODY)
    assert (answer.status_code, answer.json()["code"]) == (503, "draining")
    assert answer.headers["connection"] == "close"
    assert call(app, "GET", "/health/live").status_code == 200
    ready = call(app, "GET", "/health/ready")
    assert (ready.status_code, ready.json()["code"]) == (503, "draining")


def test_answers_are_packed_when_the_client_wants_it(client: httpx2.Client) -> None:
    long = client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert long.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in long.headers["vary"].lower()
    assert (
        "content-encoding" not in client.get("/openapi.json", headers={"Accept-Encoding": "identity"}).headers
    )


def test_headers_have_the_bytes_of_their_limit_with_what_separates_them() -> None:
    """Four bytes stand around each name and value."""
    scope = {"path": "/v1/models", "headers": [(b"host", b"localhost"), (b"a", b"bc")]}
    for most, code in ((4 + 9 + 4 + 1 + 2 + 4, None), (23, "too_large")):
        hosts = ServerSettings().hosts()
        services: Any = SimpleNamespace(limits=Limits(header_bytes=most), hosts=hosts)
        found = check_host(scope, Headers(scope=scope), services)
        assert (found and found.code) == code
    assert found is not None
    assert (found.status_code, found.headers) == (431, {"Connection": "close"})


def test_every_answer_tells_browsers_to_guess_nothing(client: httpx2.Client) -> None:
    for path in ("/health", "/v1/models/none", "/v1/models"):
        headers = client.get(path).headers
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize("gate", [RequestId, BodyLimit, HeaderChecks])
def test_what_is_no_request_passes_every_gate(gate: Any) -> None:
    """Such as the start of the server: it has no headers that could be looked at."""
    passed = list[Any]()

    async def app(*given: Any) -> None:
        passed.append(given)

    services: Any = SimpleNamespace(limits=Limits())
    given = ({"type": "lifespan"}, object(), object())
    asyncio.run(gate(app, services)(*given))
    assert passed == [given]


@pytest.mark.parametrize(
    ("method", "path", "counts"), [("POST", "/v1/translate", (1, 1)), ("GET", "/v1/models", (1, 0))]
)
def test_a_request_counts_while_it_is_answered(
    open_app: FastAPI, method: str, path: str, counts: tuple[int, int]
) -> None:
    services, seen = open_app.state.services, list[Any]()

    async def app(scope: Any, *_: Any) -> None:
        seen.append((services.running, services.asking, scope["state"]["services"] is services))
        raise LookupError("crash")

    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"x-request-id", b"r7")]}
    asyncio.run(RequestId(app, services)(scope, None, send))  # type: ignore[arg-type]
    assert seen == [(*counts, True)]
    assert (services.running, services.asking) == (0, 0)
    assert sent[0]["status"] == 500
    assert (b"x-request-id", b"r7") in sent[0]["headers"]
