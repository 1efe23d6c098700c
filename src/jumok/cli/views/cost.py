"""What a model costs: parameters, FLOPs and bytes, by formula and as measured."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.model import patches_of
from jumok.cli.views.view import View, columns, short, size_of
from jumok.models.cost import Cost, Parameters, count_parameters, forward_cost, measured_flops, parameters
from jumok.nn.patches import Patches

MEASURED = 100  # up to this length FLOPs are counted on the real model, not only predicted


def cost_view(path: Path, lengths: Sequence[int]) -> View:
    loaded = load_model(path)
    config, tokenizers = loaded.config.model, loaded.tokenizers
    sizes, patches = (tokenizers.source.size, tokenizers.target.size), patches_of(tokenizers)
    parts = parameters(config, *sizes, shared=tokenizers.shared, patches=patches)
    total, counted = sum(part.count for part in parts), count_parameters(loaded.model)
    shapes = [(patches.places if patches else n, n) for n in lengths]  # a picture is always of one length
    costs = [forward_cost(config, S, T, tokenizers.target.size, patches=patches) for S, T in shapes]
    limit = min(MEASURED, getattr(config, "max_positions", MEASURED))
    counts = [measured_flops(loaded.model, S, T, patches=patches) if limit >= T else None for S, T in shapes]
    text = "\n\n".join(
        (
            parameters_text(parts, total, counted),
            f"One forward pass over {tokens_text(patches)} in float32: FLOPs by formula and as counted\n"
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


def tokens_text(patches: Patches | None) -> str:
    if patches is None:
        return "S source and T target tokens"
    return f"S = {patches.places} patches of P = {patches.numbers} numbers and T target tokens"


def parameters_text(parts: Sequence[Parameters], total: int, counted: int) -> str:
    rows = [("parameters", "by formula", ""), *((p.part, p.formula, f"{p.count:,}") for p in parts)]
    weights = f"{size_of(4 * total)} in float32"
    rows += [("together", weights, f"{total:,}"), ("counted", "in the model's tensors", f"{counted:,}")]
    return columns(rows, right=(2,))


def work_text(costs: Sequence[Cost], measured: Sequence[int | None]) -> str:
    names = [work.part for work in costs[0].work]
    alike = all(cost.source_length == cost.target_length for cost in costs)
    rows = [("S = T" if alike else "T", *names, "FLOPs", "counted", "training", "decoding")]
    for cost, count in zip(costs, measured, strict=True):
        work = (short(work.flops) for work in cost.work)
        flops = short(cost.flops), "" if count is None else short(count)
        rows.append(
            (
                f"{cost.target_length:,}",
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
        return "Nothing compares every token with every other: all parts grow in proportion to the length."
    return (
        "Attention compares every token with every other, so it grows with the square of the length and\n"
        f"everything else in proportion: it is {' and '.join(dict.fromkeys(shares))} tokens."
    )
