"""The int8 model folder: `native.safetensors`, packed as the kernels read it, and the certificate beside it.

The file holds for each matrix `NAME.codes` (N16/16, K4/4, 16, 4) bytes, `NAME.scale` and `NAME.bias` (N16,)
floats, and every vector and table under its own name; NAME is that of jumok.h. What is tied or shared is
there once. Its metadata says the format, the type, the sizes of both vocabularies and which model it was made
from. Only bytes and values here: `jumok.checkpoint` reads the files.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.architectures import ModelConfig
from jumok.errors import ModelError
from jumok.native.tensors import check_format, dump_tensors, parse_tensors
from jumok.native.weights import BLOCK, QUAD, PackedWeights, WeightPart, check_layers, layout, padded

WEIGHTS, CERTIFICATE = "native.safetensors", "certificate.json"
FORMAT, SCHEMA = "jumok-native/1", "jumok-certificate/1"
AGAIN = "make it again with jumok export native"


def dump_parts(parts: Mapping[str, PackedWeights], fingerprint: str) -> bytes:
    """The bytes of `native.safetensors`; `fingerprint` is that of the model that was quantised."""
    arrays: dict[str, NDArray[Any]] = {}
    seen: set[int] = set()
    for name, part in parts.items():
        if part.scale is None:
            if part.data.size != part.rows * part.columns or part.bias is not None:
                raise ValueError(f"{name} is a matrix of float32; the folder is for int8")
            arrays[name] = part.data
            continue
        if id(part.data) not in seen:
            seen.add(id(part.data))
            arrays[f"{name}.codes"] = part.data.reshape(codes_shape(part.rows, part.columns))
            arrays[f"{name}.scale"] = part.scale
        if part.bias is not None:
            arrays[f"{name}.bias"] = part.bias
    return dump_tensors(
        arrays,
        {
            "format": FORMAT,
            "type": "int8",
            "model_fingerprint": fingerprint,
            "source_vocabulary": str(parts["source_embedding"].rows),
            "target_vocabulary": str(parts["target_embedding"].rows),
        },
    )


def parse_parts(
    buffer: Any, config: ModelConfig, sizes: tuple[int, int], where: str, *, shared: bool
) -> tuple[dict[str, PackedWeights], str]:
    """The parts in the bytes of `native.safetensors`, as views, and the fingerprint of the model they are of.

    `sizes` are those of the source and the target tokenizer. Whatever is wrong is a ModelError.
    """
    arrays, metadata = parse_tensors(buffer, where)
    _check_metadata(metadata, sizes, where)
    check_layers(config, len(arrays), where)
    read = _Reader(arrays, where)
    parts: dict[str, PackedWeights] = {}
    for part in layout(config, *sizes):
        again = (part.name == "output" and config.tied) or (part.name == "source_embedding" and shared)
        parts[part.name] = read.again(part, parts["target_embedding"]) if again else read.part(part)
    if strange := sorted(arrays.keys() - read.taken):
        raise read.fault(f"{strange[0][:80]} is unexpected")
    return parts, metadata["model_fingerprint"]


def check_certificate(fields: Mapping[str, Any], fingerprint: str, where: str) -> None:
    """Refuse a certificate that is not for the int8 weights of the model with this fingerprint."""
    if fields.get("schema") != SCHEMA:
        said = str(fields.get("schema"))[:80]
        raise _wrong_certificate(f"its schema is {said!r}, and this jumok reads {SCHEMA}", where)
    kind = (fields.get("format"), fields.get("type"))
    if kind != ("native", "int8"):
        raise _wrong_certificate(f"it is for {str(kind[0])[:40]} in {str(kind[1])[:40]}", where)
    if fields.get("model_fingerprint") != fingerprint:
        other = str(fields.get("model_fingerprint"))[:12]
        raise _wrong_certificate(
            f"it was made for the model {other}…, and this is {fingerprint[:12]}…", where
        )
    if fields.get("passed") is not True:
        raise _wrong_certificate("the model did not pass its comparison", where)


def no_certificate(where: str) -> ModelError:
    """The error for a folder without a certificate."""
    return ModelError(
        "the int8 model has no certificate: nothing says how well it agrees with the model it was made from",
        where=where,
        hint=AGAIN,
        code="no_certificate",
    )


def codes_shape(rows: int, columns: int) -> tuple[int, int, int, int]:
    return padded(rows) // BLOCK, padded(columns, QUAD) // QUAD, BLOCK, QUAD


def _check_metadata(metadata: Mapping[str, str], sizes: tuple[int, int], where: str) -> None:
    check_format(metadata, FORMAT, WEIGHTS, where, AGAIN)
    if (kind := metadata.get("type")) != "int8":
        raise ModelError(
            f"{WEIGHTS} holds weights of type {str(kind)[:80]!r}; this engine reads int8",
            where=where,
            hint=AGAIN,
            code="wrong_type",
        )
    for side, size in zip(("source", "target"), sizes, strict=True):
        if (rows := metadata.get(f"{side}_vocabulary")) != str(size):
            raise ModelError(
                f"the vocabularies do not match: the weights have {str(rows)[:20]} {side} tokens, "
                f"and the tokenizer has {size}",
                where=where,
                hint="the tokenizer belongs to another model: copy the folder again",
                code="vocabulary_mismatch",
            )
    if not metadata.get("model_fingerprint"):
        raise ModelError(f"{WEIGHTS} does not say which model it was made from", where=where, hint=AGAIN)


def _wrong_certificate(reason: str, where: str) -> ModelError:
    return ModelError(
        f"the certificate is not this model's: {reason}", where=where, hint=AGAIN, code="wrong_certificate"
    )


class _Reader:
    """Takes arrays by name, checks what each has to be, and remembers which were taken."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], where: str) -> None:
        self.arrays, self.where = arrays, where
        self.taken: set[str] = set()

    def part(self, part: WeightPart) -> PackedWeights:
        if not part.packed:
            return PackedWeights(part.rows, part.columns, self.floats(part.name, part.shape))
        N = padded(part.rows)
        codes = self.take(f"{part.name}.codes", codes_shape(part.rows, part.columns), "uint8")
        if not codes.min(initial=1):
            raise self.fault(f"{part.name}.codes has a code below -127")
        scale = self.floats(f"{part.name}.scale", (N,))
        if (scale < 0).any():
            raise self.fault(f"{part.name}.scale is negative")
        return self.again(part, PackedWeights(part.rows, part.columns, codes, scale))

    def again(self, part: WeightPart, matrix: PackedWeights) -> PackedWeights:
        """A matrix that is there already, with the bias that this part has, if it has one."""
        N = padded(part.rows)
        return replace(matrix, bias=self.floats(f"{part.name}.bias", (N,))) if part.bias else matrix

    def floats(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        array = self.take(name, shape, "float32")
        if not np.isfinite(array).all():
            bad = int(array.size - np.isfinite(array).sum())
            raise self.fault(f"{name}: {bad:,} of {array.size:,} numbers are not finite")
        return array

    def take(self, name: str, shape: tuple[int, ...], kind: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise self.fault(f"{name} is missing")
        array = self.arrays[name]
        if array.shape != shape or array.dtype.name != kind:
            raise self.fault(f"{name} is {array.dtype.name} {array.shape}, not {kind} {shape}")
        self.taken.add(name)
        return array

    def fault(self, reason: str) -> ModelError:
        return ModelError(
            f"the packed weights do not fit the model's settings: {reason}",
            where=self.where,
            hint=AGAIN,
            code="wrong_weights",
        )
