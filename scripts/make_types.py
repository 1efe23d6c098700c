"""Writes web/src/types.ts: the page's types of a trace, from the JSON Schema that comes with the package.

python scripts/make_types.py            (tests/test_types.py fails when the file is not fresh)
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "src" / "jumok" / "explain" / "schemas" / "trace-1.json"
TYPES = ROOT / "web" / "src" / "types.ts"
PLAIN = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}


def main() -> None:
    TYPES.write_text(types_of(json.loads(SCHEMA.read_text(encoding="utf-8"))), encoding="utf-8")


def types_of(schema: dict[str, Any]) -> str:
    """A TypeScript interface for the document and for each of its definitions."""
    parts = ["/** What a trace holds. Written by scripts/make_types.py from trace-1.json: do not edit. */"]
    for name, part in [*schema["$defs"].items(), (schema["title"], schema)]:
        parts.append(interface(name[0].upper() + name[1:], part))
    return "\n".join(parts)


def interface(name: str, part: dict[str, Any]) -> str:
    lines = [f"/** {part['description']} */"] if "description" in part else []
    lines.append(f"export interface {name} {{")
    for key, value in part.get("properties", {}).items():
        if "description" in value:
            lines.append(f"  /** {value['description']} */")
        optional = "" if key in part.get("required", ()) else "?"
        lines.append(f"  readonly {key}{optional}: {type_of(value)};")
    return "\n".join([*lines, "}", ""])


def type_of(part: dict[str, Any]) -> str:
    """The type of one value."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[1]
        return str(name[0].upper() + name[1:])
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return " | ".join(json.dumps(value) for value in part["enum"])
    if "anyOf" in part:
        return " | ".join(type_of(one) for one in part["anyOf"])
    kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
    return " | ".join(one_type(kind, part) for kind in kinds)


def one_type(kind: str, part: dict[str, Any]) -> str:
    if kind == "array":
        item = type_of(part["items"])
        if part.get("minItems") == part.get("maxItems") and "minItems" in part:
            return f"readonly [{', '.join([item] * part['minItems'])}]"
        return f"readonly ({item})[]" if "|" in item or item.startswith("readonly") else f"readonly {item}[]"
    if kind == "object":
        fields = (
            f"readonly {key}{'' if key in part.get('required', ()) else '?'}: {type_of(value)}"
            for key, value in part.get("properties", {}).items()
        )
        inside = "; ".join(fields)
        return f"{{ {inside} }}" if inside else "Readonly<Record<string, unknown>>"
    return PLAIN[kind]


if __name__ == "__main__":
    main()
