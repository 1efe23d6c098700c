"""One update: forward, backward over the micro-batches, clip, step.

Axis letters: B batch, T target, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import torch
from torch import Tensor, nn

from jumok.config import TrainingConfig
from jumok.data.batch import Padded
from jumok.errors import RunError
from jumok.models.interface import Seq2Seq
from jumok.training.loss import token_loss
from jumok.training.optimizer import Optimizers


@dataclass(frozen=True)
class StepResult:
    """What one update did. Losses are per target token."""

    loss: float
    nll: float
    tokens: int  # source + target, without padding
    sentences: int
    grad_norm: float
    skipped: bool = False


def step_seed(seed: int, step: int, micro: int) -> int:
    """The generator's seed for one micro-batch. Keyed by position, so resuming needs no generator state."""
    digest = blake2b(f"{seed}/{step}/{micro}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def train_step(
    model: Seq2Seq,
    optimizers: Optimizers,
    micro_batches: Sequence[Padded],
    config: TrainingConfig,
    *,
    lr: float,
    step: int,
    seed: int,
    autocast: torch.dtype | None = None,
) -> StepResult:
    """Update the weights once, by the mean loss over all target tokens of the micro-batches.

    A loss or gradient that is not finite leaves every weight as it was, and says so.
    """
    model.train()
    targets = sum(batch.tokens for batch in micro_batches)
    tokens = targets + sum(int(batch.source_mask.sum()) for batch in micro_batches)
    total_loss = total_nll = 0.0
    for micro, batch in enumerate(micro_batches):
        torch.manual_seed(step_seed(seed, step, micro))
        with torch.autocast(
            batch.source.device.type, autocast or torch.bfloat16, enabled=autocast is not None
        ):
            logits = forward(model, batch, config.teacher_forcing)
        loss, nll = token_loss(logits, batch.target_out, batch.target_mask, config.label_smoothing)
        (loss / targets).backward()  # type: ignore[no-untyped-call]
        total_loss += loss.item() / targets
        total_nll += nll.item() / targets
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip or torch.inf).item()
    finite = all(map(torch.isfinite, map(torch.tensor, (total_loss, grad_norm))))
    if finite:
        optimizers.step(lr)
    model.zero_grad(set_to_none=True)
    sentences = sum(len(batch.source) for batch in micro_batches)
    return StepResult(total_loss, total_nll, tokens, sentences, grad_norm, skipped=not finite)


def forward(model: Seq2Seq, batch: Padded, teacher_forcing: float) -> Tensor:
    """Logits (B, T, V) with the share `teacher_forcing` of decoder inputs from the reference.

    Below 1 a first pass predicts every token from the reference, and its best guesses replace part of the
    reference in a second pass (scheduled sampling in two parallel passes, Mihaylova & Martins 2019): the same
    code for every architecture. At 1 there is one pass and nothing else.
    """
    memory = model.encode(batch.source, batch.source_mask)
    if teacher_forcing == 1:
        return model.decode(batch.target_in, memory)
    with torch.no_grad():
        guesses = model.decode(batch.target_in, memory).argmax(dim=-1)  # (B, T)
    own = torch.cat((batch.target_in[:, :1], guesses[:, :-1]), dim=1)  # (B, T), still starts with BOS
    keep = torch.rand(own.shape, device=own.device) < teacher_forcing
    return model.decode(torch.where(keep, batch.target_in, own), memory)


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
