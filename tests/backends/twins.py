"""A model on a back end and the same model in plain torch: predictions, losses, gradients, steps."""

from typing import Any

import torch
from tests.models.conftest import CONFIGS, Bench
from torch import Tensor

from jumok.backends.torch import TorchBackend
from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.interface import Seq2Seq
from jumok.training.step import sides_of, to_learn

bench = Bench()
SOURCES, TARGETS = [[4, 5, 6], [7], [9, 8, 7, 6, 5, 4, 9]], [[8], [9, 10, 11, 12, 5], []]


def pairs(*, fixed: bool = False) -> Batch:
    """Three pairs, in a room of their own size or in a fixed one."""
    return lay_pairs(SOURCES, TARGETS, Room(32, 32, 9, 9) if fixed else None)


def learned(model: Seq2Seq, batch: Batch, *, fixed: bool) -> dict[str, Tensor]:
    """What training asks of a model: loss, nll, R-Drop's loss, and the gradients of both losses."""
    source, target_in = sides_of(batch, fixed=fixed)
    target, found = to_learn(batch), {}
    other_in = target_in.with_tokens((target_in.tokens + 1).clamp(max=12))  # two passes that do not agree yet
    for name in ("loss", "rdrop"):
        model.zero_grad()
        one, two = (model(source, read) for read in (target_in, other_in))
        loss, nll = one.loss(target, 0.1) if name == "loss" else one.rdrop_loss(two, target, 0.1, 2.0)
        loss.backward()
        found |= {name: loss.detach(), f"{name}'s nll": nll}
        found |= {f"{name}: {of}": p.grad for of, p in model.named_parameters() if p.grad is not None}
    return found


@torch.no_grad()
def decoded(model: Seq2Seq, batch: Batch) -> dict[str, Tensor]:
    """What a search asks of it: logits of the whole pass and of single steps."""
    source, target_in = sides_of(batch)
    memory = model.eval().encode(source)
    prediction, real = model.decode(target_in, memory), batch.tokens
    steps = bench.step_by_step(model, target_in, memory)
    return {"logits": prediction.logits()[:real], "best": prediction.best()[:real], "steps": steps[:real]}


def check_twins(
    name: str,
    ops: TorchBackend,
    *,
    device: str = "cpu",
    fixed: bool = False,
    atol: float = 1e-5,
    **options: Any,
) -> None:
    """A configuration of tests/models/conftest.py says the same on both."""
    wanted, found = (
        learned(model, pairs(fixed=fixed).to(device), fixed=fixed and model.fixed_shapes)
        | decoded(model, pairs().to(device))
        for model in (twin(name, one, device, **options) for one in (TorchBackend(), ops))
    )
    assert found.keys() == wanted.keys()
    for key, value in found.items():
        largest = max(1.0, float(wanted[key].abs().max()))
        torch.testing.assert_close(
            value, wanted[key], atol=atol * largest, rtol=0, msg=lambda text, key=key: f"{key}: {text}"
        )


def twin(name: str, ops: TorchBackend, device: str, **options: Any) -> Seq2Seq:
    model = bench.model(CONFIGS[name], shared=True, **options).train()
    return model.to(device).using(ops)
