"""What is said after many answers: how fast they came, how often a memory had something, which terms lack."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jumok.decoding.term_tally import TermTally, term_notes
from jumok.progress import counted

if TYPE_CHECKING:
    from jumok.decoding.results import Translation


class AnswerTally:
    """Counts while answers are written; tells in the end."""

    def __init__(self) -> None:
        self.count, self.tokens = 0, 0
        self.reused, self.similar = 0, 0
        self.terms = TermTally()

    def add(self, answer: "Translation") -> None:
        self.count += 1
        self.tokens += len(answer.tokens)
        self.reused += any(match.used for match in answer.matches)
        self.similar += any(not match.used for match in answer.matches)
        self.terms.add(answer.terms)

    def notes(self, *, memory: bool) -> Iterator[str]:
        """What people are told."""
        if memory:
            similar = f"similar entries for {self.similar:,} (--json shows them)"
            yield f"memory: reused in {counted(self.reused, 'line')}; {similar}"
        yield from term_notes(self.terms.terms, self.terms.missed)

    def summary(self, seconds: float, engine: dict[str, str]) -> str:
        """What was done, how quickly, and by what."""
        speed = f"{self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        return f"{counted(self.count, 'line')} · {seconds:.1f} s · {speed} · {' '.join(engine.values())}"
