"""Each limit of a request: at it there is an answer, one above it a refusal that says the limit."""

import contextlib
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import httpx2
import pytest
from tests.server.conftest import Running, Serve, WorkerGate, wait_until
from tests.test_docs import ROOT, read

from jumok.errors import ConfigError
from jumok.server.gates.limits import Limits, read_limits

TEXT = "a man"  # two pieces


def post(client: httpx2.Client, **body: Any) -> httpx2.Response:
    return client.post("/v1/translate", json={"texts": [TEXT], "beam": 1, "max_len": 4, **body})


def refused(answer: httpx2.Response, status: int, code: str, words: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert words in answer.json()["detail"]


def test_the_defaults_are_those_of_the_product() -> None:
    limits = Limits()
    assert (limits.header_bytes, limits.receive_s, limits.keep_alive_s) == (65536, 10, 5)
    assert (limits.body_bytes, limits.depth) == (1 << 20, 32)
    assert (limits.texts, limits.characters, limits.tokens) == (64, 5000, 512)
    assert (limits.beam, limits.n_best, limits.new_tokens, limits.work) == (16, 16, 512, 16384)
    assert limits.mbr == 64
    assert (limits.trace_tokens, limits.trace_bytes) == (128, 4 << 20)
    assert (limits.traces, limits.traces_bytes) == (64, 256 << 20)
    assert (limits.document_bytes, limits.documents) == (32 << 20, 32)
    assert (limits.documents_bytes, limits.document_s, limits.upload_s) == (512 << 20, 3600, 600)
    assert (limits.streams, limits.heartbeat_s, limits.queue, limits.connections) == (16, 15, 256, 512)
    assert (limits.deadline_s, limits.drain_s, limits.queue_s) == (30, 20, 0.5)


def test_the_page_has_every_limit_with_its_value() -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \| ([\d,.]+(?: [KM]iB)?)", read(ROOT / "docs" / "http.md"), re.MULTILINE)
    )
    sizes = {" KiB": 1 << 10, " MiB": 1 << 20}
    for one in fields(Limits):
        digits, unit = rows[one.name][:-4], rows[one.name][-4:]
        times = sizes.get(unit, 1)
        text = digits if unit in sizes else rows[one.name]
        assert float(text.replace(",", "")) * times == getattr(Limits(), one.name), one.name


def test_a_card_says_what_a_client_can_keep_to(client: httpx2.Client) -> None:
    limits = client.get("/v1/models/rnn").json()["limits"]
    assert limits["texts"] == 64
    assert limits["work"] == 16384
    assert "connections" not in limits


def test_texts(client: httpx2.Client) -> None:
    assert len(post(client, texts=[TEXT] * 64).json()["results"]) == 64
    refused(post(client, texts=[TEXT] * 65), 422, "too_many_texts", "at most 64 items")


def test_characters(client: httpx2.Client) -> None:
    assert post(client, texts=[" " * 4999 + "a"]).status_code == 200
    refused(
        post(client, texts=["ok", " " * 5000 + "a"]),
        422,
        "too_long",
        "texts.1: string should have at most 5000",
    )


@pytest.mark.parametrize("unit", ["a", "\u0301\u0323"])
def test_a_text_of_one_endless_word_is_refused_by_its_length(client: httpx2.Client, unit: str) -> None:
    for body in ({"texts": [TEXT, unit * 200_000]}, {"prefix": unit * 200_000}):
        refused(post(client, **body), 422, "too_long", "string should have at most 5000 characters")
    refused(post(client, ban=[unit * 200_000]), 422, "too_long", "ban.0: string should have at most 200")
    megabyte = f'{{"texts": ["{"a" * (1 << 20)}"]}}'
    refused(client.post("/v1/translate", content=megabyte), 413, "too_large", "more than 1,048,576 bytes")


def test_tokens(client: httpx2.Client) -> None:
    assert post(client, texts=["a " * 512], long="cut").status_code == 200
    refused(
        post(client, texts=["ok", "a " * 513], long="cut"), 422, "too_long", "text 2 has 513 tokens, and 512"
    )


def test_a_text_longer_than_the_model_is_split_cut_or_refused(client: httpx2.Client) -> None:
    text = "a man rides a horse. the dog sees a man! one two three four"
    whole = {"texts": [text], "sentences": "as-is"}
    split, cut = (post(client, **whole, long=how).json()["results"][0] for how in ("split", "cut"))
    assert len(split["tokens"]) > len(cut["tokens"])
    refused(post(client, **whole, long="error"), 422, "too_long", "and this model takes 12")


