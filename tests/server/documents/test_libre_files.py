"""`/translate_file` and `/download_file` as LibreTranslate's pages and programs use them."""

import threading
from urllib.request import urlopen

import httpx2
import pytest
from tests.server.conftest import Running, Serve, wait_until
from tests.server.documents.conftest import TEXT, DocumentGate
from tests.server.translate.test_libretranslate import speaking

KEY = "0123456789abcdef"
PAIR = {"source": "en", "target": "ko"}


@pytest.fixture(scope="module")
def polyglot_models() -> dict[str, object]:
    return {
        "en-ko": speaking("rnn", "en", "ko"),
        "ko-en": speaking("luong", "ko", "en"),
        "de-en": speaking("luong", "de", "en"),
    }


def post(client: httpx2.Client, content: bytes = TEXT, name: str = "a.txt", **fields: str) -> httpx2.Response:
    return client.post("/translate_file", files={"file": (name, content)}, data={**PAIR, **fields})


def test_a_file_is_translated_and_fetched(serve: Serve, polyglot_models: dict[str, object]) -> None:
    with serve(models=polyglot_models) as own, own.client() as client:
        answer = post(client)
        assert answer.status_code == 200
        assert list(answer.json()) == ["translatedFileUrl"]
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(f"{own.url}/download_file/")
        assert address.endswith(".txt")
        with urlopen(address) as file:  # as any program would
            found = file.read().decode()
        model = own.services.models["en-ko"].translator
        assert found.startswith(model.translate("a man").text + "\n\n---\n")
        assert post(client, source="auto").status_code == 200  # only one language leads to Korean


@pytest.mark.parametrize(
    ("fields", "content", "name", "error"),
    [
        ({"source": ""}, TEXT, "a.txt", "source: field required"),
        ({"target": ""}, TEXT, "a.txt", "target: field required"),
        ({"target": "xx"}, TEXT, "a.txt", "target: no model for this language"),
        ({"source": "auto", "target": "en"}, TEXT, "a.txt", "source: name the language of the file"),
        ({"source": "auto", "target": "xx"}, TEXT, "a.txt", "source: no model for this language"),
        ({}, b"", "a.txt", "the document is empty"),
        ({}, TEXT, "a.xyz", "format: neither the name nor the content of the file tells it"),
        ({}, b"\xff\xff", "a.txt", "the file is not UTF-8: byte 0xff is no character, a.txt, line 1"),
    ],
)
def test_errors_are_in_its_form(
    serve: Serve,
    polyglot_models: dict[str, object],
    fields: dict[str, str],
    content: bytes,
    name: str,
    error: str,
) -> None:
    with serve(models=polyglot_models) as own, own.client() as client:
        answer = post(client, content, name, **fields)
        assert (answer.status_code, list(answer.json())) == (400, ["error"])
        assert answer.json()["error"].startswith(error)
        assert len(own.services.documents) == 0  # a failed one is not kept


def test_other_bodies_are_refused(client: httpx2.Client) -> None:
    answer = client.post("/translate_file", json=PAIR)
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "the content type must be multipart/form-data"},
    )
    answer = client.post("/translate_file", files={"q": (None, "x")})
    assert answer.json() == {"error": "file: the form has no file"}


def test_the_key_is_a_field_of_the_form(serve: Serve, polyglot_models: dict[str, object]) -> None:
    with serve(models=polyglot_models, keys=(KEY,)) as own, own.client() as client:
        for wrong in ({}, {"api_key": "another"}):
            answer = post(client, **wrong)
            assert (answer.status_code, answer.json()) == (403, {"error": "an API key is needed"})
        assert len(own.services.documents) == 0
        answer = post(client, api_key=KEY)
        assert answer.status_code == 200
        assert client.get(answer.json()["translatedFileUrl"]).status_code == 200  # the name is the key
        assert client.get("/v1/documents").status_code == 401


@pytest.mark.parametrize(
    "name", ["0" * 32, f"{'0' * 32}.txt", "a.txt", "..%2f..%2fetc%2fpasswd", f"{'0' * 32}.txt%00", "0" * 65]
)
def test_there_is_no_other_file(client: httpx2.Client, name: str) -> None:
    answer = client.get(f"/download_file/{name}")
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


def test_a_client_that_leaves_ends_the_work(running: Running, gate: DocumentGate) -> None:
    desk = running.services.documents
    before = set(desk._jobs)  # the oldest of them may make room for this one
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\na man\r\n'
    first = next(iter(running.services.models.values()))
    for name, value in (("source", first.source), ("target", first.target)):
        body += f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    body += b"--b--\r\n"
    kind = "multipart/form-data; boundary=b"
    head = f"POST /translate_file HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    with running.connect() as sock:
        sock.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: gate.waiting == 1)
        [own] = set(desk._jobs) - before
    wait_until(lambda: desk.find(own) is None)


def test_the_end_of_the_server_is_told(
    serve: Serve, polyglot_models: dict[str, object], gate: DocumentGate
) -> None:
    told: list[httpx2.Response] = []
    with serve(models=polyglot_models) as own, own.client() as client:
        asking = threading.Thread(target=lambda: told.append(post(client)))
        asking.start()
        wait_until(lambda: gate.waiting == 1)
        [job] = own.services.documents._jobs.values()
        job.flag.raised = True
        gate.let()
        asking.join(120)
    assert (told[0].status_code, told[0].json()) == (503, {"error": "the server is stopping"})
