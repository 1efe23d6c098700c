"""A model folder: safetensors, JSON and a manifest in, a model out. Nothing in it is executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.checkpoint.card import model_files
from jumok.checkpoint.folder import write_folder
from jumok.checkpoint.manifest import (
    check_version,
    content_fingerprint,
    damaged,
    read_file,
    read_json,
    verify_folder,
)
from jumok.checkpoint.tensors import pack, unpack
from jumok.config import ModelConfig, RunConfig, TransformerConfig
from jumok.errors import ConfigError, ModelError, TokenizerFileError
from jumok.models.build import Patches, build_model
from jumok.models.interface import Seq2Seq
from jumok.settings import parse_config
from jumok.text.tokenizer import PATCHES, Tokenizer, Tokenizers, parse_patches, parse_tokenizer

WEIGHTS = "model.safetensors"
# Weights are checked as they are read; people edit the card; a translator never reads the optimizer.
_NOT_CHECKED_FIRST = {WEIGHTS, "README.md", "optimizer.safetensors"}


@dataclass(frozen=True)
class Loaded:
    """A model in eval mode and everything it came with."""

    model: Seq2Seq
    tokenizers: Tokenizers
    config: RunConfig
    folder: Path
    info: dict[str, Any]


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


def read_model(folder: Path, device: str | torch.device = "cpu") -> Loaded:
    """The model of one folder, after every file it needs was checked; a ModelError says what is wrong."""
    fields = read_json(folder, "config.json")
    config = _read_config(fields, folder / "config.json")
    tokenizers = _read_tokenizers(fields, folder)
    for fault in verify_folder(folder, skip=_NOT_CHECKED_FIRST, extras=False):
        raise damaged(folder, fault)
    tensors = unpack(read_file(folder, WEIGHTS), folder / WEIGHTS)
    model = _build(config.model, tokenizers, tensors, folder / WEIGHTS)
    info = fields.get("info")
    about = {
        **(info if isinstance(info, dict) else {}),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "fingerprint": content_fingerprint(folder),
    }
    return Loaded(model.to(device).eval(), tokenizers, config, folder, about)


def _read_config(fields: Mapping[str, Any], where: Path) -> RunConfig:
    if fields.get("model_type") != "jumok":
        raise ModelError(
            f"this is a model of type {str(fields.get('model_type'))[:80]!r}, not of jumok",
            where=str(where),
            hint="only models that jumok trained can be loaded",
            code="foreign_model",
        )
    check_version(fields.get("format_version"), where)
    match fields.get("jumok"):
        case dict(settings):
            try:
                return parse_config(settings, f"in {where}")
            except ConfigError as error:
                raise damaged(where, f"config.json cannot be used: {error.message}") from None
            except (TypeError, ValueError, AttributeError) as error:
                raise damaged(where, f"config.json cannot be used: {error}") from None
    raise damaged(where, "config.json is damaged: it holds no settings")


def _read_tokenizers(fields: Mapping[str, Any], folder: Path) -> Tokenizers:
    """The folder's tokenizers, if they are the ones that the model was trained with."""
    if fields.get("shared_vocabulary") is True:
        both = _read_tokenizer(folder, "tokenizer.json")
        tokenizers = Tokenizers(both, both)
    elif fields.get("source") == "image":
        target = _read_tokenizer(folder, "target_tokenizer.json")
        tokenizers = Tokenizers(parse_patches(_read(folder, PATCHES), str(folder / PATCHES)), target)
    else:
        sides = ("source_tokenizer.json", "target_tokenizer.json")
        tokenizers = Tokenizers(*(_read_tokenizer(folder, name) for name in sides))
    if tokenizers.fingerprint != (expected := fields.get("tokenizer_sha256")):
        hashes = f"SHA-256 {tokenizers.fingerprint}, the model expects {str(expected)[:64]}"
        raise _other_tokenizer(folder, hashes)
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        if tokenizer.size != (size := fields.get(f"{side}_vocab_size")):
            pieces = f"{tokenizer.size:,} {side} pieces, the model expects {str(size)[:20]}"
            raise _other_tokenizer(folder, pieces)
    return tokenizers


def _read_tokenizer(folder: Path, name: str) -> Tokenizer:
    return parse_tokenizer(_read(folder, name), str(folder / name))


def _read(folder: Path, name: str) -> bytes:
    try:
        return read_file(folder, name)
    except ModelError as error:
        raise _other_tokenizer(folder / name, error.message) from None


def _other_tokenizer(where: Path, reason: str) -> TokenizerFileError:
    return TokenizerFileError(
        f"the tokenizer is damaged or that of another model: {reason}",
        where=str(where),
        hint="put back the tokenizer that was saved with this model: with another one every word is wrong",
        code="tokenizer_mismatch",
    )


def _build(config: ModelConfig, tokenizers: Tokenizers, tensors: dict[str, Tensor], where: Path) -> Seq2Seq:
    found = sum(tensor.numel() for tensor in tensors.values())
    if (
        _least_numbers(config, tokenizers.target.size) > found
    ):  # a forged config.json must not take all memory
        raise _wrong_weights(where, [f"config.json needs more than the {found:,} numbers in the file"])
    with torch.random.fork_rng(devices=[]):  # fresh weights must not draw from the caller's numbers
        model = build_for(config, tokenizers)
    tensors = _under_every_name(model, tensors)
    if faults := _differences(model.state_dict(), tensors):
        raise _wrong_weights(where, faults)
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
    if isinstance(config, TransformerConfig):
        layers, widest = config.encoder_layers + config.decoder_layers, max(config.width, config.feedforward)
        rows = config.max_positions if config.positions == "learned" else 0
    else:
        layers, widest, rows = 2 * config.layers, config.width, 0
    return config.width * (vocabulary + rows + layers * widest)


def _differences(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> list[str]:
    faults = [f"{name} is missing" for name in expected if name not in found]
    faults += [f"{name[:80]} is unexpected" for name in found if name not in expected]
    for name, tensor in found.items():
        if name in expected and _kind(tensor) != _kind(expected[name]):
            faults.append(f"{name} is {_describe(tensor)}, not {_describe(expected[name])}")
    return faults


def _kind(tensor: Tensor) -> tuple[bool, tuple[int, ...]]:
    return tensor.is_floating_point(), tuple(tensor.shape)


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def _wrong_weights(where: Path, faults: list[str]) -> ModelError:
    more = f", and {len(faults) - 5} more" if len(faults) > 5 else ""
    return ModelError(
        f"the weights do not fit the model's settings: {'; '.join(faults[:5])}{more}",
        where=str(where),
        hint="config.json and model.safetensors come from different models: copy the folder again",
        code="wrong_weights",
    )