@pytest.mark.parametrize(("field", "most"), [("beam", 16), ("n_best", 16), ("max_len", 512)])
def test_beams_answers_and_new_tokens(client: httpx2.Client, field: str, most: int) -> None:
    beam = {"beam": 16} if field == "n_best" else {}
    assert post(client, **{**beam, field: most}).status_code == 200
    refused(
        post(client, **{**beam, field: most + 1}), 422, "bad_parameter", f"{field}: input should be less than"
    )
    refused(post(client, **{field: 0}), 422, "bad_parameter", f"{field}: input should be greater than")


def test_terms(client: httpx2.Client) -> None:
    glossary = {f"word{n}": "wort" for n in range(500)}
    assert post(client, glossary=glossary).status_code == 200
    refused(post(client, glossary={**glossary, "more": "mehr"}), 422, "bad_parameter", "at most 500 items")


def test_work(client: httpx2.Client) -> None:
    # 16 beams x (2 source pieces + their end + 512 new tokens), of which a short text gets no more than 36.
    texts = [f"a {number}" for number in range(30)]
    refused(
        post(client, texts=texts, beam=16, max_len=512),
        422,
        "too_large",
        "and 16,384 are allowed: send fewer",
    )


def test_work_to_the_token(serve: Serve) -> None:
    """One text of 2 pieces and its end, 4 beams, 7 new tokens: 40 beam-tokens. The same text costs once."""
    for work, status in ((40, 200), (39, 422)):
        with serve(limits=Limits(work=work)) as running, running.client() as client:
            assert post(client, beam=4, max_len=7, texts=[TEXT, TEXT, ""]).status_code == status


def test_body(running: Running) -> None:
    head = b'{"texts": ["a"], "beam": 1, "max_len": 1}'
    for size, status in ((1 << 20, 200), ((1 << 20) + 1, 413)):
        found, answer = running.post_raw("/v1/translate", head + b" " * (size - len(head)))
        assert found == status
    assert answer["code"] == "too_large"
    assert answer["detail"] == "the body has more than 1,048,576 bytes"


def test_a_body_in_chunks_is_counted_as_it_comes(running: Running) -> None:
    head = b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    for spaces, status in (
        (65536, b"400"),
        (65537, b"413"),
    ):  # 16 chunks of 64 KiB are a MiB; blanks are no JSON
        with running.connect() as sock, contextlib.suppress(ConnectionError):
            sock.sendall(head)
            for _ in range(15):
                sock.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
            sock.sendall(b"%x\r\n" % spaces + b" " * spaces + b"\r\n0\r\n\r\n")
            assert sock.recv(65536)[9:12] == status


def test_headers(running: Running) -> None:
    plain = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    room = 65536 - len(plain) - 200
    assert running.raw(plain + b"X-Fill: " + b"x" * room + b"\r\n\r\n")[0] == 200
    status, answer = running.raw(plain + b"X-Fill: " + b"x" * 65536 + b"\r\n\r\n")
    assert status == 431
    assert b'"code":"too_large"' in answer


def test_queue(serve: Serve) -> None:
    """As many wait as the limit says; the next one is told to come back, until one has joined the batch."""
    with serve(limits=Limits(queue=2, deadline_s=120)) as running, running.client() as client:
        worker = running.services.models["rnn"].worker
        with ThreadPoolExecutor(3) as pool, WorkerGate(worker) as gate:
            waiting = []
            for number in (1, 2):
                waiting.append(pool.submit(post, client, min_len=4))
                wait_until(lambda n=number: len(worker._queue) == n)  # type: ignore[misc]
            busy = post(client)
            refused(busy, 429, "queue_full", "2 requests are waiting for this model")
            assert busy.headers["retry-after"] == "1"
            gate.let(1)  # both join the batch
            waiting.append(pool.submit(post, client))
            wait_until(lambda: len(worker._queue) == 1)
            gate.open()
            assert [one.result().status_code for one in waiting] == [200, 200, 200]


def test_deadline(serve: Serve) -> None:
    with serve(limits=Limits(deadline_s=0.05)) as running, running.client() as client:
        worker = running.services.models["rnn"].worker
        with WorkerGate(worker):
            refused(post(client), 504, "deadline", "within 0.05 seconds")
        wait_until(lambda: not worker._tickets)  # it has left the batch


