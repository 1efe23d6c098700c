"""`/v1/documents` on a real server: a job from its arrival to its end, and all that is refused."""

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.documents.faulty import every_fault
from tests.server.conftest import Running, Serve, read_answer, wait_until
from tests.server.documents.conftest import RAW, TEXT, DocumentGate, finished, send, translated

from jumok.formats.known import FORMATS
from jumok.server.gates.limits import Limits

NOBODY = "0" * 32
HEAD = (
    "POST /v1/documents?name=a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
)


def refused(answer: httpx2.Response, status: int, code: str, words: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert words in answer.json()["detail"]


def test_from_the_file_to_its_translation(client: httpx2.Client, running: Running) -> None:
    answer = send(client, model="luong")
    assert answer.status_code == 202
    begun = answer.json()
    assert answer.headers["location"] == f"/v1/documents/{begun['id']}"
    assert (begun["name"], begun["format"], begun["model"], begun["bytes"]) == (
        "a.txt",
        "txt",
        "luong",
        len(TEXT),
    )
    ended = finished(client, begun["id"])
    assert (ended["status"], ended["done"], ended["total"], ended["problem"]) == ("done", 3, 3, None)
    assert ended["counts"] == {"translated": 2, "present": 0, "skipped": 1, "doubtful": 0, "edited": 0} | {
        "doubtful": ended["counts"]["doubtful"]
    }
    file = client.get(f"/v1/documents/{begun['id']}/file")
    model = running.services.models["luong"].translator
    first, last = (model.translate(text).text for text in ("a man", "the dog sees\na man"))
    assert file.content.decode() == f"{first}\n\n---\n\n  {last}\n"
    assert file.headers["content-disposition"] == f'attachment; filename="{ended["target_name"]}"'
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["x-content-type-options"] == "nosniff"


def test_a_form_does_the_same(client: httpx2.Client) -> None:
    as_form = client.post("/v1/documents", files={"file": ("b.txt", TEXT)}, data={"model": "luong"})
    assert as_form.status_code == 202
    ended = finished(client, as_form.json()["id"])
    assert (ended["status"], ended["name"], ended["model"]) == ("done", "b.txt", "luong")
    raw = translated(client, model="luong")
    files = [client.get(f"/v1/documents/{one['id']}/file").content for one in (ended, raw)]
    assert files[0] == files[1]


def with_glossary(client: httpx2.Client, lines: str, **more: str) -> httpx2.Response:
    data = {"glossary": lines, **more}
    return client.post("/v1/documents", files={"file": ("b.txt", b"a man")}, data=data)


def test_a_glossary_comes_with_the_form(client: httpx2.Client) -> None:
    answer = with_glossary(client, "man\t하늘|영화\n")
    assert answer.status_code == 202, answer.text
    ended = finished(client, answer.json()["id"])
    text = client.get(f"/v1/documents/{ended['id']}/file").text
    assert "하늘" in text or "영화" in text
    plain = translated(client, b"a man", "b.txt")
    assert client.get(f"/v1/documents/{plain['id']}/file").text != text


def test_a_soft_glossary_is_as_soft_as_that_of_a_text(client: httpx2.Client) -> None:
    unlikely, texts = "영화" * 4, list[str]()  # what a soft glossary does without
    lines = f"man\t{unlikely}\n"
    for mode in ("strict", "soft"):
        asked = {"texts": ["a man"], "glossary": {"man": unlikely}, "glossary_mode": mode}
        found = client.post("/v1/translate", json=asked)
        assert found.status_code == 200, found.text
        texts.append(found.json()["results"][0]["text"])
        ended = finished(client, with_glossary(client, lines, glossary_mode=mode).json()["id"])
        assert client.get(f"/v1/documents/{ended['id']}/file").text == texts[-1]
    assert [unlikely in text for text in texts] == [True, False]
    answer = with_glossary(client, lines, glossary_mode="firm")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "glossary_mode: it is strict or soft, not 'firm'"


@pytest.mark.parametrize(
    ("lines", "detail"),
    [
        ("man", "glossary: write term, tab, translation"),
        ("man\tx\nMan\ty", "glossary: keep one of the lines"),
        ("man\t" + "x" * 300, "a term has 300 characters, and 200 are the most"),
        ("".join(f"{n}\tx\n" for n in range(501)), "glossary: it has 501 terms, and 500 are the most"),
    ],
)
def test_a_glossary_that_cannot_be_is_told_before_the_work(
    client: httpx2.Client, lines: str, detail: str
) -> None:
    answer = with_glossary(client, lines)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(detail)


def test_the_format_is_named_or_told_by_the_name(client: httpx2.Client) -> None:
    assert translated(client, name="notes", format="txt")["format"] == "txt"
    form = client.post("/v1/documents", files={"file": ("notes", TEXT)}, data={"format": "txt"})
    assert form.json()["format"] == "txt"
    known = ", ".join(one.name for one in FORMATS)
    refused(
        send(client, name="a.xyz"),
        422,
        "unknown_format",
        f"nor the content of the file tells it; known: {known}",
    )
    refused(
        send(client, format="wordstar"),
        422,
        "unknown_format",
        f"format: there is no such format; known: {known}",
    )


def test_segments_come_in_pages(client: httpx2.Client) -> None:
    id = translated(client, b"a man\n\n" * 7)["id"]
    page = client.get(f"/v1/documents/{id}/segments", params={"skip": 4, "count": 2}).json()
    assert page["total"] == 7
    assert [(one["n"], one["where"], one["source"]) for one in page["segments"]] == [
        (4, "line 9", "a man"),
        (5, "line 11", "a man"),
    ]
    assert all(isinstance(one["target"], str) and one["outcome"] == "translated" for one in page["segments"])
    assert client.get(f"/v1/documents/{id}/segments", params={"skip": 7}).json() == {
        "total": 7,
        "segments": [],
    }
    doubtful = client.get(f"/v1/documents/{id}/segments", params={"doubtful": True}).json()
    assert doubtful["total"] == client.get(f"/v1/documents/{id}").json()["counts"]["doubtful"]
    assert len(doubtful["segments"]) == doubtful["total"]


def test_a_doubtful_segment_is_in_the_file_of_a_model_that_is_cut_short(
    client: httpx2.Client, running: Running
) -> None:
    """Tiny models never end by themselves: every answer of them is cut at the limit, and that is a doubt."""
    id = translated(client, b"a man", model="rnn")["id"]
    [one] = client.get(f"/v1/documents/{id}/segments").json()["segments"]
    whole = running.services.models["rnn"].translator.translate("a man").finished
    assert any("cut" in doubt for doubt in one["doubts"]) == (not whole)


def test_a_mended_segment_is_in_the_file(client: httpx2.Client) -> None:
    id = translated(client)["id"]
    mended = client.patch(f"/v1/documents/{id}/segments/0", json={"target": "mine <b> ‮"})
    assert mended.status_code == 200
    assert (mended.json()["target"], mended.json()["edited"], mended.json()["n"]) == ("mine <b> ‮", True, 0)
    assert client.get(f"/v1/documents/{id}").json()["counts"]["edited"] == 1
    assert client.get(f"/v1/documents/{id}/file").content.decode().startswith("mine <b> ‮\n\n---")
    client.patch(f"/v1/documents/{id}/segments/0", json={"target": "again"})
    assert client.get(f"/v1/documents/{id}").json()["counts"]["edited"] == 1
    assert client.get(f"/v1/documents/{id}/file").content.decode().startswith("again\n")


def test_a_segment_can_be_mended_before_its_turn(client: httpx2.Client, gate: DocumentGate) -> None:
    id = send(client).json()["id"]
    wait_until(lambda: client.get(f"/v1/documents/{id}").json()["total"])
    assert client.patch(f"/v1/documents/{id}/segments/2", json={"target": "mine"}).status_code == 200
    gate.let()
    finished(client, id)
    assert client.get(f"/v1/documents/{id}/file").content.endswith(b"---\n\nmine\n")


def events(answer: httpx2.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


def test_progress_is_told_as_it_is_made(client: httpx2.Client, gate: DocumentGate) -> None:
    id = send(client, b"a man\n\n" * 40).json()["id"]
    wait_until(lambda: gate.waiting == 1)
    with client.stream("GET", f"/v1/documents/{id}/events") as answer:
        told = events(answer)
        name, first = next(told)
        assert (name, first["status"], first["done"], first["total"]) == ("progress", "running", 0, 40)
        gate.let(1)
        name, second = next(told)
        assert (name, second["status"], second["done"]) == ("progress", "running", 32)
        assert second["seconds_left"] > 0
        gate.let()
        name, last = list(told)[-1]
    assert (name, last["status"], last["done"]) == ("final", "done", 40)


def test_the_stream_of_one_that_is_taken_away_ends(client: httpx2.Client, gate: DocumentGate) -> None:
    id = send(client).json()["id"]
    with client.stream("GET", f"/v1/documents/{id}/events") as answer:
        told = events(answer)
        next(told)
        assert client.delete(f"/v1/documents/{id}").status_code == 204
        name, last = list(told)[-1]
    assert (name, last["code"], last["detail"]) == (
        "error",
        "unknown_document",
        "the document was taken away",
    )


def test_cancelling_takes_everything_away(
    client: httpx2.Client, running: Running, gate: DocumentGate
) -> None:
    id = send(client).json()["id"]
    wait_until(lambda: gate.waiting == 1)
    folder = running.services.documents.get(id).folder
    answer = client.delete(f"/v1/documents/{id}")
    assert (answer.status_code, answer.content) == (204, b"")
    gate.let()
    wait_until(lambda: not folder.exists())
    refused(client.get(f"/v1/documents/{id}"), 404, "unknown_document", "no such document")
    refused(client.delete(f"/v1/documents/{id}"), 404, "unknown_document", "no such document")


def test_the_list_tells_nobody_elses(client: httpx2.Client) -> None:
    mine, other = (translated(client)["id"] for _ in range(2))
    found = client.get("/v1/documents", params={"id": [mine, NOBODY, mine]}).json()
    assert [one["id"] for one in found["documents"]] == [mine]
    assert {"name": "txt", "suffixes": [".txt"]} in found["formats"]
    empty = client.get("/v1/documents")
    assert empty.json()["documents"] == []
    assert mine not in empty.text + client.get("/metrics").text
    assert other not in json.dumps(found)


@pytest.mark.parametrize("rest", ["", "/file", "/segments", "/events"])
def test_an_unknown_id_is_a_404(client: httpx2.Client, rest: str) -> None:
    refused(
        client.get(f"/v1/documents/{NOBODY}{rest}"),
        404,
        "unknown_document",
        "no such document, or its time is over",
    )
    for id in ("x", "0" * 31, "0" * 33, "G" * 32, "%2e%2e", "..%2f..%2fetc"):
        answer = client.get(f"/v1/documents/{id}{rest}")
        assert answer.status_code in (404, 422), id


def test_an_expired_id_is_one(serve: Serve) -> None:
    with serve(limits=Limits(document_s=0.0)) as own, own.client() as client:
        id = send(client).json()["id"]
        job = own.services.documents._jobs[id]
        wait_until(lambda: job.ended)
        refused(client.get(f"/v1/documents/{id}"), 404, "unknown_document", "its time is over")


def test_the_file_is_not_there_before_its_time(client: httpx2.Client, gate: DocumentGate) -> None:
    id = send(client).json()["id"]
    refused(client.get(f"/v1/documents/{id}/file"), 409, "not_done", "there is no translated file yet")


def test_a_broken_file_fails_in_the_documents_own_words(client: httpx2.Client) -> None:
    ended = translated(client, b"a man\n\n\xff\xff", "old.txt")
    assert ended["status"] == "failed"
    assert ended["problem"]["detail"] == "the file is not UTF-8: byte 0xff is no character, old.txt, line 3"
    assert ended["problem"]["code"] == "encoding"
    refused(client.get(f"/v1/documents/{ended['id']}/file"), 409, "not_done", "it failed")


def test_the_columns_of_a_table_are_named_with_its_format(client: httpx2.Client) -> None:
    table = b"id;text;more\n1;a man;a dog\n"
    found = translated(client, table, "a.csv", format="csv:text")
    assert (found["status"], found["total"], found["format"]) == ("done", 1, "csv")
    rows = client.get(f"/v1/documents/{found['id']}/segments").json()["segments"]
    assert rows[0]["source"] == "a man"
    written = client.get(f"/v1/documents/{found['id']}/file").content
    assert re.fullmatch(rb"id;text;more\n1;.*;a dog\n", written)
    for content, form, words in (
        (table, "csv:name", "the table has no column 'name'"),
        (b"a man", "txt:2", "txt has no columns: '2'"),
    ):
        assert words in translated(client, content, "a.csv", format=form)["problem"]["detail"]


@every_fault
def test_a_faulty_document_is_told(client: httpx2.Client, name: str, content: bytes, said: str) -> None:
    answer = send(client, content, name)
    if not content:
        return refused(answer, 422, "empty_document", "the document is empty")
    problem = finished(client, answer.json()["id"])["problem"]
    assert re.search(said, problem["detail"])
    assert problem["status"] == 422
    refused(client.get(f"/v1/documents/{answer.json()['id']}/file"), 409, "not_done", "it failed")
    return None


def test_wrong_segments(client: httpx2.Client) -> None:
    path = f"/v1/documents/{translated(client)['id']}/segments"
    refused(
        client.patch(f"{path}/3", json={"target": "x"}), 404, "unknown_segment", "no segment of this number"
    )
    refused(client.patch(f"{path}/-1", json={"target": "x"}), 422, "bad_parameter", "n: ")
    refused(client.patch(f"{path}/0", json={"text": "x"}), 422, "bad_parameter", "field required")
    refused(client.patch(f"{path}/0", json={"target": "x" * 100_001}), 422, "too_long", "target: ")
    refused(client.get(path, params={"count": 501}), 422, "bad_parameter", "count: ")


def test_an_empty_document(client: httpx2.Client) -> None:
    refused(send(client, b""), 422, "empty_document", "the document is empty")
    answer = client.post("/v1/documents", files={"file": ("a.txt", b"")})
    refused(answer, 422, "empty_document", "the document is empty")
    ended = translated(client, b"\n \n")
    assert (ended["status"], ended["total"]) == ("done", 0)
    assert client.get(f"/v1/documents/{ended['id']}/file").content == b"\n \n"


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "application/x-www-form-urlencoded", "text/html"]
)
def test_a_wrong_content_type(client: httpx2.Client, kind: str) -> None:
    answer = client.post("/v1/documents?name=a.txt", content=TEXT, headers={"Content-Type": kind})
    words = "the content type must be application/octet-stream or multipart/form-data"
    refused(answer, 415, "bad_content_type", words)


