"""What a model costs: parameters, FLOPs and bytes, by formula and as measured."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from jumok.checkpoint.checkpoints import load_model
from jumok.cli.views.view import View, columns, short, size_of
from jumok.explain.cost import Cost, Parameters, count_parameters, forward_cost, measured_flops, parameters
from jumok.models.build import Patches

MEASURED = 100  # up to this length FLOPs are counted on the real model, not only predicted


def cost_view(path: Path, lengths: Sequence[int]) -> View:
    loaded = load_model(path)
    config, tokenizers = loaded.config.model, loaded.tokenizers
    sizes, reader = (tokenizers.source.size, tokenizers.target.size), tokenizers.pictures
    patches = None if reader is None else Patches(reader.numbers, reader.places)
    parts = parameters(config, *sizes, shared=tokenizers.shared, patches=patches)
    total, counted = sum(part.count for part in parts), count_parameters(loaded.model)
    costs = [forward_cost(config, n, n, tokenizers.target.size) for n in lengths]
    limit = min(MEASURED, getattr(config, "max_positions", MEASURED)) if reader is None else 0
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
