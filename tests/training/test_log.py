"""Events on disk: one JSON object a line, whatever happens in between."""

import json
import re
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.training.log import JsonLines, TensorBoard, finite, has_tensorboard, read_events, to_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def write(path: Path, *events: dict[str, Any]) -> None:
    lines = JsonLines(path)
    for event in events:
        lines(event)
    lines.close()


def steps(path: Path) -> list[int]:
    return [event["step"] for event in read_events(path)]


def test_an_event_is_one_line_with_its_type_first_and_the_time(tmp_path: Path) -> None:
    write(tmp_path / "m.jsonl", {"type": "train", "step": 1, "loss": 1 / 3, "text": "주목"})
    (line,) = (tmp_path / "m.jsonl").read_text(encoding="utf-8").splitlines()
    assert line.startswith('{"type": "train", "time": "')
    assert "주목" in line
    event = json.loads(line)
    assert event["loss"] == 1 / 3  # in full digits
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])


def test_an_event_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "m.jsonl")
    lines({"type": "train", "step": 1})
    assert steps(tmp_path / "m.jsonl") == [1]
    lines.close()


def test_a_second_sitting_appends(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    write(path, {"type": "train", "step": 1})
    write(path, {"type": "train", "step": 2})
    assert steps(path) == [1, 2]
    assert path.read_bytes().count(b"\n") == 2


@given(cut=st.integers(1, 200))
def test_a_line_cut_short_by_a_crash_loses_itself_only(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "m.jsonl"
    write(path, {"type": "train", "step": 1}, {"type": "train", "step": 2, "text": "주목 " * 3})
    whole = path.read_bytes()
    end_of_first = whole.index(b"\n") + 1
    kept = max(end_of_first, len(whole) - cut)
    path.write_bytes(whole[:kept])
    survivors = [1, 2] if kept >= len(whole) - 1 else [1]
    assert steps(path) == survivors
    write(path, {"type": "train", "step": 3})
    assert steps(path) == [*survivors, 3]


def test_an_empty_file_is_not_torn(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.touch()
    write(path, {"type": "train", "step": 1})
    assert path.read_bytes().startswith(b"{")


def test_reading_leaves_out_what_is_no_event(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"step": 1}\n[1, 2]\n\nnonsense\n\xff\xfe\n"text"\n{"step": 2}\n')
    assert steps(path) == [1, 2]


def test_numbers_that_json_cannot_hold_become_null() -> None:
    nan, inf = float("nan"), float("inf")
    given_value = {"a": nan, "b": [inf, 1.5, (-inf, "x")], "c": {"d": nan, "e": 3}}
    assert finite(given_value) == {"a": None, "b": [None, 1.5, [None, "x"]], "c": {"d": None, "e": 3}}


@given(st.dictionaries(st.text().filter(lambda key: key not in ("type", "time")), values, max_size=4))
def test_every_event_is_strict_json(content: dict[str, Any]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    line = to_json({"type": "x", **content})
    assert "\n" not in line
    back = json.loads(line, parse_constant=refuse)
    assert {key: value for key, value in back.items() if key not in ("type", "time")} == finite(content)


def test_tensorboard_gets_the_curves(tmp_path: Path) -> None:
    assert has_tensorboard()
    board = TensorBoard(tmp_path)
    board({"type": "train", "step": 1, "loss": 2.0, "lr": 0.1, "elapsed_s": 5})
    board({"type": "valid", "step": 1, "bleu": 3.0, "loss": None})
    board({"type": "notice", "step": 1, "message": "no curve"})
    board.close()
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    for tag in (b"train/loss", b"train/lr", b"valid/bleu"):
        assert tag in data
    for tag in (b"valid/loss", b"elapsed", b"notice"):
        assert tag not in data


def test_without_tensorboard_the_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert not has_tensorboard()


def test_a_disk_that_refuses_the_curves_brings_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = threading.excepthook
    board = TensorBoard(tmp_path / "curves")
    shutil.rmtree(tmp_path / "curves")  # its next write fails, in a thread of TensorBoard's own

    def many() -> None:
        for step in range(10_000):
            board({"type": "train", "step": step, "loss": 2.0})

    with pytest.raises(FileNotFoundError):
        many()
    with pytest.raises(FileNotFoundError):
        board.close()
    assert threading.excepthook is before
    assert capfd.readouterr().err == ""


def test_errors_of_other_threads_are_still_told(tmp_path: Path) -> None:
    board, told = TensorBoard(tmp_path), list[BaseException | None]()
    board.hook, before = lambda args: told.append(args.exc_value), board.hook

    def fail() -> None:
        raise OSError("of someone else")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    board.hook = before
    board.close()
    assert [str(error) for error in told] == ["of someone else"]


def test_a_line_that_was_changed_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    write(path, *({"type": "train", "step": step, "loss": 2.5} for step in (1, 2, 3)))
    path.write_bytes(path.read_bytes().replace(b'"step": 2, "loss": 2.5', b'"step": 2, "loss": 2.1'))
    assert steps(path) == [1, 3]


def test_the_last_events_are_on_the_disk_when_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the memory of the machine alone, which a power cut takes."""
    synced: list[bytes] = []
    monkeypatch.setattr("os.fsync", lambda _: synced.append((tmp_path / "m.jsonl").read_bytes()))
    write(tmp_path / "m.jsonl", {"type": "train", "step": 1})
    assert synced == [(tmp_path / "m.jsonl").read_bytes()]
    assert b'"step": 1' in synced[0]
