"""What the fields of an intervention may hold.

What a field takes is said once, in its description: JSON Schema shows it, and so does the error of a value
that it does not take.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from jumok.edits import Kind

MOST = 128  # entries of one list
LARGEST = 2**31 - 1
LONGEST = 10_000  # characters of one text
FARTHEST = 10_000  # positions of one shift

Index = int | tuple[int, ...] | Literal["*"]
Side = Literal["source", "target"]
PositionMode = Literal["none", "shuffle", "shift"]
BridgeMode = Literal["zero", "mean", "swap"]


def as_list(value: object) -> object:
    return list(value) if isinstance(value, range) else value


def as_several(value: object) -> object:
    return as_list(value) if isinstance(value, list | tuple | range) else [value]


def in_order(values: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(values)))


def not_blank(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not all(text.strip() for text in texts):
        raise ValueError
    return texts


def side_meant(value: object) -> object:
    return {"encoder": "source", "decoder": "target"}.get(value, value) if isinstance(value, str) else value


def by_position(value: object) -> object:
    """Weights as a mapping or as pairs. In JSON a key is always a text."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or not all(map(is_weight, pairs)):
        raise ValueError
    return {int(key) if isinstance(key, str) else key: weight for key, weight in pairs}


def is_weight(pair: object) -> bool:
    match pair:
        case [str(key), _]:
            return key.isascii() and key.isdigit() and len(key) <= 10
        case [int(), _]:
            return True
    return False


def some_weight(weights: dict[int, float]) -> dict[int, float]:
    if sum(weights.values()) < 1e-6:
        raise ValueError
    return dict(sorted(weights.items()))


Whole = Annotated[int, Field(strict=True, ge=0, le=LARGEST, description="a whole number from 0 up")]
Several = Annotated[
    tuple[Whole, ...],
    Field(min_length=1, max_length=MOST),
    AfterValidator(in_order),
    BeforeValidator(as_list),
]
KindField = Annotated[Kind, Field(description=f"one of {', '.join(get_args(Kind))}")]
IndexField = Annotated[
    Whole | Several | Literal["*"],
    Field(description=f'a whole number from 0 up, a list of 1 to {MOST} of them or "*"'),
]
Numbers = Annotated[
    Several,
    BeforeValidator(as_several, json_schema_input_type=Whole | Several),
    Field(description=f"a whole number from 0 up, or a list of 1 to {MOST} of them"),
]
SideField = Annotated[
    Side,
    BeforeValidator(side_meant, json_schema_input_type=Literal["source", "target", "encoder", "decoder"]),
    Field(description="source or target (encoder or decoder)"),
]
Shift = Annotated[
    int,
    Field(
        strict=True,
        ge=-FARTHEST,
        le=FARTHEST,
        description=f"a whole number between -{FARTHEST} and {FARTHEST}",
    ),
]
Real = Annotated[float, Field(strict=True, ge=-1000, le=1000, description="a number between -1000 and 1000")]
Weights = Annotated[
    dict[Whole, Annotated[float, Field(strict=True, ge=0, le=1000)]],
    Field(
        min_length=1,
        max_length=MOST,
        description=f"weights from 0 to 1000, some above 0, for 1 to {MOST} positions, such as {{2: 1.0}}",
    ),
    AfterValidator(some_weight),
    BeforeValidator(
        by_position,
        json_schema_input_type=Annotated[
            dict[Annotated[str, Field(pattern="^[0-9]{1,9}$")], Annotated[float, Field(ge=0.001, le=1000)]],
            Field(min_length=1, max_length=MOST),
        ],
    ),
]
Text = Annotated[
    str, Field(strict=True, max_length=LONGEST, description=f"a text of at most {LONGEST:,} characters")
]
Texts = Annotated[
    tuple[Annotated[Text, Field(min_length=1)], ...],
    Field(min_length=1, max_length=MOST, description=f"a list of 1 to {MOST} texts, none of them blank"),
    AfterValidator(not_blank),
    BeforeValidator(as_several),
]
Ids = Annotated[
    tuple[Whole, ...],
    Field(max_length=MOST, description=f"a list of at most {MOST} ids"),
    BeforeValidator(as_list),
]
PositionField = Annotated[PositionMode, Field(description=f"one of {', '.join(get_args(PositionMode))}")]
BridgeField = Annotated[BridgeMode, Field(description=f"one of {', '.join(get_args(BridgeMode))}")]
