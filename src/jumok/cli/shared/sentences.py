"""Whether the lines of a file are sentences or hold several: looked at before the work begins."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jumok.decoding.translator import Translator

LOOKED_AT = 1000  # lines at the beginning
FEW = 0.1  # share of lines with several sentences that a file of sentences may have


@dataclass(frozen=True)
class SentenceLook:
    """What the first lines of a file are like, and how they are taken."""

    lines: int
    several: int
    """Lines with more than one sentence."""
    sentences: Literal["split", "as-is"]
    reason: str = ""
    """Why a model takes several sentences at once."""

    told: bool = True
    """Whether it is worth a line: not for a model that does something else than to translate."""

    def __str__(self) -> str:
        lines = f"of the first {self.lines:,} lines"
        if not self.several:
            return f"sentences: one in {f'each {lines}' if self.lines > 1 else 'the only line'}"
        found = f"sentences: several in {f'{self.several:,} {lines}' if self.lines > 1 else 'the only line'}"
        if self.sentences == "split":
            return f"{found}; each is translated by itself (--sentences as-is: each line)"
        if self.reason:
            return f"{found}; each line is taken whole: {self.reason} (--sentences split: each sentence)"
        return f"{found}; each line is taken whole (--sentences split: each sentence)"


def look_at(lines: Iterable[str], model: "Translator") -> tuple[SentenceLook, Iterator[str]]:
    """How the lines are to be taken, and the lines.

    A file of sentences stays so: as-is, if no more of its lines have several than is usual for the model.
    """
    from jumok.decoding.parts import NO_TRANSLATION, trained_several
    from jumok.text.sentences import count_sentences

    rest = iter(lines)
    first = list(islice(rest, LOOKED_AT))
    full = [line for line in first if line.strip()]
    several = sum(count_sentences(line, model.config.data.source_language) > 1 for line in full)
    usual, habit = trained_several(model.info) or 0.0, model.sentence_habit
    many = several > max(FEW, 1.5 * usual) * len(full)
    reason = "" if habit.split else habit.reason
    taken: Literal["split", "as-is"] = "split" if habit.split and many else "as-is"
    told = bool(full) and reason != NO_TRANSLATION
    return SentenceLook(len(full), several, taken, reason, told), chain(first, rest)
