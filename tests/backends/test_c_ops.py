"""The C library and its plain twins compute the same; its dropout is random in every way it should be."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from jumok.backends import c_ops, head
from jumok.backends.c_ops import AddNorm, Attend, Drop
from jumok.backends.torch import masked_attention, query_key_value
from jumok.nn.spans import Spans, causal_spans, cross_spans, own_spans

pytestmark = pytest.mark.skipif(not c_ops.is_available(), reason="the C library is not built here")
EASY = settings(max_examples=12, deadline=None)
CLOSE: dict[str, float] = {"atol": 3e-4, "rtol": 1e-4}  # of sums that cancel, in an order of the CPU's own


def gradients(call: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A result, and the gradients of a fixed mix of its numbers."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = call(*leaves)
    mix = torch.linspace(-1, 1, out.numel()).view_as(out)
    return out.detach(), torch.autograd.grad((out * mix).sum(), leaves)


def same(fast: Callable[..., Tensor], slow: Callable[..., Tensor], *inputs: Tensor) -> None:
    (y, dy), (z, dz) = gradients(fast, *inputs), gradients(slow, *inputs)
    torch.testing.assert_close(y, z, **CLOSE)
    for one, two in zip(dy, dz, strict=True):
        torch.testing.assert_close(one, two, **CLOSE)


@EASY
@given(rows=st.integers(0, 40), width=st.integers(1, 70), bias=st.booleans(), both=st.booleans())
def test_add_norm_is_its_twin(rows: int, width: int, *, bias: bool, both: bool) -> None:
    torch.manual_seed(rows * 100 + width)
    x, f = torch.randn(rows, width), torch.randn(rows, width)
    vectors = [torch.randn(width) for _ in range(3)]

    def fast(x: Tensor, f: Tensor, b: Tensor, w: Tensor, c: Tensor) -> Tensor:
        s, y = AddNorm.apply(x, f, b if bias else None, w, c, 0.0, None)  # type: ignore[no-untyped-call]
        return y + 0 * b.sum() if not both else y + s + 0 * b.sum()

    def slow(x: Tensor, f: Tensor, b: Tensor, w: Tensor, c: Tensor) -> Tensor:
        s = x + (f + b if bias else f)
        y = F.layer_norm(s, (width,), w, c, 1e-5)
        return y + 0 * b.sum() if not both else y + s + 0 * b.sum()

    if width > 2:  # with one or two numbers the variance decides everything, and rounding decides it
        same(fast, slow, x, f, *vectors)


@EASY
@given(
    lengths=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=5),
    heads=st.integers(1, 3),
    width=st.sampled_from((1, 5, 16, 32, 33, 64, 100)),
    scale=st.booleans(),
)
def test_attention_is_its_twin(
    lengths: list[tuple[int, int]], heads: int, width: int, *, scale: bool
) -> None:
    torch.manual_seed(len(lengths) + width)
    s, t = (torch.tensor(side) for side in zip(*lengths, strict=True))
    s_end, t_end = s.cumsum(0), t.cumsum(0)
    source, target = (torch.stack((end - n, end)).int() for n, end in ((s, s_end), (t, t_end)))
    of = {
        (a, b): x.repeat_interleave(n, dim=1)
        for a, x in (("s", source), ("t", target))
        for b, n in (("s", s), ("t", t))
    }
    D = heads * width
    for seen in (own_spans(of["s", "s"]), causal_spans(of["s", "s"])):
        attend_alike((torch.randn(int(s.sum()), 3 * D),), heads, seen, scale=scale)
    across = cross_spans(of["s", "t"], of["t", "s"])
    attend_alike((torch.randn(int(t.sum()), D), torch.randn(int(s.sum()), 2 * D)), heads, across, scale=scale)


def attend_alike(inputs: tuple[Tensor, ...], heads: int, seen: Spans, *, scale: bool) -> None:
    biases = tuple(torch.randn(x.shape[1]) for x in inputs)
    n = len(inputs)

    def fast(*both: Tensor) -> Tensor:
        given = tuple(x + b.detach() for x, b in zip(both[:n], both[n:], strict=True))
        ends = (seen.key_begin, seen.key_end)
        return Attend.apply(*ends, heads, scale, n, *given, *both[n:])  # type: ignore[no-untyped-call,no-any-return]

    def slow(*both: Tensor) -> Tensor:
        given = tuple(x + b for x, b in zip(both[:n], both[n:], strict=True))
        return masked_attention(query_key_value(given), heads, seen, scale=scale)

    same(fast, slow, *inputs, *biases)


@EASY
@given(rows=st.integers(1, 30), vocabulary=st.integers(2, 70), smoothing=st.sampled_from((0.0, 0.1)))
def test_the_loss_of_the_head_is_its_twin(rows: int, vocabulary: int, smoothing: float) -> None:
    torch.manual_seed(rows + vocabulary)
    target = torch.randint(vocabulary, (rows,))  # some are 0: nothing to predict there
    room = torch.randn(rows, vocabulary + 3)  # rows that lie apart
    logits, wanted = room[:, :vocabulary], room[:, :vocabulary].clone()
    before = logits.clone()
    for grad in (False, True):
        found = c_ops.smoothed_rows(logits, target, smoothing, grad=grad)
        expected = head.smoothed_rows(wanted, target, smoothing, grad=grad)
        torch.testing.assert_close(found, expected, **CLOSE)
        assert grad or torch.equal(logits, before)
    torch.testing.assert_close(logits, wanted, **CLOSE)


@EASY
@given(
    rows=st.integers(1, 12),
    vocabulary=st.integers(2, 70),
    smoothing=st.sampled_from((0.0, 0.1)),
    alpha=st.sampled_from((0.0, 0.7, 5.0)),
)
def test_two_passes_that_must_agree_have_the_loss_of_their_twin(
    rows: int, vocabulary: int, smoothing: float, alpha: float
) -> None:
    torch.manual_seed(rows + vocabulary)
    target = torch.randint(vocabulary, (rows,))  # some are 0: nothing to predict there
    room = 3 * torch.randn(2 * rows, vocabulary + 3)
    logits, wanted = room[:, :vocabulary], room[:, :vocabulary].clone()
    for grad in (False, True):
        found = c_ops.smoothed_rows(logits, target, smoothing, alpha, grad=grad)
        expected = head.rdrop_rows(wanted, target, smoothing, alpha, grad=grad)
        torch.testing.assert_close(found, expected, **CLOSE)
        assert grad or torch.equal(logits, wanted)
    torch.testing.assert_close(logits, wanted, **CLOSE)


@pytest.mark.parametrize("masked", [False, True])
def test_sums_over_rows_and_the_mask_of_a_relu(*, masked: bool) -> None:
    dy, y = torch.randn(11, 70), torch.randn(11, 70).relu() if masked else None
    kept = dy.clone()
    sums = c_ops.mask_and_sum(kept, y)
    torch.testing.assert_close(kept, dy if y is None else dy * (y > 0))
    torch.testing.assert_close(sums, kept.sum(0), **CLOSE)


def mask(seed: int, rows: int = 400, width: int = 256, share: float = 0.1) -> Tensor:
    """Where numbers stay (rows, width), by dropout of ones."""
    kept = c_ops.dropped(torch.ones(rows, width), c_ops.c_dropout(share, torch.tensor(seed)))
    assert kept.unique().tolist() == pytest.approx([0, 1 / (1 - share)])  # the scale is exact
    return kept > 0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_the_share_is_right_everywhere(share: float) -> None:
    dropped = (~mask(7, share=share)).double()
    n = dropped.numel()
    deviation = (share * (1 - share)) ** 0.5
    assert abs(dropped.mean() - share) < 4 * deviation / n**0.5
    for axis in (0, 1):  # no row and no column is special
        means = dropped.mean(axis)
        spread = deviation / dropped.shape[axis] ** 0.5
        assert (means - share).abs().max() < 5 * spread
        assert means.std() == pytest.approx(spread, rel=0.25)


def test_places_rows_and_seeds_are_independent() -> None:
    one = mask(1).double() - 0.9
    limit = 4 * 0.09 / one.numel() ** 0.5  # four deviations of a mean of products
    others = [mask(seed).double() - 0.9 for seed in (2, 3, 2**40, 2**62)]
    neighbours = [(one[:, :-n], one[:, n:]) for n in (1, 2, 15, 16, 17, 64)]
    neighbours += [(one[:-n], one[n:]) for n in (1, 2, 16)]
    neighbours += [(one[:-1, 1:], one[1:, :-1]), *((one, other) for other in others)]
    for a, b in neighbours:
        assert abs((a * b).mean()) < 1.1 * limit


def test_dropout_keeps_the_mean_and_goes_back_the_way_it_came() -> None:
    x, seed = torch.randn(500, 64, requires_grad=True), torch.tensor([3])
    y = Drop.apply(x, 0.25, seed)  # type: ignore[no-untyped-call]
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad == 0, y == 0)
    assert x.grad.mean() == pytest.approx(1.0, abs=0.02)
    assert torch.equal(Drop.apply(x.detach(), 0.25, seed), y)  # type: ignore[no-untyped-call]


def test_add_norm_drops_the_same_numbers_forward_and_backward() -> None:
    x, f = torch.zeros(30, 40, requires_grad=True), torch.ones(30, 40, requires_grad=True)
    bias = torch.zeros(40, requires_grad=True)
    norm = torch.ones(40), torch.zeros(40)
    s, y = AddNorm.apply(x, f, bias, *norm, 0.4, torch.tensor([5]))  # type: ignore[no-untyped-call]
    (s.sum() + 0 * y.sum()).backward()  # type: ignore[no-untyped-call]
    assert f.grad is not None
    assert bias.grad is not None
    torch.testing.assert_close(f.grad, s.detach())
    torch.testing.assert_close(bias.grad, s.detach().sum(0))
    assert 0.3 < (s == 0).double().mean() < 0.5


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match="jm_train_smoothed: shapes, ranges or ids that do not fit"):
        c_ops.smoothed_rows(torch.randn(2, 3), torch.tensor([1, 9]), 0.1, grad=False)
    with pytest.raises(ValueError, match="jm_train_rdrop: shapes, ranges or ids that do not fit"):
        c_ops.smoothed_rows(torch.randn(4, 3), torch.tensor([1, 9]), 0.1, 1.0, grad=False)
    with pytest.raises(ValueError, match="3 rows of logits for 2 targets"):
        c_ops.smoothed_rows(torch.randn(3, 3), torch.tensor([1, 2]), 0.1, 1.0, grad=False)


def test_without_the_library_there_are_no_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_ops, "_functions", lambda: None)
    assert not c_ops.is_available()


def test_numbers_of_another_width_are_refused() -> None:
    """C would read beyond their end."""
    low = torch.ones(4, 24, dtype=torch.bfloat16)
    spans = own_spans(torch.tensor([[0] * 4, [4] * 4], dtype=torch.int32))
    with pytest.raises(ValueError, match="computes in float32, not in torch.bfloat16"):
        Attend.apply(spans.key_begin, spans.key_end, 2, True, 1, low, None)  # type: ignore[no-untyped-call]  # noqa: FBT003
    with pytest.raises(ValueError, match="computes in float32"):
        Drop.apply(low, 0.5, torch.ones(1, dtype=torch.int64))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("share", "dropped"), [(1 - 1e-12, True), (1e-12, False)])
def test_a_share_next_to_one_drops_everything_and_one_next_to_zero_nothing(
    share: float, *, dropped: bool
) -> None:
    x, seed = torch.ones(50, 20), torch.tensor([3])
    assert bool((Drop.apply(x, share, seed) == 0).all()) == dropped  # type: ignore[no-untyped-call]
    if not dropped:
        assert torch.equal(Drop.apply(x, share, seed), x)  # type: ignore[no-untyped-call]
