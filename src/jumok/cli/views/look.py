"""What `jumok inspect` looks into: a saved trace, a new one, or one with interventions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumok.cli.views.op_words import place, read_ops
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError
from jumok.explain.edits import attention_sizes
from jumok.explain.trace import Trace, make_trace, open_trace
from jumok.explain.what_if import WhatIf, what_if


@dataclass(frozen=True)
class Asked:
    """What to look into, in the words of the command line."""

    model: Path | None = None
    text: str = ""
    target: str | None = None
    ops: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the search."""
    file: Path | None = None
    """A saved trace, instead of all the others."""


@dataclass(frozen=True)
class Looked:
    """The trace to show; with interventions it is the edited one, and `change` knows the other."""

    trace: Trace
    change: WhatIf | None = None

    @property
    def traces(self) -> list[Trace]:
        """The trace to show first, then the one as it is."""
        return [self.trace, *([self.change.baseline_trace] if self.change else [])]


def look(asked: Asked) -> Looked:
    """Open or make the trace."""
    if asked.file is not None:
        return Looked(open_trace(asked.file))
    assert asked.model is not None
    translator = load(asked.model, engine="torch")
    if not asked.ops:
        return Looked(make_trace(translator, asked.text, target=asked.target, options=asked.options))
    found = edited(translator, asked.text, asked.ops, asked.options)
    return Looked(found.edited_trace, found)


def edited(translator: Translator, text: str, words: Sequence[str], options: Mapping[str, Any]) -> WhatIf:
    """The what-if of these words; an error names them instead of the number of an intervention."""
    ops = read_ops(words, attention_sizes(translator.config.model))
    try:
        return what_if(translator, text, ops, **options)
    except ConfigError as error:
        if not (number := re.fullmatch(r"interventions\[(\d+)\]", error.where)):
            raise
        where = place(words[int(number[1])])
        if re.search(r"position|unit|word", error.message):
            where += " (this message counts from 0)"
        raise ConfigError(error.message, where=where, hint=error.hint, code=error.code) from None
