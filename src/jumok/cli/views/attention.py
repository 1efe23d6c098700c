"""What each token looked at, as a heat map, and how one weight came about: a head, a row, or one cell.

Layers, heads, tokens and dimensions count from 1 here, as everywhere in the terminal.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from jumok.cli.views.view import View, choose, choose_one, columns, pick_style, terminal_width
from jumok.edits import Kind
from jumok.errors import ConfigError
from jumok.explain.attention import Attention, HeadStages
from jumok.explain.heatmap import cells, ltr
from jumok.explain.tokens import label
from jumok.explain.trace import Trace


@dataclass(frozen=True)
class AttentionChoice:
    """The attention to show, and how, in the words of the command line."""

    kind: Kind = "cross"
    layer: str = "last"
    head: str = "mean"
    style: str = "auto"
    words: bool = False
    q: int | None = None
    k: int | None = None


def heat_view(trace: Trace, choice: AttentionChoice) -> View:
    """The weights of a layer and a head, or their mean, between tokens or words."""
    attention = find_attention(trace, choice.kind)
    if attention is None:
        return without_attention(trace, choice.kind, "attention")
    source, target = trace.manifest["source"]["text"], trace.manifest["target"]["text"]
    N, H = attention.weights.shape[:2]
    attention = attention.words() if choice.words else attention
    layer, head = choose("layer", choice.layer, N), choose("head", choice.head, H)
    picture = attention.show(
        layer=layer, head=head, style=pick_style(choice.style), width=max(terminal_width(), 20)
    )
    strongest = next((line for line in picture.splitlines() if line.startswith("strongest: ")), "")
    plain = {"source": source, "target": target, "attention": attention.to_dict()}
    weights = attention.pick(layer, head).tolist()
    rows = [[label(token), *row] for token, row in zip(attention.target, weights, strict=True)]
    return View(plain, f"{target}\n\n{picture}", strongest, [["", *map(label, attention.source)], *rows])


def find_attention(trace: Trace, kind: Kind) -> Attention | None:
    """The attention of one kind; None if the model has none."""
    attention: Attention | None = getattr(trace.attention, kind)
    if attention is None and kind in trace.manifest["model"]["kinds"]:
        held = ", ".join(trace.manifest["attention"]) or "none"
        raise ConfigError(
            f"--kind {kind}: the trace was saved without it", hint=f"it holds: {held}", code="bad_parameter"
        )
    return attention


def without_attention(trace: Trace, kind: str, name: str) -> View:
    """Why there is none, under the `name` that it would have in JSON; there with the fixed vector instead."""
    manifest = trace.manifest
    source, target = manifest["source"]["text"], manifest["target"]["text"]
    reason = no_attention(manifest["model"]["arch"], kind)
    plain = {"source": source, "target": target, name: None, "reason": reason}
    text = f"{target}\n\n{reason}"
    if not manifest["model"]["kinds"]:
        plain["bridge"] = trace.tensor("rnn.bridge").tolist()
        text += "\njumok serve shows that vector (on the screen Inside) and what each word did (Attention)."
    return View(plain, text, reason.split("\n")[0], [["reason"], [reason]])


def no_attention(arch: str, kind: str) -> str:
    """Why there is nothing to show, in plain words."""
    if arch == "rnn":
        return (
            "This model has no attention: its encoder squeezes the source into one fixed vector, which is\n"
            "all that the decoder ever sees. Train with --arch luong or transformer for a model that looks\n"
            "back at every word."
        )
    if kind == "copy":
        return (
            "This model does not copy: all that it writes comes from its vocabulary. A Transformer trained\n"
            "with model.copy=true may also point at tokens of its source."
        )
    return (
        f"This model has no {kind} attention: its encoder and decoder are recurrent.\n"
        "Only its decoder looks at the source: --kind cross."
    )


LARGEST = 4  # products of a cell that are written out
SCORES = {"dot": "s·h", "general": "(s Wₐ)·h", "concat": "vₐ·tanh(Wₐ[s; h])"}
SHARES = "share of context: how far weight · value goes the context's way; the shares of a row add up to 1"


@dataclass(frozen=True)
class HeadSteps:
    """One head with its stages, and the tokens on both sides."""

    title: str
    luong: bool
    score: str
    """`scaled_dot`, or dot, for a Transformer; dot, general or concat for Luong's attention."""
    stages: HeadStages
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    copies: bool
    """It says where to point; a gate follows in place of a projection."""

    @property
    def divisor(self) -> float:
        """What the scores were divided by; 1 where a what-if or the model does without that."""
        divided = self.score == "scaled_dot" and not np.array_equal(self.stages.scores, self.stages.scaled)
        return sqrt(self.stages.q.shape[1]) if divided else 1.0

    @property
    def shares(self) -> np.ndarray[Any, Any]:
        """[Q, K]: how far each weight · value goes the way of their sum, of its length; rows sum to 1."""
        weights, v = self.stages.weights.astype(np.float64), self.stages.v.astype(np.float64)
        context = weights @ v  # [Q, d]
        length = np.square(context).sum(axis=1, keepdims=True)
        shares: np.ndarray[Any, Any] = weights * (context @ v.T) / np.maximum(length, 1e-30)
        return shares

    def softmax(self, q: int) -> np.ndarray[Any, Any]:
        """[K]: exp(score - largest) of the row's allowed keys."""
        row = np.where(self.stages.mask[q] > 0, self.stages.placed[q].astype(np.float64), -np.inf)
        raised: np.ndarray[Any, Any] = np.exp(row - row.max())
        return raised


