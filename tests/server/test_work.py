"""How a route waits: turns, deadlines, refusals."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.requests import Request

from jumok.errors import ConfigError
from jumok.explain.ops import bad_parameter
from jumok.server.events import Event
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.services import Services, make_services
from jumok.server.settings import ServerSettings
from jumok.server.work import my_turn, refusal, streamed, wants_events, within, worked


def request_of(accept: str = "", client: str = "10.0.0.1") -> Request:
    async def receive() -> dict[str, str]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    headers = [(b"accept", accept.encode())] if accept else []
    return Request({"type": "http", "headers": headers, "client": (client, 1), "state": {}}, receive)


def services(**limits: float) -> Services:
    return make_services({}, ServerSettings(limits=Limits(**limits)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", (False, True)),
        ("*/*", (False, True)),
        ("application/json", (False, False)),
        ("text/event-stream", (True, True)),
        ("application/json, text/event-stream", (True, True)),
    ],
)
def test_who_gets_events(accept: str, expected: tuple[bool, bool]) -> None:
    request = request_of(accept)
    assert (wants_events(request, usual=False), wants_events(request, usual=True)) == expected


def test_one_turn_per_client_and_a_moment_of_patience() -> None:
    async def scene() -> None:
        here = services()
        first = await my_turn(request_of(), here)
        with await my_turn(request_of(client="10.0.0.2"), here):
            pass
        with pytest.raises(Problem) as error:
            await my_turn(request_of(), here)
        assert error.value.status_code == 429
        second = asyncio.ensure_future(my_turn(request_of(), here))
        await asyncio.sleep(0.05)
        first.close()
        with await second:
            assert here.turns._busy == {"10.0.0.1"}
        assert here.turns._busy == set()

    asyncio.run(scene())


def test_events_end_with_the_deadline_and_the_work_with_them() -> None:
    closed = []

    async def events() -> AsyncGenerator[Event]:
        try:
            yield Event("row", 1)
            await asyncio.sleep(60)
        finally:
            closed.append(True)

    async def scene() -> None:
        rows = within(events(), request_of(), services(deadline_s=0.1))
        assert (await anext(rows)).data == 1
        with pytest.raises(Problem, match="no answer within 0.1 seconds") as error:
            await anext(rows)
        assert (error.value.status_code, closed) == (504, [True])

    asyncio.run(scene())


def test_a_bad_parameter_is_said_whole_but_forced_ids_are_not() -> None:
    said = refusal(bad_parameter("kind: there is none", hint="it has cross", where="interventions[0]"))
    assert isinstance(said, Problem)
    assert (said.status_code, said.sentence) == (422, "interventions[0]: kind: there is none: it has cross")
    quoting = refusal(bad_parameter("force_prefix: ids: [5] spell 'GEHEIM'", hint="give the text"))
    assert isinstance(quoting, Problem)
    assert quoting.sentence == "give the text"
    other = ConfigError("no")
    assert refusal(other) is other


def test_refusals_reach_the_client_from_events_and_from_work() -> None:
    async def events() -> AsyncGenerator[Event]:
        raise bad_parameter("no")
        yield Event("row", 1)

    async def work() -> None:
        raise bad_parameter("no")

    async def scene() -> None:
        with pytest.raises(Problem, match="no"):
            await anext(within(events(), request_of(), services()))
        with pytest.raises(Problem, match="no"):
            await worked(request_of(), services(), work())

    asyncio.run(scene())


def test_a_stream_that_finds_no_place_leaves_the_turn_with_its_owner() -> None:
    async def events() -> AsyncGenerator[Event]:
        yield Event("row", 1)

    async def scene() -> None:
        here = services(streams=0)
        with await my_turn(request_of(), here) as turn:
            with pytest.raises(Problem, match="all 0 event streams are taken"):
                streamed(request_of(), here, events(), turn)
            assert here.turns._busy == {"10.0.0.1"}
        assert here.turns._busy == set()

    asyncio.run(scene())


def test_who_leaves_between_two_events_ends_the_work_at_once() -> None:
    closed = []

    async def events() -> AsyncGenerator[Event]:
        try:
            yield Event("row", 1)
            yield Event("row", 2)
        finally:
            closed.append(True)

    async def scene() -> None:
        source = events()
        rows = within(source, request_of(), services())
        await anext(rows)
        await rows.aclose()
        assert closed == [True]

    asyncio.run(scene())
