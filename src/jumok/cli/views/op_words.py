"""Interventions in the words of the command line.

mask_head kind=cross layer=2 head=1        as the terminal counts: from 1
{"op": "mask_head", "kind": "cross", …}    the JSON of Python and HTTP, which count from 0
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from jumok.backends.values import Kind
from jumok.errors import ConfigError, nearest
from jumok.explain.ops import OPS, HeadOp, Op, bad_parameter, brief, parse_ops

EXAMPLE = "write it like 'mask_head kind=cross layer=2 head=1', or as a JSON object"

Sizes = Mapping[Kind, tuple[int, int]]
"""Layers and heads of each kind of attention."""


def read_ops(words: Sequence[str], sizes: Sizes) -> tuple[Op, ...]:
    """The interventions of a model with these sizes; an error says which of the words it is about."""
    return tuple(read_op(text, sizes) for text in words)


def read_op(text: str, sizes: Sizes) -> Op:
    """One intervention, in either form."""
    as_json = text.lstrip().startswith("{")
    try:
        [op] = parse_ops([read_json(text) if as_json else read_words(text)])
        if not as_json and isinstance(op, get_args(HeadOp)):
            check_heads(op, sizes)
    except ConfigError as error:
        raise bad_parameter(error.message, where=place(text), hint=error.hint) from None
    return op


def place(text: str) -> str:
    return f"--what-if {brief(text)}"


def read_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_parameter(f"this is no JSON: {error}", hint=EXAMPLE) from None


def read_words(text: str) -> dict[str, Any]:
    """`op field=value …` as JSON has it; a field that comes twice is a list."""
    try:
        name, *rest = shlex.split(text) or [""]
    except ValueError as error:
        raise bad_parameter(f"cannot read this: {error}") from None
    if name not in OPS:
        raise bad_parameter(f"unknown op {name!r}", hint=nearest(name, OPS) if name else EXAMPLE)
    fields: dict[str, Any] = {"op": name}
    for word in rest:
        field, equals, value = word.partition("=")
        if not equals:
            raise bad_parameter(f"{name}: {word!r} is no field=value", hint=EXAMPLE)
        try:
            read = READERS.get(field, str)(value)
        except ValueError as error:
            raise bad_parameter(f"{name}: {field}={value}: {error}") from None
        if field in fields:
            before = fields[field] if isinstance(fields[field], list) else [fields[field]]
            read = [*before, read]
        fields[field] = read
    return fields


def counted(text: str) -> int:
    """A number that the terminal counts from 1, as Python counts it."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) < 2**31):
        raise ValueError("this counts from 1 here")
    return int(text) - 1


def several(text: str) -> int | list[int]:
    """One such number, or several with commas between."""
    numbers = [counted(word) for word in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


def index(text: str) -> int | list[int] | str:
    """A layer or a head, several, or `*` for all."""
    return text if text == "*" else several(text)


def number(text: str, kind: type[int] | type[float] = int) -> float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"this is no {'whole ' if kind is int else ''}number") from None


def weights(text: str) -> list[list[float]]:
    """`3:1,4:0.5`: weights by the number of the key."""
    pairs = [word.partition(":") for word in text.split(",")]
    if not all(colon for _, colon, _ in pairs):
        raise ValueError("write key:weight, such as 3:1,4:0.5")
    return [[counted(key), number(weight, float)] for key, _, weight in pairs]


READERS: Mapping[str, Callable[[str], Any]] = {
    "layer": index,
    "head": index,
    "q": several,
    "k": several,
    "unit": counted,
    "weights": weights,
    "factor": lambda text: number(text, float),
    "seed": number,
    "by": number,
    "ids": lambda text: [number(word) for word in text.split(",")],
}


def check_heads(op: HeadOp, sizes: Sizes) -> None:
    """Layers and heads that are not there, counted from 1 as they were given."""
    if op.kind not in sizes:
        return  # the model itself says so
    for name, given, count in zip(("layer", "head"), (op.layer, op.head), sizes[op.kind], strict=True):
        numbers = [] if given == "*" else [given] if isinstance(given, int) else [*map(int, given)]
        for index in numbers:
            if index >= count:
                raise bad_parameter(
                    f"{op.op}: {name} {index + 1} does not exist: {op.kind} has {count} {name}"
                    f"{'s' * (count > 1)}",
                    hint="only 1" if count == 1 else f"choose a number from 1 to {count}, or *",
                )
