"""How what a what-if changes in one attention layer (`jumok.edits`) acts on the tensors.

Axis letters: B batch, T queries, S keys, H heads, K width of one head, C cells of a table.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.edits import AttentionEdit, Whole

Cells = tuple[Tensor, Tensor, Tensor, Tensor]
"""Indices of some cells of a (B, H, T, S) tensor."""


@dataclass(frozen=True)
class Places:
    """From positions to the rows and columns of a (B, H, T, S) tensor.

    `first` is the position of row 0 and `begin` the column of position 0, a tensor (B,) where sentences
    differ.
    """

    shape: tuple[int, int, int, int]
    device: torch.device
    first: int | Tensor = 0
    begin: Tensor | None = None

    def cells(self, entries: Whole) -> tuple[Cells, Tensor]:
        """Cells of the entries (C, 3) of head, query and key; also, for each, which entry it belongs to."""
        B, H, T, S = self.shape
        head, q, k = torch.from_numpy(entries).to(self.device).T  # (C,)
        first = self.first[:, None] if isinstance(self.first, Tensor) else self.first
        row = (q - first).expand(B, -1)  # (B, C)
        column = (k if self.begin is None else k + self.begin[:, None]).expand(B, -1)
        inside = (head < H) & (row >= 0) & (row < T) & (column >= 0) & (column < S)
        b, entry = inside.nonzero(as_tuple=True)
        return (b, head[entry], row[b, entry], column[b, entry]), entry


def cut_keys(mask: Tensor, edit: AttentionEdit, places: Places) -> Tensor:
    """The mask without the cut cells: (B, H, T, S), or the mask itself if nothing is cut."""
    if not edit.cut:
        return mask
    left = mask.expand(places.shape).clone()
    left[places.cells(edit.cut_table)[0]] = False
    empty = ~left.any(dim=-1)  # (B, H, T)
    if empty.any():
        b, head, row = empty.nonzero()[0].tolist()
        q = row + int(places.first[b] if isinstance(places.first, Tensor) else places.first)
        raise ValueError(f"every key of head {head}, query {q} is cut: a query needs one key to look at")
    return left


def change_weights(
    weights: Tensor, mask: Tensor, left: Tensor, edit: AttentionEdit, places: Places
) -> Tensor:
    """Weights (B, H, T, S) with uniform heads over the keys `left` and with the rows that are set.

    A set row may look at any key of `mask`; if none of its keys is there, the row stays as it is.
    """
    heads = [head for head in edit.uniform if head < places.shape[1]]
    if heads:
        share = left.expand(places.shape)[:, heads].to(weights.dtype)
        weights = weights.clone()
        weights[:, heads] = share / share.sum(dim=-1, keepdim=True)
    if edit.rows:
        entries, values = edit.row_table
        cells, entry = places.cells(entries)
        given = torch.zeros_like(weights)
        given[cells] = torch.from_numpy(values).to(weights)[entry]
        given = given.masked_fill(~mask, 0)
        total = given.sum(dim=-1, keepdim=True)  # (B, H, T, 1)
        weights = torch.where(total > 0, given / total, weights)
    return weights


def scale_heads(context: Tensor, edit: AttentionEdit) -> Tensor:
    """Context (B, H, T, K) times the factor of each head."""
    if not edit.factors:
        return context
    H = context.shape[1]
    factors = torch.ones(H)
    for head, factor in edit.factors:
        if head < H:
            factors[head] *= factor
    return context * factors.to(context)[:, None, None]
