"""The interventions of a request: read, with the wrong field in the answer, and described for clients."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, cast

from jumok.errors import ConfigError
from jumok.explain import op_fields
from jumok.explain.op_fields import MOST, OneOf
from jumok.explain.ops import MOST_OPS, OPS, Op, readers
from jumok.server.gates.problems import Problem, bad_field, field_path

TOGETHER = {
    "bridge": "mode zero takes no text, mean and swap need one",
    "force_prefix": "give text or ids, and not both",
}
"""What the fields of an intervention must be together."""

WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": op_fields.LARGEST}
SEVERAL: dict[str, Any] = {"type": "array", "items": WHOLE, "minItems": 1, "maxItems": MOST}
TEXT: dict[str, Any] = {"type": "string", "maxLength": op_fields.LONGEST}
FORMS: Mapping[Callable[[Any], Any], dict[str, Any]] = {
    op_fields.read_side: {"enum": sorted(op_fields.WORDS)},
    op_fields.read_number: WHOLE,
    op_fields.read_shift: {
        "type": "integer",
        "minimum": -op_fields.FARTHEST,
        "maximum": op_fields.FARTHEST,
    },
    op_fields.read_numbers: {"anyOf": [WHOLE, SEVERAL]},
    op_fields.read_index: {"anyOf": [WHOLE, SEVERAL, {"const": "*"}]},
    op_fields.read_real: {"type": "number", "minimum": -1000, "maximum": 1000},
    op_fields.read_weights: {
        "type": "object",
        "description": "Weight by key position.",
        "propertyNames": {"pattern": "^[0-9]{1,9}$"},
        "additionalProperties": {"type": "number", "minimum": 0.001, "maximum": 1000},
        "minProperties": 1,
        "maxProperties": MOST,
    },
    op_fields.read_text: TEXT,
    op_fields.read_texts: {
        "type": "array",
        "items": {**TEXT, "minLength": 1},
        "minItems": 1,
        "maxItems": MOST,
    },
    op_fields.read_ids: {"type": "array", "items": WHOLE, "maxItems": MOST},
}
"""What each reader of a field takes, as JSON Schema."""


def ops_schema() -> dict[str, Any]:
    """The JSON Schema of a list of interventions."""
    return {
        "type": "array",
        "maxItems": MOST_OPS,
        "items": {"oneOf": [op_schema(one) for one in OPS.values()]},
    }


def op_schema(of: type[Op]) -> dict[str, Any]:
    properties = {
        name: {"enum": list(read.names)} if isinstance(read, OneOf) else FORMS[read]
        for name, read in readers(of).items()
    }
    required = ["op", *(one.name for one in known(of) if one.default is MISSING)]
    return {
        "type": "object",
        "title": of.op,
        "description": (of.__doc__ or "").strip(),
        "properties": {"op": {"const": of.op}, **properties},
        "required": required,
        "additionalProperties": False,
    }


def read_ops(given: Sequence[Mapping[str, Any]]) -> tuple[Op, ...]:
    """The interventions; 422 with the path of the field that is wrong, and never with what it held."""
    return tuple(read_op(one, n) for n, one in enumerate(given))


def read_op(given: Mapping[str, Any], n: int) -> Op:
    name = given.get("op")
    if not isinstance(name, str) or name not in OPS:
        raise wrong(n, "op", f"one of these is needed: {', '.join(sorted(OPS))}")
    of = OPS[name]
    values = {field: value for field, value in given.items() if field != "op"}
    reading = readers(of)
    for field in values:
        if field not in reading:
            raise wrong(n, field, f"unknown field: {name} has {', '.join(reading)}")
    for one in known(of):
        if one.name not in values:
            if one.default is MISSING:
                raise wrong(n, one.name, "field required")
            continue
        try:
            reading[one.name](values[one.name])
        except ValueError as error:
            raise wrong(n, one.name, str(error)) from None
    try:
        return of(**values)
    except ConfigError:
        raise wrong(n, "", TOGETHER[name]) from None


def known(of: type[Op]) -> tuple[Field[Any], ...]:
    return fields(cast(Any, of))


def wrong(n: int, field: str, reason: str) -> Problem:
    path = field_path(["body", "interventions", n, *([field] if field else [])])
    return bad_field(path, reason)