def test_an_unknown_model_is_told_before_the_document_is_read(running: Running) -> None:
    head = HEAD.replace("name=a.txt", "model=nobody")
    with running.connect() as sock:
        sock.sendall(
            f"{head}Content-Length: 1000000\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n".encode()
        )
        status, answer = read_answer(sock)
    assert (status, b"unknown_model" in answer, b"100 Continue" in answer) == (404, True, False)


def test_a_gigabyte_is_refused_at_once(running: Running, client: httpx2.Client) -> None:
    """By what it says of itself, before a byte of it is read."""
    for path in ("/v1/documents?name=a.txt", "/translate_file"):
        kind = "multipart/form-data; boundary=b"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        with running.connect() as sock:
            sock.sendall(f"{head}Content-Length: {10**9}\r\n\r\n".encode())
            answer = b""
            while b"33,554,432" not in answer:
                assert (more := sock.recv(65536)), answer
                answer += more
        assert int(answer[9:12]) == 413
        assert b"a document may have 33,554,432 bytes" in answer
    assert len(list(running.services.documents.folder.glob("*/upload"))) == 0


def test_one_byte_too_many(serve: Serve) -> None:
    with serve(limits=Limits(document_bytes=1000)) as own, own.client() as client:
        assert send(client, b"a" * 1000).status_code == 202
        refused(send(client, b"a" * 1001), 413, "too_large", "a document may have 1,000 bytes")
        pieces = (b"a" * 400 for _ in range(3))  # without saying how many they are
        answer = client.post("/v1/documents?name=a.txt", content=pieces, headers=RAW)
        refused(answer, 413, "too_large", "a document may have 1,000 bytes")
        answer = client.post("/v1/documents", files={"file": ("a.txt", b"a" * 1001)})
        refused(answer, 413, "too_large", "a document may have 1,000 bytes")


