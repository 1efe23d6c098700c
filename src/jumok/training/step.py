"""One update: forward and backward over its batches, clip, step.

Axis letters: M target tokens laid end to end, V vocabulary.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor, nn

from jumok.config import TrainingConfig
from jumok.data.batch import Batch
from jumok.errors import ran_out_of_memory
from jumok.models.guide import HeadGuide
from jumok.models.interface import Memory, Prediction, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import PAD
from jumok.training.optimizer import Optimizers
from jumok.training.shard import gathered
from jumok.training.threads import ThreadPart, Threads

Reduce = Callable[[Sequence[Tensor]], None]
"""Adds up the tensors of all processes, in place."""


@dataclass(frozen=True)
class StepNumbers:
    """What one update did, as plain numbers. Losses are per target token."""

    loss: float
    nll: float
    grad_norm: float
    skipped: bool


@dataclass(frozen=True)
class StepResult:
    """What one update did. The numbers stay on the device until someone reads them, which means to wait."""

    numbers: Tensor  # (4,): loss, nll, gradient norm, 1 if it was skipped
    tokens: int  # source + target, without fillers
    sentences: int

    def read(self) -> StepNumbers:
        loss, nll, grad_norm, skipped = self.numbers.tolist()
        return StepNumbers(loss, nll, grad_norm, bool(skipped))


def step_seed(seed: int, step: int, micro: int) -> int:
    """The generator's seed for one micro-batch. Keyed by position, so resuming needs no generator state."""
    digest = blake2b(f"{seed}/{step}/{micro}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


@dataclass(frozen=True)
class Share:
    """Which part of an update this process does: batches from number `first` on; `targets` tokens in all."""

    targets: int
    first: int = 0


def train_step(  # noqa: PLR0913  half of them have defaults
    model: Seq2Seq,
    optimizers: Optimizers,
    batches: Sequence[Batch],
    config: TrainingConfig,
    *,
    lr: float,
    step: int,
    seed: int,
    share: Share | None = None,
    autocast: torch.dtype | None = None,
    reduce: Reduce | None = None,
    threads: Threads | None = None,
) -> StepResult:
    """Update the weights once, by the mean loss over all target tokens of the update.

    A loss or gradient that is not finite leaves every weight as it was, and the result says so. Batches come
    from the host, where counting their tokens makes nobody wait.
    """
    if not model.training:
        model.train()
    share = share or Share(sum(batch.tokens for batch in batches))
    weights = optimizers.weights
    sums = torch.zeros(2, device=weights[0].device)  # loss and nll, per target token
    for number, batch in enumerate(batches, start=share.first):
        own_seed, part = step_seed(seed, step, number), 1 / share.targets
        torch.manual_seed(own_seed)
        own: AbstractContextManager[ThreadPart] = nullcontext(ThreadPart(model, batch.to(sums.device)))
        if threads is not None:
            own = threads.share_out(batch, config, batch_loss, share=part, seed=own_seed)
        with own as here:
            with torch.autocast(sums.device.type, autocast or torch.bfloat16, enabled=autocast is not None):
                loss, nll = batch_loss(here.model, here.batch, config)
            (loss * part).backward()  # type: ignore[no-untyped-call]
        sums += torch.stack((loss.detach(), nll, *here.others)).view(-1, 2).sum(0) * part
    optimizers.take_gradients()
    if reduce is not None:
        reduce([*map(gradient, weights), sums])
    norm = gathered(nn.utils.clip_grad_norm_(weights, config.clip or torch.inf))
    bad = ~(norm.isfinite() & sums.isfinite().all())
    if bad.is_cuda:
        optimizers.step(lr, skip=bad)  # decided on the device: the host need not wait
    elif not bad:
        optimizers.step(lr)
    for weight in weights:
        weight.grad = None
    numbers = torch.cat((sums, torch.stack((norm.float(), bad.float()))))
    return StepResult(numbers, *counted(batches))


def counted(batches: Sequence[Batch]) -> tuple[int, int]:
    """Tokens of both sides, and sentences."""
    tokens = sum(batch.tokens + batch.source_tokens for batch in batches)
    return tokens, sum(batch.sentences for batch in batches)


def gradient(weight: Tensor) -> Tensor:
    """The gradient of a weight; zeros if this process had nothing to learn from."""
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


def batch_loss(
    model: Seq2Seq, batch: Batch, config: TrainingConfig, *, fixed: bool = False
) -> tuple[Tensor, Tensor]:
    """The loss to learn from and the plain negative log-likelihood, each summed over the batch's tokens.

    `fixed`: shapes must not follow from lengths, for a step that is captured. Below 1, `teacher_forcing` is
    the share of decoder inputs from the reference: a first pass predicts every token from it, and its best
    guesses replace part of it in a second pass (scheduled sampling in two parallel passes, Mihaylova &
    Martins 2019), the same code for every architecture. With `rollout` they come from a real loop over time
    instead, each after the ones that were fed before it (Bengio et al. 2015): slower, and errors pile up as
    they do in use. A batch that knows its links also teaches one head, with the weight `align`.
    """
    source, target_in = sides_of(batch, fixed=fixed)
    target, smoothing = to_learn(batch), config.label_smoothing
    if config.teacher_forcing < 1:
        guess = rolled_out if config.rollout else with_guesses
        target_in = guess(model, source, target_in, config.teacher_forcing)
    guide = None if batch.aligned is None else HeadGuide(model.taught_head, batch.aligned)
    taught = model if guide is None else model.guided(guide)
    prediction = taught.decode(target_in, model.encode(source))
    if config.rdrop:
        again: Prediction = model.decode(target_in, model.encode(source))  # with other dropout
        loss, nll = prediction.rdrop_loss(again, target, smoothing, config.rdrop)
    else:
        loss, nll = prediction.loss(target, smoothing)
    if guide is None or guide.loss is None:
        return loss, nll
    return loss + config.align * guide.loss, nll


def to_learn(batch: Batch) -> Tensor:
    """What is to be predicted at each place (M,); 0, which is BOS and never predicted, where nothing is."""
    return batch.target_out.masked_fill(batch.target_out == PAD, 0)


def sides_of(batch: Batch, *, fixed: bool = False) -> tuple[Sentences, Sentences]:
    """A batch as models read it: its sources and its targets."""
    room = batch.room
    lengths = (None, None) if fixed else (batch.source_lengths, batch.target_lengths)
    source = Sentences(batch.source, batch.source_range, room.longest_source or room.source, lengths[0])
    ranges = batch.target_reads, batch.source_readers
    longest = room.longest_target or room.target
    return source, Sentences(batch.target_in, batch.target_range, longest, lengths[1], *ranges)


@torch.no_grad()
def with_guesses(
    model: Seq2Seq, source: Sentences, target_in: Sentences, teacher_forcing: float
) -> Sentences:
    """The first of the two passes: decoder inputs of which part are the model's own."""
    memory: Memory = model.encode(source)
    guesses = model.decode(target_in, memory).best()  # (M,)
    place = torch.arange(len(guesses), device=guesses.device)
    starts = place == target_in.range[0]  # (M,), where a sentence begins
    keep = starts | (model.ops.uniform(len(guesses), guesses.device) < teacher_forcing)
    own = guesses.roll(1).to(target_in.tokens.dtype)
    return target_in.with_tokens(torch.where(keep, target_in.tokens, own))


@torch.no_grad()
def rolled_out(model: Seq2Seq, source: Sentences, target_in: Sentences, teacher_forcing: float) -> Sentences:
    """Decoder inputs of which part are what the model writes after the inputs before them."""
    reference = target_in.grid(target_in.tokens)  # (B, T)
    keep = model.ops.uniform(reference.numel(), source.device).view(reference.shape) < teacher_forcing
    state, fed = model.start(model.encode(source)), [reference[:, 0]]
    for t in range(1, reference.shape[1]):
        logits, state = model.step(fed[-1], state)
        own = logits.argmax(dim=-1).to(reference.dtype)
        fed.append(torch.where(keep[:, t], reference[:, t], own))
    return target_in.with_tokens(target_in.flat(torch.stack(fed, dim=1)))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch ran out of memory, on a GPU or (worded differently) on a CPU."""
    return isinstance(error, torch.OutOfMemoryError) or ran_out_of_memory(error)
