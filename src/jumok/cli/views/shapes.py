"""The shape of every tensor while a model reads a source and writes a target."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.cli.views.view import View, columns
from jumok.decoding.batched import lay_sources
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, LimitError
from jumok.models.sentences import Sentences
from jumok.models.shapes import ShapeTrace, trace_shapes
from jumok.text.normalize import tidy
from jumok.text.tokenizer import BOS, SPECIALS

LONGEST = 1024  # pieces of a text to look into


def shapes_view(path: Path, text: str, target: str | None) -> View:
    translator = load(path, engine="torch")
    pair = read_pair(translator, text, target)
    device = next(translator.model.parameters()).device
    target_in = Sentences.lay([[BOS, *pair.target_ids]], device)
    source = lay_sources([pair.source_ids], device)
    trace = trace_shapes(translator.model, translator.config.model, source, target_in)
    plain = {"source": pair.source, "target": pair.target, **trace.to_dict()}
    return View(plain, shapes_text(trace), trace.path)


def shapes_text(trace: ShapeTrace) -> str:
    """A table with a line per tensor; layers that repeat the one before are joined."""
    blocks: dict[str, list[tuple[str, ...]]] = {}
    for row, times in zip(trace.rows, trace.times, strict=True):
        steps = f"{times} steps" if times > 1 else ""
        shape = " × ".join(map(str, row.shape))
        blocks.setdefault(row.stage, []).append((row.operation, row.axes, shape, row.dtype, steps))
    table: list[tuple[str, ...]] = [("stage", "operation", "axes", "shape", "dtype", "")]
    before: list[tuple[str, ...]] = []
    for stage, rows in blocks.items():
        if rows == before:
            table.append((stage, "the same", "", "", "", ""))
        else:
            table += [(stage if i == 0 else "", *row) for i, row in enumerate(rows)]
        before = rows
    letters = "  ".join(f"{letter}={size}" for letter, size in trace.sizes.items())
    return f"{trace.path}\n{letters}\n\n{columns(table)}"


@dataclass(frozen=True)
class Pair:
    """A source and what it became, as text and as ids without special ids."""

    source: str
    target: str
    source_ids: list[int]
    target_ids: list[int]


def read_pair(translator: Translator, text: str, target: str | None) -> Pair:
    """The text with its translation, or with the target that was given."""
    source = translator.tokenizers.tidy_source(text)
    source_ids = list(translator.tokenizers.source.encode(source))
    if not source_ids:
        raise ConfigError("the text is empty", hint="give a sentence to look at")
    check_length(translator, "text", source_ids)
    if target is None:
        found = translator.translate(source, long="error")
        target, target_ids = found.text, [t.id for t in found.tokens if t.id >= len(SPECIALS)]
    else:
        target_ids = translator.tokenizers.target.encode(tidy(target))
        check_length(translator, "target", target_ids)
    return Pair(source, target, source_ids, target_ids)


def check_length(translator: Translator, name: str, ids: Sequence[int]) -> None:
    limit = LONGEST
    if rows := translator.config.model.table_rows:
        limit = min(limit, rows - 1)
    if len(ids) > limit:
        raise LimitError(
            f"the {name} has {len(ids):,} pieces, more than {limit:,}", hint="give a shorter one"
        )
