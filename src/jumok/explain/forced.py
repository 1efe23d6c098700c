"""How probable given tokens are: passes in which the model writes a target that is already known.

Axis letters: B batch, T target tokens, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from jumok.answers import NotFiniteError
from jumok.decoding.batched import device_of, lay_sources, lay_targets
from jumok.decoding.jobs import BATCH_TOKENS, Source
from jumok.decoding.search import check_finite, log_softmax
from jumok.decoding.translator import Translator
from jumok.errors import Error, LimitError, RunError
from jumok.explain.ops import bad_parameter
from jumok.models.interface import Memory, Seq2Seq

NO_KEY = "leave at least one, or use mask_head to silence the head"
CELLS = 2**24  # logits of one pass: 64 MiB in float32


def log_probs(translator: Translator, sources: Sequence[Source], target: Sequence[int]) -> Tensor:
    """log p(y_t | y_<t, x) in float32 on the CPU, (B, T): one target, its end included, for every source.

    Sources have no end of their own. They go through the model together: `tokens_at_once` says how many may.
    """
    if not target:
        return torch.zeros(len(sources), 0)
    with explained(), torch.inference_mode():
        return forced(translator.model, encode(translator.model, sources), target).cpu()


def encode(model: Seq2Seq, sources: Sequence[Source]) -> Memory:
    """What the model's encoder makes of sources without their ends."""
    with torch.inference_mode():
        return model.encode(lay_sources(sources, device_of(model)))


def forced(model: Seq2Seq, memory: Memory, target: Sequence[int]) -> Tensor:
    """log p of each target token for every row of the memory: (B, T)."""
    rows = len(memory.source)
    target_in, written = lay_targets([target] * rows, device_of(model))
    with torch.inference_mode():
        logits = model.decode(target_in, memory).logits()  # (B · T, V)
        found = log_softmax(logits).gather(1, written[:, None]).view(rows, -1)  # (B, T)
    check_finite(found.sum(dim=1), torch.arange(len(found), device=found.device))
    return found


def tokens_at_once(translator: Translator) -> int:
    """How many tokens of either side, padding included, one pass may hold: the model's own budget, and a
    bound on the logits, which are the largest tensor."""
    budget = translator.config.decoding.batch_tokens or BATCH_TOKENS
    return min(budget, CELLS // translator.tokenizers.target.size)


@contextmanager
def explained() -> Iterator[None]:
    """The model's own troubles as errors that say what to do."""
    try:
        yield
    except Error:
        raise
    except LookupError as error:  # a position that has no learned row
        raise LimitError(str(error), code="too_long") from None
    except NotFiniteError:
        raise not_finite() from None
    except ValueError as error:  # a row without a key to look at
        raise bad_parameter(str(error), hint=NO_KEY) from None


def not_finite() -> RunError:
    return RunError(
        "the model gave numbers that are not finite",
        hint="its weights may be damaged or diverged: jumok verify checks the folder",
        code="model_numeric_error",
    )
