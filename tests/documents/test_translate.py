"""Whole documents: what is written, what is refused, and what happens after a stop."""

import errno
import os
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.documents.copying import CopyingModel
from tests.documents.faulty import every_fault

import jumok
from jumok.documents.segments import BLOCK
from jumok.documents.translate import Reading, translate_document
from jumok.errors import ConfigError, DataError, Error, RunError
from jumok.formats.plain import PlainFormat
from jumok.formats.segments import MarkedText, Segment


@pytest.fixture(scope="module")
def copying() -> CopyingModel:
    return CopyingModel()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"Erste Zeile.\r\nZweite.\r\n\r\n  Ein Absatz.\n\n42\n")
    return path


def test_paragraphs_come_out_as_they_went_in(source: Path, tmp_path: Path) -> None:
    report = translate_document(CopyingModel(upper=True), source, tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes() == b"ERSTE ZEILE.\r\nZWEITE.\r\n\r\n  EIN ABSATZ.\n\n42\n"
    assert (report.translated, report.skipped, report.format) == (2, 1, "txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_a_loaded_model_translates_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("5. Mai 2004\n\n5. Mai 2004\n", encoding="utf-8")
    model = jumok.load("demo/transformer")
    report = model.translate_document(tmp_path / "a.txt", tmp_path / "b.txt", beam=1)
    expected = model.translate("5. Mai 2004", beam=1).text
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == f"{expected}\n\n{expected}\n"
    assert report.translated == 2


class Stops(Exception):
    pass


def test_a_job_that_was_stopped_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    text = "".join(f"Absatz {word}.\n\n" for word in ["a" * n for n in range(1, 2 * BLOCK + 9)])
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    model = CopyingModel(upper=True)

    def stop(what: str, done: int, total: int | None) -> None:
        assert total == 2 * BLOCK + 8
        if done > BLOCK:
            raise Stops

    with pytest.raises(Stops):
        translate_document(model, tmp_path / "a.txt", tmp_path / "b.txt", progress=stop)
    assert not (tmp_path / "b.txt").exists()
    assert (tmp_path / "b.txt.jumok").exists()
    model.asked_for.clear()
    told: list[int] = []
    report = translate_document(
        model, tmp_path / "a.txt", tmp_path / "b.txt", progress=lambda _, done, __: told.append(done)
    )
    assert told == [256, 428, 428, 520, 520]  # the next block is full of characters
    assert report.resumed == BLOCK
    assert report.translated == 2 * BLOCK + 8
    assert len(model.asked_for) == 2
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == text.upper()
    assert not (tmp_path / "b.txt.jumok").exists()


@pytest.mark.parametrize("change", ["source", "options", "all"])
def test_a_journal_of_another_job_is_not_used(tmp_path: Path, source: Path, change: str) -> None:
    def stop(what: str, done: int, total: int | None) -> None:
        if done == total:
            raise Stops

    with pytest.raises(Stops):
        translate_document(CopyingModel(), source, tmp_path / "b.txt", progress=stop, watch=lambda *_: None)
    options: dict[str, Any] = {"options": {"beam": 2}, "all": {"all_segments": True}}.get(change, {})
    if change == "source":
        source.write_text("Anders.\n", encoding="utf-8")
    assert translate_document(CopyingModel(), source, tmp_path / "b.txt", **options).resumed == 0


def test_every_segment_is_shown_as_it_is_answered(tmp_path: Path, source: Path) -> None:
    seen: list[tuple[str, str]] = []
    translate_document(
        CopyingModel(),
        source,
        tmp_path / "b.txt",
        watch=lambda segment, answer: seen.append((segment.where, answer.outcome)),
    )
    assert seen == [("line 1", "translated"), ("line 4", "translated"), ("line 6", "skipped")]


def test_an_empty_document_gives_an_empty_document(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    report = translate_document(CopyingModel(), tmp_path / "a.txt", tmp_path / "b.txt")
    assert report.segments == 0
    assert (tmp_path / "b.txt").read_bytes() == b""


def test_places_that_cannot_be(tmp_path: Path, source: Path) -> None:
    model = CopyingModel()
    with pytest.raises(DataError, match="is a folder\n  name a file"):
        translate_document(model, tmp_path, tmp_path / "b.txt")
    with pytest.raises(DataError, match="cannot read .*no.txt: No such file"):
        translate_document(model, tmp_path / "no.txt", tmp_path / "b.txt")
    with pytest.raises(ConfigError, match="a.txt is the input itself\n  choose another name for the output"):
        translate_document(model, source, tmp_path / "." / "a.txt")
    with pytest.raises(ConfigError, match="is a folder\n  name a file for the output"):
        translate_document(model, source, tmp_path)
    with pytest.raises(ConfigError, match=r"cannot write .*b\.txt\n  choose a folder that exists"):
        translate_document(model, source, tmp_path / "nowhere" / "b.txt")
    assert source.read_bytes().startswith(b"Erste")


@every_fault
def test_a_faulty_document_is_told_and_stays_as_it_is(
    tmp_path: Path, copying: CopyingModel, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Error, match=f"(?s){said}"):
        translate_document(copying, tmp_path / name, tmp_path / f"new-{name}")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == content


def test_an_unknown_option_is_told_before_anything_is_written(tmp_path: Path, source: Path) -> None:
    with pytest.raises(TypeError, match="unknown option 'beams'; did you mean 'beam'"):
        translate_document(CopyingModel(), source, tmp_path / "b.txt", beams=3)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_source_that_changes_meanwhile_is_refused(tmp_path: Path, source: Path) -> None:
    with pytest.raises(DataError, match="the document was changed while it was translated"):
        translate_document(
            CopyingModel(),
            source,
            tmp_path / "b.txt",
            watch=lambda *_: os.truncate(source, 5),
        )
    assert not (tmp_path / "b.txt").exists()


def test_a_full_disk_leaves_the_journal(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, reason, code in (
        (errno.ENOSPC, "No space left on device", "disk_full"),
        (errno.EDQUOT, "Disk quota exceeded", "disk_full"),
        (errno.EIO, "Input/output error", "io_error"),
    ):
        monkeypatch.setattr(os, "replace", Mock(side_effect=OSError(number, reason)))
        with pytest.raises(RunError, match=f"{reason}\n  make room on the disk and give the same") as caught:
            translate_document(CopyingModel(), source, tmp_path / "b.txt")
        assert caught.value.code == code
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt.jumok"]


def test_a_small_document_is_read_once_and_a_large_one_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n\ntwo\n", encoding="utf-8")
    kept = Reading.of(PlainFormat(), path)
    path.write_text("other\n", encoding="utf-8")
    assert [one.source.text for one in kept.read()] == ["one", "two"]
    kept.write(out := BytesIO(), iter([MarkedText("eins"), None]))
    assert (kept.total, out.getvalue()) == (2, b"eins\n\ntwo\n")
    path.write_text("a" * 2_000_000 + "\n\nb\n", encoding="utf-8")
    assert Reading.of(PlainFormat(), path).pieces is not None
    path.write_text("a" * 2_200_000 + "\n\nb\n", encoding="utf-8")
    large = Reading.of(PlainFormat(), path)
    assert (large.total, large.segments, large.pieces) == (len(list(large.read())), None, None)


def test_of_a_packed_document_the_text_is_kept_if_it_is_small(tmp_path: Path) -> None:
    segments = [Segment(MarkedText("ab"), f"line {n}") for n in range(5)]
    short, long = (Segment(MarkedText("a" * size), "line 6") for size in (2_000_000, 2_200_000))
    packed = Mock(read=Mock(side_effect=[iter([*segments, short]), iter([*segments, long])]))
    assert Reading.of(packed, tmp_path / "a.docx").segments == [*segments, short]
    large = Reading.of(packed, tmp_path / "a.docx")
    assert (large.total, large.segments) == (6, None)


def test_what_is_kept_of_a_document_has_two_mib(tmp_path: Path) -> None:
    """Bytes of one that is not packed; of one that is, characters, and a hundred for each segment."""
    most, path = 2 * 1024 * 1024, tmp_path / "a.txt"
    for size in (most, most + 1):
        path.write_bytes(b"a\n\n" + b"b" * (size - 3))
        reading = Reading.of(PlainFormat(), path)
        assert (reading.pieces is not None) == (size == most)
        reading.write(out := BytesIO(), iter([MarkedText("A"), None]))
        assert out.getvalue() == b"A" + path.read_bytes()[1:]
        segments = [Segment(MarkedText("a" * length), "line 1") for length in (300, size - 300 - 2 * 100)]
        packed = Mock(read=Mock(return_value=iter(segments)))
        assert (Reading.of(packed, tmp_path / "a.docx").segments is not None) == (size == most)


def test_progress_counts_all_segments_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.documents.segments.BLOCK", 2)
    (tmp_path / "a.txt").write_text("a\n\nb\n\n12\n\nc\n\nd\n", encoding="utf-8")
    told: list[tuple[str, int, int | None]] = []
    translate_document(
        CopyingModel(), tmp_path / "a.txt", tmp_path / "b.txt", progress=lambda *words: told.append(words)
    )
    assert told == [("translating", done, 5) for done in (0, 2, 2, 3, 4, 5, 5)]