def steps_view(trace: Trace, choice: AttentionChoice) -> View:
    """The stages of one head; with --q those of one row, with --q and --k those of one cell."""
    manifest, kind = trace.manifest, choice.kind
    attention = find_attention(trace, kind)
    if attention is None:
        return without_attention(trace, kind, "stages")
    L, H = attention.weights.shape[:2]
    layer, head = choose_one("layer", choice.layer, L), choose_one("head", choice.head, H)
    sides = (manifest[manifest["attention"][kind][side]]["tokens"] for side in ("q", "k"))
    queries, keys = (tuple(token["text"] for token in tokens) for tokens in sides)
    steps = HeadSteps(
        " · ".join((kind, *attention.name(layer, head))),
        manifest["model"]["arch"] == "luong",
        "scaled_dot" if kind == "copy" else manifest["model"]["score"],
        attention.stages(layer, head),
        queries,
        keys,
        copies=kind == "copy",
    )
    q, k = place("q", choice.q, queries), place("k", choice.k, keys)
    texts = {side: manifest[side]["text"] for side in ("source", "target")}
    common = {**texts, "kind": kind, "layer": layer + 1, "head": head + 1}
    if q is None:
        return stages_view(steps, common)
    return row_view(steps, common, q) if k is None else cell_view(steps, common, q, k)


def place(option: str, number: int | None, labels: tuple[str, ...]) -> int | None:
    """The index of a token that was named by its number."""
    if number is not None and number > len(labels):
        what = {"q": "queries", "k": "keys"}[option]
        raise ConfigError(
            f"--{option} {number}: there are {len(labels)} {what} here",
            hint=f"choose a number from 1 to {len(labels)}; without --{option} they are listed",
        )
    return None if number is None else number - 1


def stages_view(steps: HeadSteps, common: dict[str, Any]) -> View:
    """All stages as a table of shapes and norms, and the numbers of the tokens."""
    rows, plain = [("stage", "is", "shape", "norm", "smallest", "largest")], []
    for name, words in stage_words(steps).items():
        array = getattr(steps.stages, name).astype(np.float64)
        shape, norm = [*array.shape], float(np.linalg.norm(array))
        low, high = float(array.min()), float(array.max())
        plain.append({"stage": name, "shape": shape, "norm": norm, "smallest": low, "largest": high})
        numbers = (f"{norm:.3f}", f"{low:.3f}", f"{high:.3f}")
        rows.append((name, words, " × ".join(map(str, shape)), *numbers))
    sides = numbered("queries, --q", steps.queries), numbered("keys, --k", steps.keys)
    text = "\n".join((steps.title, "", columns(rows, right=(3, 4, 5)), "", *sides))
    weights = next(row for row in rows if row[0] == "weights")
    return View({**common, "stages": plain}, text, f"{steps.title}   weights {weights[2]}", rows)


def stage_words(steps: HeadSteps) -> dict[str, str]:
    """The stages in the order of computation, and what each is."""
    if steps.luong:
        asks = "states s of the decoder, times Wₐ" if steps.score == "general" else "states s of the decoder"
        return {
            "q": asks,
            "k": "states h of the encoder; they are the values, too",
            "scores": f"score({steps.score}) = {SCORES[steps.score]}",
            "mask": "1 where looking is allowed",
            "weights": "softmax of the scores over the keys",
            "context": "weights · h",
            "out": "attentional state tanh(W_c[context; s])",
        }
    return {
        "q": "queries of this head",
        "k": "keys",
        "v": "values",
        "scores": "q·k",
        "scaled": f"scores ÷ √{steps.stages.q.shape[1]}" if steps.divisor != 1 else "scores, not divided",
        **({} if steps.stages.bias is None else {"bias": "added for the distance from query to key"}),
        "mask": "1 where looking is allowed",
        "weights": "softmax over the keys",
        "context": "weights · v",
        "out": "the share copied, 1 - g" if steps.copies else "all heads of the layer joined, · W_O",
    }


def numbered(name: str, labels: tuple[str, ...]) -> str:
    """Tokens with their numbers, in as many lines as they need."""
    lines, margin = [name.ljust(14)], 14
    for number, token in enumerate(labels, start=1):
        word = f"{number} {ltr(token)}   "
        if cells(lines[-1]) + cells(word.rstrip()) > terminal_width() and lines[-1].strip():
            lines.append(" " * margin)
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)


