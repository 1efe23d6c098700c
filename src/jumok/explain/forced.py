"""How probable given tokens are: passes in which the model writes a target that is already known.

Axis letters: B batch, T target tokens, D width, N layers, C parts of a state.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from jumok.answers import NotFiniteError
from jumok.decoding.engines import NativeEngine
from jumok.decoding.inside import Inside, edits_in
from jumok.decoding.jobs import BATCH_TOKENS, Source
from jumok.decoding.translator import Translator
from jumok.errors import Error, LimitError, RunError
from jumok.explain.ops import bad_parameter

NO_KEY = "leave at least one, or use mask_head to silence the head"
CELLS = 2**24  # logits of one pass: 64 MiB in float32


def log_probs(
    translator: Translator, sources: Sequence[Source], target: Sequence[int]
) -> NDArray[np.float32]:
    """log p(y_t | y_<t, x) in float32, (B, T): one target, its end included, for every source.

    Sources have no end of their own. They go through the model together: `tokens_at_once` says how many may.
    """
    if not target:
        return np.zeros((len(sources), 0), np.float32)
    with explained():
        return forced(translator.inside, sources, target)


def forced(inside: Inside, sources: Sequence[Source], target: Sequence[int]) -> NDArray[np.float32]:
    """log p of each target token for every source: (B, T)."""
    if isinstance(inside, NativeEngine):
        from jumok.explain import in_native

        return in_native.forced(inside, sources, target)
    from jumok.explain import in_torch

    return in_torch.forced(inside, sources, target)


def finals(inside: Inside, sources: Sequence[Source]) -> NDArray[np.float32]:
    """Where the decoder of a recurrent model, as it is without edits, starts from: (B, N, C, D)."""
    if isinstance(inside, NativeEngine):
        from jumok.explain import in_native

        return in_native.finals(inside.edited(None), sources)
    from jumok.backends.torch import TorchBackend
    from jumok.explain import in_torch

    plain = inside if edits_in(inside) is None else inside.using(TorchBackend())
    return in_torch.finals(plain, sources)


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