def test_too_many_jobs(serve: Serve, gate: DocumentGate) -> None:
    with serve(limits=Limits(documents=2)) as own, own.client() as client:
        ids = [send(client).json()["id"] for _ in range(2)]
        answer = send(client)
        refused(answer, 429, "queue_full", "as many documents as it can keep")
        assert answer.headers["retry-after"] == "30"
        gate.let()
        for id in ids:
            finished(client, id)
        assert send(client).status_code == 202


def test_a_client_that_hangs_up_in_the_middle_leaves_nothing(serve: Serve) -> None:
    with serve() as own:
        desk = own.services.documents
        with own.connect() as sock:
            sock.sendall(f"{HEAD}Content-Length: 1000\r\n\r\nhalf of".encode())
            wait_until(lambda: list(desk.folder.glob("*/upload")))
            sock.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: not list(desk.folder.glob("*/upload")))
        assert desk._arriving == {}


def test_a_slow_upload_has_its_own_time(serve: Serve) -> None:
    """Longer than other requests have; but not for ever."""
    with serve(limits=Limits(receive_s=0.05, upload_s=120)) as own, own.connect() as sock:
        sock.sendall(f"{HEAD}Content-Length: 7\r\nConnection: close\r\n\r\n".encode())
        desk = own.services.documents
        wait_until(lambda: desk._arriving)
        with own.connect() as other:  # a plain request that is as slow has been closed meanwhile
            other.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n")
            while other.recv(65536):
                pass
        sock.sendall(b"a man\n\n")
        assert read_answer(sock)[0] == 202
    with serve(limits=Limits(receive_s=120, upload_s=0.05)) as own, own.connect() as sock:
        sock.sendall(f"{HEAD}Content-Length: 7\r\n\r\n".encode())
        try:
            ended = sock.recv(65536)
        except ConnectionResetError:
            ended = b""
        assert ended == b""


