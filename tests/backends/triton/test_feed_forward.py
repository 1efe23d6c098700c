"""The fp8 network's kernels against its twin; test_guard.py runs what needs no GPU in the interpreter."""

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, runs_kernels
from torch import Tensor, nn
from torch.nn import functional as F

from jumok.backends.eight import BACKWARD, FORWARD, GRADIENTS, STATES, WEIGHTS, RoundedNetwork, to_eight
from jumok.backends.triton.backend import TritonBackend
from jumok.config import TransformerConfig
from jumok.nn.layers import FeedForward, Residual

SHAPES = [(80, 48, 96), (16, 64, 32)]


def bits(x: Tensor) -> Tensor:
    return x.view(torch.uint8).int()


@runs_kernels
class TestKernels:
    @pytest.mark.parametrize(("L", "D", "F_"), SHAPES)
    def test_states_and_weights_are_rounded_and_turned(self, L: int, D: int, F_: int) -> None:
        from jumok.backends.triton.feed_forward import round_and_turn, round_weights

        torch.manual_seed(0)
        x = torch.randn(L, D).to(DEVICE, torch.bfloat16)
        x8, turned = round_and_turn(x, STATES)
        assert torch.equal(bits(x8), bits(to_eight(x, STATES, FORWARD)))
        assert torch.equal(bits(turned), bits(x8).t())
        w1, w2 = (
            (0.1 * torch.randn(*shape)).to(DEVICE, torch.bfloat16).requires_grad_()
            for shape in ((F_, D), (D, F_))
        )
        w1_8, w1_t, w2_8, w2_t = round_weights(w1, w2)
        for w, w8, w_t in ((w1, w1_8, w1_t), (w2, w2_8, w2_t)):
            assert torch.equal(bits(w8), bits(to_eight(w.detach(), WEIGHTS, FORWARD)))
            assert torch.equal(bits(w_t), bits(w8).t())

    @pytest.mark.parametrize("shape", [(16, 48), (16, 2500)])
    def test_gradients_are_turned_and_summed(self, shape: tuple[int, int]) -> None:
        from jumok.backends.triton.feed_forward import row_sums, turned_of

        torch.manual_seed(0)
        x8 = torch.randn(shape).to(DEVICE).to(BACKWARD)
        assert torch.equal(bits(turned_of(x8)), bits(x8).t())
        torch.testing.assert_close(row_sums(x8), x8.float().sum(1) / GRADIENTS)


def network(D: int, inner: int) -> FeedForward:
    torch.manual_seed(0)
    made = FeedForward(D, inner)
    nn.init.normal_(made.inner.bias, std=0.1)
    nn.init.normal_(made.outer.bias, std=0.1)
    return made.to(DEVICE)


def low(module: nn.Module) -> None:
    """Weights as a captured step has them: bf16, but for those that add & norm reads."""
    for name, weight in module.named_parameters():
        if not name.startswith(("outer.bias", "norm.")):
            weight.data = weight.data.to(torch.bfloat16)


@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize(
    ("L", "D", "F_"),
    [
        pytest.param(16, 32, 48, marks=runs_kernels),
        pytest.param(80, 48, 96, marks=pytest.mark.gpu),
        pytest.param(1024, 512, 2048, marks=pytest.mark.gpu),
    ],
)
class TestNetwork:
    def run(self, kind: str, L: int, D: int, F_: int, *, pre: bool) -> list[Tensor]:
        """s and y, and the gradients of everything that they are made of."""
        net, residual = network(D, F_), Residual(D, 0.0, "pre" if pre else "post").to(DEVICE)
        low(net)
        norm = residual.norm
        torch.manual_seed(1)
        x, stream, dy, ds = (torch.randn(L, D, device=DEVICE).to(torch.bfloat16) for _ in range(4))
        x.requires_grad_()
        stream.requires_grad_()
        if kind == "twin":
            f: Tensor = RoundedNetwork.apply(x, net.inner.weight, net.inner.bias, net.outer.weight)  # type: ignore[no-untyped-call]
            s = (stream if pre else x) + (f.float() + net.outer.bias).to(x.dtype)
            y = F.layer_norm(s.float(), (D,), norm.weight, norm.bias).to(x.dtype)
        else:
            ops = TritonBackend(eight=kind == "fp8")
            s, found = ops.feed_forward(
                x, stream if pre else None, net, residual, norm, training=True, seed=None
            )
            assert found is not None
            assert not ops.guard.off
            y = found
        torch.autograd.backward([s, y], [0.05 * ds, 0.05 * dy] if pre else [torch.zeros_like(ds), 0.05 * dy])
        weights = [*net.parameters(), *norm.parameters()]
        leaves = [x, *([stream] if pre else []), *weights]
        return [s, y, *(one.grad for one in leaves if one.grad is not None)]

    def test_values_and_gradients_are_nearer_the_twin_than_its_rounding_is_wide(
        self, L: int, D: int, F_: int, *, pre: bool
    ) -> None:
        found, twin, plain = (self.run(kind, L, D, F_, pre=pre) for kind in ("fp8", "twin", "bf16"))
        assert len(found) == len(twin) == len(plain)
        for one, other, exact in zip(found, twin, plain, strict=True):
            size = exact.float().norm()
            assert one.isfinite().all()
            error, width = ((a.float() - b.float()).norm() / size for a, b in ((one, other), (other, exact)))
            assert error <= max(0.7 * width, 0.008)


def test_only_what_learns_in_bf16_is_rounded() -> None:
    """Elsewhere the op is the plain one: no kernel is called, so this runs anywhere."""
    torch.manual_seed(0)
    config = TransformerConfig(width=16, feedforward=32, heads=2)
    net, residual = FeedForward(config.width, config.feedforward), Residual(config.width, 0.0, "none")
    x = torch.randn(5, config.width)
    s, y = TritonBackend(eight=True).feed_forward(x, None, net, residual, None, training=False, seed=None)
    torch.testing.assert_close(s, x + net.outer(net.inner(x).relu()))
    assert y is None
