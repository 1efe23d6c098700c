"""What a model looked at while it wrote a text: weights with the tokens or words they stand between.

Axis letters: L layers, H heads, Q queries, K keys; between words T target, S source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jumok.decoding.jobs import Source
from jumok.edits import Kind
from jumok.explain.capture import Array, capture, read_only
from jumok.explain.heatmap import Style, heat_map, merge_words
from jumok.explain.ops import bad_parameter
from jumok.explain.tokens import ended, label
from jumok.text.tokenizer import BOS, EOS, SPECIALS, Tokenizers
from jumok.text.word_groups import text_of, word_groups

if TYPE_CHECKING:
    from jumok.models.interface import Seq2Seq

THRESHOLD = 0.1  # the least weight of a link between words


@dataclass(frozen=True, eq=False)
class HeadStages:
    """Every stage of one head, in the order of computation. Read-only arrays."""

    q: Array  # [Q, d]
    k: Array  # [K, d]
    v: Array  # [K, d]
    scores: Array  # [Q, K], Q K^T
    scaled: Array  # [Q, K], divided by sqrt(d), unless the model does without
    mask: Array  # [Q, K], 1 where looking is allowed
    weights: Array  # [Q, K], after the softmax; rows sum to 1
    context: Array  # [Q, d], weights V
    out: Array  # [Q, D], all heads of the layer joined and projected; of `copy` [Q, 1], the share copied
    bias: Array | None = None  # [Q, K], what relative positions add to `scaled` before the mask

    @property
    def placed(self) -> Array:
        """What the mask and the softmax are given [Q, K]: `scaled`, and the bias where there is one."""
        return self.scaled if self.bias is None else self.scaled + self.bias


@dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """The weights of one kind of attention. Row t is the step that wrote `target[t]`."""

    kind: Kind
    source: tuple[str, ...]
    """The keys' labels (columns), the end of the sentence last: source tokens, or what was written so far."""
    target: tuple[str, ...]
    """The queries' labels (rows), the end of the sentence last."""
    weights: NDArray[np.floating[Any]]  # [L, H, Q, K], rows sum to 1
    unit: str = "tokens"
    picked: tuple[str, ...] = ()
    """What was done to layers and heads, in words, if they are no longer the model's own."""
    find: Callable[[int, int], HeadStages] | None = None
    """Gives the stages of (layer, head)."""
    copied: tuple[float, ...] = ()
    """Of the kind `copy`: for each row the share that was copied, 1 - g; the rest is from the vocabulary."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", read_only(self.weights.view()))

    def __repr__(self) -> str:
        return f"Attention({self.kind}, {' × '.join(map(str, self.weights.shape))}, {self.unit})"

    def __getitem__(self, index: Any) -> Any:
        """`a[layer, head]` is [Q, K]; layers and heads count from 0, and from -1 backwards."""
        return self.weights[index]

    def pick(self, layer: int | None = -1, head: int | None = None) -> NDArray[np.floating[Any]]:
        """One matrix [Q, K]: a layer and a head by index from 0 (-1: the last); None: the mean over all."""
        weights = self.weights.mean(axis=0, dtype=np.float64) if layer is None else self.weights[layer]
        return weights.mean(axis=0, dtype=np.float64) if head is None else weights[head]  # type: ignore[no-any-return]

    def mean(self, layer: int | None = -1) -> Attention:
        """The mean over the heads of a layer, or of all layers: one layer, one head."""
        matrix = self.pick(layer)[None, None]
        picked = self.name(layer, None)
        return Attention(self.kind, self.source, self.target, matrix, self.unit, picked, copied=self.copied)

    def stages(self, layer: int = -1, head: int = 0) -> HeadStages:
        """How the weights of one head came about: q, k, v, scores, scaled, mask, weights, context and out.

        A model with relative positions also has a `bias` in its self-attention, added to `scaled`.
        """
        if self.find is None:
            raise bad_parameter(
                f"these weights between {self.unit} are no longer those of a single head",
                hint="ask the attention of a trace itself: trace.attention.cross.stages(layer, head)",
            )
        return self.find(layer, head)

    def words(self) -> Attention:
        """The same between words: the sum over the keys of a word, the mean over its queries."""
        source, target = word_groups(self.source), word_groups(self.target)
        return Attention(
            self.kind,
            tuple(text_of([self.source[i] for i in group]) for group in source),
            tuple(text_of([self.target[i] for i in group]) for group in target),
            merge_words(self.weights, source, target),
            "words",
            self.picked,
            copied=tuple(fmean(self.copied[i] for i in group) for group in target) if self.copied else (),
        )

    def show(
        self,
        *,
        layer: int | None = -1,
        head: int | None = None,
        style: Style = "blocks",
        width: int = 100,
    ) -> str:
        """A heat map with a title. Special tokens are folded: left out, with their share in the title."""
        weights = self.pick(layer, head)
        rows = [i for i, piece in enumerate(self.target) if piece not in SPECIALS]
        columns = [i for i, piece in enumerate(self.source) if piece not in SPECIALS]
        folded = [
            f"{piece} {weights[rows, i].mean():.2f}"
            for i, piece in enumerate(self.source)
            if piece in SPECIALS and rows
        ]
        title = " · ".join((self.kind, *(self.picked or self.name(layer, head)), self.unit))
        if self.copied:
            title += " · %: the share copied"
        if folded:
            title += f"      specials folded: {' · '.join(folded)}"
        source, target = ([label(piece) for piece in side] for side in (self.source, self.target))
        picture = heat_map(
            [source[i] for i in columns],
            [target[i] for i in rows],
            weights[np.ix_(rows, columns)],
            style=style,
            width=width,
            beside=[f"{self.copied[i]:4.0%}" for i in rows] if self.copied else (),
        )
        return f"{title}\n{picture}" if picture else title

    ascii = show

    def name(self, layer: int | None, head: int | None) -> tuple[str, str]:
        """Layer and head in words, counted from 1: `layer 3`, `mean of 4 heads`."""
        L, H = self.weights.shape[:2]
        layers = f"mean of {L} layers" if layer is None else f"layer {layer % L + 1}"
        one = "one head" if H == 1 else f"mean of {H} heads"
        return layers, one if head is None else f"head {head % H + 1}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "unit": self.unit,
            "source": list(self.source),
            "target": list(self.target),
            "layers": self.weights.shape[0],
            "heads": self.weights.shape[1],
            "weights": self.weights.tolist(),
            **({"copied": list(self.copied)} if self.copied else {}),
        }


@dataclass(frozen=True)
class Attentions:
    """All attention of one translation; None for a kind that is not there."""

    cross: Attention | None = None
    enc_self: Attention | None = None
    dec_self: Attention | None = None
    copy: Attention | None = None
    """Where a model that copies points."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `copy` only of a model that copies."""
        kinds = {"cross": self.cross, "enc_self": self.enc_self, "dec_self": self.dec_self}
        found = {kind: one and one.to_dict() for kind, one in kinds.items()}
        return found if self.copy is None else {**found, "copy": self.copy.to_dict()}


