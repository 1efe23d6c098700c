"""The kernels against attention in float64, on a GPU, or without one in Triton's interpreter.

In the interpreter the blocks are small: even short sentences straddle them.
"""

import logging
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, INTERPRETED, captured, needs_triton
from tests.nn.packing import own_ranges, reads_and_readers
from torch import Tensor

from jumok.backends.torch import masked_attention, query_key_value
from jumok.backends.triton.backend import HEAD_WIDTHS, with_wide_heads
from jumok.backends.triton.guard import Guard
from jumok.nn.spans import Spans, causal_spans, cross_spans, own_spans

TOLERANCE = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
KINDS = ["own", "causal", "cross"]


@needs_triton
def test_every_width_and_size_of_a_number_has_its_tile() -> None:
    from jumok.backends.triton.attention import BACKWARD, FORWARD

    assert set(FORWARD) == set(BACKWARD) == set(product(HEAD_WIDTHS, (2, 4)))


@needs_triton
@pytest.mark.skipif(INTERPRETED, reason="compiles nothing")
@pytest.mark.parametrize("name", ["forward_kernel", "backward_kernel"])
def test_the_kernels_compile_for_a_hopper_gpu_without_having_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton import compile as build  # type: ignore[import-untyped]
    from triton.backends.compiler import GPUTarget  # type: ignore[import-untyped]
    from triton.compiler import ASTSource  # type: ignore[import-untyped]

    from jumok.backends.triton import attention

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel = getattr(attention, name)
    given = attention.constants(attention.BACKWARD[64, 2], 64, scale=True) | {"ROOT": 8.0}
    options = {option: given.pop(option) for option in ("num_warps", "num_stages", "maxnreg")}
    constants = {name: value for name, value in given.items() if name in kernel.arg_names}
    kinds = (
        dict.fromkeys(kernel.arg_names, "*bf16") | dict.fromkeys(constants, "constexpr") | {"lse": "*fp32"}
    )
    kinds |= dict.fromkeys(attention.RANGES, "*i32")
    kinds |= dict.fromkeys(("queries", "keys", "q_stride", "k_stride", "out_stride"), "i32")
    source = ASTSource(kernel, {name: kinds[name] for name in kernel.arg_names}, constants)
    built = build(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert built.metadata.shared < 100 * 1024  # two programs fit a multiprocessor
    assert "mma" in built.asm["ptx"]


@pytest.fixture
def poison() -> Iterator[None]:
    """Every new tensor is full of NaN, so that what a kernel leaves out is seen."""
    torch.use_deterministic_algorithms(mode=True)
    assert torch.empty(1).isnan().all()
    yield
    torch.use_deterministic_algorithms(mode=False)


def packed_spans(kind: str, sources: list[int], targets: list[int], fillers: tuple[int, int]) -> Spans:
    if kind == "cross":
        return cross_spans(*reads_and_readers(sources, targets, fillers))
    own = own_ranges(targets, fillers[1])
    return own_spans(own) if kind == "own" else causal_spans(own)


def on_device(spans: Spans) -> Spans:
    ends = (spans.key_begin, spans.key_end, spans.query_begin, spans.query_end)
    return Spans(*(end.to(DEVICE) for end in ends))


def draw_inputs(kind: str, spans: Spans, width: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    T, S = len(spans.key_begin), len(spans.query_begin)
    shapes = [(T, width), (S, 2 * width)] if kind == "cross" else [(T, 3 * width)]
    return tuple((1.5 * torch.randn(shape)).to(dtype) for shape in shapes)


def expected(
    inputs: tuple[Tensor, ...], heads: int, spans: Spans, d_out: Tensor, *, scale: bool = True
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Context and gradients in float64."""
    leaves = tuple(x.double().requires_grad_() for x in inputs)
    out = masked_attention(query_key_value(leaves), heads, spans, scale=scale)
    return out.detach(), torch.autograd.grad(out, leaves, d_out.double())


def check_kernels(
    kind: str,
    spans: Spans,
    heads: int,
    head_width: int,
    dtype: torch.dtype,
    real: int,
    *,
    scale: bool = True,
) -> None:
    """Kernels = float64 up to the accuracy of the type; no gradient comes from queries past the real ones."""
    from jumok.backends.triton.attention import attend

    inputs = draw_inputs(kind, spans, heads * head_width, dtype)
    if not scale:  # scores of the same size
        inputs = tuple(x / head_width**0.25 for x in inputs)
    d_out = torch.randn(len(spans.key_begin), heads * head_width).to(dtype)
    d_out[real:] = 0
    context, gradients = expected(inputs, heads, spans, d_out, scale=scale)
    leaves = tuple(x.to(DEVICE).requires_grad_() for x in inputs)
    biases = tuple(torch.zeros_like(x[0]).requires_grad_() for x in leaves)
    guard = Guard()
    out = attend(leaves, heads, on_device(spans), biases, scale=scale, guard=guard)
    assert out.dtype == dtype
    found = torch.autograd.grad(out, (*leaves, *biases), d_out.to(DEVICE))
    assert not guard.off, "the twin stood in for a kernel"
    check_close(out.detach(), context, dtype)
    for one, other in zip(found, (*gradients, *(one.sum(0) for one in gradients)), strict=True):
        check_close(one, other, dtype)
    *first, last = found[len(leaves) :]
    parts = last.chunk(3 - len(first))
    assert not parts[-2].any()  # a bias of the keys changes nothing


def check_close(actual: Tensor, wanted: Tensor, dtype: torch.dtype) -> None:
    bound = TOLERANCE[dtype]
    largest = max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(actual.cpu().double(), wanted, rtol=bound, atol=bound * largest)


@needs_triton
@(needs_triton if INTERPRETED else pytest.mark.gpu)
@pytest.mark.usefixtures("poison", "small_tiles")
@pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="needs a GPU; the interpreter does it")
class TestKernels:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("heads", "head_width", "dtype"),
        [(2, 16, torch.float32), (1, 64, torch.bfloat16), (1, 16, torch.float16)],
        ids=str,
    )
    def test_context_and_gradients_are_those_of_float64(
        self, kind: str, heads: int, head_width: int, dtype: torch.dtype
    ) -> None:
        torch.manual_seed(head_width)
        sources, targets = [1, 9, 40, 1, 3, 2], [5, 1, 33, 2, 20, 1]
        spans = packed_spans(kind, sources, targets, (19, 4))
        check_kernels(kind, spans, heads, head_width, dtype, sum(targets))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("seed", range(2))
    def test_sentences_of_any_length(self, kind: str, seed: int) -> None:
        torch.manual_seed(seed)
        count = int(torch.randint(1, 8, ()))
        sources, targets = torch.randint(1, 20, (2, count)).tolist()
        one, other = torch.randint(0, 20, (2,)).tolist()
        spans = packed_spans(kind, sources, targets, (one, other))
        check_kernels(kind, spans, 1, 16, torch.float32, sum(targets))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("head_width", "dtype"), [(16, torch.float32), (64, torch.bfloat16)], ids=str)
    def test_scores_that_are_not_divided(self, kind: str, head_width: int, dtype: torch.dtype) -> None:
        torch.manual_seed(head_width)
        spans = packed_spans(kind, [1, 9, 4], [5, 1, 17], (3, 4))
        check_kernels(kind, spans, 1, head_width, dtype, 23, scale=False)

    def test_a_batch_of_fillers_alone(self) -> None:
        check_kernels("own", packed_spans("own", [], [], (0, 40)), 1, 16, torch.float32, 40)
        spans = packed_spans("cross", [], [], (33, 40))
        check_kernels("cross", spans, 1, 16, torch.float32, 0)

    def test_a_key_without_readers_gets_no_gradient(self) -> None:
        from jumok.backends.triton.attention import attend

        spans = packed_spans("cross", [3], [2], (20, 0))
        q, kv = torch.randn(2, 16, device=DEVICE), torch.randn(23, 32, device=DEVICE, requires_grad=True)
        (gradient,) = torch.autograd.grad(attend((q, kv), 1, on_device(spans), guard=Guard()).sum(), kv)
        assert gradient[:3].abs().sum() > 0
        assert torch.equal(gradient[3:], torch.zeros(20, 32, device=DEVICE))

    @pytest.mark.parametrize(("kind", "scale"), [*((kind, True) for kind in KINDS), ("cross", False)])
    def test_heads_of_a_width_that_they_do_not_take(self, kind: str, *, scale: bool) -> None:
        from jumok.backends.triton.attention import attend

        torch.manual_seed(0)
        spans = packed_spans(kind, [5, 1], [4, 7], (3, 2))
        inputs, d_out = draw_inputs(kind, spans, 2 * 9, torch.float32), torch.randn(13, 2 * 9)
        d_out[11:] = 0
        context, gradients = expected(inputs, 2, spans, d_out, scale=scale)
        leaves = tuple(x.to(DEVICE).requires_grad_() for x in inputs)
        there = on_device(spans)

        def run(wide: tuple[Tensor, ...]) -> Tensor:
            return attend(wide, 2, there, scale=scale, guard=Guard())

        out = with_wide_heads(leaves, 2, run, scale=scale)
        check_close(out.detach(), context, torch.float32)
        found = torch.autograd.grad(out, leaves, d_out.to(DEVICE))
        for one, other in zip(found, gradients, strict=True):
            check_close(one, other, torch.float32)

    def test_inputs_and_gradients_may_have_any_strides(self) -> None:
        from jumok.backends.triton.attention import attend

        torch.manual_seed(0)
        spans = packed_spans("own", [], [4, 7], (0, 1))
        qkv, d_out = torch.randn(48, 12), torch.randn(16, 12)
        context, (gradient,) = expected((qkv.mT,), 1, spans, d_out.mT)
        leaf = qkv.to(DEVICE).requires_grad_()
        out = attend((leaf.mT,), 1, on_device(spans), guard=Guard())
        (found,) = torch.autograd.grad(out, leaf, d_out.to(DEVICE).mT)
        check_close(out.detach(), context, torch.float32)
        check_close(found.mT, gradient, torch.float32)

    @pytest.mark.parametrize("scale", [True, False])
    def test_the_twin_gives_the_gradients_of_a_kernel_that_fails(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, scale: bool
    ) -> None:
        from jumok.backends.triton import attention

        torch.manual_seed(0)
        torch.use_deterministic_algorithms(mode=False)  # the twin's products on a GPU need not be
        monkeypatch.setattr(attention, "BACKWARD", {})  # no entry fits: KeyError
        spans = packed_spans("causal", [], [4, 7], (0, 1))
        qkv, d_out = torch.randn(12, 48), torch.randn(12, 16)
        _, (gradient,) = expected((qkv,), 1, spans, d_out, scale=scale)
        guard = Guard()
        for _ in range(2):
            leaf = qkv.to(DEVICE).requires_grad_()
            with caplog.at_level(logging.WARNING, "jumok"):
                out = attention.attend((leaf,), 1, on_device(spans), scale=scale, guard=guard)
                (found,) = torch.autograd.grad(out, leaf, d_out.to(DEVICE))
            check_close(found, gradient, torch.float32)
        assert [record.getMessage().split(" (")[0] for record in caplog.records] == [
            "the kernel attention's gradient does not run here"
        ]


@needs_triton
@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
class TestOnTheGpu:
    @pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
    @pytest.mark.parametrize("head_width", [32, 128])
    def test_every_width_and_type_compiles(self, dtype: torch.dtype, head_width: int) -> None:
        torch.manual_seed(0)
        lengths = torch.randint(1, 90, (40,)).tolist()
        for kind in KINDS:
            spans = packed_spans(kind, lengths[::-1], lengths, (70, 70))
            check_kernels(kind, spans, 4, head_width, dtype, sum(lengths))

    def test_a_captured_graph_takes_other_sentences(self) -> None:
        from jumok.backends.triton.attention import attend

        torch.manual_seed(0)
        own = own_ranges([40, 24], 0).cuda()
        other = own_ranges([3, 21, 40], 0).cuda()
        x = torch.randn(64, 192, device="cuda", dtype=torch.bfloat16)
        graph, out = captured(lambda: (attend((x,), 4, causal_spans(own), guard=Guard()),))
        own.copy_(other)
        graph.replay()
        wanted = masked_attention(query_key_value((x.double(),)), 4, causal_spans(other))
        check_close(out[0], wanted.cpu(), torch.bfloat16)
