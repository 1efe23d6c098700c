"""One document on its way: translated in order, mended, written anew, cancelled, and how it fails."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.server.documents.conftest import TEXT, DocumentGate

from jumok.decoding.translator import Translator
from jumok.documents.report import SegmentAnswer
from jumok.documents.segments import SegmentTranslator
from jumok.documents.translate import translate_document
from jumok.formats.known import by_name
from jumok.formats.segments import MarkedText, Segment
from jumok.server.documents.job import (
    BRIEF_S,
    CHARACTERS,
    SEGMENTS,
    DocumentJob,
    DocumentOrder,
    brief,
    next_block,
    source_in,
)


def make_job(folder: Path, translator: Translator, content: bytes = TEXT, name: str = "a.txt") -> DocumentJob:
    format = by_name("txt")
    source_in(folder, format).write_bytes(content)
    return DocumentJob("id", folder, DocumentOrder(name, len(content), format, "rnn", translator))


@pytest.fixture
def job(tmp_path: Path, tiny_models: dict[str, Translator]) -> DocumentJob:
    return make_job(tmp_path, tiny_models["rnn"])


def test_the_file_is_the_one_of_the_command_line(
    job: DocumentJob, tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Translator]
) -> None:
    """The slow twin: `translate_document`, which knows no table and no pages."""
    folder = tmp_path_factory.mktemp("twin")
    (folder / "a.txt").write_bytes(TEXT)
    report = translate_document(tiny_models["rnn"], folder / "a.txt", folder / "b.txt")
    job.run()
    assert (job.status, job.done, job.total) == ("done", 3, 3)
    assert job.write().read_bytes() == (folder / "b.txt").read_bytes()
    found = job.report
    assert (found.translated, found.present, found.skipped) == (
        report.translated,
        report.present,
        report.skipped,
    )
    assert (found.translated, found.skipped) == (2, 1)


def test_a_mended_segment_is_written_anew_and_once(job: DocumentJob) -> None:
    job.run()
    first = job.write()
    before = first.read_bytes()
    assert job.write() == first
    job.edit(job.rows.page(0, 1)[0], "mine")
    second = job.write()
    assert second != first  # someone may still be reading the first one
    assert second.read_bytes().startswith(b"mine\n\n---\n")
    assert first.read_bytes() == before
    job.edit(job.rows.page(0, 1)[0], "yours")
    assert job.write().read_bytes().startswith(b"yours\n")
    assert (job.edits, job.edited) == (2, {0})


def test_broken_bytes_are_told_in_the_documents_own_words(
    tmp_path: Path, tiny_models: dict[str, Translator]
) -> None:
    job = make_job(tmp_path, tiny_models["rnn"], b"a man\n\nthe \xff dog\n", "geheim.txt")
    job.run()
    assert job.status == "failed"
    assert job.problem is not None
    assert job.problem.status_code == 422
    assert job.problem.sentence == "the file is not UTF-8: byte 0xff is no character, geheim.txt, line 3"
    assert str(tmp_path) not in job.problem.sentence


def test_a_fault_of_ours_is_logged_and_told_as_such(
    job: DocumentJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> bool:
        raise RuntimeError("secret")

    job.give_way = fail
    job.run()
    assert job.status == "failed"
    assert job.problem is not None
    assert (job.problem.status_code, job.problem.code) == (500, "internal")
    assert "secret" in caplog.text


def test_one_that_is_taken_away_before_its_turn_does_nothing(job: DocumentJob) -> None:
    job.remove()
    job.run()
    assert (job.status, job.total, job.folder.exists()) == ("failed", None, False)


def test_one_that_is_taken_away_in_the_middle_leaves_nothing(
    tmp_path: Path, tiny_models: dict[str, Translator], caplog: pytest.LogCaptureFixture
) -> None:
    job = make_job(tmp_path, tiny_models["rnn"], b"a man\n\n" * (SEGMENTS + 1))

    def away() -> bool:
        job.remove()
        return False

    job.give_way = away  # between two blocks
    job.run()
    assert (job.status, job.folder.exists()) == ("failed", False)
    assert caplog.text == ""


def test_seconds_left_come_from_the_characters_so_far(
    tmp_path: Path, tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(tmp_path, tiny_models["rnn"], b"a man\n\n" * (3 * SEGMENTS))
    seen: list[float | None] = []
    now = [100.0]
    monkeypatch.setattr("jumok.server.documents.job.time", SimpleNamespace(monotonic=lambda: now[0]))

    def look() -> bool:
        if len(seen) < 3:
            seen.append(job.seconds_left)
        now[0] += 5
        return False

    job.give_way = look
    assert job.seconds_left is None
    job.run()
    assert seen == [None, pytest.approx(10), pytest.approx(5)]  # each third took 5 seconds
    assert job.seconds_left is None


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("a.txt", "a.{}.txt"),
        ("A.TXT", "A.{}.TXT"),
        ("a", "a.{}.txt"),
        ("a.b", "a.b.{}.txt"),
        (".txt", ".{}.txt"),
    ],
)
def test_the_translated_file_is_named_after_its_language(
    tiny_models: dict[str, Translator], name: str, target: str
) -> None:
    order = DocumentOrder(name, 1, by_name("txt"), "rnn", tiny_models["rnn"])
    code = tiny_models["rnn"].config.data.target_language or "translated"
    assert order.target_name == target.format(code)


def test_blocks_are_small_and_whole() -> None:
    texts = ["a"] * (SEGMENTS + 3) + ["b" * CHARACTERS, "c" * (3 * CHARACTERS), "d"]
    segments = iter([Segment(MarkedText(text), "") for text in texts])
    blocks = list(iter(lambda: next_block(segments, CHARACTERS), []))
    assert [one.source.text for block in blocks for one in block] == texts
    assert [len(block) for block in blocks] == [SEGMENTS, 4, 1, 1]


def test_a_block_has_at_most_32_segments_and_ends_with_its_4000th_character() -> None:
    def lengths(most: int, *sizes: int) -> list[int]:
        segments = iter([Segment(MarkedText("a" * size), "") for size in sizes])
        return [len(block) for block in iter(lambda: next_block(segments, most), [])]

    assert lengths(CHARACTERS, *[1] * 65) == [32, 32, 1]
    assert lengths(CHARACTERS, 2000, 1999, 1, 1) == [3, 1]
    assert lengths(CHARACTERS, 2000, 1999, 0, 1, 1) == [4, 1]
    assert lengths(0, 5, 0, 5) == [1, 1, 1]
    assert brief(4_000, 0.005) == brief(8_000, 0.005) == 4_000
    assert brief(1_000, 0.25) == 20


def test_blocks_follow_the_pace_of_the_model_while_others_ask(
    tmp_path: Path, tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a thousand characters a second, so five of them in five milliseconds; one where none is known."""
    clock = SimpleNamespace(now=128.0)
    monkeypatch.setattr("jumok.server.documents.job.time", SimpleNamespace(monotonic=lambda: clock.now))
    blocks = list[int]()

    def answers(self: SegmentTranslator, block: list[Segment], progress: object) -> list[SegmentAnswer]:
        blocks.append(len(block))
        clock.now += sum(len(one.source.text) for one in block) / 1024
        return [SegmentAnswer("skipped") for _ in block]

    monkeypatch.setattr(SegmentTranslator, "answers", answers)
    job = make_job(tmp_path, tiny_models["rnn"], b"a\n\n" * 12)

    def asked() -> bool:
        clock.now += 64  # what others take is not the model's time
        return True

    job.give_way = asked
    job.run()
    assert (job.status, blocks) == ("done", [1, 5, 5, 1])


