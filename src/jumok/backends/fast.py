"""What the fast back ends share: embeddings with their own backward, tables of positions that are kept."""

import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.backends.branch import Branch, Sums
from jumok.backends.embedding import Embed
from jumok.backends.products import Multiply, torch_product
from jumok.backends.torch import TorchBackend
from jumok.backends.values import Projected
from jumok.nn.positions import sinusoidal


class FastBackend(TorchBackend):
    """Products in torch, with backward passes of our own around them."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int, torch.device, torch.dtype], Tensor] = {}

    @property
    def sums(self) -> Sums:
        """How the gradient of a bias is summed."""
        raise NotImplementedError

    @property
    def multiply(self) -> Multiply:
        """Who computes matrix products."""
        return torch_product

    def embed(self, ids: Tensor, table: Tensor, scale: float = 1.0) -> Tensor:
        rows: Tensor = Embed.apply(ids, table, scale)  # type: ignore[no-untyped-call]
        return rows

    def sinusoids(self, positions: Tensor, end: int | None, width: int, kind: torch.dtype) -> Tensor:
        """Rows of a table that is kept as long as the back end: a captured step goes on reading it."""
        if end is None:
            return super().sinusoids(positions, end, width, kind)
        rows = 1 << max(end - 1, 0).bit_length()  # every batch has another length: a few tables serve all
        key = (rows, width, positions.device, kind)
        if key not in self.kept:
            with torch.inference_mode(mode=False), torch.no_grad():
                self.kept[key] = sinusoidal(torch.arange(rows, device=positions.device), width).to(kind)
        return F.embedding(positions, self.kept[key])

    def branch(
        self,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        *,
        relu: bool = False,
        owed: bool = False,
        own: bool = True,
    ) -> tuple[Projected, Tensor]:
        if not own or x.dtype != weight.dtype:
            return super().branch(x, weight, bias, relu=relu)
        given = bias.detach() if owed else bias
        y, x = Branch.apply(x, weight, given, relu, self.sums, self.multiply)  # type: ignore[no-untyped-call]
        return Projected(y, bias if owed else None), x


def settled(inputs: tuple[Projected, ...]) -> tuple[Projected, ...]:
    """The same products for an op that sums no bias's gradient: it flows back through the sum instead."""
    return tuple(
        one if one.bias is None else Projected(one.values + (one.bias - one.bias.detach())) for one in inputs
    )


def values_and_biases(inputs: tuple[Projected, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The products, and the biases whose gradients they owe: one for each of them, or none."""
    if any(one.bias is None for one in inputs):
        inputs = settled(inputs)
    return tuple(one.values for one in inputs), tuple(one.bias for one in inputs if one.bias is not None)
