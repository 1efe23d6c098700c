"""One update: forward and backward over its pieces, clip, step.

Axis letters: B batch, T target, V vocabulary, M target tokens laid end to end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import torch
from torch import Tensor, nn

from jumok.config import TrainingConfig
from jumok.data.batch import Packed, Padded
from jumok.errors import RunError
from jumok.models.interface import Memory, PackedBatch, Seq2Seq
from jumok.nn.fused import chunk_rows, head_loss, rdrop_loss
from jumok.text.tokenizer import PAD
from jumok.training.loss import rdrop_token_loss, token_loss
from jumok.training.optimizer import Optimizers
from jumok.training.passes import with_inputs
from jumok.training.shard import gathered
from jumok.training.threads import runs_in_threads, threaded_gradients

Piece = Padded | Packed
Reduce = Callable[[Sequence[Tensor]], None]
"""Adds up the tensors of all processes, in place."""


@dataclass(frozen=True)
class Read:
    """What one update did, as plain numbers. Losses are per target token."""

    loss: float
    nll: float
    grad_norm: float
    skipped: bool


@dataclass(frozen=True)
class StepResult:
    """What one update did. The numbers stay on the device until someone reads them, which means to wait."""

    numbers: Tensor  # (4,): loss, nll, gradient norm, 1 if it was skipped
    tokens: int  # source + target, without padding
    sentences: int

    def read(self) -> Read:
        loss, nll, grad_norm, skipped = self.numbers.tolist()
        return Read(loss, nll, grad_norm, bool(skipped))


def step_seed(seed: int, step: int, micro: int) -> int:
    """The generator's seed for one micro-batch. Keyed by position, so resuming needs no generator state."""
    digest = blake2b(f"{seed}/{step}/{micro}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


@dataclass(frozen=True)
class Share:
    """Which part of an update this process does: pieces from number `first` on; `targets` tokens in all."""

    targets: int
    first: int = 0


def train_step(  # noqa: PLR0913  half of them have defaults
    model: Seq2Seq,
    optimizers: Optimizers,
    pieces: Sequence[Piece],
    config: TrainingConfig,
    *,
    lr: float,
    step: int,
    seed: int,
    share: Share | None = None,
    autocast: torch.dtype | None = None,
    reduce: Reduce | None = None,
) -> StepResult:
    """Update the weights once, by the mean loss over all target tokens of the update.

    A loss or gradient that is not finite leaves every weight as it was, and the result says so. Pieces come
    from the host, where counting their tokens makes nobody wait.
    """
    model.train()
    share = share or Share(sum(piece.tokens for piece in pieces))
    weights = list(model.parameters())
    sums = torch.zeros(2, device=weights[0].device)  # loss and nll, per target token
    for number, piece in enumerate(pieces, start=share.first):
        own_seed = step_seed(seed, step, number)
        if isinstance(piece, Padded) and runs_in_threads(model, piece, config, autocast):
            part = 1 / share.targets
            found = threaded_gradients(model, piece, config.label_smoothing, share=part, seed=own_seed)
            sums += found * part
            continue
        torch.manual_seed(own_seed)
        with torch.autocast(sums.device.type, autocast or torch.bfloat16, enabled=autocast is not None):
            loss, nll = piece_loss(model, piece.to(sums.device), config)
        (loss / share.targets).backward()  # type: ignore[no-untyped-call]
        sums += torch.stack((loss.detach(), nll)) / share.targets
    if reduce is not None:
        reduce([*map(gradient, weights), sums])
    norm = gathered(nn.utils.clip_grad_norm_(weights, config.clip or torch.inf))
    bad = ~(norm.isfinite() & sums.isfinite().all())
    if bad.is_cuda:
        optimizers.step(lr, skip=bad)  # decided on the device: the host need not wait
    elif not bad:
        optimizers.step(lr)
    model.zero_grad(set_to_none=True)
    numbers = torch.cat((sums, torch.stack((norm.float(), bad.float()))))
    tokens = sum(piece.tokens + piece.source_tokens for piece in pieces)
    return StepResult(numbers, tokens, sum(piece.sentences for piece in pieces))


def gradient(weight: Tensor) -> Tensor:
    """The gradient of a weight; zeros if this process had nothing to learn from."""
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


def piece_loss(model: Seq2Seq, piece: Piece, config: TrainingConfig) -> tuple[Tensor, Tensor]:
    """The loss to learn from and the plain negative log-likelihood, each summed over the piece's tokens."""
    smoothing, alpha = config.label_smoothing, config.rdrop
    if isinstance(piece, Packed):
        return packed_loss(model, piece, learned(piece), config)
    if not alpha:
        logits = forward(model, piece, config.teacher_forcing)  # (B, T, V)
        return token_loss(logits, piece.target_out, piece.target_mask, smoothing)
    if config.teacher_forcing < 1:
        with torch.no_grad():
            memory = model.encode(piece.source, piece.source_mask)
        piece = replace(piece, target_in=guessed(model, piece, memory, config.teacher_forcing))
    one, two = (model(piece.source, piece.source_mask, piece.target_in) for _ in range(2))
    return rdrop_token_loss(one, two, piece.target_out, piece.target_mask, smoothing, alpha)


def learned(piece: Packed) -> Tensor:
    """What is to be predicted at each place (M,); 0, which is BOS and never predicted, where nothing is."""
    return piece.target_out.masked_fill(piece.target_out == PAD, 0)


def packed_loss(
    model: Seq2Seq, batch: PackedBatch, target: Tensor, config: TrainingConfig
) -> tuple[Tensor, Tensor]:
    """`piece_loss` of sentences laid end to end; the logits of all places never exist at once."""
    if config.teacher_forcing < 1:
        batch = with_guesses(model, batch, config.teacher_forcing)
    if model.copies:
        return copying_loss(model, batch, target, config)
    if not config.rdrop:
        return head_loss(model.features(batch), model.head, target, config.label_smoothing)
    both = torch.cat([model.features(batch) for _ in range(2)])  # (2M, D)
    return rdrop_loss(both, model.head, target, config.label_smoothing, config.rdrop)


def copying_loss(
    model: Seq2Seq, batch: PackedBatch, target: Tensor, config: TrainingConfig
) -> tuple[Tensor, Tensor]:
    """`packed_loss` of a model whose logits no single product makes: here all of them exist."""
    right, real = target.long()[None], (target != 0)[None]  # (1, M)
    one = model.packed_logits(batch)[None]  # (1, M, V)
    if not config.rdrop:
        return token_loss(one, right, real, config.label_smoothing)
    two = model.packed_logits(batch)[None]
    return rdrop_token_loss(one, two, right, real, config.label_smoothing, config.rdrop)


def forward(model: Seq2Seq, batch: Padded, teacher_forcing: float) -> Tensor:
    """Logits (B, T, V) with the share `teacher_forcing` of decoder inputs from the reference.

    Below 1 a first pass predicts every token from the reference, and its best guesses replace part of the
    reference in a second pass (scheduled sampling in two parallel passes, Mihaylova & Martins 2019): the same
    code for every architecture. At 1 there is one pass and nothing else.
    """
    memory = model.encode(batch.source, batch.source_mask)
    if teacher_forcing == 1:
        return model.decode(batch.target_in, memory)
    return model.decode(guessed(model, batch, memory, teacher_forcing), memory)


@torch.no_grad()
def guessed(model: Seq2Seq, batch: Padded, memory: Memory, teacher_forcing: float) -> Tensor:
    """The first of the two passes: decoder inputs (B, T), part of them the model's own."""
    guesses = model.decode(batch.target_in, memory).argmax(dim=-1)  # (B, T)
    own = torch.cat((batch.target_in[:, :1], guesses[:, :-1]), dim=1)  # (B, T), still starts with BOS
    keep = torch.rand(own.shape, device=own.device) < teacher_forcing
    return torch.where(keep, batch.target_in, own)


@torch.no_grad()
def with_guesses(model: Seq2Seq, batch: PackedBatch, teacher_forcing: float) -> PackedBatch:
    """The same for sentences laid end to end: a batch with other inputs."""
    guesses = packed_guesses(model, batch)  # (M,)
    place = torch.arange(len(guesses), device=guesses.device)
    starts = place == batch.target_range[0]  # (M,), where a sentence begins
    keep = starts | (torch.rand(guesses.shape, device=guesses.device) < teacher_forcing)
    return with_inputs(batch, torch.where(keep, batch.target_in, guesses.roll(1).to(batch.target_in.dtype)))


def packed_guesses(model: Seq2Seq, batch: PackedBatch) -> Tensor:
    """The most probable token at every place (M,)."""
    if model.copies:
        return model.packed_logits(batch).argmax(dim=-1)
    features, head = model.features(batch), model.head  # (M, D), (V, D)
    parts = torch.split(features, chunk_rows(len(features), 1, len(head), features.element_size()))
    return torch.cat([(part @ head.T).argmax(dim=-1) for part in parts])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch ran out of memory, on a GPU or (worded differently) on a CPU."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "not enough memory" in str(error)
    )


def step_in_memory(
    attempt: Callable[[int], StepResult], parts: int, rows: int, on_halved: Callable[[int], None]
) -> tuple[StepResult, int]:
    """`attempt(parts)`, cutting the batch into twice as many parts each time memory runs out.

    The update stays the same: only the micro-batches shrink. Gives the result and the parts that fitted.
    """
    while True:
        try:
            return attempt(parts), parts
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if parts >= rows:
                raise RunError(
                    "out of memory with a single sentence in the micro-batch",
                    hint="choose a smaller model (--preset tiny), a smaller text.vocabulary, or shorter "
                    "sentences (data.max_length)",
                    code="out_of_memory",
                ) from error
            parts = min(parts * 2, rows)
            on_halved(parts)
