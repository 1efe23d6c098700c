"""The plain torch side: closed forms against autograd, chunks against the whole, and which way is taken."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jumok.nn.fused import add_norm, drop, embed, head_loss, rdrop_loss
from torch import Tensor
from torch.nn import functional as F

from jumok.nn import fused

sizes = st.integers(1, 9)


def leaf(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype).requires_grad_()


def smoothed(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Loss and nll at each place, by autograd's own means."""
    log_probs, real = logits.log_softmax(-1), target != 0
    nll = -log_probs.gather(1, target.long()[:, None])[:, 0]
    return ((1 - smoothing) * nll - smoothing * log_probs.mean(-1)) * real, nll * real


def rdrop(logits: Tensor, target: Tensor, smoothing: float, alpha: float) -> tuple[Tensor, Tensor]:
    one, two = logits.log_softmax(-1).chunk(2)
    terms = [smoothed(half, target, smoothing) for half in logits.chunk(2)]
    agree = F.kl_div(two, one, reduction="none", log_target=True)
    agree = agree + F.kl_div(one, two, reduction="none", log_target=True)
    loss = (terms[0][0] + terms[1][0]) / 2 + alpha / 4 * agree.sum(-1) * (target != 0)
    return loss, (terms[0][1] + terms[1][1]) / 2


@given(rows=sizes, width=sizes, seed=st.integers(0, 99), bias=st.booleans())
def test_add_norm_is_the_sum_and_its_layer_norm(rows: int, width: int, seed: int, bias: bool) -> None:  # noqa: FBT001
    torch.manual_seed(seed)
    x, f, b, weight, shift = leaf(rows, width), leaf(rows, width), leaf(width), leaf(width), leaf(width)
    s, y = add_norm(x, f, b if bias else None, weight, shift, 0.5, training=False)
    torch.testing.assert_close(s, x + f + b * bias)
    torch.testing.assert_close(y, F.layer_norm(s, (width,), weight, shift))


def test_add_norm_in_training_drops_what_is_added_and_nothing_else() -> None:
    torch.manual_seed(0)
    x, f, b, weight, shift = leaf(50, 40), leaf(50, 40), leaf(40), leaf(40), leaf(40)
    s, y = add_norm(x, f, b, weight, shift, 0.25, training=True)
    kept = (s - x).abs() > 1e-9
    assert kept.double().mean() == pytest.approx(0.75, abs=0.05)
    torch.testing.assert_close(s, torch.where(kept, x + (f + b) / 0.75, x))
    (d_f,) = torch.autograd.grad(s.sum(), f, retain_graph=True)
    torch.testing.assert_close(d_f, kept.double() / 0.75)
    torch.testing.assert_close(y, F.layer_norm(s, (40,), weight, shift))


def test_add_norm_in_bfloat16_norms_in_float32() -> None:
    torch.manual_seed(0)
    x, f = torch.randn(2, 30, 64).bfloat16()
    weight, shift = torch.randn(2, 64)
    s, y = add_norm(x, f, None, weight, shift, 0.1, training=False)
    assert s.dtype == y.dtype == torch.bfloat16
    assert torch.equal(y, F.layer_norm(s.float(), (64,), weight, shift).bfloat16())


def test_drop_is_dropout_in_training_alone() -> None:
    x = torch.ones(1000)
    assert drop(x, 0.5, training=False) is x
    assert drop(x, 0.0, training=True) is x
    assert set(drop(x, 0.5, training=True).tolist()) == {0.0, 2.0}


@given(ids=st.lists(st.integers(0, 6), min_size=1), scale=st.sampled_from([1.0, 2.5]))
def test_embed_and_the_backward_that_a_gpu_takes(ids: list[int], scale: float) -> None:
    weight, places = leaf(7, 3), torch.tensor(ids, dtype=torch.int32)
    rows = embed(places, weight, scale)
    torch.testing.assert_close(rows, weight[places.long()] * scale)
    d_rows = torch.randn_like(rows)
    (wanted,) = torch.autograd.grad(rows, weight, d_rows)
    other = fused.Embed.apply(places, weight, scale)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(other, rows)
    torch.testing.assert_close(torch.autograd.grad(other, weight, d_rows)[0], wanted)


def test_the_gradient_of_a_bfloat16_embedding_is_summed_in_float32() -> None:
    weight = torch.zeros(2, 1, dtype=torch.bfloat16, requires_grad=True)
    rows = fused.Embed.apply(torch.zeros(1000, dtype=torch.int32), weight, 1.0)  # type: ignore[no-untyped-call]
    rows.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[1000.0], [0.0]]  # adding ones in bfloat16 would stop at 256


@st.composite
def heads(draw: st.DrawFn, passes: int) -> tuple[Tensor, Tensor, Tensor]:
    M, D, V = draw(st.integers(1, 12)), draw(sizes), draw(st.integers(2, 70))
    torch.manual_seed(draw(st.integers(0, 99)))
    return leaf(passes * M, D), leaf(V, D), torch.randint(0, V, (M,), dtype=torch.int32)


@given(given_=heads(1), smoothing=st.sampled_from([0.0, 0.1, 1.0]))
def test_head_loss_and_its_gradients(given_: tuple[Tensor, Tensor, Tensor], smoothing: float) -> None:
    features, head, target = given_
    loss, nll = head_loss(features, head, target, smoothing)
    wanted, wanted_nll = (x.sum() for x in smoothed(features @ head.T, target, smoothing))
    torch.testing.assert_close((loss, nll), (wanted, wanted_nll))
    assert not nll.requires_grad
    check_gradients(loss, wanted, features, head)


