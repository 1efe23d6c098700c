"""The trace that `jumok inspect` shows: a saved one, a new one, or one with interventions; and its files."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.cli.shared.output import check_output, open_output
from jumok.cli.views.op_words import place, read_ops
from jumok.cli.views.view import View, columns, size_of
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError
from jumok.explain.html import known, trace_html
from jumok.explain.trace import Trace, make_trace, open_trace
from jumok.explain.what_if import WhatIf, what_if

FORMS = {
    ".html": "a page that opens without a server",
    ".json": "the manifest",
    ".trace": "every number; jumok inspect --trace opens it",
    ".csv": "the table of the view",
}


@dataclass(frozen=True)
class Inspection:
    """The trace to show; with interventions it is the edited one, and `change` also has the other."""

    trace: Trace
    change: WhatIf | None = None


def inspect_file(path: Path) -> Inspection:
    return Inspection(open_trace(path))


def inspect_text(
    model: Path,
    text: str,
    *,
    target: str | None = None,
    what_if: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Inspection:
    """A new trace of a text and its translation, or the target given; `options` are those of the search."""
    translator = load(model, engine="torch")
    if not what_if:
        return Inspection(make_trace(translator, text, target=target, options=options or {}))
    found = edited(translator, text, what_if, options or {})
    return Inspection(found.edited_trace, found)


def edited(translator: Translator, text: str, words: Sequence[str], options: Mapping[str, Any]) -> WhatIf:
    """The what-if of these words; an error names them instead of the number of an intervention."""
    ops = read_ops(words, translator.config.model.attention)
    try:
        return what_if(translator, text, ops, **options)
    except ConfigError as error:
        if not (number := re.fullmatch(r"interventions\[(\d+)\]", error.where)):
            raise
        where = place(words[int(number[1])])
        if re.search(r"position|unit|word", error.message):
            where += " (this message counts from 0)"
        raise ConfigError(error.message, where=where, hint=error.hint, code=error.code) from None


def with_change(view: View, change: WhatIf, words: Sequence[str]) -> View:
    """A view of the edited trace, with both answers in front of it."""
    interventions = change.edited_trace.manifest["interventions"]
    before, after = change.baseline, change.edited
    rows = [("what if" if n == 0 else "", one, "") for n, one in enumerate(words)]
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


def write_file(path: str, found: Inspection, view: View) -> str:
    """Write the file, whole or not at all, in the form that its name asks for; say what it is."""
    suffix, trace = Path(path).suffix, found.trace
    if suffix == ".trace":
        for part in (trace.influence, trace.positions, trace.beam):
            known(part)  # what the page would ask the model for is saved, too
        trace.save(path)
    else:
        with open_output(path) as file:
            file.write(content(suffix, found, view).encode())
    return f"{path}  {size_of(Path(path).stat().st_size)}  {FORMS[suffix]}"


def content(suffix: str, found: Inspection, view: View) -> str:
    if suffix == ".html":
        return trace_html([found.trace, *([found.change.baseline_trace] if found.change else [])])
    if suffix == ".json":
        return json.dumps(found.trace.manifest, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(view.table)
    return table.getvalue()
