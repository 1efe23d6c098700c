"""A trace as a file, in the form that the file's name asks for."""

import csv
import io
import json
from pathlib import Path

from jumok.cli.shared.output import check_output, open_output
from jumok.cli.views.look import Looked
from jumok.cli.views.view import View, size_of
from jumok.errors import ConfigError
from jumok.explain.html import known, trace_html
from jumok.explain.trace import Trace

FORMS = {
    ".html": "a page that opens without a server",
    ".json": "the manifest",
    ".trace": "every number; jumok inspect --trace opens it",
    ".csv": "the table of the view",
}


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


def write_file(path: str, looked: Looked, view: View) -> str:
    """Write the file, whole or not at all, and say what it is."""
    match suffix := Path(path).suffix:
        case ".html":
            write(path, trace_html(looked.traces).encode())
        case ".json":
            plain = json.dumps(looked.trace.manifest, ensure_ascii=False, allow_nan=False, indent=1)
            write(path, plain.encode() + b"\n")
        case ".trace":
            keep(path, looked.trace)
        case _:
            write(path, csv_of(view))
    return f"{path}  {size_of(Path(path).stat().st_size)}  {FORMS[suffix]}"


def write(path: str, data: bytes) -> None:
    with open_output(path) as file:
        file.write(data)


def keep(path: str, trace: Trace) -> None:
    """Save a trace with everything that its views ask the model for."""
    known(trace.influence)
    known(trace.positions)
    known(trace.beam)
    trace.save(path)


def csv_of(view: View) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(view.table)
    return out.getvalue().encode()
