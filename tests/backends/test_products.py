"""Our matrix products and torch's agree, in float32 and with factors rounded to bfloat16."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jumok.backends import products
from jumok.backends.products import (
    CProducts,
    LinearProduct,
    Multiply,
    choose_product,
    has_products,
    rounded_product,
    torch_product,
)

KINDS = [
    pytest.param(
        bf16, marks=pytest.mark.skipif(not has_products(bf16=bf16), reason="this CPU has no such products")
    )
    for bf16 in (False, True)
]
SIZES = st.one_of(st.integers(0, 40), st.sampled_from((255, 256, 257, 511, 513, 545, 1030)))


def matrix(rows: int, columns: int, *, turned: bool) -> Tensor:
    return torch.randn(columns, rows).t() if turned else torch.randn(rows, columns)


@pytest.mark.parametrize("bf16", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    sizes=st.tuples(SIZES, SIZES, SIZES),
    turned=st.tuples(st.booleans(), st.booleans()),
    bias=st.booleans(),
    relu=st.booleans(),
    add=st.booleans(),
)
def test_ours_are_those_of_their_twin(
    sizes: tuple[int, int, int], turned: tuple[bool, bool], *, bias: bool, relu: bool, add: bool, bf16: bool
) -> None:
    M, N, K = sizes
    torch.manual_seed(M + 3 * N + 7 * K)
    a, b = matrix(M, K, turned=turned[0]), matrix(K, N, turned=turned[1])
    room = torch.randn(M, N + 5)  # rows that lie apart
    given: dict[str, Any] = {"bias": torch.randn(N) if bias else None, "relu": relu, "add": add}
    twin: Multiply = rounded_product if bf16 else torch_product
    wanted = twin(a, b, out=room[:, :N].contiguous(), **given)
    behind, found = room[:, N:].clone(), CProducts(bf16=bf16)(a, b, out=room[:, :N], **given)
    torch.testing.assert_close(found, wanted, atol=3e-5 * max(K, 10) ** 0.5, rtol=1e-5)
    assert torch.equal(room[:, N:], behind)
    assert torch.equal(CProducts(bf16=bf16)(a, b), CProducts(bf16=bf16)(a, b))  # every time the same bits


@pytest.mark.parametrize("bf16", KINDS)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_numbers_that_are_not_finite_come_through(value: float, *, relu: bool, bf16: bool) -> None:
    a, b, bias = torch.randn(3, 20), torch.randn(20, 40), torch.zeros(40)
    for place in (a[1], bias[7:8]):
        before = place.clone()
        place[0] = value
        found, wanted = (one(a, b, bias=bias, relu=relu) for one in (CProducts(bf16=bf16), torch_product))
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.isinf(), wanted.isinf())
        place.copy_(before)


@pytest.mark.parametrize("bf16", KINDS)
@pytest.mark.parametrize("turned", [(False, False), (True, True), (False, True)])
def test_what_is_no_number_stays_none(*, bf16: bool, turned: tuple[bool, bool]) -> None:
    a, b = matrix(20, 40, turned=turned[0]), matrix(40, 50, turned=turned[1])
    a[3, 7], a[5, 1], b[2, 9] = torch.nan, torch.inf, 3e38  # the last is beyond bfloat16 when it is rounded
    found = CProducts(bf16=bf16)(a, b)
    wanted = (rounded_product if bf16 else torch_product)(a, b)
    assert torch.equal(found.isfinite(), wanted.isfinite())
    assert found[3].isnan().all()
    assert not found[5].isfinite().any()


@pytest.mark.parametrize("multiply", [torch_product, rounded_product, choose_product(bf16=True)])
def test_gradients_of_a_product(multiply: Multiply) -> None:
    x, weight = torch.randn(6, 9).bfloat16().float(), torch.randn(4, 9).bfloat16().float()
    dy, found = torch.randn(6, 4).bfloat16().float(), []
    for mine in (True, False):
        leaves = [one.clone().requires_grad_() for one in (x, weight)]
        y = LinearProduct.apply(*leaves, multiply) if mine else leaves[0] @ leaves[1].t()  # type: ignore[no-untyped-call]
        found.append((y.detach(), *torch.autograd.grad(y, leaves, dy)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_rounding_is_to_bfloat16() -> None:
    one = torch.full((1, 1), 1 + 2**-9)  # halfway to the next would be 2^-8
    assert choose_product(bf16=True)(one, torch.ones(1, 1)).item() == 1
    assert choose_product(bf16=False)(one, torch.ones(1, 1)).item() == 1 + 2**-9


@pytest.mark.parametrize("bf16", KINDS)
def test_what_does_not_fit_together_is_refused(*, bf16: bool) -> None:
    multiply, a = CProducts(bf16=bf16), torch.randn(4, 3)
    with pytest.raises(ValueError, match=r"no product of torch.float32 \(4, 3\) and torch.float32 \(4, 3\)"):
        multiply(a, a)
    with pytest.raises(ValueError, match="no product of torch.float64"):
        multiply(a.double(), a.t())
    with pytest.raises(ValueError, match=r"a bias of torch.float32 \(3,\) for 4 columns"):
        multiply(a, a.t(), bias=torch.ones(3))
    with pytest.raises(ValueError, match=r"a bias of torch.float64 \(4,\) for 4 columns"):
        multiply(a, a.t(), bias=torch.ones(4).double())
    with pytest.raises(ValueError, match=r"a bias of torch.float32 \(4,\) for 4 columns"):
        multiply(a, a.t(), bias=torch.ones(8)[::2])
    with pytest.raises(ValueError, match="strides that do not fit"):
        multiply(a, a.t(), out=torch.empty(4, 4).t())


@pytest.mark.parametrize(("level", "kinds"), [(0, []), (1, [False]), (2, [False, True])])
def test_a_cpu_has_no_products_those_of_float32_or_those_of_bfloat16_too(
    level: int, kinds: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_functions", lambda: SimpleNamespace(jm_product_level=lambda: level))
    assert [bf16 for bf16 in (False, True) if has_products(bf16=bf16)] == kinds


def test_torch_computes_where_ours_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_functions", lambda: None)
    assert not has_products(bf16=False)
    assert choose_product(bf16=False) is torch_product
    assert choose_product(bf16=True) is rounded_product


def test_a_thread_with_several_cores_leaves_float32_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    multiply = choose_product(bf16=False)
    if multiply is torch_product:
        pytest.skip("torch computes in float32 here")
    monkeypatch.setattr(products, "torch_product", lambda a, b: called.append("torch"))
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda n=threads: n)
        multiply(torch.ones(1, 1), torch.ones(1, 1))
    assert called == ["torch"]
