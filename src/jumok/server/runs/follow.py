"""The events of a run as they are written."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from jumok.server.events import Event
from jumok.server.runs.tail import Tail

POLL_S = 0.25


async def follow(path: Path, offset: int = 0, *, poll_s: float = POLL_S) -> AsyncGenerator[Event]:
    """Each event of the file from a byte offset on, for ever; its id is the offset to go on from.

    A file that was cut or replaced gives an event `reset`, and is then told from its start.
    """
    tail, restarts = Tail(path, offset), 0
    while True:
        before = tail.offset
        lines = await asyncio.to_thread(tail.read)
        if tail.restarts != restarts:
            restarts = tail.restarts
            yield Event("reset", {}, "0")
        for line in lines:
            yield Event("message", line.event, str(line.end))
        if tail.offset == before:
            await asyncio.sleep(poll_s)
