"""The page: every screen is the same document, every file comes from memory, every header is strict."""

import gzip
import hashlib
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request
from tests.server.conftest import PAGE, Running, Serve

from jumok.decoding.translator import Translator
from jumok.server.pages.page import POLICY, SCREENS, read_static, static_file

PATHS = [path.replace("{trace}", "0123abcd").replace("{chapter}", "attention") for path in SCREENS]
PATHS = [path.replace("{run}", "demo~rnn").replace("{report}", "x") for path in PATHS]


@pytest.mark.parametrize("path", PATHS)
def test_every_screen_is_the_page(client: httpx2.Client, path: str) -> None:
    answer = client.get(f"{path}?s=%3Cb%3E&t=x")
    assert answer.text == PAGE
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-cache"


def test_whoever_set_the_server_up_hears_that_the_page_is_opened(
    serve: Serve, tiny_models: dict[str, Translator]
) -> None:
    heard: list[str] = []
    models = {"rnn": tiny_models["rnn"]}
    with serve(models=models, opened=lambda: heard.append("page")) as running, running.client() as client:
        for path in ("/app-0a1b.js", "/v1/models", "/health/ready"):
            assert client.get(path).status_code == 200
        assert heard == []
        for path in ("/", "/learn/attention"):
            assert client.get(path).status_code == 200
        assert heard == ["page", "page"]


def test_the_policy_is_that_of_the_design() -> None:
    assert POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def test_files_with_a_hash_in_their_name_last(client: httpx2.Client, static: Path) -> None:
    plain = client.get("/app-0a1b.js", headers={"Accept-Encoding": "identity"})
    packed = client.get("/app-0a1b.js", headers={"Accept-Encoding": "gzip"})
    assert plain.content == packed.content == (static / "app-0a1b.js").read_bytes()
    assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.headers["etag"] != packed.headers["etag"]
    assert "immutable" in plain.headers["cache-control"]
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])


def test_a_client_that_has_it_gets_304(client: httpx2.Client) -> None:
    etag = client.get("/").headers["etag"]
    for given in (etag, f'"x", {etag}'):
        again = client.get("/", headers={"If-None-Match": given})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
    assert client.get("/", headers={"If-None-Match": '"x"'}).status_code == 200


def test_no_byte_ranges(client: httpx2.Client) -> None:
    answer = client.get("/app-0a1b.js", headers={"Range": "bytes=0-3"})
    assert answer.status_code == 200
    assert "accept-ranges" not in answer.headers


def test_head_has_no_body(client: httpx2.Client) -> None:
    answer = client.head("/")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/static/index.html",
        "/app-0a1b.js/",
        "/app-0a1b.js%00",
        "/%2e%2e/conftest.py",
        "/..%5cconftest.py",
        "//etc/passwd",
        "/etc/passwd",
        "/app.js",
        "/INDEX.HTML",
    ],
)
def test_nothing_else_can_be_read(running: Running, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert running.raw(request.encode())[0] == 404


@pytest.mark.parametrize("path", ["/nonsense", "/translated", "/learning/1"])
def test_a_wrong_link_shows_people_the_page_and_tells_programs(client: httpx2.Client, path: str) -> None:
    page = client.get(path, headers={"Accept": "text/html,application/xhtml+xml"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert page.content == client.get("/").content
    told = client.get(path, headers={"Accept": "*/*"})
    assert (told.status_code, told.json()["code"]) == (404, "not_found")


def test_the_api_never_answers_with_the_page(client: httpx2.Client) -> None:
    for path in ("/v1/nonsense", "/v1/traces/0123456789abcdef"):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.json()["status"]) == (404, 404)


def test_a_page_that_was_not_built_says_how(tmp_path: Path) -> None:
    found = read_static(tmp_path / "none")["index.html"]
    assert b"npm run build" in found.content
    assert gzip.decompress(found.packed) == found.content


def asking(**headers: str) -> Request:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": named})


def test_a_file_with_all_that_goes_along() -> None:
    content = b"b { color: red }" * 9
    etag = hashlib.sha256(content).hexdigest()[:32]
    strict = {
        "content-security-policy": POLICY,
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "vary": "Accept-Encoding",
    }
    file = static_file("a-1.css", content)
    packed, plain = file.answer(asking(accept_encoding="br, gzip")), file.answer(asking())
    assert plain.body == gzip.decompress(packed.body) == content
    assert dict(packed.headers) == {
        **strict,
        "etag": f'"{etag}-gzip"',
        "cache-control": "public, max-age=31536000, immutable",
        "content-encoding": "gzip",
        "content-length": str(len(packed.body)),
        "content-type": "text/css; charset=utf-8",
    }
    assert (plain.headers["etag"], "content-encoding" in plain.headers) == (f'"{etag}"', False)
    again = file.answer(asking(if_none_match=f'"{etag}"'))
    assert (again.status_code, again.body, again.headers["etag"]) == (304, b"", f'"{etag}"')
    assert file.answer(asking(if_none_match=f'"{etag}"', accept_encoding="gzip")).status_code == 200
    assert static_file("a-1.css", content).packed == file.packed  # whenever it is packed


def test_a_file_that_packing_makes_larger_is_sent_as_it_is() -> None:
    answer = static_file("a.bin", b"short").answer(asking(accept_encoding="gzip"))
    assert answer.body == b"short"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["cache-control"] == "no-cache"
    assert "content-encoding" not in answer.headers


def test_files_are_named_by_their_path_and_a_page_that_was_not_built_says_so(tmp_path: Path) -> None:
    assert list(read_static(tmp_path / "none")) == ["index.html"]
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "x.woff2").write_bytes(b"font")
    found = read_static(tmp_path)
    assert list(found) == ["index.html", "fonts/x.woff2"]
    assert b"npm ci && npm run build" in found["index.html"].content
    assert found["fonts/x.woff2"].kind == "font/woff2"
    (tmp_path / "index.html").write_bytes(b"page")
    assert read_static(tmp_path)["index.html"].content == b"page"
