"""A translator that someone watches: whoever no longer needs its work can end it between two passes."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from jumok.decoding.engines import NativeEngine
from jumok.decoding.translator import Translator
from jumok.errors import LimitError

if TYPE_CHECKING:
    from jumok.models.interface import Seq2Seq

T = TypeVar("T", bound=Translator)


@contextmanager
def watched(translator: T, look: Callable[[], None], tokens: int) -> Iterator[T]:
    """The translator under watch while the block lasts. Traces made with it stay usable afterwards."""
    other, looks = copy.copy(translator), [look]

    def check(side: str, count: int) -> None:
        for one in looks:
            one()
        if count > tokens:
            raise too_long(side, count, tokens)

    def wrap(model: "Seq2Seq") -> "Seq2Seq":
        from jumok.explain.watching import Watched

        return Watched(model, looks, tokens)

    engine = translator._engine
    if isinstance(engine, NativeEngine) and engine.sees:
        other._engine = engine.watched(check, wrap)
    else:
        other.model = wrap(translator.model)
    try:
        yield other
    finally:
        looks.clear()


def too_long(side: str, count: int, most: int) -> LimitError:
    return LimitError(
        f"the {side} has {count:,} tokens, its end included, and {most:,} x {most:,} are the most",
        hint="give a shorter text",
        code="too_long",
    )
