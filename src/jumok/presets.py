"""Named sizes: tiny, small, base, big, and fast (deep encoder, shallow decoder)."""

from typing import Any

from jumok.config import ARCHS, Arch
from jumok.errors import ConfigError, nearest

TRANSFORMERS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 3, "decoder_layers": 3, "width": 128, "heads": 4, "feedforward": 512},
    "small": {"encoder_layers": 3, "decoder_layers": 3, "width": 256, "heads": 4, "feedforward": 1024},
    "base": {"encoder_layers": 6, "decoder_layers": 6, "width": 512, "heads": 8, "feedforward": 2048},
    "big": {"encoder_layers": 6, "decoder_layers": 6, "width": 1024, "heads": 16, "feedforward": 4096},
    "fast": {
        "encoder_layers": 12,
        "decoder_layers": 1,
        "width": 512,
        "heads": 8,
        "feedforward": 2048,
        "norm": "pre",  # a deep stack with the norm after each sum may not learn
    },
}

RECURRENT: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 1, "width": 128},
    "small": {"layers": 1, "width": 256},
    "base": {"layers": 2, "width": 512},
    "big": {"layers": 4, "width": 1024},
    "fast": {"layers": 1, "width": 512},
}

PRESETS = tuple(TRANSFORMERS)
SIZES = {"transformer": TRANSFORMERS, "rnn": RECURRENT, "luong": RECURRENT}


def preset(name: str, arch: Arch) -> dict[str, Any]:
    """The model settings of a named size, by full name; an architecture without sizes has its defaults."""
    if arch not in ARCHS:
        raise ConfigError(f"unknown architecture {arch!r}", hint=nearest(arch, ARCHS), code="unknown_arch")
    sizes = SIZES.get(arch, dict.fromkeys(PRESETS, {}))
    if name not in sizes:
        raise ConfigError(f"unknown preset {name!r}", where="given by --preset", hint=nearest(name, sizes))
    return {"model.arch": arch} | {f"model.{key}": value for key, value in sizes[name].items()}
