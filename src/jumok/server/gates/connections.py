"""HTTP/1.1 connections that do not wait for ever: slow senders and slow readers are closed."""

import asyncio
import logging
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from jumok.server.gates.limits import DEFAULTS
from jumok.server.gates.problems import Problem, document, dump, is_upload

log = logging.getLogger("jumok.server")


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with the two limits that it does not have, and problem documents for bad requests.

    A request must have arrived in full `receive_s` seconds after the connection was made or its first byte
    came; an answer must be taken as quickly. A document has `upload_s` seconds.
    """

    receive_s: float = DEFAULTS.receive_s
    upload_s: float = DEFAULTS.upload_s

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._clocks: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock("arrival")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock("arrival")
        self._stop_clock("upload")
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_arrival()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_arrival()

    def _watch_arrival(self) -> None:
        """The clock runs while a part of a request is here and the rest is not."""
        state = self.conn.their_state
        partly = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        clock = (
            "upload"
            if state is h11.SEND_BODY and is_upload(self.scope["path"], self.scope["method"])
            else "arrival"
        )
        for other in {"arrival", "upload"} - ({clock} if partly else set()):
            self._stop_clock(other)
        if partly:
            self._start_clock(clock)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_clock("departure")

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_clock("departure")

    def _start_clock(self, name: str) -> None:
        """Ends the connection after a while, without another word: a client this slow would not read it."""
        if name not in self._clocks:
            seconds = self.upload_s if name == "upload" else self.receive_s
            self._clocks[name] = self.loop.call_later(seconds, lambda: self.transport.abort())

    def _stop_clock(self, name: str) -> None:
        if name in self._clocks:
            self._clocks.pop(name).cancel()

    def send_400_response(self, msg: str) -> None:
        """A request that is not HTTP, or whose headers are too large, as a problem document."""
        error = sys.exc_info()[1]
        too_large = isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431
        problem = (
            Problem(431, "too_large", "the headers are too large")
            if too_large
            else Problem(400, "bad_request", "this is not a request of HTTP/1.1")
        )
        body = dump(document(problem, ""))
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        try:
            for event in (
                h11.Response(status_code=problem.status_code, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # an answer was already on its way
            log.debug("a connection broke in the middle of an answer")
        self.transport.close()


def patient(receive_s: float, upload_s: float = DEFAULTS.upload_s) -> type[PatientProtocol]:
    """The protocol with other limits."""
    return type("PatientProtocol", (PatientProtocol,), {"receive_s": receive_s, "upload_s": upload_s})
