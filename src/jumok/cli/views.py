"""What `jumok inspect` shows: a model's card, its attention, its tensors, its cost."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from jumok.checkpoint.checkpoints import load_model
from jumok.cli.console import wants_colour
from jumok.config import LuongConfig, ModelConfig, TransformerConfig
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, LimitError
from jumok.explain.attention import attention_of
from jumok.explain.cost import Cost, Parameters, count_parameters, forward_cost, measured_flops, parameters
from jumok.explain.heatmap import Style, cells
from jumok.explain.shapes import ShapeTrace, trace_shapes
from jumok.models.interface import Kind
from jumok.text.normalize import tidy
from jumok.text.tokenizer import SPECIALS

LONGEST = 1024  # pieces of a text to look into: attention keeps layers x heads x length² numbers
MEASURED = 100  # up to this length FLOPs are counted on the real model, not only predicted


@dataclass(frozen=True)
class View:
    """One answer in its three forms: plain values, text, and the essential line."""

    plain: dict[str, Any]
    text: str
    line: str


@dataclass(frozen=True)
class Which:
    """Which attention to show, and how, in the words of the command line."""

    kind: Kind
    layer: str
    head: str
    style: str
    words: bool


def card_view(path: Path) -> View:
    loaded = load_model(path)
    info, data, tokenizers = loaded.info, loaded.config.data, loaded.tokenizers
    size = sum(file.stat().st_size for file in loaded.folder.rglob("*") if file.is_file())
    pieces = f"{tokenizers.source.size:,} source and {tokenizers.target.size:,} target"
    if tokenizers.shared:
        pieces = f"{tokenizers.source.size:,} shared"
    rows = {
        "architecture": " · ".join(describe(loaded.config.model)),
        "parameters": f"{info['parameters']:,}",
        "vocabulary": f"{pieces} pieces ({loaded.config.text.kind})",
        "languages": " → ".join(filter(None, (data.source_language, data.target_language))),
        "data": data.name or " → ".join(filter(None, (data.source, data.target))),
        "training": f"step {info['step']:,}" if isinstance(info.get("step"), int) else "",
        "score": f"{info['metric']} {info['score']:.4g}" if has_score(info) else "",
        "fingerprint": info["fingerprint"],
        "folder": f"{loaded.folder}  ({size_of(size)})",
    }
    plain = {
        "folder": str(loaded.folder),
        "bytes": size,
        "model": asdict(loaded.config.model),
        "source_vocabulary": tokenizers.source.size,
        "target_vocabulary": tokenizers.target.size,
        "shared_vocabulary": tokenizers.shared,
        "source_language": data.source_language,
        "target_language": data.target_language,
        "data": data.name or data.source,
        **info,
    }
    text = "\n".join(f"{name:<14}{value}" for name, value in rows.items() if value)
    return View(plain, text, f"{loaded.config.model.arch} {info['parameters']} {info['fingerprint']}")


def has_score(info: dict[str, Any]) -> bool:
    return isinstance(info.get("metric"), str) and isinstance(info.get("score"), int | float)


def describe(config: ModelConfig) -> Iterator[str]:
    """A model's settings in words."""
    yield config.arch
    if isinstance(config, TransformerConfig):
        yield f"{config.encoder_layers}+{config.decoder_layers} layers"
        yield f"width {config.width}"
        yield f"{config.heads} heads"
        yield f"feed-forward {config.feedforward:,}"
        yield f"{config.norm}-norm"
        yield f"{config.positions} positions" if config.positions != "none" else "no positions"
    else:
        yield f"{config.cell} cells"
        yield f"{config.layers}+{config.layers} layers"
        yield f"width {config.width}"
        yield "encoder in both directions" if config.bidirectional else "encoder in one direction"
    if isinstance(config, LuongConfig):
        yield f"{config.score} score"
        if config.input_feeding:
            yield "input feeding"
    yield "tied output" if config.tied else "own output"


def attention_view(path: Path, text: str, target: str | None, which: Which) -> View:
    translator = load(path)
    pair = read_pair(translator, text, target)
    found = attention_of(
        translator.model, translator.tokenizers, pair.source_ids, pair.target_ids, which.kind
    )
    if found is None:
        reason = no_attention(translator.config.model.arch, which.kind)
        without = {"source": pair.source, "target": pair.target, "attention": None, "reason": reason}
        return View(without, f"{pair.target}\n\n{reason}", reason)
    N, H = found.weights.shape[:2]
    found = found.words() if which.words else found
    picture = found.show(
        layer=choose("layer", which.layer, N),
        head=choose("head", which.head, H),
        style=pick_style(which.style),
        width=terminal_width(),
    )
    strongest = next((line for line in picture.splitlines() if line.startswith("strongest: ")), "")
    plain = {"source": pair.source, "target": pair.target, "attention": found.to_dict()}
    return View(plain, f"{pair.target}\n\n{picture}", strongest)


@dataclass(frozen=True)
class Pair:
    """A source and what it became, as text and as ids without special ids."""

    source: str
    target: str
    source_ids: list[int]
    target_ids: list[int]


def read_pair(translator: Translator, text: str, target: str | None) -> Pair:
    """The text with its translation, or with the target that was given."""
    source = tidy(text)
    source_ids = translator.tokenizers.source.encode(source)
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
    match translator.config.model:
        case TransformerConfig(positions="learned", max_positions=rows):
            limit = min(limit, rows - 1)
    if len(ids) > limit:
        raise LimitError(
            f"the {name} has {len(ids):,} pieces, more than {limit:,}", hint="give a shorter one"
        )


