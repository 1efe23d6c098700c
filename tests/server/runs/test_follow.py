"""A run's events as they are written: none twice, none missing, in any rhythm."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

from jumok.server.events import Event
from jumok.server.runs.follow import follow


async def take(count: int, path: Path, offset: int = 0) -> list[Event]:
    """The next events, which must come soon."""
    found: list[Event] = []
    async with asyncio.timeout(10), aclosing(follow(path, offset, poll_s=0.01)) as events:
        while len(found) < count:
            found.append(await anext(events))
    return found


def line(number: int, **more: Any) -> bytes:
    return json.dumps({"type": "train", "step": number, **more}).encode() + b"\n"


def test_events_carry_the_offset_to_go_on_from(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1) + b"garbage\n" + line(2))
    first, second = asyncio.run(take(2, path))
    assert (first.name, first.data) == ("message", {"type": "train", "step": 1})
    assert int(first.id) == len(line(1))
    assert int(second.id) == path.stat().st_size
    (again,) = asyncio.run(take(1, path, int(first.id)))
    assert again.data == second.data


def test_what_is_written_later_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"

    async def write_and_read() -> list[Any]:
        reading = asyncio.ensure_future(take(3, path))
        for piece in (line(1)[:7], line(1)[7:] + line(2), line(3)):
            await asyncio.sleep(0.05)
            with path.open("ab") as file:
                file.write(piece)
        return [event.data for event in await reading]

    assert [data["step"] for data in asyncio.run(write_and_read())] == [1, 2, 3]


def test_a_file_that_was_replaced_is_told_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1) + line(2) + line(3))

    async def replace_and_read() -> list[Event]:
        found = []
        async with asyncio.timeout(10), aclosing(follow(path, poll_s=0.01)) as events:
            found += [await anext(events) for _ in range(3)]
            path.write_bytes(line(7))
            found += [await anext(events) for _ in range(2)]
        return found

    *_, reset, fresh = asyncio.run(replace_and_read())
    assert (reset.name, reset.data, reset.id) == ("reset", {}, "0")
    assert fresh.data == {"type": "train", "step": 7}


def test_an_offset_behind_the_end_of_a_file_is_a_reset(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1))
    reset, first = asyncio.run(take(2, path, 5000))
    assert (reset.name, first.data) == ("reset", {"type": "train", "step": 1})


def test_events_are_one_line_of_json_each(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(line(1, text="a\nb\r\u2028<script>", loss=float("nan")))
    (event,) = asyncio.run(take(1, path))
    head, id, data, *rest = event.encode().decode().split("\n")
    assert (head, id) == ("event: message", f"id: {path.stat().st_size}")
    assert json.loads(data.removeprefix("data: "))["text"] == "a\nb\r\u2028<script>"
    assert rest == ["", ""]
