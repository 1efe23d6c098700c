"""Models loaded again: the new one takes over, the old one finishes, and a bad one changes nothing."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.decoding.conftest import TINY, untrained
from tests.server.conftest import Serve, WorkerGate, wait_until

from jumok.decoding.translator import Translator, load
from jumok.server.reload import LoadModel, Reloader, terminals
from jumok.server.services import Services
from jumok.server.settings import ModelNotes, ServerSettings

STAYS = "  the model from before goes on answering"


def other() -> tuple[Translator, ModelNotes]:
    """A model that is not the one that is served."""
    return Translator(untrained(TINY["transformer"])), ModelNotes(load_s=2.5)


def missing() -> tuple[Translator, ModelNotes]:
    return load(Path("no/such/folder")), ModelNotes()


def broken() -> tuple[Translator, ModelNotes]:
    model = Translator(untrained(TINY["rnn"]))
    with torch.no_grad():
        for parameter in model.model.parameters():
            parameter.fill_(torch.nan)
    return model, ModelNotes()


def crash() -> tuple[Translator, ModelNotes]:
    raise RuntimeError("no memory is left")


def reload(services: Services, load: LoadModel) -> str:
    """What is said about one reload of `rnn`."""
    said: list[str] = []
    reloader = Reloader(services, {"rnn": load}, said.append)
    asyncio.run(reloader.reload("rnn", load))
    [line] = said
    return line


@pytest.fixture
def services(tiny_models: dict[str, Translator]) -> Any:
    made = Services({name: tiny_models[name] for name in ("rnn", "luong")}, ServerSettings())
    yield made
    made.close()


def test_the_new_model_takes_over_under_its_name_and_place(services: Services) -> None:
    old = services.models["rnn"]
    assert reload(services, other).startswith("reload     rnn: now ")
    assert list(services.models) == ["rnn", "luong"]
    assert services.models["rnn"].translator.config.model.arch == "transformer"
    assert services.model(None).name == "rnn"
    metrics = services.metrics
    assert metrics.value("jumok_model_info", **services.models["rnn"].labels) == 1
    assert 'arch="rnn"' not in metrics.render()
    assert metrics.value("jumok_model_load_duration_seconds", model="rnn") == 2.5
    wait_until(lambda: old.worker._thread is None)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (missing, "there is no folder no/such/folder|no/such/folder"),
        (broken, "the self-test of rnn failed"),
        (crash, "RuntimeError"),
    ],
)
def test_a_model_that_cannot_be_loaded_leaves_the_old_one(
    services: Services, load: LoadModel, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    old = services.models["rnn"]
    said = reload(services, load)
    assert said.startswith("reload     rnn: ")
    assert any(words in said for words in reason.split("|"))
    assert said.endswith(STAYS)
    assert services.models["rnn"] is old
    assert old.worker.alive
    assert ("no memory is left" in caplog.text) == (load is crash)


def test_a_request_that_the_old_model_has_is_answered_by_it(serve: Serve) -> None:
    """It waits in the old model's batch while the new one answers others."""
    body = {"model": "rnn", "texts": ["a man"], "beam": 1, "min_len": 4, "max_len": 4}
    with serve() as running, running.client() as client, ThreadPoolExecutor(1) as pool:
        before = client.post("/v1/translate", json=body).json()["results"]
        old = running.services.models["rnn"]
        with WorkerGate(old.worker) as gate:
            waiting = pool.submit(client.post, "/v1/translate", json=body)
            wait_until(lambda: old.worker.busy)
            assert reload(running.services, other).startswith("reload     rnn: now ")
            after = client.post("/v1/translate", json=body).json()["results"]
            assert client.get("/v1/models/rnn").json()["arch"] == "transformer"
            gate.open()
            assert waiting.result().json()["results"] == before != after
        wait_until(lambda: old.worker._thread is None)


def test_asked_again_while_it_loads_it_loads_once_more(services: Services) -> None:
    said: list[str] = []
    calls = 0

    async def ask() -> None:
        nonlocal calls

        def load() -> tuple[Translator, ModelNotes]:
            nonlocal calls
            calls += 1
            if calls == 1:
                for _ in range(3):
                    loop.call_soon_threadsafe(reloader.ask)
            return other()

        loop = asyncio.get_running_loop()
        reloader = Reloader(services, {"rnn": load}, said.append)
        reloader.ask()
        while reloader._task is None or not reloader._task.done():
            await asyncio.sleep(0.005)

    asyncio.run(ask())
    assert calls == len(said) == 2


def test_a_server_that_stops_loads_nothing(services: Services) -> None:
    async def ask() -> None:
        reloader = Reloader(services, {"rnn": crash}, pytest.fail)
        services.draining = True
        reloader.ask()
        assert reloader._task is not None
        await reloader._task

    asyncio.run(ask())


def test_a_terminal_that_was_closed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    file = os.open(os.devnull, os.O_RDONLY)
    monkeypatch.setattr("jumok.server.reload.STREAMS", (theirs, file))
    assert terminals() == {theirs}
    os.close(ours)
    assert terminals() == frozenset()
    os.close(theirs)
    os.close(file)
