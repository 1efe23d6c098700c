"""Documents for a real server: a model that is let go on, and ways to send a file and wait for it."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from tests.server.conftest import wait_until

from jumok.documents.segments import SegmentTranslator

RAW = {"Content-Type": "application/octet-stream"}
TEXT = b"a man\n\n---\n\n  the dog sees\na man\n"
"""Three paragraphs; the second has no words."""


def send(client: httpx2.Client, content: bytes = TEXT, name: str = "a.txt", **query: str) -> httpx2.Response:
    return client.post("/v1/documents", params={"name": name, **query}, content=content, headers=RAW)


def finished(client: httpx2.Client, id: str) -> dict[str, Any]:
    """How a document stands when it has ended."""
    found: dict[str, Any] = {}

    def ended() -> bool:
        found.update(client.get(f"/v1/documents/{id}").json())
        return found["status"] in ("done", "failed")

    wait_until(ended)
    return found


def translated(
    client: httpx2.Client, content: bytes = TEXT, name: str = "a.txt", **query: str
) -> dict[str, Any]:
    answer = send(client, content, name, **query)
    assert answer.status_code == 202, answer.text
    return finished(client, answer.json()["id"])


class DocumentGate:
    """Stands before the translation of documents: blocks pass when they are let."""

    def __init__(self) -> None:
        self.waiting, self._tokens = 0, threading.Semaphore(0)

    def arrive(self) -> None:
        self.waiting += 1
        assert self._tokens.acquire(timeout=120)
        self.waiting -= 1

    def let(self, blocks: int = 10**6) -> None:
        self._tokens.release(blocks)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[DocumentGate]:
    """No block of any document is translated before it is let."""
    made = DocumentGate()
    answers: Callable[..., Any] = SegmentTranslator.answers

    def held(self: SegmentTranslator, *args: Any) -> Any:
        made.arrive()
        return answers(self, *args)

    monkeypatch.setattr(SegmentTranslator, "answers", held)
    yield made
    made.let()
