"""What became of the terms of a glossary in many answers: how many are there, and which are missing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from jumok.decoding.results import TermUse

SHOWN = 5  # terms that are named


@dataclass(slots=True)
class TermTally:
    """Counts the terms of one answer after the other."""

    terms: int = 0
    missed: dict[str, int] = field(default_factory=dict)
    """`Rad → wheel or bike`: how often the answer did not have it."""

    def add(self, terms: Iterable[TermUse]) -> None:
        for term in terms:
            self.terms += 1
            if not term.present:
                name = f"{term.source} → {' or '.join(term.targets)}"
                self.missed[name] = self.missed.get(name, 0) + 1


def term_notes(terms: int, missed: Mapping[str, int]) -> Iterator[str]:
    """What people are told; nothing of a glossary that had no term."""
    if terms:
        yield f"{terms - sum(missed.values()):,} of {terms:,} terms of the glossary are there"
    if missed:
        often = sorted(missed.items(), key=lambda one: -one[1])[:SHOWN]
        more = f", and {len(missed) - SHOWN} more" if len(missed) > SHOWN else ""
        yield f"missed: {', '.join(f'{name} ({times})' for name, times in often)}{more}"
