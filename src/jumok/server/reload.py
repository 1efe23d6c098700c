"""Models loaded again while they are served: the new one takes over when it is ready, or not at all."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from jumok.decoding.translator import Translator
from jumok.decoding.translator import load as load_model
from jumok.errors import Error
from jumok.server.gates.problems import Problem
from jumok.server.pages.health import try_model
from jumok.server.services import ServedModel, Services
from jumok.server.settings import ModelNotes

log = logging.getLogger("jumok.server")

LoadModel = Callable[[], tuple[Translator, ModelNotes]]
STREAMS = (0, 1, 2)


async def tried(services: Services, name: str, load: LoadModel) -> ServedModel:
    """A model loaded and made ready to be served; one that cannot write a token is a Problem."""
    translator, about = await asyncio.to_thread(load)
    served = await asyncio.to_thread(services.make, name, translator, about)
    try:
        await try_model(served, services)
    except Problem:
        served.worker.retire()
        raise
    return served


async def bring_in(services: Services, name: str, folder: Path) -> None:
    """Serve the model of a run that was trained here."""
    load = services.settings.load or load_plainly
    services.add(await tried(services, name, partial(load, folder)))


def load_plainly(folder: Path) -> tuple[Translator, ModelNotes]:
    return load_model(folder), ModelNotes()


class Reloader:
    """Loads each model again when it is asked to. It belongs to the event loop; loading has a thread."""

    def __init__(
        self, services: Services, loads: Mapping[str, LoadModel], say: Callable[[str], None]
    ) -> None:
        self.services, self.loads, self.say = services, loads, say
        self._asked = False
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """Load all models again; while that goes on, once more after it."""
        self._asked = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._asked and not self.services.draining:
            self._asked = False
            for name, load in self.loads.items():
                await self.reload(name, load)

    async def reload(self, name: str, load: LoadModel) -> None:
        """Load one model, try it, and let it take over; if anything is wrong with it, the old one stays."""
        began = time.monotonic()
        try:
            served = await tried(self.services, name, load)
        except (Error, Problem) as error:
            reason = error.sentence if isinstance(error, Problem) else str(error)
            self.say(f"reload     {name}: {reason}\n  the model from before goes on answering")
        except Exception as error:  # whatever it is, requests must not notice it
            log.exception("the reload of %s failed", name)
            self.say(f"reload     {name}: {type(error).__name__}\n  the model from before goes on answering")
        else:
            self.services.replace(served)
            seconds = time.monotonic() - began
            self.say(f"reload     {name}: now {served.fingerprint[:16] or 'loaded'}, in {seconds:.1f} s")


def terminals() -> frozenset[int]:
    """Which of the standard streams are a terminal that is still there."""
    return frozenset(stream for stream in STREAMS if os.isatty(stream))
