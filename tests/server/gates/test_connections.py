"""Connections: slow ones are closed, broken requests are told so, and healthy ones go on."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.server.conftest import Running, Serve, read_answer, serving, wait_until

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.settings import ServerSettings

GET = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"


PATIENCE = 0.3


@pytest.fixture(scope="module")
def quick(tiny_models: dict[str, Translator]) -> Iterator[Running]:
    with serving(tiny_models, ServerSettings(port=0, limits=Limits(receive_s=PATIENCE))) as found:
        yield found


def wait_for_the_end(sock: socket.socket) -> None:
    with contextlib.suppress(ConnectionResetError):
        while sock.recv(65536):
            pass


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"G",
        GET,
        GET + b"X-Slow: ",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 100\r\n\r\n{"texts":',
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
    ],
    ids=["nothing", "a letter", "headers", "half a header", "no body", "half a body", "half a chunk"],
)
def test_a_request_that_does_not_arrive_is_closed(quick: Running, sent: bytes) -> None:
    began = time.monotonic()
    with quick.connect() as sock:
        sock.sendall(sent)
        wait_for_the_end(sock)
    assert time.monotonic() - began > PATIENCE * 0.9  # not before its time


def test_dripping_does_not_help(quick: Running) -> None:
    with quick.connect() as sock, contextlib.suppress(ConnectionError):
        for _ in range(2400):
            sock.sendall(b"X")
            time.sleep(0.05)
        pytest.fail("two minutes, and it still listens")


def test_each_request_on_a_connection_has_its_own_time(serve: Serve) -> None:
    ends: list[float] = []
    with serve(limits=Limits(receive_s=100.0)) as running, running.connect() as sock:
        for _ in range(4):
            sock.sendall(GET)
            wait_until(lambda: running.server.server_state.connections)
            [connection] = running.server.server_state.connections
            clocks = connection._clocks  # type: ignore[union-attr]
            wait_until(lambda clocks=clocks: "arrival" in clocks)  # type: ignore[misc]
            ends.append(clocks["arrival"].when())
            time.sleep(0.02)
            sock.sendall(b"\r\n")
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):
                answer += sock.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
            wait_until(lambda clocks=clocks: "arrival" not in clocks)  # type: ignore[misc]
    assert all(later - sooner >= 0.02 for sooner, later in pairwise(ends))


def test_an_answer_may_take_longer_than_the_request(quick: Running) -> None:
    body = json.dumps({"texts": ["a man"], "beam": 8, "max_len": 200, "min_len": 200}).encode()
    status, _ = quick.post_raw("/v1/translate", body)
    assert status == 200


def test_a_client_that_does_not_read_is_closed(quick: Running) -> None:
    with quick.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = GET.replace(b"/health/live", b"/v1/models/transformer/positions?n=1024") + b"\r\n"
        for _ in range(60):  # answers that nobody takes
            sock.sendall(request)
        wait_until(lambda: not quick.server.server_state.connections)


@pytest.mark.parametrize(
    "sent",
    [
        b"HELLO\r\n\r\n",
        b"GET / SPDY/3\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
    ],
)
def test_what_is_not_http_gets_a_problem_document(running: Running, sent: bytes) -> None:
    with running.connect() as sock:
        sock.sendall(sent + b"\r\n\r\n")
        status, answer = read_answer(sock)
    assert status in (400, 415)
    assert b"application/problem+json" in answer


def test_requests_one_after_the_other_on_one_connection(running: Running) -> None:
    with running.connect() as sock:
        sock.sendall((GET + b"\r\n") * 3 + GET + b"Connection: close\r\n\r\n")
        _, answer = read_answer(sock)
    assert answer.count(b"HTTP/1.1 200") == 4


def test_a_websocket_is_not_spoken(running: Running) -> None:
    status, _ = running.raw(GET + b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n")
    assert status == 200
