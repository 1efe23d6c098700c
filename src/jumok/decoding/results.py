"""What a translator answers: frozen values that need no torch to be read."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from math import fsum
from typing import Any


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer, or its end."""

    text: str
    id: int
    logprob: float


class JsonResult:
    """What can be written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # every result is a dataclass

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True, repr=False)
class Hypothesis(JsonResult):
    """One answer with the model's own score of it.

    `tokens` holds everything that was scored, the end included: their log-probabilities sum to `score`.
    """

    text: str
    score: float
    score_per_token: float
    tokens: tuple[Token, ...]
    finished: bool
    """The model ended the answer; False where the length limit did."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shorten(self.text)}, score={self.score:.2f})"


@dataclass(frozen=True, slots=True, repr=False)
class Translation(Hypothesis):
    """The best answer for one source text, and the others that were asked for."""

    source: str = ""
    alternatives: tuple[Hypothesis, ...] = ()
    """The second best answer and so on, when `n_best` is above 1."""

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All answers, best first."""
        return (self, *self.alternatives)


@dataclass(frozen=True, slots=True, repr=False)
class Score(JsonResult):
    """How probable the model finds a given translation. `tokens` and `score` include its end."""

    source: str
    target: str
    score: float
    score_per_token: float
    tokens: tuple[Token, ...]

    def __repr__(self) -> str:
        return f"Score({shorten(self.target)}, score={self.score:.2f})"


def shorten(text: str, length: int = 60) -> str:
    """A text in quotes, with its end cut off if it is long."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def sum_up(tokens: Sequence[Token]) -> tuple[float, float]:
    """The sum of the log-probabilities, and their mean."""
    score = fsum(token.logprob for token in tokens)
    return score, score / max(len(tokens), 1)


def join(source: str, parts: Sequence[Sequence[Hypothesis]]) -> Translation:
    """The translation of a source from the hypotheses of its parts, best first; no parts, no text."""
    count = max(map(len, parts), default=1)
    whole = [join_hypotheses([part[min(n, len(part) - 1)] for part in parts]) for n in range(count)]
    best, others = whole[0], tuple(whole[1:])
    return Translation(
        best.text, best.score, best.score_per_token, best.tokens, best.finished, source, others
    )


def join_hypotheses(parts: Sequence[Hypothesis]) -> Hypothesis:
    """Hypotheses one after the other, with a space between."""
    if len(parts) == 1:
        return parts[0]
    tokens = tuple(chain.from_iterable(part.tokens for part in parts))
    text = " ".join(part.text for part in parts if part.text)
    return Hypothesis(text, *sum_up(tokens), tokens, all(part.finished for part in parts))
