"""What a translator answers: frozen values that need no torch to be read."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of an answer, or its end."""

    text: str
    id: int
    logprob: float


@dataclass(frozen=True, slots=True, repr=False)
class Hypothesis:
    """One answer with the model's own score of it.

    `tokens` holds everything that was scored, the end included: their log-probabilities sum to `score`.
    """

    text: str
    score: float
    score_per_token: float
    tokens: tuple[Token, ...]
    finished: bool
    """The model ended the answer; False where the length limit did."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

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
class Score:
    """How probable the model finds a given translation. `tokens` and `score` include its end."""

    source: str
    target: str
    score: float
    score_per_token: float
    tokens: tuple[Token, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        return f"Score({shorten(self.target)}, score={self.score:.2f})"


def shorten(text: str, length: int = 60) -> str:
    """A text in quotes, with its end cut off if it is long."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")
