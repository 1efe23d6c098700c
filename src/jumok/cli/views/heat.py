"""What each token looked at, as a heat map; and why a model may have none."""

from dataclasses import dataclass

from jumok.backends.values import Kind
from jumok.cli.views.view import View, choose, pick_style, terminal_width
from jumok.errors import ConfigError
from jumok.explain.attention import Attention
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
