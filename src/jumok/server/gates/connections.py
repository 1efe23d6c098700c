"""HTTP/1.1 connections that do not wait for ever: slow senders and slow readers are closed."""

import asyncio
import logging
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from jumok.server.gates.limits import DEFAULTS
from jumok.server.gates.problems import Problem, document, dump

log = logging.getLogger("jumok.server")


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with the two limits that it does not have, and problem documents for bad requests.

    A request must have arrived in full `receive_s` seconds after the connection was made or its first byte
    came; an answer must be taken as quickly.
    """

    receive_s: float = DEFAULTS.receive_s

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arrival: asyncio.TimerHandle | None = None
        self._departure: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arrival = self.loop.call_later(self.receive_s, self.close_now)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
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
        if not partly:
            self._arrived()
        elif self._arrival is None:
            self._arrival = self.loop.call_later(self.receive_s, self.close_now)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._departure is None:
            self._departure = self.loop.call_later(self.receive_s, self.close_now)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._departure is not None:
            self._departure.cancel()
            self._departure = None

    def close_now(self) -> None:
        """Ends the connection without another word: a client this slow would not read it."""
        self.transport.abort()

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


def patient(receive_s: float) -> type[PatientProtocol]:
    """The protocol with another limit."""
    return type("PatientProtocol", (PatientProtocol,), {"receive_s": receive_s})
