"""Interventions to what a model and a search understand: edits, options and a text, checked against both."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from jumok.decoding.jobs import SourceText, make_request
from jumok.decoding.translator import Translator
from jumok.edits import AttentionEdit, Edits, Kind, PositionEdit
from jumok.errors import ConfigError, LimitError
from jumok.explain.forced import NO_KEY, explained, finals
from jumok.explain.op_fields import Index
from jumok.explain.ops import (
    MOST_OPS,
    Ban,
    Bridge,
    ForcePrefix,
    HeadOp,
    MaskEdge,
    MaskHead,
    NoScale,
    Op,
    Positions,
    ReplaceSource,
    Require,
    ScaleHead,
    SetRow,
    Uniform,
    bad_parameter,
    check_count,
)
from jumok.explain.subject import as_read
from jumok.explain.tokens import ended, side_of, units_of
from jumok.text.beginning import beginning
from jumok.text.normalize import tidy
from jumok.text.tokenizer import SPECIALS, Tokenizer

MOST_LINKS = 2**18  # of all mask_edge together


class CompiledOps(NamedTuple):
    """What a what-if runs: this text, by the model with these edits, with these options of `translate`."""

    edits: Edits
    options: dict[str, Any]
    source: SourceText


@dataclass
class LayerDraft:
    """What the interventions so far do to one attention layer."""

    scaled: bool = True
    factors: dict[int, float] = field(default_factory=dict)
    cut: set[tuple[int, int, int]] = field(default_factory=set)
    rows: dict[tuple[int, int], tuple[tuple[int, float], ...]] = field(default_factory=dict)
    uniform: set[int] = field(default_factory=set)

    def edit(self) -> AttentionEdit:
        return AttentionEdit(
            scaled=self.scaled,
            factors=tuple(sorted(self.factors.items())),
            cut=tuple(sorted(self.cut)),
            rows=tuple((head, q, weights) for (head, q), weights in sorted(self.rows.items())),
            uniform=tuple(sorted(self.uniform)),
        )

    def add(self, op: HeadOp, head: int) -> None:
        """One intervention on one head: factors multiply, cuts add up, a row or uniform weights replace."""
        match op:
            case MaskHead():
                self.factors[head] = 0.0
            case ScaleHead():
                self.factors[head] = self.factors.get(head, 1.0) * op.factor
            case MaskEdge():
                self.cut |= {(head, q, k) for q in op.q for k in op.k}
            case SetRow():
                total = sum(op.weights.values())
                self.rows[head, op.q] = tuple((k, weight / total) for k, weight in op.weights.items())
            case Uniform():
                self.uniform.add(head)
                self.rows = {key: row for key, row in self.rows.items() if key[0] != head}
            case _:
                assert_never(op)


@dataclass
class Compiler:
    """Gathers what interventions ask for, in their order; a refusal names the intervention."""

    translator: Translator
    options: dict[str, Any]
    source: Sequence[int]
    """The ids that are read, without their end."""
    drafts: dict[tuple[Kind, int], LayerDraft] = field(default_factory=lambda: defaultdict(LayerDraft))
    positions: dict[str, PositionEdit] = field(default_factory=dict)
    bridge: NDArray[np.float32] | None = None
    links: int = 0

    def add(self, op: Op) -> None:
        match op:
            case MaskHead() | ScaleHead() | MaskEdge() | SetRow() | Uniform():
                self.change_heads(op)
            case NoScale():
                self.leave_scale_out(op)
            case Positions():
                self.check_positions()
                self.positions[op.side] = PositionEdit(op.mode, op.seed, op.by)
            case Bridge():
                self.bridge = self.bridge_of(op)
            case ForcePrefix():
                self.options["prefix"] = prefix_text(op, self.translator.tokenizers.target)
            case Ban() | Require():
                given = self.options.get(op.op) or ()
                before = [given] if isinstance(given, str) else given
                self.options[op.op] = (*before, *op.text)
            case ReplaceSource():
                pass  # the text was changed before
            case _:
                assert_never(op)

    def sizes(self, kind: Kind) -> tuple[int, int]:
        """Layers and heads of one kind of attention."""
        found = self.translator.config.model.attention
        if kind not in found:
            arch = self.translator.config.model.arch
            hint = (
                f"it has: {', '.join(found)}"
                if found
                else "an RNN passes one vector to its decoder instead: bridge changes that"
            )
            raise bad_parameter(f"this model ({arch}) has no {kind} attention", hint=hint, field="kind")
        return found[kind]

    def change_heads(self, op: HeadOp) -> None:
        layers, heads = self.sizes(op.kind)
        chosen_heads = choose(op.head, heads, "head", op.kind)
        chosen_layers = choose(op.layer, layers, "layer", op.kind)
        if isinstance(op, MaskEdge):
            self.links += len(op.q) * len(op.k) * len(chosen_heads) * len(chosen_layers)
            if self.links > MOST_LINKS:
                raise bad_parameter(
                    f"more than {MOST_LINKS:,} links are masked", hint="name fewer q, k or heads"
                )
        if isinstance(op, SetRow):
            keys = self.seen(op.kind, op.q)
            if not any(weight > 0 and k in keys for k, weight in op.weights.items()):
                raise bad_parameter(
                    f"position {op.q} of {op.kind} can look at {span(len(keys))}, "
                    "and no weight above 0 is there",
                    hint="give some weight to a position that it can look at",
                    field="weights",
                )
        for layer in chosen_layers:
            draft = self.drafts[op.kind, layer]
            for head in chosen_heads:
                draft.add(op, head)
                if isinstance(op, MaskEdge):
                    self.check_rows(op, draft, head)

    def seen(self, kind: Kind, q: int) -> range:
        """The keys that a query may look at: the source with its end, or the tokens written so far."""
        return range(q + 1 if kind == "dec_self" else len(ended(self.source)))

    def check_rows(self, op: MaskEdge, draft: LayerDraft, head: int) -> None:
        """A row may not lose every key."""
        for q in op.q:
            keys = self.seen(op.kind, q)
            if op.kind == "enc_self" and q not in keys:
                continue
            if all((head, q, k) in draft.cut for k in keys):
                raise bad_parameter(
                    f"position {q} of {op.kind} would lose every key it can look at ({span(len(keys))})",
                    hint=NO_KEY,
                    field="k",
                )

    def leave_scale_out(self, op: NoScale) -> None:
        layers, _ = self.sizes(op.kind)
        config = self.translator.config.model
        if "scaled" not in config.__dataclass_fields__:
            whose = "Luong's" if config.arch == "luong" else "this model's"
            raise bad_parameter(
                f"{whose} attention does not divide its scores by √d_k, so none can be left out"
            )
        if config.scoring != "scaled_dot" and op.kind != "copy":  # which always divides
            raise bad_parameter("this model was trained with scaled=false and divides by no √d_k")
        for layer in range(layers):
            self.drafts[op.kind, layer].scaled = False

    def check_positions(self) -> None:
        config = self.translator.config.model
        if config.placing is None:
            raise bad_parameter(
                f"a recurrent model ({config.arch}) knows the order from reading and has no positions"
            )
        if config.placing == "none":
            raise bad_parameter('this model was trained with positions="none" and has none to change')

    def bridge_of(self, op: Bridge) -> NDArray[np.float32]:
        """What the decoder starts from instead, (N, C, D)."""
        most = self.translator.config.data.max_length
        config = self.translator.config.model
        if "cell" not in config.__dataclass_fields__:
            name = config.arch.capitalize()
            raise bad_parameter(f"a {name} has no bridge: its decoder looks at all states of the encoder")
        lines = [line for line in map(tidy, op.text.splitlines()) if line]
        if len(lines) > MOST_OPS:
            raise bad_parameter(f"text has {len(lines)} lines, and {MOST_OPS} is the most", field="text")
        if op.mode == "swap" and len(lines) > 1:
            raise bad_parameter(
                f'text has {len(lines)} lines, and mode="swap" takes one', hint='or mode="mean"', field="text"
            )
        tokenizers = self.translator.tokenizers
        sources = tokenizers.source.encode_many(lines or [tokenizers.blank_source])
        longest = max(map(len, sources))
        if longest > most:
            raise LimitError(
                f"bridge: text has {longest:,} tokens, and this model takes {most:,}",
                hint="give a shorter text",
                code="too_long",
            )
        with explained():
            final = finals(self.translator.inside, list(map(tokenizers.framed, sources)))  # (B, N, C, D)
        return np.zeros_like(final[0]) if op.mode == "zero" else final.mean(axis=0)


def compile_ops(
    ops: Sequence[Op],
    translator: Translator,
    text: str | SourceText,
    options: Mapping[str, Any] | None = None,
) -> CompiledOps:
    """Interventions ready to run on one text, with the options of the call and those they bring.

    They are checked against the model and the text first; the error of a bad one says which it is. Several on
    one head act in their order. `replace_source` counts the words of the text as it was given. A text that is
    too long for the model is cut, never split: positions must mean one sentence.
    """
    check_count(ops)
    if ops and (translator.interventions or translator.edits is not None):
        raise bad_parameter(
            "this translator has interventions already", hint="give all of them together, to the model itself"
        )
    translator = translator.asked_in(options)
    [source] = translator.read([text])
    [source] = translator.read([replace_words(ops, translator, source)])
    settings = dict(options or {})
    own: dict[str, Any] = {name: settings[name] for name in ("protect", "keep") if name in settings}
    [source] = as_read(translator, [source], make_request(translator.config.decoding, own))
    settings |= {"sentences": "as-is", "protect": False, "keep": ()}
    settings["long"] = "error" if settings.get("long") == "error" else "cut"
    return CompiledOps(compile_edits(ops, translator, taken(translator, source), settings), settings, source)


def taken(translator: Translator, source: SourceText) -> list[Any]:
    """As many of its ids as the model takes, and what stands around them; of a picture, all patches."""
    ids, tokenizers = list(source.ids), translator.tokenizers
    most = translator.config.data.max_length
    return ids if tokenizers.pictures else list(tokenizers.framed(beginning(ids, most)))


def compile_edits(
    ops: Sequence[Op], translator: Translator, source: Sequence[Any], options: dict[str, Any]
) -> Edits:
    """What interventions do to the model while it reads these ids; they add to the options."""
    compiler = Compiler(translator, options, source)
    for n, op in enumerate(ops):
        try:
            compiler.add(op)
        except ConfigError as error:
            raise misplaced(op, n, error) from None
    return Edits(
        {key: draft.edit() for key, draft in compiler.drafts.items()},
        compiler.positions.get("source"),
        compiler.positions.get("target"),
        compiler.bridge,
    )


def misplaced(op: Op, n: int, error: ConfigError) -> ConfigError:
    """The error of an intervention that this model or text cannot take: which one, and which field of it."""
    field = f"interventions.{n}" + (f".{error.field}" if error.field else "")
    return bad_parameter(
        f"{op.op}: {error.message}", hint=error.hint, where=f"interventions[{n}]", field=field
    )


def choose(index: Index, count: int, what: str, kind: Kind) -> tuple[int, ...]:
    """The layers or heads that an index means, of `count` that there are."""
    if index == "*":
        return tuple(range(count))
    chosen = (index,) if isinstance(index, int) else tuple(map(int, index))
    for one in chosen:
        if one >= count:
            raise bad_parameter(
                f"{what} {one} does not exist", hint=f"{kind} has {what}s {span(count)}", field=what
            )
    return chosen


def span(count: int) -> str:
    """The numbers from 0 to count - 1, in words."""
    return "0 only" if count == 1 else f"0 to {count - 1}"


def prefix_text(op: ForcePrefix, tokenizer: Tokenizer) -> str:
    """The text of a forced prefix; ids are refused if the tokenizer would write that text with others."""
    if not op.ids:
        return tidy(op.text)
    last = tokenizer.size - 1
    for one in op.ids:
        if not len(SPECIALS) <= one <= last or one in tokenizer.tags:
            raise bad_parameter(
                f"id {one} is no token of a text",
                hint=f"tokens of texts have ids {len(SPECIALS)} to {last}",
                field="ids",
            )
    text = tidy(tokenizer.decode(op.ids))
    usual = tokenizer.encode(text)
    if usual != list(op.ids):
        raise bad_parameter(
            f"this model's tokenizer writes the text of ids {list(op.ids)} with other ids",
            hint=f"give {usual}, or the text",
            field="ids",
        )
    return text


def replace_words(ops: Sequence[Op], translator: Translator, source: SourceText) -> str | SourceText:
    """The text with words written anew, each counted in the text as it was given."""
    wanted = {op.unit: (n, op) for n, op in enumerate(ops) if isinstance(op, ReplaceSource)}
    if not wanted:
        return source
    if translator.tokenizers.pictures:
        raise bad_parameter("replace_source writes words anew, and a picture has none")
    line = source.text
    words = units_of(side_of(translator.tokenizers.text_source, source.ids, line, "", end=False))
    for unit, (n, op) in sorted(wanted.items(), reverse=True):  # from the end, so that earlier places stay
        if unit >= len(words):
            has = f"the source has words {span(len(words))}" if words else "the source has no words"
            wrong = bad_parameter(f"unit {unit} does not exist", hint=has, field="unit")
            raise misplaced(op, n, wrong)
        begin, end = words[unit].span
        line = line[:begin] + op.text + line[end:]
    if not (line := tidy(line)):
        n, op = min(wanted.values(), key=lambda found: found[0])
        raise misplaced(
            op, n, bad_parameter("nothing is left of the source", hint="leave a word", field="text")
        )
    return line
