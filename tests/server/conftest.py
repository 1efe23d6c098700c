"""A real server around tiny models, and ways to talk to it: a client, and plain sockets."""

import asyncio
import copy
import faulthandler
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch
from fastapi import FastAPI
from tests.decoding.conftest import TINY, untrained

from jumok.checkpoint.bundled import bundled
from jumok.decoding.translator import Translator, load
from jumok.explain.watching import Watched
from jumok.server.app import build_app
from jumok.server.gates.limits import Limits
from jumok.server.serve import Server, listen
from jumok.server.services import Services
from jumok.server.settings import ServerSettings
from jumok.server.translate.worker import Worker

PAGE = '<!doctype html><html lang="en"><title>jumok</title><script src="/app-0a1b.js"></script></html>'


@pytest.fixture(scope="session")
def tiny_models() -> dict[str, Translator]:
    """One small translator for each architecture; they answer nonsense, always the same."""
    return {name: Translator(untrained(config)) for name, config in TINY.items()}


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built page as small as can be."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "app-0a1b.js").write_text("'use strict';\n" * 100, encoding="utf-8")
    return folder


@dataclass
class Running:
    """A server in a thread of its own."""

    app: FastAPI
    server: Server
    port: int

    @property
    def services(self) -> Services:
        found: Services = self.app.state.services
        return found

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=120, **options)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def raw(self, data: bytes) -> tuple[int, bytes]:
        """Status and everything else that comes back for these bytes, until the server closes."""
        with self.connect() as sock:
            sock.sendall(data)
            return read_answer(sock)

    def post_raw(self, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
        """Status and JSON of a body that no client library would send."""
        lines = {
            "Host": "localhost",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        status, answer = self.raw(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        text = answer.partition(b"\r\n\r\n")[2]
        return status, json.loads(text)


def read_answer(sock: socket.socket) -> tuple[int, bytes]:
    data = b""
    while chunk := sock.recv(65536):
        data += chunk
    return int(data[9:12] or b"0"), data


Serve = Callable[..., Any]


def wait_until(holds: Callable[[], object]) -> None:
    """Wait for what must happen; how long it takes on this machine says nothing."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


class WorkerGate:
    """Stands before a worker's thread while a block lasts: it takes the turns it is let, and no other.

    Nothing is short meanwhile: all orders go to the thread.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker, self.turns = worker, 0
        self._tokens, self._opened = threading.Semaphore(0), False

    def __enter__(self) -> "WorkerGate":
        turn = self.worker._turn

        def one_turn() -> None:
            assert self._opened or self._tokens.acquire(timeout=120)
            turn()
            self.turns += 1

        self.worker._turn = one_turn  # type: ignore[method-assign]
        self.worker._short.suit = lambda _: False  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        del self.worker._turn, self.worker._short.suit  # the methods of the classes are back
        self.open()

    def let(self, turns: int = 1) -> None:
        """Wait until so many more turns are done."""
        wanted = self.turns + turns
        self._tokens.release(turns)
        wait_until(lambda: self.turns >= wanted)

    def open(self) -> None:
        """Let it go on as it likes."""
        self._opened = True
        self._tokens.release()


@contextmanager
def serving(models: Mapping[str, Translator], settings: ServerSettings) -> Iterator[Running]:
    """A real server on a free port while the block lasts."""
    app = build_app(models, settings=settings)
    sock = listen(settings)
    up = threading.Event()
    server = Server(app, settings, up.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])), daemon=True)
    thread.start()
    assert up.wait(120)
    try:
        yield Running(app, server, sock.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(120)
        if thread.is_alive():
            faulthandler.dump_traceback(sys.__stderr__)  # where each thread is
        assert not thread.is_alive()


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def running(tiny_models: dict[str, Translator], static: Path) -> Iterator[Running]:
    """The server that most tests share."""
    with serving(tiny_models, ServerSettings(port=0, static=static)) as found:
        yield found


@pytest.fixture(scope="session")
def client(running: Running) -> Iterator[httpx2.Client]:
    """A client of the shared server."""
    with running.client() as found:
        yield found


@pytest.fixture
def serve(tiny_models: dict[str, Translator], static: Path) -> Serve:
    """`serve(limits=…, keys=…)`: a server of one's own, by default with all models."""

    def make(
        *, limits: Limits | None = None, models: Mapping[str, Translator] | None = None, **settings: Any
    ) -> Any:
        made = ServerSettings(port=0, static=static, limits=limits or Limits(), **settings)
        return serving(models or tiny_models, made)

    return make


@pytest.fixture(scope="session")
def trio() -> dict[str, Translator]:
    """The trained models that come with the package, by architecture."""
    return {arch: load(folder) for arch, folder in bundled().items()}


@pytest.fixture(scope="session")
def trio_running(trio: dict[str, Translator], static: Path) -> Iterator[Running]:
    """A server with the trained models."""
    with serving(trio, ServerSettings(port=0, static=static)) as found:
        yield found


@pytest.fixture(scope="session")
def trio_client(trio_running: Running) -> Iterator[httpx2.Client]:
    """A client of the server with the trained models."""
    with trio_running.client() as found:
        yield found


@dataclass
class HeldModel:
    """A translator that stops before its third pass or step, until it is let go on; `passes` have begun."""

    translator: Translator
    passes: int = 0
    go_on: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        self.passes += 1
        if self.passes >= HELD:
            assert self.go_on.wait(120)


HELD = 3


@pytest.fixture
def held_luong(tiny_models: dict[str, Translator]) -> HeldModel:
    """A model of one's own that can be caught in the middle of its work."""
    held = HeldModel(copy.copy(tiny_models["luong"]))
    held.translator.model = Watched(held.translator.model, [held.look], 10**6)
    return held
