"""Low-rank adapters: frozen matrices learn a difference of low rank beside them (LoRA, Hu et al. 2021).

    W = W_0 + s B A                           W, W_0 (F, D); B (F, r); A (r, D); s = 2
    dL/dB = s G A^T,   dL/dA = s B^T G,       G = dL/dW

A starts at random and B at 0, so W starts as W_0. The model computes with W itself: every back end is as it
was, and what is saved is merged already. G of a matrix is gone as soon as these two are made of it, and the
optimiser remembers only A and B. Axis letters: F and D rows and columns of a matrix, r rank.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from jumok.errors import ConfigError

SCALE = 2.0
A, B = "lora_a", "lora_b"


class AdaptedMatrix:
    """One matrix of the model, where it started, and what learns in its place."""

    def __init__(self, weight: nn.Parameter, rank: int, generator: torch.Generator) -> None:
        rows, columns = weight.shape
        self.weight, self.base = weight, weight.detach().clone()
        start = torch.randn(rank, columns, generator=generator) * columns**-0.5
        self.a = nn.Parameter(start.to(weight.device))
        self.b = nn.Parameter(torch.zeros(rows, rank, device=weight.device))

    def gradients(self, found: Tensor) -> tuple[Tensor, Tensor]:
        """Of A and of B, from the one of W."""
        found = found.to(self.a.dtype)
        return SCALE * self.b.detach().mT @ found, SCALE * found @ self.a.detach().mT

    @torch.no_grad()
    def take(self, _weight: Tensor | None = None) -> None:
        """Hand the gradient of W, if there is one, on to A and B, and drop it."""
        if self.weight.grad is None:
            return
        for one, gradient in zip((self.a, self.b), self.gradients(self.weight.grad), strict=True):
            one.grad = gradient if one.grad is None else one.grad + gradient
        self.weight.grad = None

    @torch.no_grad()
    def merge(self) -> None:
        self.weight.copy_(torch.addmm(self.base, self.b, self.a, alpha=SCALE))


class Adapters:
    """The adapted matrices of a model. Everything else of it is frozen, but for what `learns` names."""

    def __init__(
        self,
        model: nn.Module,
        rank: int,
        *,
        seed: int,
        adapts: Callable[[str, Tensor], bool],
        learns: Callable[[str], bool] = lambda name: False,
    ) -> None:
        """Only weights that are not frozen already get an adapter; `adapts` says which of them."""
        generator = torch.Generator().manual_seed(seed)
        self.by_name: dict[str, AdaptedMatrix] = {}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and adapts(name, parameter):
                check_rank(rank, name, parameter)
                self.by_name[name] = adapted = AdaptedMatrix(parameter, rank, generator)
                parameter.register_post_accumulate_grad_hook(adapted.take)  # type: ignore[no-untyped-call]
            elif not learns(name):
                parameter.requires_grad = False
        if not self.by_name:
            raise ConfigError(
                f"training.lora={rank}: no matrix is left to adapt",
                hint="freeze less, or leave training.lora out",
                code="nothing_learns",
            )

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """What learns, by name."""
        return {
            f"{name}.{which}": one
            for name, adapted in self.by_name.items()
            for which, one in ((A, adapted.a), (B, adapted.b))
        }

    @property
    def weights(self) -> set[Tensor]:
        """The matrices of the model that are adapted."""
        return {adapted.weight for adapted in self.by_name.values()}

    def take(self) -> None:
        """Hand on the gradients that are left, such as those that other threads have made."""
        for adapted in self.by_name.values():
            adapted.take()

    def gradients(self, found: Mapping[Tensor, Tensor]) -> list[Tensor]:
        """Of `parameters`, from those of the model's weights."""
        both = [adapted.gradients(found[adapted.weight]) for adapted in self.by_name.values()]
        return [gradient for pair in both for gradient in pair]

    def merge(self) -> None:
        """The model's matrices follow."""
        for adapted in self.by_name.values():
            adapted.merge()


def check_rank(rank: int, name: str, matrix: Tensor) -> None:
    """Refuse a rank that is none."""
    if rank > (most := min(matrix.shape)):
        raise ConfigError(
            f"training.lora={rank} is more than the rank of {name}, which is {most}",
            hint=f"choose at most {most}; 8 or 16 is usual",
            code="bad_rank",
        )
