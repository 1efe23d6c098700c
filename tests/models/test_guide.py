"""A head that is taught where to look, on every back end."""

import pytest
import torch
from torch import Tensor

from jumok.architectures import AlignHead
from jumok.backends.c_ops import is_available
from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.config import TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.models.build import build_model
from jumok.models.guide import HeadGuide
from jumok.models.interface import Seq2Seq
from jumok.training.step import sides_of

SHAPE = {"width": 16, "heads": 2, "feedforward": 24, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}
BATCH = lay_pairs([[5, 6, 7], [8, 9], [5]], [[6, 5], [7, 8, 9, 5], [9]])
ALIGNED = torch.tensor([1, -1, 0, 0, 1, -1, 0, 0, 0, -1])


def made(**settings: object) -> Seq2Seq:
    torch.manual_seed(1)
    return build_model(TransformerConfig(**SHAPE, **settings), 12, 12, shared=True)  # type: ignore[arg-type]


def taught(model: Seq2Seq, head: AlignHead) -> Tensor:
    source, target_in = sides_of(BATCH)
    guide = HeadGuide(head, ALIGNED)
    model.guided(guide).decode(target_in, model.encode(source))
    assert guide.loss is not None
    return guide.loss


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("head", [AlignHead(0, 1), AlignHead(1, 0)])
def test_it_is_that_of_the_explicit_weights(head: AlignHead, *, scaled: bool) -> None:
    model = made(scaled=scaled)
    source, target_in = sides_of(BATCH)
    weights = model.explain(target_in, model.encode(source))[head.layer][:, head.head]  # (B, T, S)
    wanted = 0.0
    for row, places in enumerate(torch.split(ALIGNED, BATCH.target_lengths.tolist())):
        for t, place in enumerate(places.tolist()):
            if place >= 0:
                wanted -= float(weights[row, t, place].detach().log())
    assert float(taught(model, head).detach()) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.skipif(not is_available(), reason="the C library was not built")
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_are_those_of_torch(norm: str) -> None:
    """Of the biases, too, whose gradient the fast attention sums by itself."""
    found = []
    for ops in (TorchBackend(), NativeBackend()):
        model = made(norm=norm)
        own = model.using(ops)
        source, target_in = sides_of(BATCH)
        guide = HeadGuide(model.taught_head, ALIGNED)
        loss, _ = own.guided(guide).decode(target_in, own.encode(source)).loss(BATCH.target_out.long(), 0.0)
        assert guide.loss is not None
        (loss + 0.5 * guide.loss).backward()  # type: ignore[no-untyped-call]
        found.append({name: weight.grad for name, weight in model.named_parameters()})
    for name, gradient in found[0].items():
        assert torch.allclose(found[1][name], gradient, atol=2e-5), name


def test_the_model_itself_stays_as_it_was() -> None:
    model = made()
    taught(model, model.taught_head)
    assert model.guide is None
    assert model.taught_head == AlignHead(0, 0, after=True)