def test_streams(serve: Serve) -> None:
    body = {"text": "a man", "beam": 1, "max_len": 2}
    with serve(limits=Limits(streams=1)) as running, running.client() as client:
        with (
            WorkerGate(running.services.models["rnn"].worker) as gate,
            client.stream("POST", "/v1/translate/stream", json=body) as first,
        ):
            assert first.status_code == 200
            answer = client.post("/v1/translate/stream", json=body)
            refused(answer, 429, "queue_full", "all 1 event streams are taken")
            gate.open()
            first.read()
        wait_until(lambda: running.services.streams.taken == 0)
        assert client.post("/v1/translate/stream", json=body).status_code == 200


def test_connections(serve: Serve) -> None:
    request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serve(limits=Limits(connections=3)) as running:
        socks = [running.connect() for _ in range(3)]
        for sock in socks:
            sock.sendall(request)
            assert sock.recv(4096).startswith(b"HTTP/1.1 200")
        with running.connect() as extra:
            extra.sendall(request)
            assert extra.recv(4096).startswith(b"HTTP/1.1 503")
        for sock in socks:
            sock.close()


def test_every_limit_can_be_set_by_an_option_and_by_the_environment() -> None:
    for one in fields(Limits):
        wanted = Limits(**{one.name: 7})  # type: ignore[arg-type]
        if one.name == "document_bytes":
            wanted = replace(wanted, documents_bytes=Limits().documents_bytes)
        assert read_limits([f"{one.name}=7"], {}) == wanted
        assert read_limits([], {f"JUMOK_LIMIT_{one.name.upper()}": "7", "JUMOK_SEED": "x"}) == wanted
        assert one.metadata["about"].endswith(".")


def test_an_option_goes_before_the_environment_and_documents_find_room() -> None:
    assert read_limits(["queue=2", "queue=3"], {"JUMOK_LIMIT_QUEUE": "4"}).queue == 3
    assert read_limits(["deadline_s=2.5"], {}).deadline_s == 2.5
    large = read_limits(["document_bytes=1GiB"], {})
    assert (large.document_bytes, large.documents_bytes) == (1 << 30, 8 << 30)
    assert read_limits(["document_bytes=1GiB", "documents_bytes=2GiB"], {}).documents_bytes == 2 << 30
    assert read_limits(["body_bytes=64KiB"], {}).body_bytes == 65536


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1.5", "1e3", "9" * 17, "3MiB", "3 ", "٣"])
def test_a_number_that_no_limit_can_be(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a whole number from 1 up") as found:
        read_limits([f"queue={text}"], {})
    assert str(found.value).startswith(f"--limit queue={text}: {text!r} ")
    assert found.value.hint == "write digits, such as 64"


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "nan", "inf", "1e7", "3s"])
def test_seconds_that_no_limit_can_be(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a number of seconds") as found:
        read_limits([], {"JUMOK_LIMIT_DEADLINE_S": text})
    assert str(found.value).startswith(f"JUMOK_LIMIT_DEADLINE_S={text}: {text!r} ")
    assert found.value.hint == "write seconds, above 0 and up to 1,000,000, such as 2.5"


def test_the_largest_numbers_that_limits_can_be() -> None:
    most = read_limits(["body_bytes=8388608GiB", f"queue={2**53}", "deadline_s=1000000"], {})
    assert (most.body_bytes, most.queue, most.deadline_s) == (2**53, 2**53, 1_000_000)
    for word in ("body_bytes=8388609GiB", f"queue={2**53 + 1}"):
        with pytest.raises(ConfigError, match="is not a whole number from 1 up"):
            read_limits([word], {})
    with pytest.raises(ConfigError, match="--limit takes NAME=VALUE, not 'queue'") as found:
        read_limits(["queue"], {})
    assert found.value.hint == "for example --limit queue=64"


def test_what_no_client_can_keep_to_is_not_told() -> None:
    hidden = {"header_bytes", "receive_s", "keep_alive_s", "heartbeat_s", "connections", "drain_s"}
    told = Limits(texts=3).for_clients()
    assert {one.name for one in fields(Limits)} - told.keys() == hidden
    assert (told["texts"], told["deadline_s"]) == (3, 30.0)


def test_sizes_of_bytes_and_names_that_are_none() -> None:
    with pytest.raises(ConfigError, match="'12MB' is not a whole number") as found:
        read_limits(["body_bytes=12MB"], {})
    assert found.value.hint == "write digits, such as 64; of bytes also 64KiB, 32MiB, 1GiB"
    with pytest.raises(ConfigError, match="JUMOK_LIMIT_SECRETS=3: there is no limit 'secrets'") as found:
        read_limits([], {"JUMOK_LIMIT_SECRETS": "3"})
    assert found.value.hint == "jumok serve --limits lists them"
