"""Tensors to safetensors bytes and back: plain numbers, never code, and never a number that is not finite."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from jumok.checkpoint.manifest import COPY_AGAIN
from jumok.errors import ModelError, RunError


def pack(tensors: Mapping[str, Tensor], name: str) -> bytes:
    """The bytes of a safetensors file; `name` says in an error which file was to be written.

    Tensors that share memory (tied weights) are each written in full.
    """
    plain: dict[str, Tensor] = {}
    storages: set[int] = set()
    for key, tensor in tensors.items():
        _require_finite(tensor, f"{name}: {key}")
        tensor = tensor.detach().cpu().contiguous()
        storage = tensor.untyped_storage().data_ptr()
        plain[key] = tensor.clone() if storage in storages else tensor
        storages.add(storage)
    return save(plain, metadata={"format": "pt"})


def unpack(data: bytes, where: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, on the CPU; anything else is a ModelError."""
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, RuntimeError, OverflowError) as error:
        raise ModelError(
            f"{where.name} holds no readable tensors: {str(error)[:200]}",
            where=str(where),
            hint=COPY_AGAIN,
            code="damaged",
        ) from None


def _require_finite(tensor: Tensor, what: str) -> None:
    if tensor.is_floating_point() and not (finite := tensor.isfinite()).all():
        raise RunError(
            f"{int((~finite).sum()):,} of {tensor.numel():,} numbers are not finite",
            where=what,
            hint="nothing was saved; the checkpoint before this one is still good",
            code="non_finite",
        )
