"""What a model looked at while it wrote a text: weights with the pieces or words they stand between.

Axis letters: N layers, H heads, T queries, S keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category, name

import numpy as np
import torch
from numpy.typing import NDArray

from jumok.explain.heatmap import Style, cells, heat_map, merge_words
from jumok.models.interface import Kind, Seq2Seq
from jumok.text.tokenizer import BOS, BYTES, EOS, SPECIALS, Tokenizers

BYTE_OF = {piece: byte for byte, piece in enumerate(BYTES)}
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # scripts without spaces


@dataclass(frozen=True)
class Attention:
    """The weights of one kind of attention. Row t is the step that wrote `target[t]`."""

    kind: Kind
    source: tuple[str, ...]
    """The keys' labels (columns), the end of the sentence last: source pieces, or what was written so far."""
    target: tuple[str, ...]
    """The queries' labels (rows), the end of the sentence last."""
    weights: NDArray[np.floating[Any]]  # (N, H, T, S), rows sum to 1
    unit: str = "pieces"

    def pick(self, layer: int | None = -1, head: int | None = None) -> NDArray[np.floating[Any]]:
        """One matrix (T, S): a layer and a head by index from 0 (-1: the last); None: the mean over all."""
        weights = self.weights.mean(axis=0) if layer is None else self.weights[layer]  # (H, T, S)
        return weights.mean(axis=0) if head is None else weights[head]  # type: ignore[no-any-return]

    def words(self) -> "Attention":
        """The same between words: the sum over the keys of a word, the mean over its queries."""
        source, target = word_groups(self.source), word_groups(self.target)
        return Attention(
            self.kind,
            tuple(text_of([self.source[i] for i in group]) for group in source),
            tuple(text_of([self.target[i] for i in group]) for group in target),
            merge_words(self.weights, source, target),
            "words",
        )

    def show(
        self,
        *,
        layer: int | None = -1,
        head: int | None = None,
        style: Style = "blocks",
        width: int = 100,
    ) -> str:
        """A heat map with a title. Special pieces are folded: left out, with their share in the title."""
        weights = self.pick(layer, head)
        rows = [i for i, piece in enumerate(self.target) if piece not in SPECIALS]
        columns = [i for i, piece in enumerate(self.source) if piece not in SPECIALS]
        folded = [
            f"{piece} {weights[rows, i].mean():.2f}"
            for i, piece in enumerate(self.source)
            if piece in SPECIALS and rows
        ]
        title = " · ".join((self.kind, *self.name(layer, head), self.unit))
        if folded:
            title += f"      specials folded: {' · '.join(folded)}"
        source, target = ([label(piece) for piece in side] for side in (self.source, self.target))
        picture = heat_map(
            [source[i] for i in columns],
            [target[i] for i in rows],
            weights[np.ix_(rows, columns)],
            style=style,
            width=width,
        )
        return f"{title}\n{picture}" if picture else title

    def name(self, layer: int | None, head: int | None) -> tuple[str, str]:
        """Layer and head in words, counted from 1: `layer 3`, `mean of 4 heads`."""
        N, H = self.weights.shape[:2]
        layers = f"mean of {N} layers" if layer is None else f"layer {layer % N + 1}"
        one = "one head" if H == 1 else f"mean of {H} heads"
        return layers, one if head is None else f"head {head % H + 1}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "unit": self.unit,
            "source": list(self.source),
            "target": list(self.target),
            "layers": self.weights.shape[0],
            "heads": self.weights.shape[1],
            "weights": self.weights.tolist(),
        }


def attention_of(
    model: Seq2Seq,
    tokenizers: Tokenizers,
    source: str | Sequence[int],
    target: str | Sequence[int],
    kind: Kind = "cross",
) -> Attention | None:
    """The weights of all layers and heads while the model reads `source` and writes `target`.

    Both are texts, or ids without special ids. None if the model has no attention of this kind. The finished
    target goes through the explicit path once, all steps together, so the search for it keeps nothing.
    """
    source_ids = tokenizers.source.encode(source) if isinstance(source, str) else list(source)
    target_ids = tokenizers.target.encode(target) if isinstance(target, str) else list(target)
    layers: list[NDArray[np.floating[Any]]] = []

    def keep(of: Kind, layer: int, stages: Any) -> None:
        if of == kind:
            layers.append(stages.weights[0].double().cpu().numpy())  # (H, T, S)

    read, fed, written = [*source_ids, EOS], [BOS, *target_ids], [*target_ids, EOS]
    device = next(model.parameters()).device
    source_row = torch.tensor([read], device=device)  # (1, S)
    with torch.inference_mode():
        memory = model.encode(source_row, torch.ones_like(source_row, dtype=torch.bool), keep)
        model.decode(torch.tensor([fed], device=device), memory, keep)
    if not layers:
        return None
    source_pieces = tuple(tokenizers.source.pieces(read))
    pieces = {
        "cross": (source_pieces, tuple(tokenizers.target.pieces(written))),
        "enc_self": (source_pieces, source_pieces),
        "dec_self": (tuple(tokenizers.target.pieces(fed)), tuple(tokenizers.target.pieces(written))),
    }
    return Attention(kind, *pieces[kind], np.stack(layers))


def label(piece: str) -> str:
    """What to show for a piece: no leading space, `␣` for a space alone, two hex digits for a byte."""
    if piece in BYTE_OF:
        return f"{BYTE_OF[piece]:02X}"
    text = "".join("\ufffd" if category(char) == "Cc" else char for char in piece.strip())
    if not text:
        return "␣"
    return text if cells(text) else f"◌{text}"


def text_of(pieces: Sequence[str]) -> str:
    """The text of pieces side by side, without spaces around it; bytes become the characters they spell."""
    data = b"".join(bytes([BYTE_OF[p]]) if p in BYTE_OF else p.encode() for p in pieces)
    return data.decode(errors="replace").strip()


def word_groups(pieces: Sequence[str]) -> list[list[int]]:
    """Indices of the pieces of each word; every piece is in exactly one.

    A word begins at a space, which belongs to it, and wherever letters and digits meet anything else. Signs,
    and pieces of scripts that write no spaces, stand alone.
    """
    groups: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if i and not starts_word(pieces[i - 1], piece):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def starts_word(before: str, piece: str) -> bool:
    """Whether a word begins at `piece`, which follows the piece `before`."""
    if before in SPECIALS or piece in SPECIALS:
        return True
    if piece in BYTE_OF and 0x80 <= BYTE_OF[piece] < 0xC0:
        return False  # inside a character
    if piece[0].isspace():
        return True
    if before.isspace() or category(piece[0]).startswith("M"):
        return False
    left, right = (side in BYTE_OF or joins(char) for side, char in ((before, before[-1]), (piece, piece[0])))
    return not (left and right)


def joins(char: str) -> bool:
    """Letters, marks and digits of scripts that separate words by spaces."""
    return category(char)[0] in "LMN" and not name(char, "").startswith(UNSPACED)
