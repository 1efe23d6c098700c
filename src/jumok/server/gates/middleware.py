"""What every request passes before a handler sees it, from outside in. Pure ASGI: nothing is buffered."""

import logging
import re
import secrets
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jumok.server.gates.bounds import within
from jumok.server.gates.keys import token
from jumok.server.gates.problems import PAIRS, Problem, internal, is_libre, is_upload, render
from jumok.server.metrics import Metrics
from jumok.server.services import Services

access = logging.getLogger("jumok.access")
log = logging.getLogger("jumok.server")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
Check = Callable[[Scope, Headers, Services], Problem | None]
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
FORM, PARTS, JSON = "application/x-www-form-urlencoded", "multipart/form-data", "application/json"
OCTETS = "application/octet-stream"
FORM_BYTES = 64 * 1024  # that the parts of a form may have around the document in it
PATIENCE = 4  # times the limit: so much of a body that is too large is still read
PLAIN = ("/v1/translate", "/translate")
"""What documents give way to."""
PROBES = ("/health", "/health/live", "/health/ready")
"""What says nothing but whether the server works: asked by address, without a name or a key."""
BAD_HOST = (
    "this server does not answer to that host name: start it with --allowed-host and the name, "
    "a network such as 10.0.0.0/8, or '*'"
)
GONE = 499  # the client went away before the answer
FAST = 6  # of zlib's levels: an atlas of attention packs nearly as well as at 9, in half of the time
CHALLENGE = 'Basic realm="jumok", charset="UTF-8", Bearer'


def make_middleware(services: Services) -> list[Middleware]:
    """All of them, from outside in. Pages of allowed origins need no key to ask what they may send."""
    origins = services.settings.allow_origins
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PATCH", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "Last-Event-ID", "X-Request-ID"),
        expose_headers=("X-Request-ID", "Retry-After"),
    )
    return [
        Middleware(RequestId, services),
        Middleware(HeaderChecks, services, check_host, check_origin),
        Middleware(BodyLimit, services),
        *([cors] if origins else []),
        Middleware(HeaderChecks, services, check_content_type, check_key),
        Middleware(GZipMiddleware, minimum_size=1024, compresslevel=FAST),
    ]


class RequestId:
    """Names the request, measures it, logs one line without its text, and turns a crash into a plain 500.

    While the server drains it refuses what is new.
    """

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self.app, self.services = app, services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        began = time.monotonic()
        scope.setdefault("state", {}).update(request_id=name, began=began, services=self.services)
        status = GONE

        async def name_answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = name
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
            await send(message)

        services, plain = self.services, scope["path"] in PLAIN
        services.running += 1
        services.asking += plain
        try:
            if services.draining and not scope["path"].startswith("/health/"):
                away = Problem(503, "draining", "the server is stopping", {"Connection": "close"})
                await render(away, scope)(scope, receive, name_answer)
            else:
                with within(services.limits):
                    await self.app(scope, receive, name_answer)
        except Exception:
            log.exception("request %s failed", name)
            if status != GONE:  # the answer has begun: cutting it off is the only honest end
                raise
            await render(internal(), scope)(scope, receive, name_answer)
        finally:
            services.running -= 1
            services.asking -= plain
            record(services.metrics, scope, status, time.monotonic() - began)


def record(metrics: Metrics, scope: Scope, status: int, seconds: float) -> None:
    """Counts one answered request; its route is a template, never the path that was typed."""
    route = getattr(scope.get("route"), "path", "unmatched")
    method = scope["method"] if scope["method"] in UNSAFE | {"GET", "HEAD", "OPTIONS"} else "other"
    metrics.requests.labels(route=route, method=method, status=str(status)).inc()
    metrics.request_seconds.labels(route=route).observe(seconds)
    name = scope["state"]["request_id"]
    access.info("%s %s %d %.1f ms %s", method, route, status, seconds * 1000, name)


