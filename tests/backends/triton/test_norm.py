"""Add & norm's kernels against its plain torch twin; test_guard.py runs this file in the interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, TOLERANCE, check_close, leaf, runs_kernels
from torch import Tensor
from torch.nn import functional as F

from jumok.backends.triton.guard import Guard


def twin(x: Tensor, f: Tensor, leaves: tuple[Tensor | None, Tensor, Tensor], keep: Tensor) -> Tensor:
    """s and y (2, L, D) with the mask given, in the type of the inputs."""
    bias, weight, shift = leaves
    s = x + (f if bias is None else f + bias) * keep
    return torch.stack((s, F.layer_norm(s, s.shape[1:], weight, shift, 1e-5)))


def check(
    shape: tuple[int, int], share: float, dtype: torch.dtype, *, bias: bool, uses: str, fails: bool = False
) -> None:
    """Kernels = twin in float64, values and gradients, where s, y or both are used."""
    from jumok.backends.triton.dropout import drop
    from jumok.backends.triton.norm import add_norm

    x, f = leaf(*shape, dtype=dtype), leaf(*shape, dtype=dtype)
    b, weight, shift = (leaf(shape[1]) for _ in range(3))
    given = [x, f, *([b] if bias else []), weight, shift]
    torch.manual_seed(5)
    guard = Guard()
    s, y = add_norm(x, f, b if bias else None, weight, shift, share, None, guard=guard)
    assert s.dtype == y.dtype == dtype
    torch.manual_seed(5)
    keep = drop(torch.ones(shape, device=DEVICE), share).double()
    exact = [g.detach().double().requires_grad_() for g in given]
    both = twin(exact[0], exact[1], (exact[2] if bias else None, exact[-2], exact[-1]), keep)
    d_both = torch.randn_like(both).to(dtype)
    used = [i for i in range(2) if "sy"[i] in uses]
    torch.autograd.backward([(s, y)[i] for i in used], [d_both[i] for i in used])
    both.backward(torch.stack([d_both[i].double() * (i in used) for i in range(2)]))  # type: ignore[no-untyped-call]
    check_close(s, both[0], dtype)
    check_close(y, both[1], dtype)
    for one, other in zip(given, exact, strict=True):
        assert other.grad is not None
        check_close(one.grad, other.grad, dtype)
    assert bool(guard.off) == fails


@runs_kernels
class TestKernel:
    @pytest.mark.parametrize("uses", ["y", "sy", "s"])
    @pytest.mark.parametrize("share", [0.0, 0.3])
    @pytest.mark.parametrize("bias", [True, False])
    def test_values_and_gradients_are_the_twins(self, uses: str, share: float, *, bias: bool) -> None:
        torch.manual_seed(0)
        check((50, 48), share, torch.float32, bias=bias, uses=uses)

    @pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
    @pytest.mark.parametrize("shape", [(1, 16), (9, 512), (5, 1000), (2, 4096)])
    def test_any_shape_and_type(self, shape: tuple[int, int], dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        check(shape, 0.1, dtype, bias=True, uses="sy")

    @pytest.mark.parametrize("share", [0.0, 0.3])
    def test_plain_torch_gives_the_gradients_of_a_kernel_that_fails(
        self, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from jumok.backends.triton import norm

        monkeypatch.setattr(norm, "BACKWARD", None)
        check((23, 48), share, torch.float32, bias=True, uses="sy", fails=True)
        check((23, 48), share, torch.bfloat16, bias=False, uses="y", fails=True)

    def test_without_dropout_both_inputs_share_one_gradient(self) -> None:
        from jumok.backends.triton.norm import _AddNorm

        x, f, weight, shift = leaf(4, 16), leaf(4, 16), leaf(16), leaf(16)
        _, y = _AddNorm.apply(x, f, None, weight, shift, 0.0, None, Guard())  # type: ignore[no-untyped-call]
        d_x, d_f, *_ = y.grad_fn.apply(None, torch.ones_like(y))
        assert d_x is d_f

    def test_weights_may_be_of_the_type_of_the_states(self) -> None:
        from jumok.backends.triton.norm import add_norm

        given = [leaf(4, 16, dtype=torch.bfloat16) for _ in range(2)]
        given += [leaf(16, dtype=torch.bfloat16) for _ in range(3)]
        x, f, bias, weight, shift = given
        sum(add_norm(x, f, bias, weight, shift, 0.1, guard=Guard())).sum().backward()  # type: ignore[union-attr]
        assert all(one.grad is not None and one.grad.dtype == torch.bfloat16 for one in given)

    def test_every_call_draws_its_own_mask(self) -> None:
        from jumok.backends.triton.norm import add_norm

        x, f, weight, shift = leaf(30, 64), leaf(30, 64), leaf(64), leaf(64)
        masks = [add_norm(x, f, None, weight, shift, 0.5, guard=Guard())[0] == x for _ in range(2)]
        assert (masks[0] == masks[1]).double().mean() == pytest.approx(0.5, abs=0.06)


@runs_kernels
def test_programs_share_all_rows_and_none_is_idle() -> None:
    from jumok.backends.triton.norm import walk

    for rows in (1, 4, 5, 527, 528, 529, 25_088):
        programs, steps = walk(rows, 4, 528)
        tiles = -(-rows // 4)
        assert programs <= 528
        assert programs * steps >= tiles > (programs - 1) * steps
