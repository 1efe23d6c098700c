"""What a model folder holds besides a torch model: settings, tokenizers, weights as arrays. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.checkpoint.calibration import read_alignment
from jumok.checkpoint.manifest import (
    check_version,
    content_fingerprint,
    damaged,
    read_buffer,
    read_file,
    read_json,
    read_manifest,
    verify_folder,
)
from jumok.config import RunConfig
from jumok.errors import ConfigError, ModelError, TokenizerFileError
from jumok.native.folder import CERTIFICATE, check_certificate, no_certificate, parse_parts
from jumok.native.folder import WEIGHTS as PACKED
from jumok.native.shortlist import FILE as SHORTLIST
from jumok.native.shortlist import Shortlist, check_listed, parse_shortlist
from jumok.native.tensors import Array, parse_tensors
from jumok.native.weights import PackedWeights
from jumok.settings import flatten, nest, parse_config, upgrade_settings
from jumok.text.frame import FRAME_FILE, PLAIN, parse_frame
from jumok.text.tokenizer import PATCHES, Tokenizer, Tokenizers, parse_source, parse_tokenizer

WEIGHTS = "model.safetensors"
# Weights and certificates are checked when read; people edit the card; nobody here reads the optimizer.
_NOT_CHECKED_FIRST = {WEIGHTS, PACKED, SHORTLIST, CERTIFICATE, "README.md", "optimizer.safetensors"}


@dataclass(frozen=True)
class Contents:
    """A model folder without its weights."""

    tokenizers: Tokenizers
    config: RunConfig
    folder: Path
    info: dict[str, Any]
    quantised: bool = False
    """Its weights are packed int8 codes, with a certificate."""


def read_contents(folder: Path) -> Contents:
    """Everything but the weights, after every file was checked; a ModelError says what is wrong."""
    fields = read_json(folder, "config.json")
    config = _read_config(fields, folder / "config.json")
    tokenizers = _read_tokenizers(fields, folder)
    for fault in verify_folder(folder, skip=_NOT_CHECKED_FIRST, extras=False):
        raise damaged(folder, fault)
    files, info = read_manifest(folder), fields.get("info")
    quantised = PACKED in files and WEIGHTS not in files
    about = {
        **(info if isinstance(info, dict) else {}),
        **({"weights": "int8"} if quantised else {}),
        **({"align_head": found["align_head"]} if (found := read_alignment(folder)) else {}),
        "fingerprint": content_fingerprint(folder),
    }
    return Contents(tokenizers, config, folder, about, quantised=quantised)


def settings_faults(folder: Path) -> list[str]:
    """Why the settings of a folder cannot be used, if they are ours: they may ask for too much."""
    try:
        fields = read_json(folder, "config.json")
        if fields.get("model_type") == "jumok":
            _read_config(fields, folder / "config.json")
    except ModelError as error:
        return [error.message]
    return []


def read_arrays(contents: Contents) -> dict[str, Array]:
    """The tensors of `model.safetensors`."""
    where = contents.folder / WEIGHTS
    arrays, _ = parse_tensors(read_buffer(contents.folder, WEIGHTS), str(where))
    return arrays


def read_parts(contents: Contents) -> dict[str, PackedWeights]:
    """The packed weights of an int8 folder, if its certificate is theirs."""
    folder, tokenizers = contents.folder, contents.tokenizers
    where, proof = folder / PACKED, folder / CERTIFICATE
    if CERTIFICATE not in read_manifest(folder) or not proof.exists():
        raise no_certificate(str(proof))
    fields = read_json(folder, CERTIFICATE)
    sizes = (tokenizers.source.size, tokenizers.target.size)
    parts, fingerprint = parse_parts(
        read_buffer(folder, PACKED), contents.config.model, sizes, str(where), shared=tokenizers.shared
    )
    check_certificate(fields, fingerprint, str(proof))
    return parts


def read_shortlist(contents: Contents) -> Shortlist:
    """The shortlist of a folder, if its certificate says that it is good enough."""
    folder = contents.folder
    files = read_manifest(folder)
    if SHORTLIST not in files:
        raise ConfigError(
            f"{folder.name} has no shortlist",
            hint="make a folder with one: jumok export native -m MODEL -o FOLDER --shortlist",
            code="no_shortlist",
        )
    fields = read_json(folder, CERTIFICATE) if CERTIFICATE in files else {}
    check_listed(fields.get("shortlist"), str(folder / CERTIFICATE))
    return parse_shortlist(read_buffer(folder, SHORTLIST), contents.tokenizers, str(folder / SHORTLIST))


def _read_config(fields: Mapping[str, Any], where: Path) -> RunConfig:
    if fields.get("model_type") != "jumok":
        hint = "only models that jumok trained can be loaded"
        if (where.parent / CERTIFICATE).exists():
            hint = "it was exported for another program: use that, or the model it was made from"
        raise ModelError(
            f"this is a model of type {str(fields.get('model_type'))[:80]!r}, not of jumok",
            where=str(where),
            hint=hint,
            code="foreign_model",
        )
    check_version(fields.get("format_version"), where)
    match fields.get("jumok"):
        case dict(settings):
            try:
                flat = upgrade_settings(flatten(settings), fields.get("settings_version"))
                return parse_config(nest(flat), f"in {where}")
            except ConfigError as error:
                reason = ": ".join(part for part in (error.message, error.hint) if part)
                raise damaged(where, f"config.json cannot be used: {reason}") from None
            except (TypeError, ValueError, AttributeError) as error:
                raise damaged(where, f"config.json cannot be used: {error}") from None
    raise damaged(where, "config.json is damaged: it holds no settings")


def _read_tokenizers(fields: Mapping[str, Any], folder: Path) -> Tokenizers:
    """The folder's tokenizers, if they are the ones that the model was trained with."""
    framed = fields.get("frame") == FRAME_FILE
    frame = parse_frame(_read(folder, FRAME_FILE), str(folder / FRAME_FILE)) if framed else PLAIN
    if fields.get("shared_vocabulary") is True:
        tokenizers = Tokenizers(*_read_tokenizer(folder, "tokenizer.json").sides(), frame)
    else:
        name = PATCHES if fields.get("source") == "image" else "source_tokenizer.json"
        source = parse_source(_read(folder, name), str(folder / name))
        tokenizers = Tokenizers(source, _read_tokenizer(folder, "target_tokenizer.json"), frame)
    if tokenizers.fingerprint != (expected := fields.get("tokenizer_sha256")):
        hashes = f"SHA-256 {tokenizers.fingerprint}, the model expects {str(expected)[:64]}"
        raise _other_tokenizer(folder, hashes)
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        if tokenizer.size != (size := fields.get(f"{side}_vocab_size")):
            pieces = f"{tokenizer.size:,} {side} tokens, the model expects {str(size)[:20]}"
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
