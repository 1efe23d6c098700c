"""The folder of kept traces: only ids become paths, and a bad file is no harm."""

import logging
from pathlib import Path

import numpy as np
import pytest

from jumok.decoding.translator import Translator
from jumok.explain.trace import Trace, make_trace
from jumok.server.traces.folder import TraceFolder


@pytest.fixture(scope="module")
def trace(tiny_models: dict[str, Translator]) -> Trace:
    return make_trace(tiny_models["transformer"], "a man", target="a dog")


def test_what_is_saved_is_found_by_its_id(tmp_path: Path, trace: Trace) -> None:
    folder = TraceFolder(tmp_path)
    folder.save(trace)
    folder.save(trace)
    assert [path.name for path in tmp_path.iterdir()] == [f"{trace.id}.trace"]
    found = TraceFolder(tmp_path).open(trace.id)
    assert found is not None
    assert found.manifest == trace.manifest
    assert np.array_equal(found.tensor("cross.weights"), trace.tensor("cross.weights"))


@pytest.mark.parametrize(
    "id",
    ["", ".", "..", "../x", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdef\n"]
    + ["/etc/passwd", "0123456789abcde/", "０123456789abcdef", "0123456789abcdef.trace", "\x00" * 16],
)
def test_nothing_but_an_id_becomes_a_path(tmp_path: Path, id: str) -> None:
    folder = TraceFolder(tmp_path)
    assert folder.path(id) is None
    assert folder.open(id) is None


@pytest.mark.parametrize("content", [b"", b"not a trace", b"\x10\x00\x00\x00\x00\x00\x00\x00{}"])
def test_a_damaged_file_is_as_good_as_none(
    tmp_path: Path, trace: Trace, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / f"{trace.id}.trace").write_bytes(content)
    assert TraceFolder(tmp_path).open(trace.id) is None
    assert "cannot be read" in caplog.text


def test_a_file_under_a_wrong_name_is_not_shown(tmp_path: Path, trace: Trace) -> None:
    trace.save(tmp_path / "0123456789abcdef.trace")
    assert TraceFolder(tmp_path).open("0123456789abcdef") is None
    (tmp_path / "0123456789abcdee.trace").mkdir()
    assert TraceFolder(tmp_path).open("0123456789abcdee") is None


def test_a_full_folder_or_disk_is_a_line_in_the_log(
    tmp_path: Path, trace: Trace, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "0123456789abcdef.trace").write_bytes(b"x" * 100)
    with caplog.at_level(logging.WARNING, "jumok.server"):
        TraceFolder(tmp_path, most=100).save(trace)
        assert "no more traces are kept: they take 100 bytes" in caplog.text
        TraceFolder(tmp_path / "gone").save(trace)
        assert "a trace could not be kept: cannot write the trace" in caplog.text
        (tmp_path / "0123456789abcdee.trace").symlink_to("nowhere")
        TraceFolder(tmp_path).save(trace)
        assert "a trace could not be kept: [Errno 2]" in caplog.text
        (tmp_path / "0123456789abcdee.trace").unlink()
    assert len(list(tmp_path.iterdir())) == 1
    TraceFolder(tmp_path, most=101).save(trace)
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_kept_is_counted_until_the_folder_is_full(
    tmp_path: Path, tiny_models: dict[str, Translator], trace: Trace, caplog: pytest.LogCaptureFixture
) -> None:
    other = make_trace(tiny_models["transformer"], "a man", target="a")
    size = trace.save(tmp_path / "size", heads=()).stat().st_size
    kept = {}
    for room in (size, size + 1):  # it is full when there is no room for another byte
        (tmp_path / str(room)).mkdir()
        folder = TraceFolder(tmp_path / str(room), most=room)
        folder.save(trace)
        folder.save(other)
        kept[room] = folder.open(other.id) is not None
    assert kept == {size: False, size + 1: True}
    assert f"no more traces are kept: they take {size:,} bytes" in caplog.text


def test_a_file_that_is_larger_than_any_trace_is_not_read(
    tmp_path: Path, trace: Trace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = TraceFolder(tmp_path)
    folder.save(trace)
    size = (tmp_path / f"{trace.id}.trace").stat().st_size
    monkeypatch.setattr("jumok.server.traces.folder.LARGEST", size)
    assert folder.open(trace.id) is not None
    monkeypatch.setattr("jumok.server.traces.folder.LARGEST", size - 1)
    assert folder.open(trace.id) is None
    assert (
        f"the kept trace {trace.id} cannot be read: the file has more than {size - 1:,} bytes" in caplog.text
    )
