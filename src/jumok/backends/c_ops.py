"""What lies between the matrix products of a Transformer on a CPU, each op one call into our C library.

`native/c/train.h` says what each function computes, in float32. Every call runs on the thread that makes it
and sums in an order that the shapes decide. Dropout is a function of a seed, the row and the column.

Axis letters: L tokens, S keys, T queries, D width, F inner width, H heads, R rows, V vocabulary.
"""

import ctypes
from ctypes import POINTER, Structure, byref, c_float, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from functools import cache
from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from jumok.native.library import available as is_built
from jumok.native.library import library
from jumok.nn.layers import EPSILON

WIDEST_HEAD = 256  # numbers
Sizes = tuple[int, ...]


class CDropout(Structure):
    _fields_ = (("seed", c_uint64), ("first", c_int64), ("threshold", c_uint32), ("scale", c_float))


class CAddNorm(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("x", "f", "bias", "weight", "shift", "s", "y", "mean", "scale")),
        ("rows", c_int64),
        ("width", c_int32),
        ("drop", CDropout),
        ("epsilon", c_float),
    )


class CAddNormBack(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("dy", "ds", "s", "mean", "scale", "weight", "dx", "df", "sums")),
        ("rows", c_int64),
        ("width", c_int32),
        ("has_bias", c_int32),
        ("drop", CDropout),
    )


class CSmoothed(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("logits", "target", "loss", "nll")),
        ("rows", c_int64),
        ("stride", c_int64),
        ("vocabulary", c_int32),
        ("grad", c_int32),
        ("smoothing", c_float),
    )


class CAttention(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("q", "k", "v", "d_out", "begin", "end")),
        *((name, c_void_p) for name in ("out", "log_sum", "scratch", "dq", "dk", "dv")),
        *((name, c_int64) for name in ("q_stride", "k_stride", "v_stride", "queries", "keys")),
        ("heads", c_int32),
        ("head_width", c_int32),
        ("scale", c_float),
    )


FUNCTIONS = {
    "jm_train_add_norm": [POINTER(CAddNorm)],
    "jm_train_add_norm_back": [POINTER(CAddNormBack)],
    "jm_train_drop": [c_void_p, c_void_p, c_int64, c_int32, POINTER(CDropout)],
    "jm_train_columns": [c_void_p, c_void_p, c_int64, c_int32, c_void_p],
    "jm_train_smoothed": [POINTER(CSmoothed)],
    "jm_train_rdrop": [POINTER(CSmoothed), c_float],
    "jm_train_attend": [POINTER(CAttention), c_int64, c_int32],
}


@cache
def _functions() -> ctypes.CDLL | None:
    """The library with our functions declared; None where there is none, or one of another version."""
    if not is_built():
        return None
    c = library().c
    for name, arguments in FUNCTIONS.items():
        function = getattr(c, name, None)
        if function is None:
            return None
        function.argtypes, function.restype = arguments, ctypes.c_int
    return c


def is_available() -> bool:
    """Whether there is a library with these functions."""
    return _functions() is not None


def call(name: str, *arguments: Any) -> None:
    """Call a function of the library. ValueError if what it was given does not fit together."""
    if getattr(_functions(), name)(*arguments):
        raise ValueError(f"{name}: shapes, ranges or ids that do not fit")


def address(x: Tensor | None) -> int | None:
    """Where a tensor lies, for C, which reads every float as 32 bits."""
    if x is None:
        return None
    if x.is_floating_point() and x.dtype != torch.float32:
        raise ValueError(f"the C library computes in float32, not in {x.dtype}")
    return x.data_ptr()


def c_dropout(share: float, seed: Tensor | None) -> CDropout:
    """A number is dropped if 32 random bits say a number below share · 2^32."""
    if not share or seed is None:
        return CDropout(0, 0, 0, 1.0)
    threshold = min(max(round(share * 2**32), 1), 2**32 - 1)
    return CDropout(int(seed), 0, threshold, 1 / (1 - share))


class AddNorm(Function):
    """s = x + dropout(f + bias) and y = LayerNorm(s), both (L, D)."""

    @staticmethod
    def forward(  # noqa: PLR0913
        ctx: Any,
        x: Tensor,
        f: Tensor,
        bias: Tensor | None,
        weight: Tensor,
        shift: Tensor,
        share: float,
        seed: Tensor | None,
        epsilon: float = EPSILON,
    ) -> tuple[Tensor, Tensor]:
        x, f = x.contiguous(), f.contiguous()
        L, D = x.shape
        s, y, mean, scale = torch.empty_like(x), torch.empty_like(x), x.new_empty(L), x.new_empty(L)
        ctx.drop = c_dropout(share, seed)
        pointers = map(address, (x, f, bias, weight, shift, s, y, mean, scale))
        call("jm_train_add_norm", byref(CAddNorm(*pointers, L, D, ctx.drop, epsilon)))
        ctx.save_for_backward(s, mean, scale, weight)
        ctx.has_bias = bias is not None
        ctx.set_materialize_grads(False)
        return s, y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        s, mean, scale, weight = ctx.saved_tensors
        ds, dy = (None if grad is None else grad.contiguous() for grad in grads)
        dy = torch.zeros_like(s) if dy is None else dy
        L, D = s.shape
        dx, df, sums = torch.empty_like(s), torch.empty_like(s), s.new_zeros(3, D)
        pointers = map(address, (dy, ds, s, mean, scale, weight, dx, df, sums))
        call("jm_train_add_norm_back", byref(CAddNormBack(*pointers, L, D, ctx.has_bias, ctx.drop)))
        return dx, df, sums[2] if ctx.has_bias else None, sums[0], sums[1], None, None, None