class BodyLimit:
    """Refuses a body above the limit, by its stated length or as soon as too much has come.

    What is a little too large is read to its end and thrown away first: a client that is still sending when
    the connection closes never sees the answer.
    """

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self.app, self.limits = app, services.limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most, problem = self.most(scope)
        headers = Headers(scope=scope)
        stated = headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated) > most:
            waits = "expect" in headers  # it sends nothing before it is told to
            if stated.isdecimal() and int(stated) <= PATIENCE * self.limits.body_bytes and not waits:
                await self.discard(receive)
            return await render(problem, scope)(scope, receive, send)
        taken = 0

        async def count() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                if message.get("more_body"):
                    await self.discard(receive)
                raise problem
            return message

        await self.app(scope, count, send)

    def most(self, scope: Scope) -> tuple[int, Problem]:
        """How many bytes this body may have, and what one with more is told."""
        if is_upload(scope["path"], scope["method"]):
            most = self.limits.document_bytes
            return most + FORM_BYTES, Problem(413, "too_large", f"a document may have {most:,} bytes")
        if scope["path"] in PAIRS:
            most = self.limits.training_bytes
            return most, Problem(413, "too_large", f"pairs to train on may have {most:,} bytes")
        most = self.limits.body_bytes
        return most, Problem(413, "too_large", f"the body has more than {most:,} bytes")

    async def discard(self, receive: Receive) -> None:
        """Read on to the end of the body, but not for ever."""
        taken, more = 0, True
        while more and taken < PATIENCE * self.limits.body_bytes:
            message = await receive()
            taken += len(message.get("body", b""))
            more = message.get("more_body", False)


class HeaderChecks:
    """Refuses a request with the first problem that one of these checks finds in its headers."""

    def __init__(self, app: ASGIApp, services: Services, *checks: Check) -> None:
        self.app, self.services, self.checks = app, services, checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            for check in self.checks:
                if problem := check(scope, headers, self.services):
                    return await render(problem, scope)(scope, receive, send)
        await self.app(scope, receive, send)


def check_host(scope: Scope, headers: Headers, services: Services) -> Problem | None:
    """Answers only to its own names: a foreign name that was pointed at this address is turned away."""
    size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if size > services.limits.header_bytes:
        return Problem(431, "too_large", "the headers are too large", {"Connection": "close"})
    names = headers.getlist("host")
    if scope["path"] in PROBES or (len(names) == 1 and services.hosts.admit(names[0])):
        return None
    return Problem(400, "bad_host", BAD_HOST)


def check_origin(scope: Scope, headers: Headers, services: Services) -> Problem | None:
    """Turns away what other web pages send, unless their origin was allowed at the start."""
    origin, host = headers.get("origin"), headers.get("host", "").lower()
    if origin is None or scope["method"] not in UNSAFE | {"OPTIONS"}:
        return None
    if origin in services.settings.allow_origins or origin.lower() in (f"http://{host}", f"https://{host}"):
        return None
    return Problem(403, "foreign_origin", "pages of other origins may not call this server")


def check_content_type(scope: Scope, headers: Headers, services: Services) -> Problem | None:
    """Bodies are JSON, in UTF-8 and not packed; LibreTranslate's paths also take the fields of a form.

    A document comes as it is or in a form.
    """
    if scope["method"] not in UNSAFE:
        return None
    if headers.get("content-encoding", "identity").lower() != "identity":
        return Problem(415, "bad_content_type", "packed bodies are not read")
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    kind, _, parameters = headers.get("content-type", "").partition(";")
    upload = is_upload(scope["path"], scope["method"])
    if upload:
        allowed = [PARTS] if is_libre(scope) else [OCTETS, PARTS]
    else:
        allowed = [JSON, FORM, PARTS] if is_libre(scope) else [JSON]
    charset = parameters.replace(" ", "").replace('"', "").lower()
    plain = charset in ("", "charset=utf-8", "charset=utf8")
    if (kind := kind.strip().lower()) in allowed and (plain or upload or kind == PARTS):
        return None
    said = " or ".join(allowed) + ("" if upload else " in UTF-8")
    return Problem(415, "bad_content_type", f"the content type must be {said}")


def check_key(scope: Scope, headers: Headers, services: Services) -> Problem | None:
    """Asks for an API key, if there are any: as a bearer token, or as the password when a browser asks.

    Clients of LibreTranslate put it into the body, where only the handler can see it.
    """
    given, keys = headers.get("authorization"), services.keys
    later = given is None and is_libre(scope) and scope["method"] in ("GET", "POST")
    if not keys or scope["path"] in PROBES or later or keys.admit(token(given or "")):
        return None
    return Problem(401, "key_missing", "an API key is needed", {"WWW-Authenticate": CHALLENGE})
