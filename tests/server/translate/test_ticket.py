"""A place in the batch: what it costs, when it has begun, and who hears of its end."""

import asyncio
import math
from typing import Any

from jumok.decoding.translator import Translator
from jumok.server.gates.limits import Limits
from jumok.server.translate.order import make_order
from jumok.server.translate.ticket import Ticket


def ticket_for(translator: Translator, loop: asyncio.AbstractEventLoop, **more: Any) -> Ticket:
    order = make_order(translator, ["a man"], {"beam": 2, "max_len": 5}, Limits())
    return Ticket(order, math.inf, loop, loop.create_future(), **more)


def test_a_search_that_is_followed_costs_no_room(tiny_models: dict[str, Translator]) -> None:
    loop = asyncio.new_event_loop()
    ticket = ticket_for(tiny_models["rnn"], loop)
    [job] = ticket.order.costs
    assert ticket.cost(job) == ticket.order.cost == 2 * (2 + 1 + 5)
    ticket.follows = True
    assert ticket.cost(job) == 0
    loop.close()


def test_it_has_begun_with_the_first_of_its_jobs(tiny_models: dict[str, Translator]) -> None:
    loop = asyncio.new_event_loop()
    ticket = ticket_for(tiny_models["rnn"], loop)
    [job] = ticket.order.costs
    assert not ticket.begun
    ticket.running[job] = None
    assert ticket.begun
    del ticket.running[job]
    ticket.found[job] = []
    assert ticket.begun
    loop.close()


def test_who_waits_hears_the_first_end_and_no_other(tiny_models: dict[str, Translator]) -> None:
    async def scene() -> tuple[object, object]:
        loop = asyncio.get_running_loop()
        well, badly = (ticket_for(tiny_models["rnn"], loop) for _ in range(2))
        well.settle([])
        well.settle(ValueError("late"))
        badly.settle(LookupError("no row"))
        return await asyncio.gather(well.done, badly.done, return_exceptions=True)

    answers, error = asyncio.run(scene())
    assert answers == []
    assert str(error) == "no row"


def test_when_the_loop_has_ended_nobody_waits(tiny_models: dict[str, Translator]) -> None:
    loop = asyncio.new_event_loop()
    ticket = ticket_for(tiny_models["rnn"], loop)
    loop.close()
    ticket.settle([])
    assert ticket.gone