def attention_of(
    model: Seq2Seq,
    tokenizers: Tokenizers,
    source: str | Source,
    target: str | Sequence[int],
    kind: Kind = "cross",
) -> Attention | None:
    """The weights of all layers and heads while the model reads `source` and writes `target`.

    Both are texts, or ids without special ids. None if the model has no attention of this kind. The finished
    target goes through the explicit path once, all steps together, so the search for it keeps nothing.
    """
    read_ids = tokenizers.source.encode(source) if isinstance(source, str) else source
    source_ids: list[Any] = list(tokenizers.framed(read_ids))
    write_ids = tokenizers.target.encode(target) if isinstance(target, str) else target
    target_ids = [*tokenizers.opening, *write_ids]
    (found,) = capture(model, [source_ids], [target_ids])
    if kind not in found.weights:
        return None
    read = tokenizers.source.pieces(ended(source_ids))
    written = tokenizers.target.pieces([*target_ids, EOS])
    fed = tokenizers.target.pieces([BOS, *target_ids])
    own = {"enc_self": (read, read), "dec_self": (fed, written)}
    keys, queries = own.get(kind, (read, written))
    copied = tuple(step.copied for step in found.steps if step.copied is not None) if kind == "copy" else ()
    return Attention(kind, tuple(keys), tuple(queries), found.weights[kind], copied=copied)


@dataclass(frozen=True)
class Link:
    """A target word and the source word it looked at most."""

    source: int
    target: int
    weight: float


def links(weights: ArrayLike, *, threshold: float = THRESHOLD, end: bool = True) -> list[Link]:
    """Hard links from weights (T, S) between words: each target word to the source word with the largest.

    A word has no link if that weight is below the threshold. With `end`, the last row and the last column are
    the ends of the sentences: the end gets no link, and a word that looked at the end most has none. Of equal
    weights the first counts.
    """
    table = np.asarray(weights, dtype=np.float64)
    rows = table[:-1] if end else table
    if not rows.size:
        return []
    best, last = rows.argmax(axis=1), table.shape[1] - 1
    found = [Link(int(s), t, float(rows[t, s])) for t, s in enumerate(best)]
    return [link for link in found if link.weight >= threshold and not (end and link.source == last)]


def pharaoh(found: Iterable[Link]) -> str:
    """Links in Pharaoh's form: `0-0 3-1 2-3`, source before target, words counted from 0."""
    return " ".join(f"{link.source}-{link.target}" for link in found)
