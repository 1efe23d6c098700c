"""Answers drawn at random in the C library: how, and by which random numbers."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class CDraws(ctypes.Structure):
    """How tokens are drawn."""

    _fields_ = (
        ("temperature", ctypes.c_double),
        ("top_p", ctypes.c_double),
        ("top_k", ctypes.c_int32),
        ("uniforms", ctypes.c_void_p),
        ("places", ctypes.c_void_p),
    )


@dataclass(frozen=True, eq=False)
class Draws:
    """How tokens are drawn; a search then has as many draws of each sentence as its beam is wide."""

    uniforms: Sequence[NDArray[np.float64]]
    """Of each sentence (draws, limit) random numbers in [0, 1)."""
    temperature: float = 1.0
    top_k: int = 0
    """0 for all."""
    top_p: float = 1.0


class DrawArrays:
    """Draws as the library takes them; `c` holds addresses."""

    def __init__(self, draws: Draws, beam: int, limits: NDArray[np.int32]) -> None:
        shapes = [table.shape for table in draws.uniforms]
        if shapes != [(beam, limit) for limit in limits.tolist()]:
            raise ValueError(f"random numbers of the shapes {shapes} are not (draws, limit) of each sentence")
        sizes = [table.size for table in draws.uniforms]
        self.places = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        self.uniforms = np.concatenate([table.ravel() for table in draws.uniforms], dtype=np.float64)
        self.c = CDraws(
            draws.temperature,
            draws.top_p,
            min(draws.top_k, np.iinfo(np.int32).max),
            self.uniforms.ctypes.data,
            self.places.ctypes.data,
        )
