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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch
from fastapi import FastAPI
from tests.decoding.conftest import TINY, untrained

from jumok.checkpoint.bundled import bundled
from jumok.decoding.translator import Translator, load
from jumok.explain.watched import Watched
from jumok.server.app import build_app
from jumok.server.gates.limits import Limits
from jumok.server.serve import Server, listen
from jumok.server.services import Services
from jumok.server.settings import ServerSettings

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
        return httpx2.Client(base_url=self.url, timeout=30, **options)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

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


@contextmanager
def serving(models: Mapping[str, Translator], settings: ServerSettings) -> Iterator[Running]:
    """A real server on a free port while the block lasts."""
    app = build_app(models, settings=settings)
    sock = listen(settings)
    up = threading.Event()
    server = Server(app, settings, up.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])), daemon=True)
    thread.start()
    assert up.wait(30)
    try:
        yield Running(app, server, sock.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
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


@pytest.fixture
def slow_luong(tiny_models: dict[str, Translator]) -> tuple[Translator, list[float]]:
    """A translator that takes a while for each pass and step, and the list that grows with each."""
    looks: list[float] = []

    def look() -> None:
        looks.append(time.monotonic())
        time.sleep(0.01)

    slow = copy.copy(tiny_models["luong"])
    slow.model = Watched(slow.model, [look], 10**6)
    return slow, looks