@given(given_=heads(2), smoothing=st.sampled_from([0.0, 0.1]), alpha=st.sampled_from([0.0, 1.0, 5.0]))
def test_rdrop_loss_and_its_gradients(
    given_: tuple[Tensor, Tensor, Tensor], smoothing: float, alpha: float
) -> None:
    features, head, target = given_
    loss, nll = rdrop_loss(features, head, target, smoothing, alpha)
    wanted, wanted_nll = (x.sum() for x in rdrop(features @ head.T, target, smoothing, alpha))
    torch.testing.assert_close((loss, nll), (wanted, wanted_nll))
    assert not nll.requires_grad
    check_gradients(loss, wanted, features, head)


def check_gradients(loss: Tensor, wanted: Tensor, *leaves: Tensor) -> None:
    """Of a multiple, so that what comes from above is seen to count."""
    found = torch.autograd.grad(loss * 3, leaves)
    torch.testing.assert_close(found, torch.autograd.grad(wanted * 3, leaves))


def test_closed_forms_pass_gradcheck() -> None:
    torch.manual_seed(0)
    features, head, target = leaf(6, 3), leaf(5, 3), torch.tensor([0, 4, 1])
    assert torch.autograd.gradcheck(lambda x, w: rdrop_loss(x, w, target, 0.1, 2.0)[0], (features, head))
    assert torch.autograd.gradcheck(lambda x, w: head_loss(x[:3], w, target, 0.1)[0], (features, head))


def test_passes_that_agree_cost_nothing_more() -> None:
    features, head, target = leaf(5, 4), leaf(9, 4), torch.tensor([1, 2, 3, 0, 8])
    once, _ = head_loss(features, head, target, 0.1)
    twice, _ = rdrop_loss(torch.cat((features, features)), head, target, 0.1, 100.0)
    torch.testing.assert_close(once, twice)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("passes", [1, 2])
def test_chunks_make_no_difference(dtype: torch.dtype, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    features, head = leaf(passes * 300, 8, dtype=dtype), leaf(70, 8, dtype=dtype)
    target = torch.randint(0, 70, (300,))

    def run() -> tuple[Tensor, ...]:
        if passes == 1:
            loss, nll = head_loss(features, head, target, 0.1)
        else:
            loss, nll = rdrop_loss(features, head, target, 0.1, 1.0)
        return loss.detach(), nll, *torch.autograd.grad(loss, (features, head))

    whole = run()
    monkeypatch.setattr(fused, "CHUNK", 16_000)
    assert fused.chunk_rows(300, passes, 70, features.element_size()) == 128
    parts = run()
    bound = 0.01 if dtype == torch.bfloat16 else 1e-12
    for one, other in zip(whole, parts, strict=True):
        assert one.dtype == other.dtype
        assert (one - other).double().norm() <= bound * one.double().norm()


@given(tokens=st.integers(1, 100_000), passes=st.integers(1, 2), vocabulary=st.integers(2, 70_000))
def test_chunks_are_about_equal_and_stay_below_the_limit(tokens: int, passes: int, vocabulary: int) -> None:
    rows = fused.chunk_rows(tokens, passes, vocabulary, 2)
    assert rows == tokens or rows % 128 == 0
    assert (rows - 128) * passes * vocabulary * 2 <= fused.CHUNK


def test_without_gradients_nothing_is_kept() -> None:
    features, head, target = leaf(5, 4), leaf(9, 4), torch.tensor([1, 2, 3, 0, 8])
    with torch.no_grad():
        loss, nll = head_loss(features, head, target, 0.1)
    assert not loss.requires_grad
    wanted, wanted_nll = (x.sum() for x in smoothed(features @ head.T, target, 0.1))
    torch.testing.assert_close((loss, nll), (wanted.detach(), wanted_nll.detach()))


def test_a_head_in_float32_takes_features_in_bfloat16() -> None:
    torch.manual_seed(0)
    features, head = leaf(40, 8, dtype=torch.bfloat16), leaf(30, 8, dtype=torch.float32)
    loss, _ = head_loss(features, head, torch.randint(0, 30, (40,)), 0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.dtype == torch.float32
    assert features.grad is not None
    assert features.grad.dtype == torch.bfloat16
    assert head.grad is not None
    assert head.grad.dtype == torch.float32


def test_a_cpu_never_loads_triton() -> None:
    code = (
        "import sys, torch; from jumok.nn import fused; x = torch.ones(4, 4, requires_grad=True)\n"
        "s, y = fused.add_norm(x, x, None, x[0], x[0], 0.1, training=True)\n"
        "fused.head_loss(fused.drop(y, 0.1, training=True), x, torch.arange(4), 0.1)[0].backward()\n"
        "sys.exit('triton' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
class TestOnTheGpu:
    def test_a_captured_graph_computes_new_numbers_at_each_replay(self) -> None:
        torch.manual_seed(0)
        kind = {"device": "cuda", "dtype": torch.bfloat16}
        x, f = torch.randn(2, 256, 64, **kind).requires_grad_().unbind()  # type: ignore[call-overload]
        weight, shift = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
        head = torch.randn(500, 64, **kind).requires_grad_()  # type: ignore[call-overload]
        target = torch.randint(0, 500, (256,), device="cuda")

        def step() -> tuple[Tensor, ...]:
            _, y = add_norm(x, f, None, weight, shift, 0.3, training=True)
            loss, nll = head_loss(drop(y, 0.2, training=True), head, target, 0.1)
            return loss, nll, *torch.autograd.grad(loss, (x, head))

        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = step()
        runs = []
        for _ in range(2):
            graph.replay()
            runs.append([one.detach().clone() for one in out])
        for one, other in zip(*runs, strict=True):
            assert one.isfinite().all()
            assert not torch.equal(one, other)  # other masks
