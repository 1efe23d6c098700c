"""`jumok translate` of whole documents: which inputs are documents, and what is said about them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jumok.cli.shared.console import progress_display, say, to_json
from jumok.cli.shared.memory import memory_for
from jumok.cli.shared.options import check_drawing
from jumok.errors import ConfigError
from jumok.formats.known import by_name, by_suffix, names

Form = Literal["text", "moses", "json"]
LINES: tuple[Form, ...] = ("text", "moses", "json")
"""How answers to lines are written; every other form is that of a document."""
FORMS = [*LINES, *(name for name in names() if name not in LINES)]
SHOWN = 20
"""Doubtful segments that the summary names; --json names more."""


@dataclass(frozen=True)
class DocumentCommand:
    """A document to be translated."""

    source: str
    output: str
    format: str | None
    """None is told by the extension."""
    all_segments: bool
    as_json: bool
    quiet: bool

    def check(self, others: Mapping[str, object]) -> None:
        """Refuse what a document has no place for, and an output that is no file."""
        for name, given in others.items():
            if given:
                raise ConfigError(
                    f"--{name} has no place in a document",
                    hint=f"leave it out, or take {self.source} line by line: --format text",
                )
        if self.output == "-":
            path = Path(self.source)
            raise ConfigError(
                f"{self.source} is a document, and needs a file for the output",
                hint=f"add -o {path.stem}.new{path.suffix}, or take it line by line: --format text",
            )

    def translate(
        self, model: str, loading: dict[str, Any], search: dict[str, Any], memory: str = ""
    ) -> None:
        """Translate it, and say what became of it."""
        from jumok.decoding.translator import load
        from jumok.documents.translate import translate_document

        translator = load(model, **loading)
        check_drawing(search, translator.config.decoding, "--sample or --mbr N")
        began = time.monotonic()
        with progress_display(quiet=self.quiet) as progress:
            report = translate_document(
                translator,
                self.source,
                self.output,
                format=self.format,
                all_segments=self.all_segments,
                progress=progress,
                **search,
                **memory_for(translator, memory),
            )
        if self.as_json:
            import click

            click.echo(to_json(report.to_dict()))
        if not self.quiet:
            first, *rest = report.summary(SHOWN).split("\n")
            say("\n".join([f"{first} · {time.monotonic() - began:.1f} s", *rest]))


def document_order(
    source: str, output: str, form: str | None, *, all_segments: bool, as_json: bool, quiet: bool
) -> DocumentCommand | None:
    """The document that a command asks for; None for lines."""
    is_document, format = document_format(source, form)
    if is_document:
        return DocumentCommand(source, output, format, all_segments, as_json, quiet)
    if all_segments:
        raise ConfigError("--all is for documents", hint="leave it out, or name the document with -i")
    if as_json and form not in (None, "json"):
        raise ConfigError(f"both --json and --format {form} are given", hint="choose one of them")
    return None


def document_format(source: str, form: str | None) -> tuple[bool, str | None]:
    """Whether an input is a document, and its format if that is named.

    Lines of text are asked for by their forms, and are what `.txt` and unknown extensions hold; `json` is a
    form of lines, but of a .json file it is the format.
    """
    known = by_suffix(Path(source))
    if form == "json" and known is not None and known.name == "json":
        return True, "json"
    if form in LINES:
        return False, None
    if form is None:
        return known is not None and known.name != "txt", None
    if not source or source == "-":
        raise ConfigError(f"--format {form} is that of a document", hint="name the file with -i")
    return True, by_name(form).name
