"""Starting and stopping: addresses, ports that are taken, and signals with requests in flight."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from tests.server.conftest import Serve, read_answer, wait_until

from jumok.errors import ConfigError
from jumok.server.app import build_app
from jumok.server.gates.limits import Limits
from jumok.server.reload import Reloader
from jumok.server.serve import Server, address_of, cannot_bind, listen, make_config
from jumok.server.settings import ServerSettings

PROGRAM = """
import signal, sys, threading, torch
from tests.decoding.conftest import TINY, untrained
from jumok.decoding.translator import Translator
from jumok.server.app import build_app
from jumok.server.serve import address_of, listen, serve
from jumok.server.settings import ServerSettings
torch.set_num_threads(1)
settings = ServerSettings(port=0)
sock = listen(settings)
app = build_app({"rnn": Translator(untrained(TINY["rnn"]))}, settings=settings)
go_on = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: go_on.set())
def started():
    worker = app.state.services.models["rnn"].worker
    turn = worker._turn
    worker._turn = lambda: turn() if go_on.wait(0.01) else worker._admit()  # in the batch, and held there
    print(address_of(sock, settings), flush=True)
sys.exit(serve(app, settings, sock, started))
"""


@contextmanager
def process() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "PYTHONPATH": ".", "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert child.stdout is not None
        yield child, child.stdout.readline().strip()
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate()


def request_bytes(number: int) -> bytes:
    body = {"texts": [f"a man {number}"], "beam": 2, "max_len": 45, "min_len": 45}
    content = json.dumps(body).encode()
    head = f"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Content-Type: application/json\r\nConnection: close\r\n\r\n" + content


def test_sigterm_lets_running_requests_finish_and_refuses_new_ones() -> None:
    with process() as (child, address), httpx2.Client(base_url=address) as kept:
        assert kept.get("/health/ready").status_code == 200
        port = int(address.rsplit(":", 1)[1].strip("/"))
        socks = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(4)]
        for number, sock in enumerate(socks):
            sock.sendall(request_bytes(number))
        joined = 'jumok_queue_wait_seconds_count{model="rnn"} 5'  # these and the self-test
        wait_until(lambda: joined in kept.get("/metrics").text)
        child.send_signal(signal.SIGTERM)
        wait_until(lambda: kept.get("/health/ready").status_code != 200)
        ready = kept.get("/health/ready")
        assert (ready.status_code, ready.json()["code"]) == (503, "draining")
        assert kept.get("/health/live").status_code == 200
        late = kept.post("/v1/translate", json={"texts": ["a"]})
        assert (late.status_code, late.json()["code"]) == (503, "draining")
        assert late.headers["connection"] == "close"
        child.send_signal(signal.SIGUSR1)
        for sock in socks:
            status, answer = read_answer(sock)
            sock.close()
            assert status == 200
            assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["results"][0]["tokens"]) == 45
        assert child.wait(120) == 0
        assert child.stderr is not None
        assert child.stderr.read() == ""


def test_a_port_that_is_taken_says_so() -> None:
    with listen(ServerSettings(port=0)) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is taken") as found:
            listen(ServerSettings(port=port))
        assert found.value.code == "port_taken"
        assert "choose another port with --port" in found.value.hint


def test_other_addresses_that_cannot_be_listened_on() -> None:
    with pytest.raises(ConfigError, match="there is no host 'no.such.host.invalid'"):
        listen(ServerSettings(host="no.such.host.invalid", insecure=True, port=0))
    with pytest.raises(ConfigError, match="cannot listen on 192.0.2.1:0: Cannot assign"):
        listen(ServerSettings(host="192.0.2.1", insecure=True, port=0))
    refused = cannot_bind(PermissionError(13, "Permission denied"), ServerSettings(port=80))
    assert str(refused).startswith("cannot listen on 127.0.0.1:80: Permission denied")


def test_the_address_is_one_that_a_browser_takes() -> None:
    with listen(ServerSettings(port=0)) as sock:
        port = sock.getsockname()[1]
        assert address_of(sock, ServerSettings()) == f"http://127.0.0.1:{port}/"
        assert address_of(sock, ServerSettings(host="::1")) == f"http://[::1]:{port}/"
        assert address_of(sock, ServerSettings(host="0.0.0.0", insecure=True)) == f"http://127.0.0.1:{port}/"


def test_limits_reach_the_server() -> None:
    config = make_config(build_app({}), ServerSettings())
    assert config.limit_concurrency == 513
    assert (config.timeout_keep_alive, config.h11_max_incomplete_event_size) == (5, 65536)
    config.load()
    assert config.http_protocol_class.receive_s == 10  # type: ignore[union-attr]


def test_a_second_signal_ends_it_at_once() -> None:
    server = Server(build_app({}), ServerSettings(), lambda: None)
    server.handle_exit(signal.SIGTERM, None)
    assert server.services.draining
    assert not server.should_exit
    server.handle_exit(signal.SIGINT, None)
    assert server.should_exit
    assert server.force_exit
    assert server.stopped_by == signal.SIGINT


def test_a_drain_has_an_end() -> None:
    for running, drain_s, ends in ((0, 20.0, True), (1, 20.0, False), (1, -1.0, True)):
        settings = ServerSettings(limits=Limits(drain_s=drain_s))
        server = Server(build_app({}, settings=settings), settings, lambda: None)
        assert asyncio.run(server.on_tick(1)) is False
        server.services.running = running
        server.handle_exit(signal.SIGTERM, None)
        assert asyncio.run(server.on_tick(1)) is ends


def test_a_hang_up_loads_again_unless_the_terminal_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    reloader = Reloader(build_app({}).state.services, {}, pytest.fail)
    monkeypatch.setattr(reloader, "ask", lambda: asked.append(True))
    monkeypatch.setattr("jumok.server.serve.terminals", lambda: frozenset({0, 1}))
    server = Server(build_app({}), ServerSettings(), lambda: None, reloader)
    server.handle_hang_up()
    assert (asked, server.services.draining) == ([True], False)
    monkeypatch.setattr("jumok.server.serve.terminals", lambda: frozenset())
    server.handle_hang_up()
    assert (asked, server.services.draining) == ([True], True)


@pytest.mark.parametrize(("proxies", "wanted"), [((), [200, 429, 429]), (("127.0.0.0/8",), [200, 200, 429])])
def test_clients_behind_a_proxy_are_told_apart_if_it_is_trusted(
    serve: Serve, tmp_path: Path, proxies: tuple[str, ...], wanted: list[int]
) -> None:
    """One client may send one correction in a minute; its address is what a trusted proxy says."""
    body = {"source": "a", "target": "b", "model": "rnn"}
    with (
        serve(
            trusted_proxies=proxies, remember=tmp_path / "kept.tsv", limits=Limits(corrections=1)
        ) as running,
        running.client() as client,
    ):
        found = [
            client.post("/v1/corrections", json=body, headers={"X-Forwarded-For": who}).status_code
            for who in ("192.0.2.1", "192.0.2.2", "192.0.2.2")
        ]
    assert found == wanted


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
def test_a_server_with_a_reloader_listens_for_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    async def begin(self: uvicorn.Server, sockets: object = None) -> None:
        self.started = True

    async def main() -> None:
        asked, started = asyncio.Event(), []
        reloader = Reloader(build_app({}).state.services, {}, pytest.fail)
        monkeypatch.setattr(reloader, "ask", asked.set)
        server = Server(build_app({}), ServerSettings(), lambda: started.append(True), reloader)
        try:
            await server.startup()
            assert started == [True]
            assert signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
            await asked.wait()
        finally:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)

    monkeypatch.setattr(uvicorn.Server, "startup", begin)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a test that fails must not end us all
    try:
        asyncio.run(asyncio.wait_for(main(), 120))
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_client_that_keeps_its_connection_is_let_go_without_complaint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> bytes:
        started, settings = asyncio.Event(), ServerSettings(port=0)
        sock = listen(settings)
        server = Server(build_app({}), settings, started.set)
        running = asyncio.create_task(server.serve([sock]))
        await started.wait()
        reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = await reader.readuntil(b"\r\n\r\n")
        server.handle_exit(signal.SIGTERM, None)
        await running
        writer.close()
        return said

    assert asyncio.run(asyncio.wait_for(main(), 120)).startswith(b"HTTP/1.1 ")
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []
