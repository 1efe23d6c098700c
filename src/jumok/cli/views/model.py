"""A model's card, the cost of its passes by formula and as measured, and the shape of every tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.cli.shared.console import say
from jumok.cli.views.view import View, columns, short, size_of
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TextConfig, TransformerConfig
from jumok.decoding.opening import open_engine
from jumok.decoding.translator import load
from jumok.explain.forward import trace_subject
from jumok.explain.subject import subjects_of
from jumok.settings import nest, parse_config, read_toml
from jumok.text.frame import Frame, listed
from jumok.text.tokenizer import BOS

if TYPE_CHECKING:
    from jumok.models.cost import Cost
    from jumok.models.tensor_rows import ShapeTrace


def card_view(path: Path) -> View:
    loaded = open_engine(path, "cpu").contents
    info, data, tokenizers = loaded.info, loaded.config.data, loaded.tokenizers
    size = sum(file.stat().st_size for file in loaded.folder.rglob("*") if file.is_file())
    tokens = f"{tokenizers.source.size:,} source and {tokenizers.target.size:,} target"
    if tokenizers.pictures is not None:
        tokens = f"{tokenizers.pictures.places} patches of a picture, {tokenizers.target.size:,} target"
    if tokenizers.shared:
        tokens = f"{tokenizers.source.size:,} shared"
    rows = {
        "architecture": " · ".join(describe(loaded.config.model)),
        "parameters": f"{info['parameters']:,}",
        "weights": info.get("weights", ""),
        "vocabulary": f"{tokens} tokens ({kinds_of(loaded.config.text)})",
        "languages": spoken(tokenizers.frame)
        or " → ".join(filter(None, (data.source_language, data.target_language))),
        "data": data.name or " → ".join(filter(None, (data.source, data.target))) or ", ".join(data.corpora),
        "training": f"step {info['step']:,}" if isinstance(info.get("step"), int) else "",
        "score": f"{info['metric']} {info['score']:.4g} in validation" if has_score(info) else "",
        "descends from": parents_of(info),
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
        "data": data.name or data.source or list(data.corpora),
        **({"directions": list(map(str, tokenizers.frame.pairs))} if tokenizers.frame.pairs else {}),
        **info,
    }
    text = "\n".join(f"{name:<14}{value}" for name, value in rows.items() if value)
    return View(plain, text, f"{loaded.config.model.arch} {info['parameters']} {info['fingerprint']}")


def spoken(frame: Frame) -> str:
    """The directions of a model that has several, in words."""
    if frame.pairs:
        return listed(map(str, frame.pairs))
    codes = [code for code, _ in frame.languages]
    return f"{listed(codes)}, each into every other" if codes else ""


def kinds_of(text: TextConfig) -> str:
    """How both sides are cut into tokens."""
    kinds = dict.fromkeys((text.kind, text.target_kind or text.kind))
    return " → ".join(kinds) + (", Korean in letters" if text.jamo else "")


def parents_of(info: dict[str, Any]) -> str:
    """The models that a model was started from, the nearest first; "" where nothing is told."""
    told = info.get("descends_from")
    models = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    return ", ".join(f"{one.get('name')} ({str(one.get('sha256'))[:12]}…)" for one in models)


def has_score(info: dict[str, Any]) -> bool:
    return isinstance(info.get("metric"), str) and isinstance(info.get("score"), int | float)


def describe(config: ModelConfig) -> Iterator[str]:
    """A model's settings in words."""
    yield config.arch
    if isinstance(config, TransformerConfig):
        yield f"{config.encoder_layers}+{config.decoder_layers} layers"
        yield f"width {config.width}"
        yield f"{config.heads} heads" + (f" of {config.head_width}" if config.head_width else "")
        yield f"feed-forward {config.feedforward:,}" + network_words(config)
        kind = "RMS " if config.rms_norm else ""
        yield f"{config.norm}-{kind}norm" if config.norm != "none" else "no norms"
        if config.embedding_norm:
            yield "normed embeddings"
        if not config.embedding_scaled:
            yield "embeddings not scaled"
        if not config.residual:
            yield "no residuals"
        if not config.scaled:
            yield "scores not scaled"
        yield f"{config.positions} positions" if config.positions != "none" else "no positions"
    elif isinstance(config, RnnConfig | LuongConfig):
        yield f"{config.cell} cells"
        yield f"{config.layers}+{config.layers} layers"
        yield f"width {config.width}"
        yield "encoder in both directions" if config.bidirectional else "encoder in one direction"
    else:
        yield "{}+{} layers".format(*config.depths)
        yield f"width {config.width}"
    if isinstance(config, LuongConfig):
        yield f"{config.score} score"
        if config.input_feeding:
            yield "input feeding"
    yield "tied output" if config.tied else "own output"
    if isinstance(config, TransformerConfig) and config.logits_bias:
        yield "bias of the logits"


def network_words(config: TransformerConfig) -> str:
    """How a feed-forward network differs from the paper's."""
    name = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU by tanh", "silu": "SiLU"}[config.activation]
    if config.gated:
        return f" ({name}, gated)"
    return "" if config.activation == "relu" else f" ({name})"


MEASURED = 100  # up to this length FLOPs are counted on the real model, not only predicted


def cost_view(path: Path, lengths: Sequence[int]) -> View:
    from jumok.checkpoint.checkpoints import load_model
    from jumok.checkpoint.model import patches_of
    from jumok.models.cost import count_parameters, forward_cost, measured_flops, parameters

    loaded = load_model(path)
    config, tokenizers = loaded.config.model, loaded.tokenizers
    sizes, patches = (tokenizers.source.size, tokenizers.target.size), patches_of(tokenizers)
    parts = parameters(config, *sizes, shared=tokenizers.shared, patches=patches)
    total, counted = sum(part.count for part in parts), count_parameters(loaded.model)
    shapes = [(patches.places if patches else n, n) for n in lengths]  # a picture is always of one length
    costs = [forward_cost(config, S, T, tokenizers.target.size, patches=patches) for S, T in shapes]
    limit = min(MEASURED, getattr(config, "max_positions", MEASURED))
    counts = [measured_flops(loaded.model, S, T, patches=patches) if limit >= T else None for S, T in shapes]
    rows = [("parameters", "by formula", ""), *((p.part, p.formula, f"{p.count:,}") for p in parts)]
    rows.append(("together", f"{size_of(4 * total)} in float32", f"{total:,}"))
    rows.append(("counted", "in the model's tensors", f"{counted:,}"))
    tokens = "S source and T target tokens"
    if patches is not None:
        tokens = f"S = {patches.places} patches of P = {patches.numbers} numbers and T target tokens"
    text = "\n\n".join(
        (
            columns(rows, right=(2,)),
            f"One forward pass over {tokens} in float32: FLOPs by formula and as counted\n"
            f"by torch (up to {limit} tokens); bytes kept by training, and by decoding for one hypothesis.",
            work_text(costs, counts),
            columns([(work.part, work.formula) for work in costs[0].work]),
            *([growth(costs[0], costs[-1])] if patches is None else []),
        )
    )
    plain = {
        "parameters": {"predicted": total, "measured": counted, "parts": [asdict(part) for part in parts]},
        "weight_bytes": 4 * total,
        "lengths": [c.to_dict() | {"measured_flops": m} for c, m in zip(costs, counts, strict=True)],
    }
    return View(plain, text, str(total))


def work_text(costs: Sequence[Cost], measured: Sequence[int | None]) -> str:
    names = [work.part for work in costs[0].work]
    alike = all(cost.source_length == cost.target_length for cost in costs)
    rows = [("S = T" if alike else "T", *names, "FLOPs", "counted", "training", "decoding")]
    for cost, count in zip(costs, measured, strict=True):
        work = (*(short(work.flops) for work in cost.work), short(cost.flops))
        sizes = size_of(cost.activation_bytes), size_of(cost.state_bytes)
        rows.append((f"{cost.target_length:,}", *work, "" if count is None else short(count), *sizes))
    return columns(rows, right=range(len(rows[0])))


def growth(first: Cost, last: Cost) -> str:
    """How the share of the parts that grow with the square of the length changes."""
    shares = []
    for cost in (first, last):
        squared = sum(work.flops for work in cost.work if work.part in ("attention", "scores", "context"))
        shares.append(f"{100 * squared / cost.flops:.1f} % at {cost.source_length:,}")
    if not squared:
        return "Nothing compares every token with every other: all parts grow in proportion to the length."
    return (
        "Attention compares every token with every other, so it grows with the square of the length and\n"
        f"everything else in proportion: it is {' and '.join(dict.fromkeys(shares))} tokens."
    )


def shapes_view(path: Path, text: str, target: str | None, said: Mapping[str, str]) -> View:
    """The shape of every tensor while a model translates a text, in the direction that is `said`."""
    translator = load(path, engine="torch").asked_in(said)
    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets, options={"long": "error"})
    for warning in subject.warnings:
        say(f"warning: {warning['message']}")
    trace = trace_subject(translator, subject).outline()
    plain = {"source": subject.source, "target": subject.target, **trace.to_dict()}
    return View(plain, shapes_text(trace), trace.path)


def planned_shapes_view(file: str, batch: int, source_length: int, target_length: int) -> View:
    """The shapes of a model that is only described, with fresh weights and no words in particular."""
    import torch

    from jumok.models.build import build_model
    from jumok.models.sentences import Sentences
    from jumok.models.shapes import trace_shapes

    config = parse_config(nest(read_toml(file)), f"in {file}")
    size, shared = config.text.vocabulary, config.text.shared
    model = build_model(config.model, size, size, shared=shared).eval()
    source, target_in = (
        Sentences.lay([[BOS] * length], torch.device("cpu")) for length in (source_length, target_length)
    )
    trace = trace_shapes(model, config.model, source, target_in).outline().batch(batch)
    return View(trace.to_dict(), shapes_text(trace), trace.path)


def shapes_text(trace: ShapeTrace) -> str:
    """A table with a line per tensor; layers that repeat the one before are joined."""
    blocks: dict[str, list[tuple[str, ...]]] = {}
    for row, times in zip(trace.rows, trace.times, strict=True):
        steps = f"{times} steps" if times > 1 else ""
        shape = " × ".join(map(str, row.shape)) or "one number"
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
