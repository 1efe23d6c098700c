"""Bodies: which kinds each path reads and how many bytes, what is read before a refusal, what is said."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers

from jumok.server.gates.limits import Limits
from jumok.server.gates.middleware import BodyLimit, check_content_type
from jumok.server.gates.problems import Problem


class Body:
    """What a gate makes of a body: which pieces were taken from the client, and what it was answered."""

    def __init__(self, *pieces: bytes, path: str = "/v1/translate", **headers: str) -> None:
        self.left, self.taken, self.passed = list(pieces), 0, b""
        self.status, self.answer = 0, b""
        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": path, "headers": named}
        limits = Limits(body_bytes=10, document_bytes=20, training_bytes=15)
        services: Any = SimpleNamespace(limits=limits)
        try:
            asyncio.run(BodyLimit(self.read, services)(scope, self.receive, self.send))
        except Problem as problem:
            self.status, self.answer = problem.status_code, problem.sentence.encode()

    async def receive(self) -> dict[str, Any]:
        self.taken += 1
        piece = self.left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self.left)}

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.answer += message.get("body", b"")

    async def read(self, scope: Any, receive: Any, send: Any) -> None:
        """The application behind the gate."""
        more = True
        while more:
            message = await receive()
            self.passed += message["body"]
            more = message["more_body"]
        self.status = 200


@pytest.mark.parametrize(
    ("path", "most", "told"),
    [
        ("/v1/translate", 10, b"the body has more than 10 bytes"),
        ("/v1/training", 15, b"pairs to train on may have 15 bytes"),
        ("/v1/training/check", 15, b"pairs to train on may have 15 bytes"),
        ("/v1/documents", 20 + 65536, b"a document may have 20 bytes"),
        ("/translate_file", 20 + 65536, b"a document may have 20 bytes"),
    ],
)
def test_a_body_has_the_bytes_of_its_path_and_no_more(path: str, most: int, told: bytes) -> None:
    """Whether its length is stated or not; what is refused is answered and not passed on."""
    whole = Body(b"x" * most, path=path, content_length=str(most))
    assert (whole.status, whole.passed) == (200, b"x" * most)
    assert Body(b"x" * (most - 1), b"x", path=path).status == 200
    stated = Body(b"x", path=path, content_length=str(most + 1))
    assert (stated.status, stated.passed) == (413, b"")
    assert told in stated.answer
    counted = Body(b"x" * most, b"x", path=path)
    assert (counted.status, counted.answer, counted.passed) == (413, told, b"x" * most)


def test_a_body_that_is_a_little_too_large_is_read_to_its_end_first() -> None:
    """Up to four times the limit; not that of a client which waits until it is told to send."""
    assert Body(b"x" * 20, b"x" * 20, content_length="40").taken == 2
    assert Body(b"x" * 20, b"x" * 21, content_length="41").taken == 0
    assert Body(b"x" * 20, content_length="20", expect="100-continue").taken == 0
    for length in ("-1", "1e1", "x"):
        odd = Body(b"x", content_length=length)
        assert (odd.status, odd.taken) == (413, 0)
    pieces = [b"x" * 11] + [b"y" * 10] * 9
    endless = Body(*pieces)
    assert (endless.status, endless.taken, endless.passed) == (413, 1 + 4, b"")
    assert Body(b"x" * 11).taken == 1


@pytest.mark.parametrize(
    ("method", "path", "kind", "told"),
    [
        ("POST", "/v1/translate", "text/plain", "application/json in UTF-8"),
        ("POST", "/translate", "text/plain", "application/json or application/x-www-form-urlencoded or mul"),
        ("POST", "/translate", "application/x-www-form-urlencoded; charset=latin-1", "application/json or"),
        ("POST", "/translate", "multipart/form-data; boundary=b", None),
        ("POST", "/v1/documents", "application/json", "application/octet-stream or multipart/form-data"),
        ("POST", "/v1/documents", "application/octet-stream; charset=x", None),
        ("POST", "/translate_file", "application/octet-stream", "multipart/form-data"),
        ("POST", "/translate_file", "Multipart/Form-Data; boundary=b", None),
        ("PATCH", "/v1/documents/1", "application/octet-stream", "application/json in UTF-8"),
        ("GET", "/v1/models", "text/plain", None),
        ("DELETE", "/v1/documents/1", "application/json; charset=UTF8", None),
    ],
)
def test_what_each_path_reads(method: str, path: str, kind: str, told: str | None) -> None:
    scope = {"method": method, "path": path}
    for about in ({"content-length": "3"}, {"transfer-encoding": "chunked"}):
        found = check_content_type(scope, Headers({**about, "content-type": kind}), None)  # type: ignore[arg-type]
        assert (found is None) == (told is None)
        assert found is None or found.status_code == 415
        assert found is None or found.sentence.startswith(f"the content type must be {told}")
    nothing = Headers({"content-length": "0", "content-type": kind})
    assert check_content_type(scope, nothing, None) is None  # type: ignore[arg-type]
