"""What became of the segments of a document: how many were translated, and which ones to look at."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from jumok.decoding.results import TermUse, WordDoubt
from jumok.decoding.term_tally import TermTally, term_notes
from jumok.formats.segments import MarkedText, Segment
from jumok.progress import counted

Outcome = Literal["translated", "present", "skipped"]
"""Translated now; translated in the document already; nothing to translate, or marked so."""
MOST_DOUBTS = 1000
"""Doubtful segments that a report names; all are counted."""


@dataclass(frozen=True, slots=True)
class SegmentAnswer:
    """What became of one segment."""

    outcome: Outcome
    target: MarkedText | None = None
    """What is written in its place; None leaves it as it was."""
    doubts: tuple[str, ...] = ()
    """Why someone should look at it."""
    words: tuple[WordDoubt, ...] = ()
    """The words of the target that a person would rather change."""
    terms: tuple[TermUse, ...] = ()
    """Terms of the glossary that the source has."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """All that speaks for a look at it, in words."""
        if self.target is None or not self.words:
            return self.doubts
        return (*self.doubts, would_change([self.target.text[slice(*word.text)] for word in self.words]))


def would_change(words: Sequence[str]) -> str:
    """The doubt about words of a translation."""
    return f"a person would probably change {', '.join(map(repr, dict.fromkeys(words)))}"


@dataclass(frozen=True, slots=True)
class DoubtfulSegment:
    """A segment that someone should look at."""

    where: str
    source: str
    target: str
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class DocumentReport:
    """What became of a document."""

    source: str
    target: str
    format: str
    translated: int = 0
    present: int = 0
    """Translated in the document already, and left alone."""
    skipped: int = 0
    """Nothing to translate: numbers, code, addresses."""
    resumed: int = 0
    """Of all segments, those that an interrupted job had done before."""
    doubtful: int = 0
    doubts: tuple[DoubtfulSegment, ...] = ()
    """The first of them, in the order of the document."""
    terms: int = 0
    """Terms of the glossary in the segments translated now."""
    missed: dict[str, int] = field(default_factory=dict)
    """Those of them that a translation does not have, and how often."""

    @property
    def segments(self) -> int:
        """All segments of the document."""
        return self.translated + self.present + self.skipped

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"segments": self.segments, **asdict(self)}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def summary(self, most: int = MOST_DOUBTS) -> str:
        """A line with the numbers, one for each doubtful segment, `most` of them, and those about terms."""
        counts = [f"{counted(self.translated, 'segment')} translated"]
        counts += [f"{self.present:,} already there"] if self.present else []
        counts += [f"{self.skipped:,} with nothing to translate"] if self.skipped else []
        counts += [f"{self.doubtful:,} to look at"] if self.doubtful else []
        counts += [f"{self.resumed:,} of them done before"] if self.resumed else []
        lines = [" · ".join(counts)]
        lines += [f"  {one.where}: {'; '.join(one.doubts)}" for one in self.doubts[:most]]
        if (more := self.doubtful - min(most, len(self.doubts))) > 0:
            lines.append(f"  … and {more:,} more")
        return "\n".join([*lines, *term_notes(self.terms, self.missed)])


@dataclass(slots=True)
class ReportCounts:
    """A report while its document is translated."""

    translated: int = 0
    present: int = 0
    skipped: int = 0
    doubtful: int = 0
    doubts: list[DoubtfulSegment] = field(default_factory=list)
    terms: TermTally = field(default_factory=TermTally)

    def add(self, segment: Segment, answer: SegmentAnswer) -> None:
        """One more segment."""
        setattr(self, answer.outcome, getattr(self, answer.outcome) + 1)
        self.terms.add(answer.terms)
        if reasons := answer.reasons:
            self.doubtful += 1
            if len(self.doubts) < MOST_DOUBTS:
                target = answer.target.text if answer.target else ""
                self.doubts.append(DoubtfulSegment(segment.where, segment.source.text, target, reasons))

    def report(self, source: str, target: str, format: str, resumed: int) -> DocumentReport:
        """The report of a whole document."""
        counts = self.translated, self.present, self.skipped, resumed, self.doubtful
        terms = self.terms.terms, dict(self.terms.missed)
        return DocumentReport(source, target, format, *counts, tuple(self.doubts), *terms)
