"""A translator that someone watches: whoever no longer needs its work can end it between two passes."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from torch import Tensor

from jumok.backends.torch import TorchBackend
from jumok.decoding.translator import Translator
from jumok.errors import LimitError
from jumok.models.interface import Memory, Prediction, Seq2Seq
from jumok.models.sentences import Sentences

T = TypeVar("T", bound=Translator)


class Watched(Seq2Seq):
    """`model` that calls `look` before every pass and every step, and takes so many tokens at the most.

    `look` ends the work by raising. Tokens are those of the source, and of a target that is given: a search
    may write more.
    """

    def __init__(self, model: Seq2Seq, look: Callable[[], None], tokens: int) -> None:
        super().__init__()
        self.model, self.look, self.tokens, self.ops = model, look, tokens, model.ops
        self.training = model.training

    def encode(self, source: Sentences) -> Memory:
        self.check("source", source.longest)
        return self.model.encode(source)

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        self.check("target", target_in.longest)
        return self.model.decode(target_in, memory)

    def start(self, memory: Memory) -> Any:
        return self.model.start(memory)

    def step(self, token: Tensor, state: Any) -> tuple[Tensor, Any]:
        self.look()
        return self.model.step(token, state)

    def using(self, ops: TorchBackend) -> "Watched":
        other = super().using(ops)
        other.model = self.model.using(ops)
        return other

    def position_rows(self, count: int) -> Tensor | None:
        return self.model.position_rows(count)

    def check(self, side: Literal["source", "target"], count: int) -> None:
        """Look, and refuse more tokens than are taken."""
        self.look()
        if count > self.tokens:
            raise too_long(side, count, self.tokens)

    def release(self) -> None:
        """Nobody looks any more; what was made with this model goes on to work."""
        self.look = unseen


@contextmanager
def watched(translator: T, look: Callable[[], None], tokens: int) -> Iterator[T]:
    """The translator under watch while the block lasts. Traces made with it stay usable afterwards."""
    model = Watched(translator.model, look, tokens)
    other = copy.copy(translator)
    other.model = model
    try:
        yield other
    finally:
        model.release()


def too_long(side: str, count: int, most: int) -> LimitError:
    return LimitError(
        f"the {side} has {count:,} tokens, its end included, and {most:,} x {most:,} are the most",
        hint="give a shorter text",
        code="too_long",
    )


def unseen() -> None:
    """Nobody looks."""