def no_attention(arch: str, kind: str) -> str:
    """Why there is nothing to show, in plain words."""
    if arch == "rnn":
        return (
            "This model has no attention: its encoder squeezes the source into one fixed vector, which is\n"
            "all that the decoder ever sees (--shapes shows where). Train with --arch luong or transformer\n"
            "for a model that looks back at every word."
        )
    return (
        f"This model has no {kind} attention: its encoder and decoder are recurrent.\n"
        "Only its decoder looks at the source: --kind cross."
    )


def choose(option: str, value: str, count: int) -> int | None:
    """An index from 0, or None for the mean."""
    if value == "mean":
        return None
    if value == "last" and option == "layer":
        return count - 1
    if value.isdecimal() and 1 <= int(value) <= count:
        return int(value) - 1
    names = "last or mean" if option == "layer" else "mean"
    raise ConfigError(
        f"--{option} {value}: this model has {count} {option}{'s' * (count > 1)} here",
        hint=f"choose a number from 1 to {count}, {names}",
    )


def pick_style(style: str) -> Style:
    if style == "auto":
        style = "colour" if wants_colour(sys.stdout.isatty()) else "blocks"
    if style == "colour" and os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        style = "truecolour"
    return cast(Style, style)


def terminal_width() -> int:
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


def shapes_view(path: Path, text: str, target: str | None) -> View:
    translator = load(path)
    pair = read_pair(translator, text, target)
    trace = trace_shapes(translator.model, pair.source_ids, pair.target_ids)
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


def cost_view(path: Path, lengths: Sequence[int]) -> View:
    loaded = load_model(path)
    config, tokenizers = loaded.config.model, loaded.tokenizers
    parts = parameters(config, tokenizers.source.size, tokenizers.target.size, shared=tokenizers.shared)
    total, counted = sum(part.count for part in parts), count_parameters(loaded.model)
    costs = [forward_cost(config, n, n, tokenizers.target.size) for n in lengths]
    limit = min(MEASURED, getattr(config, "max_positions", MEASURED))
    measured = [measured_flops(loaded.model, n, n) if n <= limit else None for n in lengths]
    text = "\n\n".join(
        (
            parameters_text(parts, total, counted),
            "One forward pass over S source and T target pieces in float32: FLOPs by formula and as counted\n"
            f"by torch (up to {limit} pieces); bytes kept by training, and by decoding for one hypothesis.",
            work_text(costs, measured),
            columns([(work.part, work.formula) for work in costs[0].work]),
            growth(costs[0], costs[-1]),
        )
    )
    plain = {
        "parameters": {"predicted": total, "measured": counted, "parts": [asdict(part) for part in parts]},
        "weight_bytes": 4 * total,
        "lengths": [c.to_dict() | {"measured_flops": m} for c, m in zip(costs, measured, strict=True)],
    }
    return View(plain, text, str(total))


def parameters_text(parts: Sequence[Parameters], total: int, counted: int) -> str:
    rows = [("parameters", "by formula", ""), *((p.part, p.formula, f"{p.count:,}") for p in parts)]
    weights = f"{size_of(4 * total)} in float32"
    rows += [("together", weights, f"{total:,}"), ("counted", "in the model's tensors", f"{counted:,}")]
    return columns(rows, right=(2,))


def work_text(costs: Sequence[Cost], measured: Sequence[int | None]) -> str:
    names = [work.part for work in costs[0].work]
    rows = [("S = T", *names, "FLOPs", "counted", "training", "decoding")]
    for cost, count in zip(costs, measured, strict=True):
        work = (short(work.flops) for work in cost.work)
        flops = short(cost.flops), "" if count is None else short(count)
        rows.append(
            (
                f"{cost.source_length:,}",
                *work,
                *flops,
                size_of(cost.activation_bytes),
                size_of(cost.state_bytes),
            )
        )
    return columns(rows, right=range(len(rows[0])))


def growth(first: Cost, last: Cost) -> str:
    """How the share of the parts that grow with the square of the length changes."""
    shares = []
    for cost in (first, last):
        squared = sum(work.flops for work in cost.work if work.part in ("attention", "scores", "context"))
        shares.append(f"{100 * squared / cost.flops:.1f} % at {cost.source_length:,}")
    if shares[0].startswith("0.0 %"):
        return "Nothing compares every piece with every other: all parts grow in proportion to the length."
    return (
        "Attention compares every piece with every other, so it grows with the square of the length and\n"
        f"everything else in proportion: it is {' and '.join(dict.fromkeys(shares))} pieces."
    )


def short(number: float) -> str:
    """Three digits and a unit: `950`, `1.23 M`, `45.6 G`."""
    if number < 1000:
        return f"{number:.0f}"
    for unit in "kMGT":
        number /= 1000
        if number < 999.5:
            return f"{f'{number:#.3g}'.rstrip('.')} {unit}"
    return f"{number / 1000:,.0f} P"


def size_of(number: int) -> str:
    """Bytes in words: `128 B`, `12.3 kB`, `1.2 GB`."""
    text = short(number)
    return f"{text}B" if " " in text else f"{text} B"


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Aligned columns, two spaces apart."""
    to_right = set(right)
    widths = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        parts = []
        for i, (text, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - cells(text))
            parts.append(space + text if i in to_right else text + space)
        return "  ".join(parts).rstrip()

    return "\n".join(map(line, rows))