def cell_values(steps: HeadSteps, q: int, k: int, shares: np.ndarray[Any, Any]) -> dict[str, Any]:
    """One cell through all stages."""
    stages = steps.stages
    return {
        "k": k + 1,
        "key": steps.keys[k],
        "score": float(stages.scores[q, k]),
        "scaled": float(stages.scaled[q, k]),
        **({} if stages.bias is None else {"bias": float(stages.bias[q, k])}),
        "allowed": bool(stages.mask[q, k]),
        "weight": float(stages.weights[q, k]),
        "value_norm": float(np.linalg.norm(stages.v[k])),
        "share": float(shares[q, k]),
    }


def stage_names(steps: HeadSteps) -> dict[str, str]:
    """What the numbers of a cell are called."""
    score = {"score": f"score({steps.score})"} if steps.luong else {"score": "q·k"}
    divided = {"scaled": f"÷√{steps.stages.q.shape[1]}" if steps.divisor != 1 else "not divided"}
    added = {} if steps.stages.bias is None else {"bias": "+ bias"}
    value = {"value_norm": "|h|" if steps.luong else "|value|", "share": "share of context"}
    return {
        **score,
        **({} if steps.luong else divided),
        **added,
        "allowed": "mask",
        "weight": "softmax",
        **value,
    }


def written(values: dict[str, Any], name: str) -> str:
    if name == "allowed":
        return "allowed" if values[name] else "forbidden"
    return f"{values[name]:z.{2 if name in ('value_norm', 'share') else 3}f}"


def row_view(steps: HeadSteps, common: dict[str, Any], q: int) -> View:
    """What one query made of every key."""
    shares, names = steps.shares, stage_names(steps)
    cells = [cell_values(steps, q, k, shares) for k in range(len(steps.keys))]
    rows = [("k", "key", *names.values())]
    rows += [(str(cell["k"]), cell["key"], *(written(cell, name) for name in names)) for cell in cells]
    title = f"{steps.title} · query {q + 1} {steps.queries[q]!r}"
    best = max(cells, key=lambda cell: float(cell["weight"]))
    line = f"{title} ← key {best['k']} {best['key']!r} {best['weight']:.3f}"
    plain = {**common, "q": q + 1, "query": steps.queries[q], "keys": cells}
    table = columns(rows, right=(0, *range(2, 2 + len(names))))
    return View(plain, f"{title}\n\n{table}\n\n{SHARES}", line, rows)


def cell_view(steps: HeadSteps, common: dict[str, Any], q: int, k: int) -> View:
    """One query and one key: every stage, and how the numbers follow from each other."""
    values, names = cell_values(steps, q, k, steps.shares), stage_names(steps)
    title = f"{steps.title} · query {q + 1} {steps.queries[q]!r} ← key {k + 1} {steps.keys[k]!r}"
    line = "   ".join(f"{word} {written(values, name)}" for name, word in names.items())
    products = None if steps.score == "concat" else (steps.stages.q[q] * steps.stages.k[k]).astype(np.float64)
    lines = [title, line, ""]
    if products is not None:
        lines += products_lines(products, values["score"])
    lines += [softmax_line(steps, q, k, values), "", SHARES]
    plain = {**common, "q": q + 1, "query": steps.queries[q], **values}
    plain["products"] = None if products is None else products.tolist()
    return View(plain, "\n".join(lines), line, [[*names.values()], [values[name] for name in names]])


def products_lines(products: np.ndarray[Any, Any], score: float) -> list[str]:
    """The score as a sum: its largest terms and the rest, which add up as they are written."""
    largest = np.argsort(-np.abs(products), kind="stable")[:LARGEST]
    terms = [f"d{d + 1} {products[d]:+.3f}" for d in largest]
    rest = round(score, 3) - sum(round(float(products[d]), 3) for d in largest)
    others = len(products) - len(largest)
    end = [f"the other {others} {rest:+z.3f}"] if others else []
    return [
        f"score    Σ of {len(products)} products = {score:z.3f}",
        f"         largest: {'   '.join([*terms, *end])}",
    ]


def softmax_line(steps: HeadSteps, q: int, k: int, values: dict[str, Any]) -> str:
    """The weight as the softmax makes it, or that a what-if made it."""
    raised = steps.softmax(q)
    usual = float(raised[k] / raised.sum())
    if abs(usual - values["weight"]) > 1e-3:
        return f"softmax  would be {usual:.3f}; the what-if makes it {values['weight']:.3f}"
    if not values["allowed"]:
        return "softmax  the mask forbids this key, so its weight is 0"
    largest = float(np.where(steps.stages.mask[q] > 0, steps.stages.placed[q], -np.inf).max())
    score = float(steps.stages.placed[q, k])
    return (
        f"softmax  exp({score:.3f} - {largest:.3f}) / {raised.sum():.3f} (the sum over the row) "
        f"= {values['weight']:.3f}".replace("- -", "+ ")
    )
