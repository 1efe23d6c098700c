"""The trace that `jumok inspect` shows: a saved one, a new one, or one with interventions; and its files."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.cli.shared.console import to_json
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
COUNTED = {"q", "k", "unit", "weights"}
"""Fields of interventions that are numbers of tokens or words: from 1 here, from 0 in Python."""


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
    change = edited(translator, text, what_if, options or {})
    return Inspection(change.edited_trace, change)


def edited(translator: Translator, text: str, words: Sequence[str], options: Mapping[str, Any]) -> WhatIf:
    """The what-if of these words; an error names them instead of the number of an intervention."""
    ops = read_ops(words, translator.config.model.attention)
    try:
        return what_if(translator, text, ops, **options)
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
        with open_output(path) as file:
            file.write(content(suffix, inspection, view).encode())
    return f"{path}  {size_of(Path(path).stat().st_size)}  {FORMS[suffix]}"


def content(suffix: str, inspection: Inspection, view: View) -> str:
    if suffix == ".html":
        return trace_html(
            [inspection.trace, *([inspection.change.baseline_trace] if inspection.change else [])]
        )
    if suffix == ".json":
        return to_json(inspection.trace.manifest, indent=1) + "\n"
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(view.table)
    return table.getvalue()
