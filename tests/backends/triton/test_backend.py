"""Models on the kernels against plain torch, and what no kernel takes; `test_guard.py` interprets it."""

from typing import Any

import pytest
import torch
from tests.backends.triton.interpreter import DEVICE, INTERPRETED, captured, needs_triton, runs_kernels
from tests.backends.twins import check_twins, pairs, twin
from tests.models.conftest import CONFIGS, TRANSFORMERS
from torch import Tensor, nn

from jumok.backends.torch import TorchBackend, masked_attention, query_key_value
from jumok.backends.triton.backend import TritonBackend, kernel_width, with_wide_heads
from jumok.backends.values import Projected
from jumok.models.sentences import Sentences
from jumok.training.step import sides_of

HEADS = 2
# Between rows of logits lies room that is read but never used; NumPy warns of what is in it.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
# The interpreter takes seconds for a model: one with every option but these has all its kernels.
NAMES = (
    ["transformer-pre-norm", "transformer-rotary", "transformer-no-norm"] if INTERPRETED else list(CONFIGS)
)


@runs_kernels
@(needs_triton if INTERPRETED else pytest.mark.gpu)
@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("config", NAMES)
def test_a_model_says_the_same_on_the_kernels(config: str) -> None:
    ops = TritonBackend()
    check_twins(config, ops, device=DEVICE, atol=1e-4)
    assert not ops.guard.off, "plain torch stood in for a kernel"


@runs_kernels
@(needs_triton if INTERPRETED else pytest.mark.gpu)
@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("config", ["transformer"] if INTERPRETED else list(TRANSFORMERS))
def test_the_same_in_a_fixed_room_and_a_given_gradient_is_left_as_it_was(config: str) -> None:
    ops = TritonBackend()
    check_twins(config, ops, device=DEVICE, fixed=True, atol=1e-4)
    logits = twin(config, ops, DEVICE)(*sides_of(pairs(fixed=True).to(DEVICE), fixed=True)).logits()
    given = torch.randn_like(logits)
    kept = given.clone()
    logits.backward(given)
    assert torch.equal(given, kept)
    assert not ops.guard.off


