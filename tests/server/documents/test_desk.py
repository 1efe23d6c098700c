"""Where documents lie: in a private folder, within the limits, for a while, and gone with the server."""

import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.conftest import wait_until
from tests.server.documents.conftest import DocumentGate

from jumok.decoding.translator import Translator
from jumok.formats.known import by_name
from jumok.server.documents.desk import DocumentDesk
from jumok.server.documents.job import DocumentJob, DocumentOrder, source_in
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.metrics import Metrics

LIMITS = Limits(documents=2, documents_bytes=1 << 20, document_s=60)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(clock: Clock) -> Iterator[DocumentDesk]:
    made = DocumentDesk(LIMITS, Metrics(), clock=clock)
    yield made
    made.close()


@pytest.fixture
def translator(tiny_models: dict[str, Translator]) -> Translator:
    return tiny_models["rnn"]


def put(desk: DocumentDesk, translator: Translator, content: bytes = b"a man") -> DocumentJob:
    format = by_name("txt")
    with desk.arriving(len(content)) as folder:
        source_in(folder, format).write_bytes(content)
        return desk.begin(folder, DocumentOrder("a.txt", len(content), format, "rnn", translator))


def done(job: DocumentJob) -> DocumentJob:
    wait_until(lambda: job.ended)
    assert job.status == "done"
    return job


def test_the_folder_is_for_nobody_else(desk: DocumentDesk, translator: Translator) -> None:
    job = put(desk, translator)
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700
    assert job.folder.parent == desk.folder
    assert len(job.id) == 32
    assert put(desk, translator).id != job.id


def test_a_document_that_does_not_arrive_leaves_nothing(desk: DocumentDesk) -> None:
    with desk.arriving(1) as folder:
        (folder / "upload").write_bytes(b"half")
    assert not folder.exists()
    assert len(desk) == 0


def test_an_id_is_known_until_its_time_is_over(
    desk: DocumentDesk, translator: Translator, clock: Clock
) -> None:
    job = done(put(desk, translator))
    clock.now = job.used + 59
    assert desk.get(job.id) is job  # and now it was used
    clock.now += 59
    assert desk.get(job.id) is job
    clock.now += 61
    for id in (job.id, "0" * 32):
        with pytest.raises(Problem, match="no such document, or its time is over") as refused:
            desk.get(id)
        assert (refused.value.status_code, refused.value.code) == (404, "unknown_document")
    assert not job.folder.exists()


def test_one_that_is_being_translated_has_all_the_time(
    desk: DocumentDesk, translator: Translator, clock: Clock, gate: DocumentGate
) -> None:
    job = put(desk, translator)
    clock.now = 10**6
    assert desk.get(job.id) is job


def test_the_oldest_that_is_done_makes_room(desk: DocumentDesk, translator: Translator, clock: Clock) -> None:
    first = done(put(desk, translator))
    clock.now = 1
    second = done(put(desk, translator))
    clock.now = 2
    desk.get(first.id)
    third = done(put(desk, translator))
    assert [desk.find(job.id) for job in (first, second, third)] == [first, None, third]


def test_too_many_that_are_not_done_are_refused(
    desk: DocumentDesk, translator: Translator, gate: DocumentGate
) -> None:
    put(desk, translator)
    with (
        desk.arriving(1),
        pytest.raises(Problem, match="as many documents as it can keep") as refused,
        desk.arriving(1),
    ):
        pytest.fail("there was room")
    assert (refused.value.status_code, refused.value.code) == (429, "queue_full")
    assert refused.value.headers == {"Retry-After": "30"}


def test_so_are_too_many_bytes(desk: DocumentDesk, translator: Translator, gate: DocumentGate) -> None:
    put(desk, translator)
    with (
        pytest.raises(Problem, match="as many documents as it can keep"),
        desk.arriving(LIMITS.documents_bytes),
    ):
        pytest.fail("there was room")
    assert desk.bytes() > len(b"a man")


def test_a_document_may_take_the_last_byte_there_is(desk: DocumentDesk) -> None:
    with desk.arriving(LIMITS.documents_bytes) as folder:
        assert folder.is_dir()
    with (
        pytest.raises(Problem, match="as many documents as it can keep"),
        desk.arriving(LIMITS.documents_bytes + 1),
    ):
        pytest.fail("there was room")


def test_one_at_a_time(desk: DocumentDesk, translator: Translator, gate: DocumentGate) -> None:
    first, second = put(desk, translator), put(desk, translator)
    wait_until(lambda: gate.waiting == 1)
    assert (first.status, second.status) == ("running", "waiting")
    gate.let(1)
    done(first)
    gate.let(1)
    done(second)


def test_plain_requests_go_first(translator: Translator) -> None:
    """Blocks wait while someone else does, and go on when nobody does."""
    free, asked = threading.Event(), threading.Event()

    def someone_waits() -> bool:
        asked.set()
        return not free.is_set()

    desk = DocumentDesk(LIMITS, Metrics(), someone_waits)
    job = put(desk, translator)
    assert asked.wait(120)
    assert job.done == 0
    free.set()
    done(job)
    desk.close()


def test_even_so_a_document_goes_on_in_the_end(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.server.documents.desk.WAIT_S", 0.02)
    desk = DocumentDesk(LIMITS, Metrics(), lambda: True)
    done(put(desk, translator))
    desk.close()


def test_the_end_of_the_server_is_the_end_of_its_documents(
    translator: Translator, gate: DocumentGate, caplog: pytest.LogCaptureFixture
) -> None:
    desk = DocumentDesk(LIMITS, Metrics())
    running, waiting = put(desk, translator), put(desk, translator)
    wait_until(lambda: gate.waiting == 1)
    folder: Path = desk.folder
    end = threading.Thread(target=desk.close)
    end.start()
    wait_until(lambda: running.flag.raised)
    gate.let()
    end.join(120)
    assert not end.is_alive()
    assert not folder.exists()
    assert (running.status, waiting.done) == ("failed", 0)
    assert caplog.text == ""


def test_a_folder_that_someone_has_cleared_away_is_no_trouble(desk: DocumentDesk) -> None:
    shutil.rmtree(desk.folder)
    desk.close()
    assert not desk.folder.exists()


def test_what_was_done_is_counted(translator: Translator) -> None:
    metrics = Metrics()
    desk = DocumentDesk(LIMITS, metrics)
    done(put(desk, translator, b"a man\n\nthe dog"))
    wait_until(lambda: metrics.value("jumok_documents_total", model="rnn", status="done") == 1)
    assert metrics.value("jumok_document_segments_total", model="rnn") == 2
    assert metrics.value("jumok_documents_bytes") == desk.bytes() > 0
    desk.close()
    assert metrics.value("jumok_documents_bytes") == 0
