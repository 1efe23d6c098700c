"""The explorer's page: built files, served from memory with a fixed ETag and strict headers."""

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response

from jumok.server.gates.bodies import has_copy
from jumok.server.gates.problems import Problem, as_problem, render

STATIC = Path(__file__).parents[1] / "static"
SCREENS = (
    "/",
    "/translate",
    "/documents",
    "/chat",
    "/map",
    "/attention",
    "/inside",
    "/compare",
    "/beam",
    "/training",
    "/quality",
    "/learn",
    "/docs",
    "/t/{trace}",
    "/documents/{id}",
    "/learn/{chapter}",
    "/training/{run}",
    "/quality/{report}",
)
"""Paths of the page; each gives the same document, and the page draws the screen that the path names."""

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_BUILT = (
    b'<!doctype html><html lang="en"><meta charset="utf-8"><title>jumok</title>'
    b"<h1>jumok</h1><p>The page has not been built: <code>cd web && npm ci && npm run build</code>. "
    b'The API is here all the same: <a href="/openapi.json">openapi.json</a>.</p></html>'
)


@dataclass(frozen=True)
class StaticFile:
    """One file in memory, plain and packed."""

    content: bytes
    packed: bytes
    kind: str
    etag: str
    lasting: bool

    def answer(self, request: Request) -> Response:
        """The file, or 304 if the client has it."""
        packs = "gzip" in request.headers.get("accept-encoding", "") and len(self.packed) < len(self.content)
        etag = f'"{self.etag}{"-gzip" if packs else ""}"'
        headers = {
            **HEADERS,
            "ETag": etag,
            "Vary": "Accept-Encoding",
            # A name with a hash in it never changes its content; the document is asked for again each time.
            "Cache-Control": "public, max-age=31536000, immutable" if self.lasting else "no-cache",
        }
        if has_copy(request, etag):
            return Response(status_code=304, headers=headers)
        if packs:
            headers["Content-Encoding"] = "gzip"
        return Response(self.packed if packs else self.content, headers=headers, media_type=self.kind)


def read_static(folder: Path) -> dict[str, StaticFile]:
    """The files of a built page by their path below it; nothing else can ever be asked for."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    files = {path.relative_to(folder).as_posix(): static_file(path.name, path.read_bytes()) for path in paths}
    return {"index.html": static_file("index.html", NOT_BUILT), **files}


def static_file(name: str, content: bytes) -> StaticFile:
    kind = KINDS.get(Path(name).suffix, "application/octet-stream")
    etag = hashlib.sha256(content).hexdigest()[:32]
    return StaticFile(content, gzip.compress(content, 9, mtime=0), kind, etag, lasting="-" in name)


def page_router(files: Mapping[str, StaticFile], opened: Callable[[], object]) -> APIRouter:
    """Routes for every screen and every built file; `opened` is called for each screen."""
    router = APIRouter(include_in_schema=False)

    def route(path: str, found: StaticFile) -> None:
        async def answer(request: Request) -> Response:
            if path in SCREENS:
                opened()
            return found.answer(request)

        router.add_api_route(path, answer, methods=["GET", "HEAD"], response_model=None)

    for path in SCREENS:
        route(path, files["index.html"])
    for name, found in files.items():
        route(f"/{name}", found)
    return router


def show_lost(app: FastAPI, page: StaticFile) -> None:
    """Let people who follow a wrong link see the page, which says so; programs get the problem document."""

    async def answer(request: Request, error: Exception) -> Response:
        reads = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
        if isinstance(error, Problem) or not reads or request.url.path.startswith("/v1/"):
            return render(as_problem(error), request.scope)
        found = page.answer(request)
        found.status_code = 404 if found.status_code == 200 else found.status_code
        return found

    app.add_exception_handler(404, answer)
