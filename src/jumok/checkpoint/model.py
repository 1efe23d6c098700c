"""A model folder: safetensors, JSON and a manifest in, a model out. Nothing in it is executed.

Tensors are plain numbers, never code, and no number that is not finite is ever saved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from jumok.backends.choose import choose_backend
from jumok.checkpoint.card import model_files
from jumok.checkpoint.contents import WEIGHTS, Contents, read_contents, read_parts
from jumok.checkpoint.folder import write_folder
from jumok.checkpoint.manifest import COPY_AGAIN, read_file
from jumok.config import ModelConfig, RunConfig
from jumok.errors import ModelError, RunError
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.native.folder import WEIGHTS as PACKED
from jumok.native.weights import Kinds, PackedWeights, differences, unpack_weights, wrong_weights
from jumok.nn.patches import Patches
from jumok.text.tokenizer import Tokenizers


@dataclass(frozen=True, kw_only=True)
class LoadedModel(Contents):
    """A folder's contents with its model in torch, in eval mode."""

    model: Seq2Seq


def save_model(
    folder: str | Path,
    model: Mapping[str, Tensor],
    config: RunConfig,
    tokenizers: Tokenizers,
    info: Mapping[str, Any],
) -> Path:
    """Write a plain model folder, without an optimizer, from a model's state dict."""
    folder = Path(folder)
    write_folder(folder, {**model_files(config, tokenizers, info), WEIGHTS: pack(model, WEIGHTS)})
    return folder


def read_model(folder: Path, device: str | torch.device = "cpu") -> LoadedModel:
    """The model of one folder, after every file it needs was checked; a ModelError says what is wrong."""
    contents = read_contents(folder)
    if contents.quantised:
        return load_packed(contents, read_parts(contents), device)
    return load_tensors(contents, unpack(read_file(folder, WEIGHTS), folder / WEIGHTS), device)


def load_packed(
    contents: Contents, parts: Mapping[str, PackedWeights], device: str | torch.device = "cpu"
) -> LoadedModel:
    """The model that packed weights stand for, for what only torch can do."""
    arrays = unpack_weights(contents.config.model, parts, shared=contents.tokenizers.shared)
    return load_tensors(contents, {name: torch.from_numpy(array) for name, array in arrays.items()}, device)


def load_tensors(
    contents: Contents, tensors: dict[str, Tensor], device: str | torch.device = "cpu"
) -> LoadedModel:
    """The model of a folder with these weights."""
    where = contents.folder / (PACKED if contents.quantised else WEIGHTS)
    model = _build(contents.config.model, contents.tokenizers, tensors, where)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    known = vars(contents) | {"info": {**contents.info, "parameters": parameters}}
    model = model.to(device).eval()
    model.ops = choose_backend(device, next(model.parameters()).dtype)
    return LoadedModel(**known, model=model)


def _build(config: ModelConfig, tokenizers: Tokenizers, tensors: dict[str, Tensor], where: Path) -> Seq2Seq:
    numbers = sum(tensor.numel() for tensor in tensors.values())
    if (
        _least_numbers(config, tokenizers.target.size) > numbers
    ):  # a forged config.json must not take all memory
        raise wrong_weights([f"config.json needs more than the {numbers:,} numbers in the file"], str(where))
    with torch.random.fork_rng(devices=[]):  # fresh weights must not draw from the caller's numbers
        model = build_for(config, tokenizers)
    tensors = _under_every_name(model, tensors)
    if faults := differences(_kinds(model.state_dict()), _kinds(tensors)):
        raise wrong_weights(faults, str(where))
    model.load_state_dict(tensors)
    return model


def build_for(config: ModelConfig, tokenizers: Tokenizers) -> Seq2Seq:
    """A model with fresh weights that reads and writes what these tokenizers do."""
    sizes = tokenizers.source.size, tokenizers.target.size
    return build_model(config, *sizes, shared=tokenizers.shared, patches=patches_of(tokenizers))


def patches_of(tokenizers: Tokenizers) -> Patches | None:
    """The shape of a source that is a picture; None of a text."""
    reader = tokenizers.pictures
    return None if reader is None else Patches(reader.numbers, reader.places)


def _under_every_name(model: Seq2Seq, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights that are tied may be stored once; here each of their names has them."""
    names = dict(model.named_parameters(remove_duplicate=False))
    stored = {id(parameter): tensors[name] for name, parameter in names.items() if name in tensors}
    return {
        name: stored[id(parameter)] for name, parameter in names.items() if id(parameter) in stored
    } | tensors


def _least_numbers(config: ModelConfig, vocabulary: int) -> int:
    """A model has more numbers than one embedding and one square matrix per layer."""
    widest = max(config.width, getattr(config, "feedforward", 0))
    return config.width * (vocabulary + (config.table_rows or 0) + sum(config.depths) * widest)


def _kinds(tensors: Mapping[str, Tensor]) -> Kinds:
    return {name: (str(t.dtype).removeprefix("torch."), tuple(t.shape)) for name, t in tensors.items()}


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
