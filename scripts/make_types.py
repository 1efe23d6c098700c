"""Writes web/src/api-types.ts: the page's types of everything that the server sends and takes.

python scripts/make_types.py            (tests/test_types.py fails when the file is not fresh)

They come from docs/openapi.json, which scripts/make_openapi.py makes from the classes of the package.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "docs" / "openapi.json"
TYPES = ROOT / "web" / "src" / "api-types.ts"
PLAIN = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
HEAD = """/**
 * What the server sends and takes; docs/openapi.json says what each field means.
 * Written by scripts/make_types.py: do not edit.
 */
export type Arch = Card["arch"];
export type Kind = MaskHead["kind"];
"""
USED = """
BeamDocument Card CompareOut DocumentOut DocumentsOut EvalDocument EvalOut ForwardDocument FreeRunning
GradientsOut InfluenceOut Manifest MistakesDocument Neighbours PairsOut PositionRows ProbeOut RunDetails
RunEvent RunOut ScoreAnswer SegmentOut SegmentsOut SentencesAnswer SeriesOut StreamFinal StreamPartial
StreamStart SweepOut SweepRowOut TraceRequest TrainerOut TrainingOut TrainingStepOut TranslateAnswer
Votes WhatIfOut
"""
"""What the page asks for, sends and receives; with all that these refer to."""
OPEN = ("EvalBin", "RunEvent")
"""Types with more keys than are known by name, which the page reads: one for each metric."""


def main() -> None:
    TYPES.write_text(types_of(json.loads(SCHEMA.read_text(encoding="utf-8"))), encoding="utf-8")


def types_of(document: dict[str, Any]) -> str:
    """A TypeScript interface for each schema of an OpenAPI document that the page uses."""
    schemas, wanted, found = document["components"]["schemas"], USED.split(), set[str]()
    while wanted:
        if (name := wanted.pop()) not in found:
            found.add(name)
            wanted += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name]))
    return "\n".join([HEAD, *(interface(name, schemas[name]) for name in sorted(found))])


def interface(name: str, part: dict[str, Any]) -> str:
    lines = [f"/** {' '.join(part['description'].split())} */"] if "description" in part else []
    lines.append(f"export interface {name} {{")
    for key, value in part.get("properties", {}).items():
        optional = "" if key in part.get("required", ()) else "?"
        lines.append(f"  readonly {key}{optional}: {type_of(value)};")
    if name in OPEN:
        lines.append("  readonly [more: string]: unknown;")
    return "\n".join([*lines, "}", ""])


def type_of(part: dict[str, Any]) -> str:
    """The type of one value."""
    match part:
        case {"$ref": str(ref)}:
            return ref.rsplit("/", 1)[1]
        case {"const": value}:
            return json.dumps(value)
        case {"enum": values}:
            return " | ".join(map(json.dumps, values))
        case {"anyOf": several} | {"oneOf": several}:
            return " | ".join(dict.fromkeys(map(type_of, several)))
        case {"type": "array", "prefixItems": items}:
            return f"readonly [{', '.join(map(type_of, items))}]"
        case {"type": "array", "items": items}:
            item = type_of(items)
            return (
                f"readonly ({item})[]" if "|" in item or item.startswith("readonly") else f"readonly {item}[]"
            )
        case {"type": "object"}:
            return record(part)
        case {"type": str(kind)}:
            return PLAIN[kind]
    return "unknown"


def record(part: dict[str, Any]) -> str:
    """An object by its values: their names are known, or any text."""
    [values] = [*part.get("patternProperties", {}).values()] or [part.get("additionalProperties", True)]
    value = type_of(values) if isinstance(values, dict) else "unknown"
    if "propertyNames" in part:
        return f"{{ readonly [name in {type_of(part['propertyNames'])}]?: {value} }}"
    return f"Readonly<Record<string, {value}>>"


if __name__ == "__main__":
    main()
