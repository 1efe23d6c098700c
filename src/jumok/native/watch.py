"""Following a search in the C library: what is best after each step, and how much of it is sure."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_double, c_int32, c_void_p
from typing import Any

from jumok.answers import Follow, Lead


class CLead(ctypes.Structure):
    """How far a search has come."""

    _fields_ = (
        *((name, c_int32) for name in ("count", "stable", "live")),
        ("ids", POINTER(c_int32)),
        ("score", c_double),
    )


STEP = CFUNCTYPE(c_int32, c_void_p, POINTER(CLead))


class CWatch(ctypes.Structure):
    """Who is told."""

    _fields_ = (("step", STEP), ("who", c_void_p), ("any", c_int32))


class Watch:
    """`follow` as the library takes it; it is called in the thread that searches.

    `chosen`: whoever asked chooses among all answers in the end, so only what they share is stable, and the
    last lead, that of the chosen one, is theirs to tell.
    """

    def __init__(self, follow: Follow, *, chosen: bool = False) -> None:
        raised: list[BaseException] = []

        def step(_: Any, told: Any) -> int:
            lead = told.contents
            try:
                if lead.live or not chosen:
                    follow(Lead(tuple(lead.ids[: lead.count]), lead.score, lead.stable))
            except BaseException as error:  # the library cannot hand it on
                raised.append(error)
            return len(raised)

        self.c = CWatch(STEP(step), None, chosen)
        self._raised = raised

    def end(self) -> None:
        """After the search: raise what `follow` raised."""
        if self._raised:
            raise self._raised.pop()
