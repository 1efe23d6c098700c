"""SGD, Adam, AdamW and Muon, each as one object that steps at a given rate."""

from collections.abc import Iterable, Mapping
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from jumok.config import TrainingConfig
from jumok.training.lora import Adapters


class Muon(Optimizer):
    """Momentum whose every update matrix is made orthogonal (Jordan et al. 2024).

        m_t = beta m_{t-1} + g_t
        W_t = W_{t-1} - lr · 0.2 sqrt(max(rows, columns)) · orthogonal(g_t + beta m_t)

    The factor gives updates the size of Adam's, so one learning rate serves both (Liu et al. 2025).
    """

    add_param_group = unwrap(Optimizer.add_param_group)  # see `plain`

    def __init__(self, params: Iterable[Tensor], lr: float, momentum: float, decay: float) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                momentum, rate = state["momentum"], group["lr"]
                grown = group["momentum"] * momentum + weight.grad
                update = orthogonal(weight.grad + group["momentum"] * grown)
                after = weight * (1 - rate * group["weight_decay"])
                after = after - rate * 0.2 * max(weight.shape) ** 0.5 * update
                weight.copy_(self.unless_skipped(after, weight))
                momentum.copy_(self.unless_skipped(grown, momentum))

    def unless_skipped(self, after: Tensor, before: Tensor) -> Tensor:
        """`after`, or `before` where `found_inf` (set as torch's own optimisers expect it) is not 0."""
        skip = getattr(self, "found_inf", None)
        return after if skip is None else torch.where(skip > 0, before, after)


def orthogonal(matrix: Tensor, iterations: int = 5) -> Tensor:
    """Near U V^T of the matrix U S V^T, by a quintic Newton-Schulz iteration on the shorter side."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.mT if tall else matrix
    x = x.to(torch.bfloat16) if x.is_cuda else x
    x = x / (x.norm() + 1e-7)
    for _ in range(iterations):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    result: Tensor = x.mT if tall else x
    return result.to(matrix.dtype)


class Optimizers:
    """One or two torch optimisers behind one face: step at a rate, read and write the state by name.

    They step what learns: the weights that are not frozen, or in the place of some of them their adapters.
    With `anchor` a step also takes back a share of the distance from the values that they have now (L2-SP,
    Li et al. 2018, apart from the gradient as AdamW has its decay):

        w <- w - lr · anchor · (w - w_0)
    """

    def __init__(self, model: nn.Module, config: TrainingConfig, adapters: Adapters | None = None) -> None:
        self.adapters = adapters
        adapted = adapters.weights if adapters else set()
        named = {name: p for name, p in model.named_parameters() if p.requires_grad and p not in adapted}
        if adapters:
            named |= adapters.parameters
        self.names: dict[Tensor, str] = {p: name for name, p in named.items()}
        self.all = make_optimizers(self.names, config)
        self.anchor = config.anchor
        self.start = [p.detach().clone() for p in self.names] if config.anchor else []

    @property
    def weights(self) -> list[Tensor]:
        """What learns."""
        return list(self.names)

    def take_gradients(self) -> None:
        """After a backward pass: the gradients of adapted matrices become those of their adapters."""
        if self.adapters:
            self.adapters.take()

    def gradients(self, found: Mapping[Tensor, Tensor]) -> list[Tensor]:
        """Those of `weights`, from the model's own that are not frozen."""
        if not self.adapters:
            return [found[weight] for weight in self.names]
        adapted = self.adapters.weights
        return [found[w] for w in found if w not in adapted] + self.adapters.gradients(found)

    def step(self, lr: float | Tensor, skip: Tensor | None = None) -> None:
        """One step at this rate. Where `skip` is true nothing changes, which a GPU decides by itself."""
        for optimizer in self.all:
            for group in optimizer.param_groups:
                group["lr"] = lr
            if skip is not None:
                optimizer.found_inf = skip.float()  # type: ignore[attr-defined]  # torch's name for it
            optimizer.step()
        if self.anchor:
            share = lr * self.anchor
            share = share.clamp(max=1) if isinstance(share, Tensor) else min(share, 1.0)
            self.pull(share if skip is None else share * ~skip)
        if self.adapters:
            self.adapters.merge()

    @torch.no_grad()
    def pull(self, share: float | Tensor) -> None:
        """Take every weight back by this share of its way."""
        for weight, start in zip(self.names, self.start, strict=True):
            weight += (start - weight) * share

    def tensors(self) -> dict[str, Tensor]:
        """Every number the optimisers remember, as `<what>/<parameter>`."""
        found = {}
        for optimizer in self.all:
            for parameter, state in optimizer.state.items():
                for what, value in state.items():
                    if value is not None:
                        found[f"{what}/{self.names[parameter]}"] = torch.as_tensor(value)
        return found

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `tensors` gave."""
        owners = {
            self.names[p]: (o, p) for o in self.all for group in o.param_groups for p in group["params"]
        }
        for key, value in tensors.items():
            what, _, name = key.partition("/")
            optimizer, parameter = owners[name]
            optimizer.state[parameter][what] = value.to(parameter.device, copy=True)


OUTSIDE = ("source_embedding.", "target_embedding.", "output.", "encoder_bias.", "decoder_bias.")


def is_hidden_matrix(name: str, parameter: Tensor) -> bool:
    """A matrix between hidden states: not a table of tokens or positions, not the output projection."""
    outside = name.startswith(OUTSIDE) or name.endswith(".table")
    return parameter.ndim == 2 and not outside


def make_optimizers(names: dict[Tensor, str], config: TrainingConfig) -> list[Optimizer]:
    """Muon takes the hidden matrices and AdamW the rest; the others take everything."""
    every = list(names)
    rate, decay = config.lr, config.weight_decay
    adam: dict[str, Any] = {
        "lr": rate,
        "betas": (config.momentum, config.beta2),
        "weight_decay": decay,
        "eps": 1e-9,
        "fused": True,
        "capturable": every[0].is_cuda,  # its steps may be part of a CUDA graph
    }
    match config.optimizer:
        case "sgd":
            return [
                with_momentum(
                    plain(SGD)(every, lr=rate, momentum=config.momentum, weight_decay=decay, fused=True)
                )
            ]
        case "adam":
            return [quiet(plain(Adam)(every, **adam))]
        case "adamw":
            return [quiet(plain(AdamW)(every, **adam))]
        case "muon":
            hidden = [p for p, name in names.items() if is_hidden_matrix(name, p)]
            rest = [p for p, name in names.items() if not is_hidden_matrix(name, p)]
            matrices: list[Optimizer] = [Muon(hidden, rate, config.momentum, decay)] if hidden else []
            return [*matrices, *([quiet(plain(AdamW)(rest, **adam))] if rest else [])]


def plain(kind: type[Optimizer]) -> Any:
    """The same optimiser without torch's wrappers for compiled steps, which take seconds to load."""
    step = torch.no_grad()(unwrap(kind.step))
    return type(kind.__name__, (kind,), {"step": step, "add_param_group": unwrap(kind.add_param_group)})


def with_momentum(optimizer: SGD) -> SGD:
    """With a momentum of 0 from the start: torch leaves it unfilled if the first step is skipped."""
    for group in optimizer.param_groups:
        for weight in group["params"] if group["momentum"] else ():
            optimizer.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
    return optimizer


def quiet(optimizer: Optimizer) -> Optimizer:
    """Without torch's warning that a step which could be captured in a graph is not."""
    optimizer._warned_capturable_if_run_uncaptured = True
    return optimizer
