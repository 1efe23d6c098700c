"""A growing file, read in any rhythm: every whole line once, in order, whatever happens to the file."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.server.runs.tail import LONGEST, Tail, parse_event, plain, read_small

KEYS = st.text(max_size=5).filter(lambda key: key != "seal")  # with that key a line is held to its hash
EVENTS = st.lists(
    st.dictionaries(KEYS, st.none() | st.booleans() | st.integers() | st.text(max_size=8)),
    max_size=12,
)


def as_lines(events: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def events_of(tail: Tail) -> list[dict[str, object]]:
    return [line.event for line in tail.read()]


@settings(max_examples=40)
@given(events=EVENTS, data=st.data())
def test_a_file_written_in_any_chunks_gives_each_event_once(
    events: list[dict[str, object]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, content = tmp_path_factory.mktemp("tail") / "m", as_lines(events)
    path.touch()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    tail, seen = Tail(path), []
    for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        with path.open("ab") as file:
            file.write(content[start:end])
        seen += events_of(tail)
    assert seen == events
    assert (tail.offset, tail.restarts) == (len(content), 0)


@settings(max_examples=40)
@given(events=EVENTS, data=st.data())
def test_a_reader_that_was_away_goes_on_at_its_offset(
    events: list[dict[str, object]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tail") / "m"
    path.write_bytes(as_lines(events))
    lines = Tail(path).read()
    away = data.draw(st.integers(0, len(lines)))
    offset = lines[away - 1].end if away else 0
    assert events_of(Tail(path, offset)) == events[away:]


@settings(max_examples=40)
@given(before=EVENTS, after=EVENTS, partial=st.binary(max_size=5))
def test_a_cut_file_is_read_from_its_start(
    before: list[dict[str, object]],
    after: list[dict[str, object]],
    partial: bytes,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("tail") / "m"
    path.write_bytes(as_lines([*before, {"long": "x" * 400}]))
    tail = Tail(path)
    tail.read()
    content = as_lines(after)
    if len(content) >= tail.offset:
        return
    path.write_bytes(content + partial.replace(b"\n", b""))
    assert events_of(tail) == after
    assert tail.restarts == 1


def test_another_file_in_its_place_is_read_from_its_start(tmp_path: Path) -> None:
    path, other = tmp_path / "m", tmp_path / "n"
    path.write_bytes(as_lines([{"a": 1}]))
    tail = Tail(path)
    assert events_of(tail) == [{"a": 1}]
    other.write_bytes(as_lines([{"b": 1}, {"b": 2}]))
    os.replace(other, path)
    assert events_of(tail) == [{"b": 1}, {"b": 2}]
    assert tail.restarts == 1


def test_a_file_that_was_cut_and_has_grown_beyond_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(as_lines([{"a": 1}]))
    tail = Tail(path)
    tail.read()
    path.write_bytes(as_lines([{"other": "and longer"}]))
    assert events_of(tail) == [{"other": "and longer"}]


@pytest.mark.parametrize("offset", [3, 10_000, -5])
def test_an_offset_that_is_no_line_s_start_begins_again(tmp_path: Path, offset: int) -> None:
    (tmp_path / "m").write_bytes(as_lines([{"a": 1}, {"a": 2}]))
    assert events_of(Tail(tmp_path / "m", offset)) == [{"a": 1}, {"a": 2}]


def test_the_last_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(b'{"a": 1}\n{"a": 2}')
    tail = Tail(path)
    assert events_of(tail) == [{"a": 1}]
    assert tail.offset == 9
    with path.open("ab") as file:
        file.write(b"\n")
    assert events_of(tail) == [{"a": 2}]


def test_garbage_and_lines_that_are_too_long_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "m"
    huge = b'{"a": "' + b"x" * (3 * LONGEST) + b'"}\n'
    path.write_bytes(
        b"\x00\xff\xfe{\r\n[1]\n" + huge + b'{"a": 1}\r\n{"a": 2\n' + b"[" * 100_000 + b'\n{"b": 1}\n'
    )
    tail = Tail(path)
    seen = []
    for _ in range(4):
        seen += events_of(tail)
    assert seen == [{"a": 1}, {"b": 1}]
    assert tail.offset == path.stat().st_size


def test_a_line_that_is_too_long_is_waited_for_without_reading_it_again(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"x" * (2 * LONGEST))
    tail = Tail(path)
    assert tail.read() == []
    assert (tail.offset, tail._searched) == (0, 2 * LONGEST)
    with path.open("ab") as file:
        file.write(b'x\n{"a": 1}\n')
    assert events_of(tail) == [{"a": 1}]


def test_much_is_read_in_portions(tmp_path: Path) -> None:
    events: list[dict[str, object]] = [{"n": n, "text": "x" * 1000} for n in range(3000)]
    (tmp_path / "m").write_bytes(as_lines(events))
    tail, seen = Tail(tmp_path / "m"), []
    while portion := [line.event for line in tail.read(limit=LONGEST)]:
        assert len(portion) < len(events)
        seen += portion
    assert seen == events


def test_what_is_no_plain_file_has_no_lines(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert [Tail(path).read() for path in (tmp_path, tmp_path / "none", tmp_path / "pipe")] == [[], [], []]
    assert read_small(tmp_path / "pipe", 10) is None


def test_events_can_always_be_written_as_json_again() -> None:
    line = b'{"nan": NaN, "inf": 1e999, "half": "\\ud800!", "\\udfff": [1, true, null], "big": 1%s}' % (
        b"0" * 400
    )
    event = parse_event(line)
    assert event == {"nan": None, "inf": None, "half": "?!", "?": [1, True, None], "big": None}
    assert json.dumps(event, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize(
    "line", [b"", b"3", b'"text"', b"[" * 50 + b"]" * 50, b'{"a":' * 40 + b"1" + b"}" * 40]
)
def test_what_is_no_flat_object_is_no_event(line: bytes) -> None:
    assert parse_event(line) is None


def test_sixteen_lists_inside_each_other_are_read_and_no_more() -> None:
    value: object = 1
    for _ in range(16):
        value = [value]
    assert plain(value) == value
    with pytest.raises(ValueError, match="too many lists and objects"):
        plain([value])


def test_odd_values_become_text() -> None:
    assert plain({1: Path("a")}) == {"1": "a"}


def test_small_files_are_read_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert read_small(tmp_path / "f", 5) == b"12345"
    assert read_small(tmp_path / "f", 4) is None


@pytest.mark.parametrize("length", range(8, 45))
def test_a_line_of_any_length_beyond_the_longest_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """Also where its end is the first character of what is read at once."""
    monkeypatch.setattr("jumok.server.runs.tail.LONGEST", 10)
    (tmp_path / "m").write_bytes(b'{"a": 1}\n' + b"x" * length + b'\n{"a": 2}\n{"a": 3}\n')
    tail = Tail(tmp_path / "m")
    assert events_of(tail) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert tail.restarts == 0
