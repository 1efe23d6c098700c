"""The trace that `jumok inspect` shows: a saved one, a new one, or one with interventions; and its files.

Interventions are read in the words of the command line:

mask_head kind=cross layer=2 head=1        as the terminal counts: from 1
{"op": "mask_head", "kind": "cross", …}    the JSON of Python and HTTP, which count from 0
"""

import csv
import io
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from jumok.cli.shared.console import to_json
from jumok.cli.shared.output import check_output, open_output
from jumok.cli.views.view import View, columns, size_of
from jumok.decoding.translator import load
from jumok.edits import Kind
from jumok.errors import ConfigError, nearest
from jumok.explain.html import known, trace_html
from jumok.explain.ops import OPS, HeadOp, Op, bad_parameter, brief, parse_ops
from jumok.explain.trace import Trace, make_trace
from jumok.explain.what_if import WhatIf, what_if

FORMS = {
    ".html": "a page that opens without a server",
    ".json": "the manifest",
    ".trace": "every number; jumok inspect --trace opens it",
    ".csv": "the table of the view",
}
COUNTED = {"q", "k", "unit", "weights"}
"""Fields of interventions that are numbers of tokens or words: from 1 here, from 0 in Python."""


@dataclass(frozen=True)
class Inspection:
    """The trace to show; with interventions it is the edited one, and `change` also has the other."""

    trace: Trace
    change: WhatIf | None = None


def inspect_text(
    model: Path, text: str, target: str | None = None, words: Sequence[str] = (), **options: Any
) -> Inspection:
    """A new trace of a text and its translation, or the target given; `options` are those of the search.

    With `words` it is that of a what-if. An error names them instead of the number of an intervention.
    """
    translator = load(model)
    if not words:
        return Inspection(make_trace(translator, text, target=target, options=options))
    ops = read_ops(words, translator.config.model.attention)
    try:
        change = what_if(translator, text, ops, **options)
        return Inspection(change.edited_trace, change)
    except ConfigError as error:
        match (error.field or "").split("."):
            case ["interventions", number, *name]:
                counts = " (this message counts from 0)" if {*name} & COUNTED else ""
                where = place(words[int(number)]) + counts
                raise ConfigError(error.message, where=where, hint=error.hint, code=error.code) from None
        raise


def with_change(view: View, change: WhatIf, words: Sequence[str]) -> View:
    """A view of the edited trace, with both answers in front of it."""
    interventions = change.edited_trace.manifest["interventions"]
    before, after = change.baseline, change.edited
    rows = [("what if" if n == 0 else "", word, "") for n, word in enumerate(words)]
    rows += [
        ("as it is", before.text, f"log p {before.score:z.4f}"),
        ("edited", after.text, f"log p {after.score:z.4f}"),
    ]
    plain = {"what_if": {**change.to_dict(), "interventions": interventions}, **view.plain}
    return View(plain, f"{columns(rows)}\n\n{view.text}", after.text, view.table)


def check_file(path: str) -> None:
    """Refuse a name that says no form, or a place that cannot be written to, before the work begins."""
    suffix = Path(path).suffix
    if suffix not in FORMS:
        said = f"{suffix!r} is no form of a trace" if suffix else "the name says no form"
        raise ConfigError(
            f"-o {path}: {said}",
            hint="end it with " + ", ".join(f"{name} ({what})" for name, what in FORMS.items()),
        )
    check_output(path)


def write_file(path: str, inspection: Inspection, view: View) -> str:
    """Write the file, whole or not at all, in the form that its name asks for; say what it is."""
    suffix, trace = Path(path).suffix, inspection.trace
    if suffix == ".trace":
        for part in (trace.influence, trace.positions, trace.beam):
            known(part)  # what the page would ask the model for is saved, too
        trace.save(path)
    else:
        text = io.StringIO()
        if suffix == ".html":
            text.write(
                trace_html([trace, *([inspection.change.baseline_trace] if inspection.change else [])])
            )
        elif suffix == ".json":
            text.write(to_json(trace.manifest, indent=1) + "\n")
        else:
            csv.writer(text, lineterminator="\n").writerows(view.table)
        with open_output(path) as file:
            file.write(text.getvalue().encode())
    return f"{path}  {size_of(Path(path).stat().st_size)}  {FORMS[suffix]}"


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
