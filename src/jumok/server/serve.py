"""Starting, listening, and stopping without dropping anyone's answer."""

import asyncio
import errno
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from jumok.errors import ConfigError, RunError
from jumok.server.gates.connections import patient
from jumok.server.gates.hosts import bracketed
from jumok.server.gates.problems import Problem
from jumok.server.pages.health import self_test
from jumok.server.reload import Reloader, terminals
from jumok.server.services import Services
from jumok.server.settings import ServerSettings


class Server(uvicorn.Server):
    """uvicorn that drains: after the first signal running requests finish and new ones are refused.

    A second signal ends it at once. `stopped_by` is the signal that ended it. SIGHUP loads the models again,
    unless it says that the terminal has gone.
    """

    def __init__(
        self,
        app: FastAPI,
        settings: ServerSettings,
        started: Callable[[], None],
        reloader: Reloader | None = None,
    ) -> None:
        super().__init__(make_config(app, settings))
        self.services: Services = app.state.services
        self.call_when_started, self.reloader = started, reloader
        self._terminals = terminals()
        self.stopped_by = 0
        self._patience_ends = float("inf")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            await self_test(self.services)
            if self.reloader is not None and sys.platform != "win32":
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.handle_hang_up)
            self.call_when_started()

    def handle_hang_up(self) -> None:
        """Load the models again; a terminal that was closed stops the server, as it stops any program."""
        if self._terminals - terminals():
            self.handle_exit(signal.SIGTERM, None)
        elif self.reloader is not None:
            self.reloader.ask()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; the second time give up on whoever is left."""
        if self.services.draining:
            self.should_exit = self.force_exit = True
        self.services.draining = True
        self.stopped_by = sig
        self._patience_ends = time.monotonic() + self.services.limits.drain_s

    async def on_tick(self, counter: int) -> bool:
        services = self.services
        if services.draining and (services.running == 0 or time.monotonic() > self._patience_ends):
            self.should_exit = True
        return await super().on_tick(counter)


def make_config(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    limits = settings.limits
    return uvicorn.Config(
        app,
        http=patient(limits.receive_s, limits.upload_s),
        ws="none",
        loop="asyncio",
        lifespan="on",
        limit_concurrency=limits.connections + 1,  # uvicorn counts up to, but not including, its limit
        timeout_keep_alive=limits.keep_alive_s,
        timeout_graceful_shutdown=1,  # what had time until now has had enough
        h11_max_incomplete_event_size=limits.header_bytes,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        server_header=False,
        access_log=False,
        log_config=None,
    )


def listen(settings: ServerSettings) -> socket.socket:
    """A bound socket; a port that is taken is a clear error."""
    host, port = settings.host.strip("[]"), settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise ConfigError(
            f"there is no host {settings.host!r}", hint="--host takes an address of this machine"
        ) from None
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise cannot_bind(error, settings) from None
    return sock


def cannot_bind(error: OSError, settings: ServerSettings) -> ConfigError:
    """Why an address cannot be listened on, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"port {settings.port} is taken",
            hint="another server may be running: choose another port with --port, or 0 for any free one",
            code="port_taken",
        )
    return ConfigError(
        f"cannot listen on {bracketed(settings.host)}:{settings.port}: {error.strerror}",
        hint="choose another address with --host, or a port from 1024 up with --port",
        code="cannot_listen",
    )


def address_of(sock: socket.socket, settings: ServerSettings) -> str:
    """The address to open in a browser on this machine."""
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "") else bracketed(settings.host)
    return f"http://{host}:{sock.getsockname()[1]}/"


def serve(
    app: FastAPI,
    settings: ServerSettings,
    sock: socket.socket,
    started: Callable[[], None],
    reloader: Reloader | None = None,
) -> int:
    """Serve until a signal comes; `started` is called when all models have passed their self-test.

    The exit code: 0 after SIGTERM, which is how services are stopped; 130 after Ctrl-C.
    """
    server = Server(app, settings, started, reloader)
    try:
        asyncio.run(server.serve(sockets=[sock]))
    except Problem as problem:
        raise RunError(
            problem.sentence, hint="jumok verify checks a model folder", code=problem.code
        ) from None
    return 0 if server.stopped_by in (0, signal.SIGTERM) else 128 + server.stopped_by