class Drop(Function):
    """Dropout of x (L, D); backward draws the same numbers again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, share: float, seed: Tensor) -> Tensor:
        ctx.drop = c_dropout(share, seed)
        return dropped(x, ctx.drop)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return dropped(grads[0], ctx.drop), None, None


def dropped(x: Tensor, drop: CDropout) -> Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    width = x.shape[-1]
    call("jm_train_drop", address(x), address(y), x.numel() // max(width, 1), width, byref(drop))
    return y


def mask_and_sum(dy: Tensor, y: Tensor | None) -> Tensor:
    """dy (L, F) becomes 0 where y is not above 0, in place; its sum over rows (F,)."""
    sums = dy.new_empty(dy.shape[1])
    call("jm_train_columns", address(dy), address(y), len(dy), dy.shape[1], address(sums))
    return sums


def smoothed_rows(
    logits: Tensor, target: Tensor, smoothing: float, alpha: float | None = None, *, grad: bool
) -> tuple[Tensor, Tensor]:
    """`head.smoothed_rows`: logits (R, V), whose rows may lie apart, and target (R,) -> loss, nll (R,).

    With an alpha `head.rdrop_rows`: logits (2R, V) of two passes that must agree.
    """
    R, V = len(target), logits.shape[1]
    if len(logits) != (R if alpha is None else 2 * R):
        raise ValueError(f"{len(logits)} rows of logits for {R} targets")
    right = target.to(torch.int32).contiguous()
    loss, nll = logits.new_empty(R), logits.new_empty(R)
    pointers = map(address, (logits, right, loss, nll))
    given = byref(CSmoothed(*pointers, R, logits.stride(0), V, grad, smoothing))
    call("jm_train_smoothed", given) if alpha is None else call("jm_train_rdrop", given, alpha)
    return loss, nll


class Attend(Function):
    """Attention over spans: (qkv,) or (q, kv) and the biases that they have in them -> (T, D)."""

    @staticmethod
    def forward(  # noqa: PLR0913
        ctx: Any,
        begin: Tensor,
        end: Tensor,
        heads: int,
        scale: bool,  # noqa: FBT001
        count: int,
        *tensors: Tensor,
    ) -> Tensor:
        inputs = tuple(x.contiguous() for x in tensors[:count])
        T, D = len(begin), inputs[-1].shape[1] // (4 - count)
        out, log_sum = inputs[0].new_empty(T, D), inputs[0].new_empty(T, heads)
        begin, end = (side.to(torch.int32).contiguous() for side in (begin, end))
        ctx.longest = int((end - begin).max()) if T else 0
        ctx.sizes, ctx.factor = (T, D, heads), 1 / sqrt(D // heads) if scale else 1.0
        ctx.count, ctx.biases = count, len(tensors) - count
        attend(ctx, inputs, (begin, end, out, log_sum))
        ctx.save_for_backward(begin, end, out, log_sum, *inputs)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        begin, end, out, log_sum, *inputs = ctx.saved_tensors
        found = tuple(torch.zeros_like(x) for x in inputs)
        attend(ctx, tuple(inputs), (begin, end, out, log_sum), found, grads[0].contiguous())
        biases = [mask_and_sum(x, None) for x in found[: ctx.biases]]
        return None, None, None, None, None, *found, *biases


def attend(
    ctx: Any,
    inputs: tuple[Tensor, ...],
    fixed: tuple[Tensor, Tensor, Tensor, Tensor],
    gradients: tuple[Tensor, ...] = (),
    d_out: Tensor | None = None,
) -> None:
    """Forward into out and log_sum, or with gradients backward into these."""
    T, D, heads = ctx.sizes
    begin, end, out, log_sum = fixed
    scratch = out.new_empty(ctx.longest)
    (q, k, v), (qs, ks, vs) = places(inputs, D)
    dq, dk, dv = places(gradients, D)[0] if gradients else (None, None, None)
    given = (q, k, v, address(d_out), address(begin), address(end))
    made = (address(out), address(log_sum), address(scratch), dq, dk, dv)
    sizes = (qs, ks, vs, T, len(inputs[-1]), heads, D // heads, ctx.factor)
    call("jm_train_attend", byref(CAttention(*given, *made, *sizes)), ctx.longest, int(bool(gradients)))


def places(inputs: tuple[Tensor, ...], width: int) -> tuple[Sizes, Sizes]:
    """Where Q, K and V begin in (qkv,) or (q, kv), and how far their rows lie apart."""
    size = inputs[0].element_size() * width
    last, row = address(inputs[-1]) or 0, inputs[-1].shape[1]
    if len(inputs) == 1:
        return (last, last + size, last + 2 * size), (row, row, row)
    return (address(inputs[0]) or 0, last, last + size), (inputs[0].shape[1], row, row)
