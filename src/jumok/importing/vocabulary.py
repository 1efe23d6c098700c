"""Another program's vocabulary in our order: which of its rows each of our tokens has.

Ours begins with four special tokens and 256 bytes. Where the other has no such token, a row of zeros stands
in its place and its logit is `NEVER`, so that all probabilities stay what they were. The token that its
decoder starts from becomes our `<s>`: a copy, and as such never written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jumok.errors import ModelError
from jumok.importing.stored import Made, Numbers, Rows, ready
from jumok.text.foreign_form import ForeignForm, Spelling, TextCut
from jumok.text.specials import BOS, BYTES, FIRST

FILLED = 256  # rows without a token that any table may have, to make its size a round number
NEVER = -1e4
"""The logit of a row that is no token: e to its power is 0 in float32, and float16 still has it."""


@dataclass(frozen=True, kw_only=True)
class ForeignVocabulary:
    """The tokens of another program by its own numbers, and how it cuts a text into them."""

    tokens: Sequence[str]
    controls: frozenset[int]
    """Numbers of tokens that no text has."""
    spelling: Spelling
    cuts: tuple[TextCut, ...]
    unknown: int | None
    name: str
    """The file that says so, for messages."""

    def number(self, token: str) -> int | None:
        """The number of a token."""
        return self.tokens.index(token) if token in self.tokens else None


@dataclass(frozen=True)
class SpecialPlaces:
    """Which of its numbers the other program gives to our special tokens; None: it has no such token."""

    start: int | None
    """None: it starts from a row of zeros."""
    pad: int | None
    end: int
    unknown: int | None


@dataclass(frozen=True)
class LaidVocabulary:
    """A vocabulary in our order."""

    form: ForeignForm
    rows: Rows
    """The row of each of our tokens there; -1: none."""
    never: Rows
    """Tokens of ours that are never written: copies, and rows of zeros."""

    def table(self, made: Made) -> Made:
        """A table of its tokens (V, D) in our order."""
        return made.rows(self.rows)

    def bias(self, made: Made | None) -> Made:
        """What is added to the logits (V,)."""
        if made is None:
            numbers = np.zeros(len(self.rows), dtype=np.float32)
            numbers[self.never] = NEVER
            return ready(numbers)

        def make() -> Numbers:
            numbers = made.rows(self.rows).make()
            numbers[self.never] = NEVER
            return numbers

        return Made((len(self.rows),), make)


def lay_vocabulary(theirs: ForeignVocabulary, places: SpecialPlaces, rows: int, where: str) -> LaidVocabulary:
    """Its tokens in our order; `rows` is how many its tables have, of which the last may have no token."""
    check_places(theirs, places, rows, where)
    byte_numbers = _bytes(theirs)
    special = {number for number in (places.pad, places.end, places.unknown) if number is not None}
    # A start that is nothing else becomes our <s> itself; else ours is a copy of it.
    copied = places.start is None or places.start in special or places.start not in theirs.controls
    placed = special | set(byte_numbers)
    if places.start is not None and not copied:
        placed.add(places.start)
    texts, controls = list[int](), list[int]()
    for number in range(rows):
        if number in placed:
            continue
        is_text = number < len(theirs.tokens) and number not in theirs.controls and theirs.tokens[number]
        (texts if is_text else controls).append(number)
    tags = [
        theirs.tokens[n] if n < len(theirs.tokens) and theirs.tokens[n] else f"<row {n}>" for n in controls
    ]
    none = [
        -1 if number is None else number for number in (places.start, places.pad, places.end, places.unknown)
    ]
    order = np.array([*none, *(byte_numbers or [-1] * len(BYTES)), *texts, *controls], dtype=np.int64)
    never = np.flatnonzero(order < 0)
    if copied:
        never = np.union1d(never, [BOS])
    form = ForeignForm(tuple(theirs.tokens[n] for n in texts), tuple(tags), theirs.spelling, theirs.cuts)
    assert len(order) == FIRST + len(texts) + len(controls)
    return LaidVocabulary(form, order, never.astype(np.int64))


def _bytes(theirs: ForeignVocabulary) -> list[int]:
    """The numbers of its byte tokens in order, if it has all 256."""
    if theirs.spelling == "bytes":
        return []
    known = {token: number for number, token in enumerate(theirs.tokens)}
    found = [known[name] for name in BYTES if name in known]
    return found if len(found) == len(BYTES) else []


def check_places(theirs: ForeignVocabulary, places: SpecialPlaces, rows: int, where: str) -> None:
    """Refuse a vocabulary that is not the model's."""
    if len(theirs.tokens) > rows:
        raise ModelError(
            f"{theirs.name} has {len(theirs.tokens):,} tokens, and the model {rows:,} rows for them",
            where=where,
            hint="the vocabulary is that of another model",
            code="tokenizer_mismatch",
        )
    for name in ("start", "pad", "end", "unknown"):
        number = getattr(places, name)
        if number is not None and not 0 <= number < rows:
            raise ModelError(
                f"the settings say that token {number} is the {name}, and the model has {rows:,} tokens",
                where=where,
                hint="the settings are those of another model",
                code="contradiction",
            )
    if len(theirs.tokens) + FILLED < rows and len(theirs.tokens) < 0.9 * rows:
        raise ModelError(
            f"{theirs.name} has {len(theirs.tokens):,} tokens, and the model {rows:,} rows for them",
            where=where,
            hint="the vocabulary is that of another model",
            code="tokenizer_mismatch",
        )
