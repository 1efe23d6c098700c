"""The shape of every tensor while a model reads a source and writes a target."""

from pathlib import Path

from jumok.cli.shared.console import say
from jumok.cli.views.view import View, columns
from jumok.decoding.batched import lay_sources
from jumok.decoding.translator import load
from jumok.explain.subject import subjects_of
from jumok.models.sentences import Sentences
from jumok.models.shapes import ShapeTrace, trace_shapes
from jumok.text.tokenizer import BOS


def shapes_view(path: Path, text: str, target: str | None) -> View:
    translator = load(path, engine="torch")
    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets, options={"long": "error"})
    for warning in subject.warnings:
        say(f"warning: {warning['message']}")
    device = next(translator.model.parameters()).device
    target_in = Sentences.lay([[BOS, *subject.target_ids]], device)
    source = lay_sources([subject.source_ids], device)
    with translator.explained(()):
        trace = trace_shapes(translator.model, translator.config.model, source, target_in)
    plain = {"source": subject.source, "target": subject.target, **trace.to_dict()}
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
