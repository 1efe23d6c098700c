"""What handlers share: names of models, places, turns, and work that ends with its client."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.explain.seeing import picture, seeing

from jumok.decoding.translator import Translator
from jumok.errors import DataError
from jumok.images.read import data_of_url
from jumok.server.analysis import CancelFlag
from jumok.server.gates.limits import Limits
from jumok.server.gates.middleware import RequestId
from jumok.server.gates.problems import Problem
from jumok.server.services import Pace, ServedModel, Services, StreamPlaces, Turns, answer_in_time
from jumok.server.settings import ModelNotes, ServerSettings
from jumok.text.frame import Direction


@pytest.fixture
def services(tiny_models: dict[str, Translator]) -> Services:
    notes = ModelNotes(load_s=1.5, aliases=("demo/rnn", "luong"))
    settings = ServerSettings(limits=Limits(deadline_s=0.2), about={"rnn": notes})
    return Services(tiny_models, settings)


def request_with(*messages: str, began: float | None = None) -> Any:
    """A request whose client sends these messages and then is silent."""
    left = list(messages)

    async def receive() -> dict[str, str]:
        if left:
            return {"type": left.pop(0)}
        await asyncio.sleep(60)
        return {}

    state = SimpleNamespace(began=time.monotonic() if began is None else began)
    return SimpleNamespace(receive=receive, state=state)


def test_models_by_name(services: Services) -> None:
    assert services.model(None).name == "rnn"
    assert services.model("luong").translator.config.model.arch == "luong"
    with pytest.raises(Problem, match="did you mean 'luong'?"):
        services.model("lung")
    with pytest.raises(Problem, match="did you mean 'demo/rnn'?"):
        services.model("demo/rnnn")
    with pytest.raises(Problem, match="known: luong, rnn, transformer"):
        services.model("nix")
    assert services.model("demo/rnn").name == "rnn"
    assert services.model("luong").name == "luong"  # a name comes before an alias
    with pytest.raises(Problem, match="no model is loaded"):
        Services({}, ServerSettings()).model(None)
    for empty, name in ((Services({}, ServerSettings()), "rnn"), (services, "nix")):
        with pytest.raises(Problem) as found:
            empty.model(name)
        assert (found.value.status_code, found.value.code) == (404, "unknown_model")
    assert services.metrics.value("jumok_model_load_duration_seconds", model="rnn") == 1.5


def test_work_gives_its_result(services: Services) -> None:
    async def work() -> int:
        return 7

    assert asyncio.run(answer_in_time(request_with(), services, work())) == 7


@pytest.mark.parametrize(
    ("messages", "status", "code"),
    [((), 504, "deadline"), (("http.request", "http.disconnect"), 400, "gone")],
)
def test_work_ends_with_its_deadline_or_its_client(
    services: Services, messages: tuple[str, ...], status: int, code: str
) -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    with pytest.raises(Problem) as found:
        asyncio.run(answer_in_time(request_with(*messages), services, work()))
    assert (found.value.status_code, found.value.code) == (status, code)
    assert ended == [True]


def test_an_error_of_the_work_passes_through(services: Services) -> None:
    async def work() -> None:
        raise Problem(422, "bad_parameter", "no")

    with pytest.raises(Problem, match="no"):
        asyncio.run(answer_in_time(request_with(), services, work()))


def test_analyses_run_beside(services: Services) -> None:
    def add(flag: CancelFlag, a: int, b: int) -> int:
        return a + b

    assert asyncio.run(services.analyst.run(add, 1, 2)) == 3
    services.close()


def test_places_are_limited_and_given_back() -> None:
    places = StreamPlaces(2)
    with places.take(), places.take():
        with pytest.raises(Problem, match="all 2 event streams are taken") as found, places.take():
            pass
        assert found.value.headers == {"Retry-After": "1"}
    assert places.taken == 0
    with places.take():
        assert places.taken == 1


def test_one_turn_for_each_client_and_a_moment_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = (cast("Any", SimpleNamespace(client=SimpleNamespace(host=host))) for host in ("a", "b"))

    async def scene() -> None:
        turns = Turns()
        first = await turns.take(here)
        with await turns.take(there):
            pass
        monkeypatch.setattr("jumok.server.services.PATIENCE_S", 0.02)
        with pytest.raises(Problem, match="an analysis of yours is still running") as error:
            await turns.take(here)
        assert error.value.status_code == 429
        monkeypatch.setattr("jumok.server.services.PATIENCE_S", 120)
        second = asyncio.ensure_future(turns.take(here))
        await asyncio.sleep(0.05)
        assert not second.done()
        first.close()
        with await second:
            assert turns._busy == {"a"}
        assert turns._busy == set()

    asyncio.run(scene())


def test_no_client_can_have_a_file_opened(tmp_path: Path) -> None:
    model = seeing("rnn")
    file = tmp_path / "a.png"
    file.write_bytes(data_of_url(picture()))
    services = Services({"seer": model}, ServerSettings())
    try:
        assert model.translate(str(file)).text == model.translate(picture()).text
        served = services.model("seer").translator
        assert served.translate(picture()).text == model.translate(picture()).text
        with pytest.raises(DataError, match="this model reads pictures, and the text is none"):
            served.translate(str(file))
    finally:
        services.close()


@pytest.mark.parametrize(
    ("path", "waits"), [("/v1/translate", True), ("/translate", True), ("/v1/documents/1/events", False)]
)
def test_documents_give_way_from_the_first_byte_to_the_last(
    services: Services, path: str, *, waits: bool
) -> None:
    seen = list[bool]()

    async def app(*_: Any) -> None:
        seen.append(services._someone_waits())

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(RequestId(app, services)(scope, cast(Any, None), cast(Any, None)))
    assert seen == [waits]
    assert not services._someone_waits()


def test_metrics_call_a_model_by_the_first_sixteen_letters_of_its_fingerprint() -> None:
    info = {"fingerprint": "0123456789abcdef" * 4}
    translator: Any = SimpleNamespace(info=info, config=SimpleNamespace(model=SimpleNamespace(arch="rnn")))
    served = ServedModel("small", translator, cast(Any, None), ModelNotes())
    assert served.labels == {"model": "small", "arch": "rnn", "fingerprint": "0123456789abcdef"}


def seen_of(services: Services, name: str) -> float:
    return services.metrics.value("jumok_model_info", model=name, arch="rnn", fingerprint="")


def test_of_the_models_trained_here_the_oldest_goes(tiny_models: dict[str, Translator]) -> None:
    """Those that were named at the start stay."""
    settings = ServerSettings(limits=Limits(trained_models=2))
    services = Services({"rnn": tiny_models["rnn"]}, settings)
    try:
        for name in ("one", "two", "three"):
            services.add(services.make(name, tiny_models["rnn"], ModelNotes(load_s=0.5)))
            if name == "two":
                assert list(services.models) == ["rnn", "one", "two"]
        assert list(services.models) == ["rnn", "two", "three"]
        assert [seen_of(services, name) for name in ("rnn", "one", "two", "three")] == [1, 0, 1, 1]
        assert services.metrics.value("jumok_model_load_duration_seconds", model="three") == 0.5
        assert 'jumok_queue_length{model="three"} 0.0' in services.metrics.render()
        assert {"two", "three"} <= services.tested
        assert "rnn" not in services.tested
    finally:
        services.close()


def test_a_model_that_is_replaced_keeps_its_place_and_is_told_once(
    tiny_models: dict[str, Translator],
) -> None:
    services = Services({name: tiny_models[name] for name in ("rnn", "luong")}, ServerSettings())
    try:
        old = services.models["rnn"]
        new = services.make("rnn", tiny_models["transformer"], ModelNotes())
        services.replace(new)
        assert list(services.models.values()) == [new, services.models["luong"]]
        assert services.model(None) is new
        assert seen_of(services, "rnn") == 0
        info = {"model": "rnn", "arch": "transformer", "fingerprint": ""}
        assert services.metrics.value("jumok_model_info", **info) == 1
        assert (old.worker._retired, new.worker._retired) == (True, False)
    finally:
        services.close()


@pytest.mark.parametrize(
    ("pairs", "source", "target"),
    [
        ([("en", "ko")], "en", "ko"),
        ([("", "")], "und", "und"),
        ([("en", "ko"), ("en", "de")], "en", "mul"),
        ([("en", "ko"), ("de", "ko")], "mul", "ko"),
        ([("en", "ko"), ("", "ko")], "mul", "ko"),
    ],
)
def test_a_model_of_several_languages_is_called_so(
    pairs: list[tuple[str, str]], source: str, target: str
) -> None:
    directions = tuple(Direction(*pair) for pair in pairs)
    tokenizers = SimpleNamespace(direction=Direction("", ""))
    translator: Any = SimpleNamespace(tokenizers=tokenizers, directions=directions)
    served = ServedModel("one", translator, cast(Any, None), ModelNotes())
    assert (served.source, served.target, served.directions) == (source, target, directions)
    tokenizers.direction = Direction("fr", "it")  # the one that was chosen
    assert (served.source, served.target) == ("fr", "it")
    tokenizers.direction = Direction("fr", "")
    assert served.directions == directions


def test_a_model_faces_a_direction_as_another_or_as_itself(services: Services) -> None:
    served = services.model("rnn")
    assert served.facing(None, None) is served
    turned: Any = SimpleNamespace()
    own: Any = SimpleNamespace(
        towards=lambda to, source: (turned, turned.__dict__.update(asked=(to, source)))[0]
    )
    facing = replace(served, translator=own).facing("ko", None)
    assert (facing.translator, facing.name, facing.worker) == (turned, "rnn", served.worker)
    assert turned.asked == ("ko", "")


def client_of(host: str) -> Any:
    return SimpleNamespace(client=SimpleNamespace(host=host))


def test_a_client_that_is_too_quick_is_told_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two in a minute: the third waits until a minute has passed since the first."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("jumok.server.services.time", SimpleNamespace(monotonic=lambda: clock.now))
    pace = Pace(2)
    for now, seconds in (
        (1000.0, None),
        (1010.0, None),
        (1020.0, 41),
        (1059.5, 1),
        (1060.0, None),
        (1061.0, 10),
    ):
        clock.now = now
        if seconds is None:
            pace.take(client_of("a"))
        else:
            with pytest.raises(Problem) as refused:
                pace.take(client_of("a"))
            assert refused.value.code == "too_often"
            assert refused.value.sentence == "2 corrections a minute are taken from one client"
            assert refused.value.headers == {"Retry-After": str(seconds)}
            pace.take(client_of(f"someone else at {clock.now}"))


def test_of_many_clients_those_that_came_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.server.services.MOST_CLIENTS", 2)
    pace = Pace(2)
    for host in ("a", "b", "a", "c"):  # b is forgotten
        pace.take(client_of(host))
    pace.take(client_of("c"))
    for host in ("c", "a"):
        with pytest.raises(Problem, match="429"):
            pace.take(client_of(host))
    pace.take(client_of("b"))
    pace.take(client_of("b"))
