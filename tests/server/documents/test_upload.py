"""How a document arrives: raw, in a form, broken off, too large, with names that are no names."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect, Request

from jumok.server.documents.upload import LONGEST_NAME, Upload, receive_document, shown_name
from jumok.server.gates.problems import Problem

FORM = "multipart/form-data; boundary=b"
HEAD = b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'


def receive(
    path: Path, pieces: Sequence[bytes], kind: str = FORM, most: int = 100, *, gone: bool = False
) -> Upload:
    """What is received of a body that comes in these pieces."""
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": piece, "more_body": gone or n + 1 < len(pieces)}
        for n, piece in enumerate(pieces)
    ]
    messages.append({"type": "http.disconnect"})

    async def next_message() -> dict[str, Any]:
        return messages.pop(0)

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}
    return asyncio.run(receive_document(Request(scope, next_message), path, most))


def part(name: str, value: bytes) -> bytes:
    return b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)


def test_the_body_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    assert receive(path, [b"one ", b"", b"two"], "application/octet-stream") == Upload("", 7)
    assert path.read_bytes() == b"one two"


@given(st.binary(min_size=1, max_size=60), st.integers(1, 40), st.integers(1, 40))
def test_a_form_may_be_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, first: int, second: int
) -> None:
    body = (
        part("model", "모델".encode())
        + b"--b\r\n"
        + HEAD
        + content
        + b"\r\n"
        + part("source", b"de")
        + b"--b--\r\n"
    )
    path = tmp_path_factory.mktemp("form") / "upload"
    pieces = [body[:first], body[first : first + second], body[first + second :]]
    found = receive(path, pieces)
    assert path.read_bytes() == content
    assert found == Upload("a.txt", len(content), {"model": "모델", "source": "de"})


@pytest.mark.parametrize(
    ("pieces", "kind", "status", "words"),
    [
        ([b""], "application/octet-stream", 422, "the document is empty"),
        ([b"x" * 60, b"x" * 41], "application/octet-stream", 413, "a document may have 100 bytes"),
        ([b"--b\r\n" + HEAD + b"x" * 101 + b"\r\n--b--"], FORM, 413, "a document may have 100 bytes"),
        ([b"--b\r\n" + HEAD + b"\r\n--b--"], FORM, 422, "the document is empty"),
        ([part("model", b"x") + b"--b--"], FORM, 422, "file: the form has no file"),
        ([part("model", b"\xff") + b"--b\r\n" + HEAD + b"x\r\n--b--"], FORM, 400, "the form is not UTF-8"),
        ([part("m", b"x" * 70_000) + b"--b--"], FORM, 400, "a field of the form has more than 65,536 bytes"),
        ([part("m", b"x") * 17 + b"--b--"], FORM, 400, "a form has at most 16 fields"),
        ([(b"--b\r\n" + HEAD + b"x\r\n") * 2 + b"--b--"], FORM, 422, "file: give one file"),
        (
            [b"--b\r\n" + HEAD.replace(b'"file"', b'"other"') + b"x\r\n--b--"],
            FORM,
            422,
            "file: give one file",
        ),
        ([b"--b\r\n" + HEAD + b"x"], FORM, 400, "the form breaks off"),
        ([b"nonsense"], FORM, 400, "the form's parts cannot be told apart"),
        ([b"--b\r\nbad header\r\n\r\nx\r\n--b--"], FORM, 400, "the form's parts cannot be told apart"),
        ([b"--b--"], "multipart/form-data", 400, "the form has no boundary"),
        (
            [b"--b--"],
            f"multipart/form-data; boundary={'b' * 500}",
            400,
            "the form's parts cannot be told apart",
        ),
        ([b"--b\r\nX-Long: " + b"x" * 50_000], FORM, 400, "the form's parts cannot be told apart"),
    ],
)
def test_what_is_refused(tmp_path: Path, pieces: list[bytes], kind: str, status: int, words: str) -> None:
    with pytest.raises(Problem) as refused:
        receive(tmp_path / "upload", pieces, kind)
    assert refused.value.status_code == status
    assert refused.value.sentence.startswith(words)


def test_a_form_at_its_bounds_is_taken(tmp_path: Path) -> None:
    """Fifteen fields of 64 KiB beside a file of as many bytes as a document may have."""
    values = {f"m{n}": chr(97 + n) * (65_536 if n == 3 else 1) for n in range(15)}
    fields = b"".join(part(name, value.encode()) for name, value in values.items())
    path = tmp_path / "upload"
    found = receive(path, [fields + b"--b\r\n" + HEAD + b"x" * 100 + b"\r\n--b--"])
    assert found == Upload("a.txt", 100, values)
    assert path.read_bytes() == b"x" * 100
    with pytest.raises(Problem, match="400") as refused:
        receive(tmp_path / "more", [part("m", b"x" * 65_537) + b"--b--"])
    assert refused.value.sentence == "a field of the form has more than 65,536 bytes"


def test_headers_of_a_part_are_its_own_and_may_be_written_in_capitals(tmp_path: Path) -> None:
    body = (
        b"--b\r\nCONTENT-DISPOSITION: form-data; name=model\r\n\r\nrnn\r\n"
        b"--b\r\nX-Other: 1\r\n\r\nnameless\r\n--b\r\nX-First: 1\r\n" + HEAD + b"text\r\n--b--"
    )
    found = receive(tmp_path / "upload", [body], "Multipart/Form-Data; boundary=b")
    assert found == Upload("a.txt", 4, {"model": "rnn", "": "nameless"})


@pytest.mark.parametrize("kind", ["application/octet-stream", FORM])
def test_a_client_that_hangs_up(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ClientDisconnect):
        receive(tmp_path / "upload", [b"--b\r\n" + HEAD + b"half"], kind, gone=True)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("report.docx", "report.docx"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\report.docx", "report.docx"),
        ("..", "document"),
        ("", "document"),
        ("/", "document"),
        ("a\x00b\r\nSet-Cookie: x.txt", "abSet-Cookie: x.txt"),
        ("\u202etxt.exe", "txt.exe"),
        (".htaccess", "htaccess"),
        ("보고서 1.txt", "보고서 1.txt"),
        (". . .", "document"),
        (" .a. ", "a"),
        ("x" * 255, "x" * 255),
        ("y" + "x" * 255, "x" * 255),
        ("y. " + "x" * 253, "x" * 253),
    ],
)
def test_names_are_shown_and_never_paths(given: str, shown: str) -> None:
    assert shown_name(given) == shown


@given(st.text(max_size=2000) | st.text(". /a", max_size=12))
def test_every_name_becomes_a_plain_one(name: str) -> None:
    shown = shown_name(name)
    assert 0 < len(shown) <= LONGEST_NAME
    assert shown.isprintable()
    assert not set(shown) & {"/", "\\"}
    assert shown.strip(" .") == shown
