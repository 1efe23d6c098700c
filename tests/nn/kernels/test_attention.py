"""The kernels against attention in float64, on a GPU, or without one in Triton's interpreter.

The interpreter must be chosen before anything imports Triton, so it runs this very file in a process of its
own. There the blocks are small: even short sentences straddle them.
"""

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor

from jumok.nn.spans import Spans, causal_spans, cross_spans, masked_attention, own_spans

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
KINDS = ["own", "causal", "cross"]
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
runs_kernels = [pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="runs in the interpreter")]
runs_kernels += [needs_triton] + [pytest.mark.gpu] * (not INTERPRETED)


@needs_triton
@pytest.mark.skipif(INTERPRETED, reason="is the interpreter already")
def test_the_kernels_agree_with_float64_in_tritons_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", __file__]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


def ranges(lengths: list[int], fillers: int) -> Tensor:
    """(2, L): where each token's sentence lies; fillers are sentences of one token."""
    sizes = torch.tensor([*lengths, *[1] * fillers])
    end = sizes.cumsum(0)
    return torch.stack((end - sizes, end)).repeat_interleave(sizes, dim=1).int()


def pair_ranges(lengths: list[int], others: list[int], fillers: int) -> tuple[int, Tensor]:
    """For tokens of sentences of these lengths and fillers: the range of the other side's sentence, as packed."""
    bounds = torch.tensor([0, *others]).cumsum(0)
    pairs = torch.stack((bounds[:-1], bounds[1:]))  # (2, sentences)
    sizes = torch.tensor(lengths, dtype=torch.int64)
    return int(bounds[-1]), pairs.repeat_interleave(sizes, dim=1).int()


def packed_spans(kind: str, sources: list[int], targets: list[int], fillers: tuple[int, int]) -> Spans:
    """Spans of pairs as `Packed` lays them out."""
    if kind != "cross":
        span = ranges(targets, fillers[1])
        return own_spans(span) if kind == "own" else causal_spans(span)
    N, reads = pair_ranges(targets, sources, fillers[0])
    M, readers = pair_ranges(sources, targets, fillers[1])
    N, M = N + fillers[0], M + fillers[1]
    last, empty = torch.tensor([[N - 1], [N]]), torch.tensor([[M], [M]])
    reads = torch.cat((reads, last.expand(2, fillers[1]).int()), dim=1)
    readers = torch.cat((readers, empty.expand(2, fillers[0]).int()), dim=1)
    return cross_spans(reads, readers)


def to_device(spans: Spans) -> Spans:
    return Spans(**{name: getattr(spans, name).to(DEVICE) for name in vars(spans)})


def draw_inputs(kind: str, spans: Spans, width: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    T, S = len(spans.key_begin), len(spans.query_begin)
    shapes = [(T, width), (S, 2 * width)] if kind == "cross" else [(T, 3 * width)]
    return tuple((1.5 * torch.randn(shape)).to(dtype) for shape in shapes)


def expected(
    inputs: tuple[Tensor, ...], heads: int, spans: Spans, d_out: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Context and gradients in float64."""
    leaves = tuple(x.double().requires_grad_() for x in inputs)
    out = masked_attention(leaves, heads, spans)
    return out.detach(), torch.autograd.grad(out, leaves, d_out.double())


def check(kind: str, spans: Spans, heads: int, head_width: int, dtype: torch.dtype, real: int) -> None:
    """Kernels = float64 up to the type's accuracy; no gradient comes from queries past the `real` ones."""
    from jumok.nn.kernels.attention import attend

    inputs = draw_inputs(kind, spans, heads * head_width, dtype)
    d_out = torch.randn(len(spans.key_begin), heads * head_width).to(dtype)
    d_out[real:] = 0
    context, gradients = expected(inputs, heads, spans, d_out)
    leaves = tuple(x.to(DEVICE).requires_grad_() for x in inputs)
    out = attend(leaves, heads, to_device(spans))
    assert out.dtype == dtype
    out.backward(d_out.to(DEVICE))
    bound = TOLERANCE[dtype]
    torch.testing.assert_close(out.detach().cpu().double(), context, rtol=bound, atol=bound)
    for leaf, gradient in zip(leaves, gradients, strict=True):
        assert leaf.grad is not None
        size = float(gradient.abs().max())
        torch.testing.assert_close(leaf.grad.cpu().double(), gradient, rtol=bound, atol=bound * max(1, size))


@pytest.fixture(autouse=True)
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks for the interpreter, unlike in both directions; and no output holds zeros by luck."""
    if not INTERPRETED:
        return
    from jumok.nn.kernels import attention

    for table, tile in ((attention.FORWARD, (32, 16)), (attention.BACKWARD, (16, 32))):
        for key in table:
            monkeypatch.setitem(table, key, attention.Tile(*tile))


@pytest.fixture(autouse=True)
def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every new tensor is full of NaN: what a kernel leaves out is seen."""
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


class TestKernels:
    pytestmark = runs_kernels

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
    @pytest.mark.parametrize("head_width", [16, 64])
    def test_context_and_gradients_are_those_of_float64(
        self, kind: str, dtype: torch.dtype, head_width: int
    ) -> None:
        torch.manual_seed(head_width)
        sources, targets = [1, 9, 40, 1, 3, 17, 2], [5, 1, 33, 2, 30, 1, 8]
        spans = packed_spans(kind, sources, targets, (19, 4))
        check(kind, spans, 2, head_width, dtype, sum(targets))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("seed", range(4))
    def test_any_sentence_lengths(self, kind: str, seed: int) -> None:
        torch.manual_seed(seed)
        count = int(torch.randint(1, 12, ()))
        sources, targets = (torch.randint(1, 24, (2, count)) ** 1).tolist()
        fillers = torch.randint(0, 40, (2,)).tolist()
        check(kind, packed_spans(kind, sources, targets, fillers), 1, 16, torch.float32, sum(targets))