def test_a_job_tells_whether_it_has_ended_and_how_large_it_is(job: DocumentJob) -> None:
    ended = dict[str, bool]()
    for status in ("waiting", "running", "done", "failed"):
        job.status = status
        ended[status] = job.ended
    assert ended == {"waiting": False, "running": False, "done": True, "failed": True}
    files = [path.stat().st_size for path in job.folder.iterdir()]
    assert job.bytes == sum(files) > len(TEXT)
    (job.folder / "gone").symlink_to(job.folder / "nowhere")
    assert job.bytes == sum(files)
    job.remove()
    job.remove()
    assert job.bytes == 0


def test_one_that_is_called_off_takes_its_files_away_itself(job: DocumentJob) -> None:
    """Whoever called it off may have removed them while it still wrote."""
    job.flag.raised = True
    job.run()
    assert (job.status, job.problem, job.folder.exists()) == ("failed", None, False)


def test_while_others_ask_blocks_are_brief(
    tmp_path: Path, tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert brief(0, 0.0) == 1
    assert brief(1_000, 1.0) == int(1_000 * BRIEF_S)
    assert brief(1, 1.0) == 0  # one segment
    assert brief(10**9, 1e-9) == CHARACTERS
    monkeypatch.setattr("jumok.server.documents.job.BRIEF_S", 0.0)
    job = make_job(tmp_path, tiny_models["rnn"], b"a man\n\n" * (SEGMENTS + 3))
    seen = list[int]()

    def asked() -> bool:
        seen.append(job.done)
        return len(seen) > 1

    job.give_way = asked
    job.run()
    assert seen == [0, *range(SEGMENTS, SEGMENTS + 4)]


def test_the_gate_of_these_tests_holds(gate: DocumentGate, job: DocumentJob) -> None:
    gate.let(1)
    job.run()
    assert job.status == "done"