@pytest.mark.parametrize(
    "name", ["../../../etc/cron.d/x.txt", "..\\..\\x.txt", "/etc/x.txt", "\x00x.txt", "a\r\nB: c/x.txt"]
)
def test_path_tricks_in_names_name_nothing(client: httpx2.Client, running: Running, name: str) -> None:
    ended = translated(client, name=name)
    assert (ended["status"], ended["name"]) == ("done", "x.txt")
    file = client.get(f"/v1/documents/{ended['id']}/file")
    assert "B" not in file.headers
    desk = running.services.documents
    inside = {path.name for path in desk.get(ended["id"]).folder.iterdir()}
    assert inside == {"document.txt", "segments.db", "target-1"}


def test_a_name_in_any_script_comes_back(client: httpx2.Client) -> None:
    ended = translated(client, name="보고서 “1”.txt")
    assert ended["name"] == "보고서 “1”.txt"
    disposition = client.get(f"/v1/documents/{ended['id']}/file").headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=utf-8''%EB%B3%B4")


def test_keys_guard_documents_too(serve: Serve) -> None:
    key = "0123456789abcdef"
    with serve(keys=(key,)) as own, own.client() as client:
        assert send(client).status_code == 401
        with own.client(headers={"Authorization": f"Bearer {key}"}) as friend:
            assert translated(friend)["status"] == "done"


def test_pages_of_other_origins_cannot_send_or_cancel(client: httpx2.Client) -> None:
    id = translated(client)["id"]
    evil = {"Origin": "http://evil.test"}
    answer = client.post("/v1/documents", files={"file": ("a.txt", TEXT)}, headers=evil)
    refused(answer, 403, "foreign_origin", "pages of other origins")
    refused(
        client.delete(f"/v1/documents/{id}", headers=evil), 403, "foreign_origin", "pages of other origins"
    )


def test_plain_requests_are_answered_meanwhile(client: httpx2.Client, gate: DocumentGate) -> None:
    send(client)
    wait_until(lambda: gate.waiting == 1)
    answer = client.post("/v1/translate", json={"texts": ["a man"], "beam": 1, "max_len": 2})
    assert answer.status_code == 200
