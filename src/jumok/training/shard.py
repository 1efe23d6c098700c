"""Weights shared out over processes, for models that fit no single GPU (FSDP2, Zhao et al. 2023).

Each process keeps one part of every weight, of its gradient and of the optimiser's memory (a `DTensor`). The
weights of a layer come together when it computes and part again afterwards; its gradients are added up on
their way back to the owners, after each piece, so that no process ever holds them all.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from jumok.models.interface import Seq2Seq

CALLED = ("encode", "decode")  # what a training step calls; the weights must come together for each


def shard(model: Seq2Seq, device: str, size: int) -> None:
    """Share the model's weights out over `size` processes: layer by layer, then the rest."""
    # Loaded here: these parts of torch take a second, which runs without them need not wait.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

    mesh = init_device_mesh(torch.device(device).type, (size,))
    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    for module in [*(layer for stack in stacks for layer in stack), model]:
        fully_shard(module, mesh=mesh)
    model.apart = True
    for name in CALLED:
        register_fsdp_forward_method(model, name)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            # Our losses are shares of the update's mean already: gradients are added, not averaged.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(enable=True)


def is_shared(tensor: Tensor) -> bool:
    """Whether other processes hold other parts of this tensor."""
    return hasattr(tensor, "full_tensor")  # a DTensor, told without loading the module that defines it


def gathered(tensor: Tensor) -> Tensor:
    """The whole tensor in every process, each of which must ask; a plain tensor as it is."""
    shared: Any = tensor
    everything: Tensor = shared.full_tensor() if is_shared(tensor) else tensor
    return everything


def whole(tensor: Tensor) -> Tensor:
    """The tensor as it is; or, if it is shared out, all of it in the first process's main memory.

    Every process must ask. The others get nothing: GPUs that hold a part each have no room for all of it.
    """
    if not is_shared(tensor):
        return tensor
    shared: Any = tensor
    everything = gathered(tensor).cpu()  # in every process: this waits until the parts are there
    return everything if shared.device_mesh.get_rank() == 0 else everything.new_empty(0)


def shared_as(model: Tensor, value: Tensor) -> Tensor:
    """A whole value, of which this process keeps the part that it keeps of `model`; a count is kept whole."""
    if not is_shared(model) or value.shape != model.shape:
        return value
    from torch.distributed.tensor import distribute_tensor

    shared: Any = model
    return distribute_tensor(value.to(model.device), shared.device_mesh, shared.placements)


def fill(tensor: Tensor, value: Tensor) -> None:
    """Write a whole value into a tensor or into this process's part of it."""
    tensor.copy_(shared_as(tensor, value))


def reduce_whole(reduce: Callable[[list[Tensor]], None]) -> Callable[[Any], None]:
    """`reduce` for what FSDP has not added up itself."""
    return lambda tensors: reduce([tensor for tensor in tensors if not is_shared(tensor)])
