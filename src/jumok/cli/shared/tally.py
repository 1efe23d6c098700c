"""What is said after many answers: how fast they came, how often a memory had something, which terms lack."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumok.decoding.results import Translation

SHOWN = 5  # terms that are named


class AnswerTally:
    """Counts while answers are written; tells in the end."""

    def __init__(self) -> None:
        self.count, self.tokens = 0, 0
        self.reused, self.similar = 0, 0
        self.terms, self.missed = 0, Counter[str]()

    def add(self, answer: "Translation") -> None:
        self.count += 1
        self.tokens += len(answer.tokens)
        self.reused += any(match.used for match in answer.matches)
        self.similar += any(not match.used for match in answer.matches)
        self.terms += len(answer.terms)
        for term in answer.terms:
            if not term.present:
                self.missed[f"{term.source} → {' or '.join(term.targets)}"] += 1

    def notes(self, *, memory: bool) -> Iterator[str]:
        """What people are told; nothing of a glossary that had no term."""
        if memory:
            similar = f"similar entries for {self.similar:,} (--json shows them)"
            yield f"memory: reused in {self.reused:,} lines; {similar}"
        if self.terms:
            yield f"{self.terms - self.missed.total():,} of {self.terms:,} terms of the glossary are there"
        if self.missed:
            some = ", ".join(f"{name} ({times})" for name, times in self.missed.most_common(SHOWN))
            more = len(self.missed) - SHOWN
            yield f"missed: {some}{f', and {more} more' if more > 0 else ''}"

    def summary(self, seconds: float, engine: dict[str, str]) -> str:
        """What was done, how quickly, and by what."""
        speed = f"{self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        return f"{self.count:,} lines · {seconds:.1f} s · {speed} · {' '.join(engine.values())}"
