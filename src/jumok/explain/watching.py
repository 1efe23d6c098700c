"""A model in torch that is watched: it looks up before every pass and every step."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from jumok.backends.torch import TorchBackend
from jumok.explain.watched import too_long
from jumok.models.interface import Memory, Prediction, Seq2Seq
from jumok.models.sentences import Sentences


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
