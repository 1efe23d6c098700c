"""Matrix products as the fast back ends ask for them, and on a CPU a choice of who computes them.

torch leaves products of float32 to MKL, whose fastest code is for Intel's CPUs: on others with AVX-512 our
own, in `native/c/product_body.h`, is faster. It also has products of factors rounded to bfloat16 with sums in
float32, twice as fast where the CPU has instructions for them. Ours run on the thread that calls.

Axis letters: M rows, N columns, K terms of each sum.
"""

import ctypes
import threading
from ctypes import POINTER, Structure, byref, c_int32, c_int64, c_void_p
from functools import cache
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd import Function

from jumok.native.library import available as is_built
from jumok.native.library import library


class Multiply(Protocol):
    """a (M, K) b (K, N) -> (M, N), in `out` if there is one and added to it if `add`.

    Plus bias (N,), and of that what is above 0 if `relu`.
    """

    def __call__(
        self,
        a: Tensor,
        b: Tensor,
        *,
        out: Tensor | None = None,
        bias: Tensor | None = None,
        relu: bool = False,
        add: bool = False,
    ) -> Tensor: ...


class CProduct(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("a", "b", "bias", "c", "scratch")),
        *((name, c_int64) for name in ("m", "n", "k", "a_row", "a_column", "b_row", "b_column", "c_row")),
        *((name, c_int32) for name in ("add", "relu", "bf16")),
    )


@cache
def _functions() -> ctypes.CDLL | None:
    """The library with our functions declared; None where there is none, or one of another version."""
    c = library().c if is_built() else None
    if c is None or not hasattr(c, "jm_train_product"):
        return None
    c.jm_train_product.argtypes, c.jm_train_product.restype = [POINTER(CProduct)], ctypes.c_int
    c.jm_product_scratch.restype = c_int64
    return c


def has_products(*, bf16: bool) -> bool:
    """Whether our products, of float32 or of bfloat16, run on this machine."""
    c = _functions()
    return c is not None and c.jm_product_level() >= (2 if bf16 else 1)


def torch_product(
    a: Tensor,
    b: Tensor,
    *,
    out: Tensor | None = None,
    bias: Tensor | None = None,
    relu: bool = False,
    add: bool = False,
) -> Tensor:
    """`Multiply` by torch."""
    if add and out is not None:
        out.addmm_(a, b)
    elif bias is None:
        out = torch.mm(a, b, out=out)
    elif relu:
        return torch._addmm_activation(bias, a, b, use_gelu=False)
    else:
        return torch.addmm(bias, a, b, out=out)
    out = out if bias is None else out.add_(bias)
    return out.relu_() if relu else out


def rounded_product(a: Tensor, b: Tensor, **options: Any) -> Tensor:
    """The twin of products in bfloat16: their factors rounded, and all else as it was."""
    return torch_product(a.bfloat16().float(), b.bfloat16().float(), **options)


class CProducts:
    """`Multiply` by our C library, of float32 factors or of ones that it rounds to bfloat16."""

    def __init__(self, *, bf16: bool) -> None:
        self.bf16 = bf16
        found = _functions()
        assert found is not None
        self.function, self.size = found.jm_train_product, int(found.jm_product_scratch())
        self.own = threading.local()  # what each thread lays out, at the same place every time

    def __call__(
        self,
        a: Tensor,
        b: Tensor,
        *,
        out: Tensor | None = None,
        bias: Tensor | None = None,
        relu: bool = False,
        add: bool = False,
    ) -> Tensor:
        a, b = (x if 1 in x.stride() else x.contiguous() for x in (a, b))
        (M, K), N = a.shape, b.shape[1]
        c = torch.empty(M, N) if out is None else out
        if b.shape[0] != K or c.shape != (M, N) or not a.dtype == b.dtype == c.dtype == torch.float32:
            raise ValueError(f"no product of {a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}")
        if bias is not None and (bias.shape != (N,) or bias.stride(0) != 1 or bias.dtype != torch.float32):
            raise ValueError(f"a bias of {bias.dtype} {tuple(bias.shape)} for {N} columns")
        pointers = (a.data_ptr(), b.data_ptr(), None if bias is None else bias.data_ptr(), c.data_ptr())
        strides = (*a.stride(), *b.stride(), c.stride(0))
        product = CProduct(*pointers, self.scratch, M, N, K, *strides, add, relu, self.bf16)
        if c.stride(1) != 1 or self.function(byref(product)):
            raise ValueError("jm_train_product: strides that do not fit, or a product this CPU does not have")
        return c

    def __deepcopy__(self, memo: Any) -> "CProducts":
        return self  # a copy of a model computes with the same

    @property
    def scratch(self) -> int:
        room: Tensor | None = getattr(self.own, "room", None)
        if room is None:
            room = self.own.room = torch.empty(self.size, dtype=torch.uint8)
        return room.data_ptr()


def choose_product(*, bf16: bool) -> Multiply:
    """The fastest one on a CPU, for a model on the native back end."""
    if bf16:
        return CProducts(bf16=True) if has_products(bf16=True) else rounded_product
    c = _functions()
    if c is None or not has_products(bf16=False) or not c.jm_product_pays():
        return torch_product
    ours = CProducts(bf16=False)

    def product(a: Tensor, b: Tensor, **options: Any) -> Tensor:
        """Ours has one thread; where a thread may use several cores, torch's uses them."""
        return (ours if torch.get_num_threads() == 1 else torch_product)(a, b, **options)

    return product


class LinearProduct(Function):
    """y = x W^T: x (L, D), weight (F, D) -> (L, F)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, multiply: Multiply) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.multiply = multiply
        return multiply(x, weight.t())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        dy = grads[0].contiguous()
        d_weight = ctx.multiply(dy.t(), x) if ctx.needs_input_grad[1] else None  # none of frozen weights
        return ctx.multiply(dy, weight), d_weight, None
