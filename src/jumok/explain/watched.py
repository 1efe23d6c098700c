"""A translator that someone watches: whoever no longer needs its work can end it between two passes."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torch import Tensor

from jumok.backends.torch import TorchBackend
from jumok.decoding.translator import Translator
from jumok.errors import LimitError
from jumok.models.interface import Memory, Prediction, Seq2Seq
from jumok.models.sentences import Sentences

T = TypeVar("T", bound=Translator)


class Watched(Seq2Seq):
    """`model` that calls all `looks` before every pass and every step, and takes so many tokens at the most.

    A look ends the work by raising. Tokens are those of the source, and of a target that is given: a search
    may write more. Copies on other back ends share the list, so one that is emptied ends the watch for all.
    """

    def __init__(self, model: Seq2Seq, looks: list[Callable[[], None]], tokens: int) -> None:
        super().__init__()
        self.model, self.looks, self.tokens, self.ops = model, looks, tokens, model.ops
        self.start, self.position_rows = model.start, model.position_rows  # type: ignore[method-assign]
        self.training = model.training

    def encode(self, source: Sentences) -> Memory:
        self.look("source", source.longest)
        return self.model.encode(source)

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        self.look("target", target_in.longest)
        return self.model.decode(target_in, memory)

    def step(self, token: Tensor, state: Any) -> tuple[Tensor, Any]:
        self.look("target", 0)
        return self.model.step(token, state)

    def using(self, ops: TorchBackend) -> "Watched":
        return Watched(self.model.using(ops), self.looks, self.tokens)

    def look(self, side: str, count: int) -> None:
        """Refuse more tokens than are taken."""
        for look in self.looks:
            look()
        if count > self.tokens:
            raise too_long(side, count, self.tokens)


@contextmanager
def watched(translator: T, look: Callable[[], None], tokens: int) -> Iterator[T]:
    """The translator under watch while the block lasts. Traces made with it stay usable afterwards."""
    other, looks = copy.copy(translator), [look]
    other.model = Watched(translator.model, looks, tokens)
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