@pytest.mark.gpu
@needs_triton
def test_a_captured_graph_computes_new_numbers_at_each_replay() -> None:
    torch.manual_seed(0)
    ops, kind = TritonBackend(), {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(256, 64, **kind).requires_grad_()  # type: ignore[call-overload]
    head = torch.randn(500, 64, **kind).requires_grad_()  # type: ignore[call-overload]
    linear, norm = nn.Linear(64, 64, **kind), nn.LayerNorm(64, device="cuda")  # type: ignore[arg-type]
    target = torch.randint(0, 500, (256,), device="cuda")

    def step() -> tuple[Tensor, ...]:
        (seed,) = ops.seeds(1, x.device)
        _, y = ops.add_norm(x, x, linear, norm, 0.3, training=True, seed=seed)
        assert y is not None
        loss, nll = ops.head_loss(ops.drop(y, 0.2, training=True), head, target, 0.1)
        return loss, nll, *torch.autograd.grad(loss, (x, head))

    graph, out = captured(step)
    runs = []
    for _ in range(2):
        graph.replay()
        runs.append([one.detach().clone() for one in out])
    for one, other in zip(*runs, strict=True):
        assert one.isfinite().all()
        assert not torch.equal(one, other)  # other masks


@pytest.mark.gpu
@needs_triton
@pytest.mark.parametrize("config", list(TRANSFORMERS))
def test_a_captured_model_reads_other_batches(config: str) -> None:
    """What training replays: the same graph, other sentences, in the room of the first."""
    if config == "transformer-copy":
        pytest.skip("its loss is of logits that exist, by autograd's own means")
    model, batch = twin(config, TritonBackend(), "cuda"), pairs(fixed=True).to("cuda")
    source, target_in = sides_of(batch, fixed=True)
    target, weights = batch.target_out.clamp(min=2) % 13, list(model.parameters())

    def step() -> tuple[Tensor, ...]:
        loss, nll = model(source, target_in).loss(target, 0.1)
        return loss, nll, *torch.autograd.grad(loss, weights)

    graph, out = captured(step)
    batch.numbers[: batch.room.source] = batch.numbers[: batch.room.source].flip(0)
    graph.replay()
    for one, other in zip(out, step(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4 * max(1.0, float(other.abs().max())), rtol=0)


def test_what_no_kernel_takes_is_done_by_torch() -> None:
    """float64, a norm that is none, and rows that are too wide: none of them is a kernel's failure."""
    ops, plain = TritonBackend(), TorchBackend()
    spans = Sentences.lay([[0] * 3, [0] * 2], torch.device("cpu")).causal_spans
    qkv = Projected(torch.randn(5, 24, dtype=torch.float64))
    given: dict[str, Any] = {"scale": True, "where": ("dec_self", 0)}
    torch.testing.assert_close(ops.attend((qkv,), 2, spans, **given), plain.attend((qkv,), 2, spans, **given))
    for width, norm, add in (
        (8, nn.Identity(), True),
        (8, nn.LayerNorm(8), False),
        (5000, nn.LayerNorm(5000), True),
    ):
        parts = (torch.randn(2, width), torch.randn(2, 3), nn.Linear(3, width), norm, 0.1)
        one, other = (each.add_norm(*parts, training=False, seed=None, add=add) for each in (ops, plain))
        torch.testing.assert_close(one, other)
    assert not ops.guard.off


def test_a_kernel_that_failed_is_not_asked_again() -> None:
    ops = TritonBackend()
    ops.guard.off |= {
        "beams",
        "peaks",
        "dropout",
        "columns",
        "head_loss",
        "rdrop_loss",
        "add_norm",
        "attention",
    }
    assert not ops.bounded(64)
    x, head, target = torch.randn(4, 8), torch.randn(9, 8), torch.tensor([1, 0, 2, 8])
    torch.testing.assert_close(
        ops.head_loss(x, head, target, 0.1), TorchBackend().head_loss(x, head, target, 0.1)
    )
    assert ops.drop(x, 0.5, training=True).shape == x.shape
    assert torch.equal(ops.row_peaks(x)[0], x.log_softmax(1))


@pytest.mark.parametrize("width", [1, 16, 24, 80, 128])
@pytest.mark.parametrize(("across", "scale"), [(False, True), (True, True), (True, False)])
def test_heads_with_room_behind_them_give_the_same(width: int, *, across: bool, scale: bool) -> None:
    """What the kernels get where they take no such heads."""
    torch.manual_seed(0)
    source, target = (
        Sentences.lay([[0] * n for n in rows], torch.device("cpu")) for rows in ((3, 2), (1, 4))
    )
    spans = target.spans_over(source) if across else target.own_spans
    shapes = [(5, 2 * width), (5, 4 * width)] if across else [(5, 6 * width)]
    inputs = tuple(torch.randn(shape).double().requires_grad_() for shape in shapes)
    wanted, found = masked_attention(query_key_value(inputs), HEADS, spans, scale=scale), []

    def attend_wide(given: tuple[Tensor, ...]) -> Tensor:
        found.append({x.shape[1] // HEADS % kernel_width(width) for x in given})
        return masked_attention(query_key_value(given), HEADS, spans, scale=scale)

    out = with_wide_heads(inputs, HEADS, attend_wide, scale=scale)
    assert found == [{0}]
    torch.testing.assert_close(out, wanted)
    d_out = torch.randn_like(out)
    one, other = (torch.autograd.grad(x, inputs, d_out) for x in (out, wanted))
    torch.testing.assert_close(one, other)


def test_the_kernels_take_heads_up_to_128_numbers() -> None:
    assert [kernel_width(width) for width in (1, 16, 17, 48, 64, 96, 128)] == [16, 16, 32, 64, 64, 128, 128]
    with pytest.raises(ValueError, match="heads of 160 numbers, and it takes up to 128"):
        kernel_width(160)
