"""What an answer rests on. Which source units: leave one out, and see what the model thinks of each token.

    influence[t, j] = log p(y_t | y_<t, x) - log p(y_t | y_<t, x without unit j)

Above 0: unit j supported token t. It asks nothing of the architecture, so a model without attention has this
picture, too. Which heads: mask each alone, and score the whole answer again.

    delta[layer, head] = log p(y | x, head masked) - log p(y | x), below 0 where the answer needs the head

Axis letters: T target tokens, U units, H heads.
"""

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from jumok.decoding.jobs import Source
from jumok.decoding.translator import Translator
from jumok.edits import AttentionEdit, Edits, Kind
from jumok.errors import LimitError, nearest
from jumok.explain.forced import log_probs, tokens_at_once
from jumok.explain.ops import bad_parameter, check_name
from jumok.explain.tokens import Unit, UnitName, hidden, is_picture, source_side, units_of
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy
from jumok.text.tokenizer import EOS, UNK, Tokenizers

MOST_UNITS = 256

Replace = Literal["unk", "drop"]


@dataclass(frozen=True)
class Influence:
    """How much each source unit supports each target token, in nats."""

    unit: UnitName
    replace: Replace
    units: tuple[Unit, ...]
    values: NDArray[np.float32]  # (T, U)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "unit": self.unit,
            "replace": self.replace,
            "units": [unit.to_dict() for unit in self.units],
            "values": self.values.tolist(),
        }


def influence(
    translator: Translator,
    source: str | Source,
    target: str | Sequence[int],
    *,
    unit: UnitName = "words",
    replace: Replace = "unk",
    progress: Progress = silent,
) -> Influence:
    """The influence of each word (or token) of the source on each token of the target.

    Both sides are texts or ids; the source may be a picture, whose units are patches. The ids of a target are
    scored as they stand: they end with the id of the end where the answer was finished, as
    `Translation.tokens` has them; a text gets its end. A unit is replaced token by token with the unknown
    token, so that all others keep their places, or dropped; a patch gets the mean colour of its picture, and
    cannot be dropped. `progress` hears of every pass and may raise to stop the work.
    """
    check_names(unit, replace)
    ids, text = source_ids(translator.tokenizers, source)
    side = source_side(translator.tokenizers, ids, text, "", end=False)
    values = leave_out(
        translator,
        ids,
        target_ids(translator.tokenizers, target),
        units_of(side, unit),
        replace=replace,
        progress=progress,
    )
    return Influence(unit, replace, units_of(side, unit), values)


def leave_out(
    translator: Translator,
    source: Source,
    target: Sequence[int],
    units: Sequence[Unit],
    *,
    replace: Replace = "unk",
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """The influence (T, U) of units of source ids on target ids: one row of a batch for each unit."""
    if len(units) > MOST_UNITS:
        raise LimitError(
            f"the source has {len(units)} units, and influence takes {MOST_UNITS}",
            hint="ask for words instead of tokens, or for a shorter text",
            code="too_long",
        )
    rows = [list(source), *(without(source, one, replace) for one in units)]
    room = max(1, tokens_at_once(translator) // max(len(source) + 1, len(target)))
    found = []
    for first in range(0, len(rows), room):
        found.append(log_probs(translator, rows[first : first + room], target))
        progress("influence", min(first + room, len(rows)), len(rows))
    scores = np.concatenate(found)  # (1 + U, T)
    return np.ascontiguousarray((scores[0] - scores[1:]).T)


def without(source: Source, unit: Unit, replace: Replace) -> list[Any]:
    """The source ids with one unit replaced."""
    gone, instead = set(unit.tokens), hidden(source) if is_picture(source) else UNK  # type: ignore[arg-type]
    if replace == "unk":
        return [instead if i in gone else one for i, one in enumerate(source)]
    if is_picture(source):
        raise bad_parameter("a patch cannot be dropped from a picture", hint='take replace="unk"')
    return [one for i, one in enumerate(source) if i not in gone]


def source_ids(tokenizers: Tokenizers, source: str | Source) -> tuple[list[Any], str]:
    """The ids of a source without its end, and its text."""
    if isinstance(source, str):
        text = tokenizers.tidy_source(source)
        return list(tokenizers.framed(tokenizers.source.encode(text))), text
    ids = list(source[:-1] if source and source[-1] == EOS else source)
    return ids, tokenizers.tidy_source(tokenizers.source.decode(ids))


def target_ids(tokenizers: Tokenizers, target: str | Sequence[int]) -> list[int]:
    """The ids to be scored: those given, or those of a text with what it begins with and its end."""
    if not isinstance(target, str):
        return list(target)
    return [*tokenizers.opening, *tokenizers.target.encode(tidy(target)), EOS]


def check_names(unit: object, replace: object) -> None:
    check_name("unit", unit, get_args(UnitName))
    check_name("replace", replace, get_args(Replace))


@dataclass(frozen=True)
class SweepRow:
    """What masking each head of one layer does to the log-probability of the answer."""

    kind: Kind
    layer: int
    values: NDArray[np.float32]  # (H,)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"kind": self.kind, "layer": self.layer, "values": self.values.tolist()}


def sweep(
    translator: Translator,
    source: str | Source,
    target: str | Sequence[int],
    kinds: Sequence[Kind] | None = None,
) -> Iterator[SweepRow]:
    """One row for each layer of each kind of attention, as soon as it is done; of some kinds, if named.

    Both sides are texts or ids, as in `influence`. A model without attention gives no rows. The interventions
    of an edited translator stay in force.
    """
    sizes = translator.config.model.attention
    for kind in kinds or ():
        if kind not in sizes:
            raise bad_parameter(
                f"this model ({translator.config.model.arch}) has no {kind!r} attention",
                hint=nearest(str(kind), sizes) if sizes else "",
            )
    read, _ = source_ids(translator.tokenizers, source)
    written = target_ids(translator.tokenizers, target)
    return rows(translator, read, written, {kind: sizes[kind] for kind in kinds or sizes})


def rows(
    translator: Translator,
    source: Source,
    target: Sequence[int],
    sizes: dict[Kind, tuple[int, int]],
) -> Iterator[SweepRow]:
    if not sizes or not target:
        return
    edits = translator.edits or Edits()
    plain = translator.seeing("sweep")

    def score(changed: Edits) -> float:
        one = copy.copy(plain)
        one._engine = one._engine.edited(changed)
        [found] = log_probs(one, [source], target)
        return float(found.sum(dtype=np.float64))

    baseline = score(edits)
    for kind, (layers, heads) in sizes.items():
        for layer in range(layers):
            deltas = [score(with_mask(edits, kind, layer, head)) - baseline for head in range(heads)]
            yield SweepRow(kind, layer, np.array(deltas, np.float32))


def with_mask(edits: Edits, kind: Kind, layer: int, head: int) -> Edits:
    """The edits with one more head masked."""
    before = edits.attention.get((kind, layer), AttentionEdit())
    after = dataclasses.replace(before, factors=(*before.factors, (head, 0.0)))
    return dataclasses.replace(edits, attention={**edits.attention, (kind, layer): after})
