"""What the fields of an intervention may hold: one reader for each sort of value.

A reader takes what JSON or a Python caller gave and returns the one form that is kept, or raises a ValueError
that ends a sentence about the field: "must be …".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from jumok.models.interface import Kind

MOST = 128  # entries of one list
LARGEST = 2**31 - 1
LONGEST = 10_000  # characters of one text
FARTHEST = 10_000  # positions of one shift

Index = int | tuple[int, ...] | Literal["*"]
Side = Literal["source", "target"]
WORDS: Mapping[str, Side] = {
    "source": "source",
    "target": "target",
    "encoder": "source",
    "decoder": "target",
}


@dataclass(frozen=True)
class OneOf:
    """Reads one word of a few."""

    names: tuple[str, ...]

    def __call__(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.names:
            raise ValueError(f"must be one of {', '.join(self.names)}")
        return value


def read_side(value: object) -> Side:
    if not isinstance(value, str) or value not in WORDS:
        raise ValueError("must be source or target (encoder or decoder)")
    return WORDS[value]


def read_number(value: object) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise ValueError("must be a whole number from 0 up")
    return value


def read_shift(value: object) -> int:
    """How many places on, or back where it is below 0."""
    if type(value) is not int or not -FARTHEST <= value <= FARTHEST:
        raise ValueError(f"must be a whole number between -{FARTHEST} and {FARTHEST}")
    return value


def read_numbers(value: object) -> tuple[int, ...]:
    """One number or several: each once, in order."""
    given = list(value) if isinstance(value, list | tuple | range) else [value]
    if not 0 < len(given) <= MOST:
        raise ValueError(f"must have 1 to {MOST} entries")
    try:
        return tuple(sorted({read_number(one) for one in given}))
    except ValueError:
        raise ValueError("must be a whole number from 0 up, or a list of them") from None


def read_index(value: object) -> Index:
    """A layer or a head: a number, several, or all of them."""
    if isinstance(value, str) and value == "*":
        return "*"
    if isinstance(value, list | tuple | range):
        return read_numbers(value)
    try:
        return read_number(value)
    except ValueError:
        raise ValueError('must be a whole number from 0 up, a list of them or "*"') from None


def read_real(value: object) -> float:
    """A number that is finite in every precision a model computes in."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1000:
        raise ValueError("must be a number between -1000 and 1000")
    return float(value)


def read_weights(value: object) -> tuple[tuple[int, float], ...]:
    """Weights by key position, as a mapping or as pairs. In JSON a key is always a text."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or not 0 < len(pairs) <= MOST:
        raise ValueError(f"must give weights to 1 to {MOST} positions, such as {{2: 1.0}}")
    found: dict[int, float] = {}
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError("must give a weight to each position, such as {2: 1.0}")
        key, weight = pair
        digits = isinstance(key, str) and key.isascii() and key.isdigit() and len(key) <= 10
        found[read_number(int(key) if digits else key)] = read_real(weight)
    if min(found.values()) < 0 or sum(found.values()) < 1e-6:
        raise ValueError("must have no weight below 0, and some above")
    return tuple(sorted(found.items()))


def read_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ValueError(f"must be a text of at most {LONGEST:,} characters")
    return value


def read_texts(value: object) -> tuple[str, ...]:
    given: object = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not 0 < len(given) <= MOST:
        raise ValueError(f"must be a list of 1 to {MOST} texts")
    texts = tuple(map(read_text, given))
    if not all(text.strip() for text in texts):
        raise ValueError("must have no blank text")
    return texts


def read_ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MOST:
        raise ValueError(f"must be a list of at most {MOST} ids")
    return tuple(map(read_number, value))


KindField = Annotated[Kind, OneOf(get_args(Kind))]
IndexField = Annotated[Index, read_index]
SideField = Annotated[Side, read_side]
Number = Annotated[int, read_number]
Shift = Annotated[int, read_shift]
Numbers = Annotated[tuple[int, ...], read_numbers]
Real = Annotated[float, read_real]
Weights = Annotated[tuple[tuple[int, float], ...], read_weights]
Text = Annotated[str, read_text]
Texts = Annotated[tuple[str, ...], read_texts]
Ids = Annotated[tuple[int, ...], read_ids]
